//! Where scratch files lie, and whether they can be read past the page cache.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use fathom_sys::cache::evict;
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::{Error, facts, layout};

use super::Linux;
use super::residency::Residency;
use crate::machine::{Fault, Machine};
use crate::witness::{DirectRead, Layout};
use fathom_program::workload::ScratchFile;

const DIRECT_BYTES: u64 = 256 << 10;
/// Bytes by which memory is aligned where it is aligned at all: more than any device asks for.
const MOST_ALIGNED: usize = 64 << 10;

/// A file that is gone when this value is.
struct Passing {
    path: PathBuf,
    file: OwnedFd,
}

impl Passing {
    fn new(machine: &Linux) -> Result<Self, Fault> {
        machine.files.check_writable()?;
        let path = machine.files.path("layout");
        Ok(Self { file: file::create_new(&path)?, path })
    }

    fn failed(&self, operation: &'static str) -> impl Fn(Errno) -> Fault + use<> {
        let path = self.path.clone();
        move |errno| Error::new(operation, &path, errno).into()
    }

    fn layout(&self) -> Result<Layout, Fault> {
        let allocated = file::allocated_bytes(self.file.as_fd()).map_err(self.failed("stat"))?;
        let extents = match layout::extents(&self.file) {
            Ok(extents) => Some(extents),
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::INVAL) => None,
            Err(errno) => return Err(self.failed("map the extents of")(errno)),
        };
        Ok(Layout { allocated, extents })
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// See [`Witness::written`](crate::witness::Witness::written).
pub(super) fn written(machine: &mut Linux, size: u64, steps: &[&[Range<u64>]]) -> Result<Vec<Layout>, Fault> {
    let ranges = || steps.iter().flat_map(|step| step.iter());
    let wanted = ranges().map(|range| range.end - range.start).sum();
    let left = machine.write_budget();
    if wanted > left {
        return Err(Fault::OverBudget { wanted, left });
    }
    let passing = Passing::new(machine)?;
    let longest = ranges().map(|range| range.end - range.start).max().unwrap_or(1).max(1);
    let mut data = Mapping::touched(longest as usize).map_err(passing.failed("map a buffer for"))?;
    file::ftruncate(&passing.file, size).map_err(passing.failed("lengthen"))?;
    let mut layouts = Vec::with_capacity(steps.len());
    for step in steps {
        machine.check_interrupt()?;
        for range in *step {
            let bytes = &data.bytes()[..(range.end - range.start) as usize];
            let failed = |errno| Error::new("write", &passing.path, errno).at(range.start);
            let moved = file::pwrite(passing.file.as_fd(), bytes, range.start).map_err(failed)?;
            machine.files.count_written(moved as u64);
            if moved < bytes.len() {
                return Err(Fault::short("write", &passing.path, range.start, bytes.len(), moved));
            }
        }
        file::fsync(&passing.file).map_err(passing.failed("fsync"))?;
        layouts.push(passing.layout()?);
    }
    Ok(layouts)
}

/// See [`Witness::set_aside`](crate::witness::Witness::set_aside).
pub(super) fn set_aside(machine: &mut Linux, bytes: u64) -> Result<Option<Layout>, Fault> {
    machine.check_interrupt()?;
    let passing = Passing::new(machine)?;
    if facts::space(&passing.path)?.free_bytes / 2 < bytes {
        return Ok(None);
    }
    match layout::set_aside(&passing.file, bytes) {
        Ok(()) => passing.layout().map(Some),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Ok(None),
        Err(errno) => Err(passing.failed("set space aside for")(errno)),
    }
}

/// See [`Witness::direct_read`](crate::witness::Witness::direct_read).
pub(super) fn direct_read(
    machine: &mut Linux,
    offset: u64,
    length: u64,
    memory: u64,
) -> Result<DirectRead, Fault> {
    let wanted = [ScratchFile::filled("direct", DIRECT_BYTES)];
    let (to_fill, left) = (machine.files.bytes_to_fill(&wanted), machine.write_budget());
    if to_fill > left {
        return Err(Fault::OverBudget { wanted: to_fill, left });
    }
    machine.provide(&wanted)?;
    let path = machine.files.path("direct");
    let failed = |operation, errno| Fault::from(Error::new(operation, &path, errno));
    let open = match layout::open_direct(&path) {
        Ok(open) => open,
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(DirectRead::Refused),
        Err(errno) => return Err(failed("open for direct reads", errno)),
    };
    let mut buffer = Mapping::touched(2 * MOST_ALIGNED + length as usize)
        .map_err(|errno| failed("map a buffer for", errno))?;
    let start = buffer.bytes().as_ptr().align_offset(MOST_ALIGNED) + memory as usize % MOST_ALIGNED;
    let target = &mut buffer.bytes()[start..start + length as usize];
    evict(&open, 0, 0).map_err(|errno| failed("evict", errno))?;
    match file::pread(open.as_fd(), target, offset) {
        Ok(moved) if moved < target.len() => {
            return Err(Fault::short("read directly", &path, offset, target.len(), moved));
        }
        Ok(moved) => machine.bytes_read += moved as u64,
        Err(Errno::INVAL) => return Ok(DirectRead::Refused),
        Err(errno) => return Err(Error::new("read directly", &path, errno).at(offset).into()),
    }
    // Where the cache can't be seen, a read that was accepted is taken at its word.
    let cached = match machine.residency {
        Residency::Invisible => 0,
        _ => machine
            .cached_bytes(&open, DIRECT_BYTES)
            .map_err(|errno| failed("look at the cache of", errno))?,
    };
    Ok(if cached == 0 { DirectRead::Direct } else { DirectRead::Buffered })
}
