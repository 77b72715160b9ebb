//! A file system whose free space lies in holes of one size.

use std::os::fd::AsFd;
use std::path::Path;

use fathom_sys::file::{self, Errno};
use fathom_sys::{Error, facts, transfer};

/// So few that none of them needs a block that is not there yet.
const HOLES_PER_SYNC: usize = 64;

/// Takes all space of the ext4 on `device` by one file and gives every other piece of `bytes` back.
pub(super) fn leave(point: &Path, device: &str, bytes: u64) -> Result<(), Error> {
    // What ext4 keeps back for writes that are delayed would stay free in one piece.
    let reserve = Path::new("/sys/fs/ext4").join(device).join("reserved_clusters");
    std::fs::write(&reserve, "0").map_err(|error| Error::from_io("write", &reserve, &error))?;
    let path = point.join("filler");
    let filler = file::create_new(&path)?;
    let failed = |operation, errno| Error::new(operation, &path, errno);
    let (mut length, mut step) = (0, 64 << 20);
    while step >= facts::page_size() {
        match transfer::allocate(filler.as_fd(), 0, length + step) {
            Ok(()) => length += step,
            Err(Errno::NOSPC) => step /= 2,
            Err(errno) => return Err(failed("set space aside for", errno)),
        }
    }
    // The first hole splits an extent, which takes a block; later ones take what was given back, and
    // that can be had once the journal says so.
    file::ftruncate(&filler, length - 8 * facts::page_size()).map_err(|errno| failed("shorten", errno))?;
    file::fsync(&filler).map_err(|errno| failed("fsync", errno))?;
    for (hole, offset) in (0..length).step_by(2 * bytes as usize).enumerate() {
        file::punch(filler.as_fd(), offset, bytes).map_err(|errno| failed("punch holes into", errno))?;
        if hole % HOLES_PER_SYNC == 0 {
            file::fsync(&filler).map_err(|errno| failed("fsync", errno))?;
        }
    }
    file::fsync(&filler).map_err(|errno| failed("fsync", errno))
}
