//! The entries of a directory, which a pass makes, asks about and removes by their numbers.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use fathom_program::call::{Call, CallKind};
use fathom_program::workload::RENAMED;
use fathom_sys::clock::Counter;
use fathom_sys::entry;
use fathom_sys::file::{self, Errno};

use super::{Descriptors, Window, window};

/// What a program in C reads names into: the C library's `readdir(3)` takes as much at a time.
const NAMES_BYTES: usize = 32 << 10;
/// Digits of a name: as long as names of files usually are.
const DIGITS: usize = 12;

/// A directory, the entry that is open, and the names of the next call.
pub(crate) struct Entries {
    path: PathBuf,
    directory: OwnedFd,
    open: Option<OwnedFd>,
    /// The entry that is called, and what a rename calls it; with the zeros at their ends.
    name: [u8; DIGITS + 1],
    to: [u8; DIGITS + 1],
    names: Vec<MaybeUninit<u8>>,
}

impl Entries {
    /// Those of the directory at `path`, which is open.
    pub(crate) fn of(path: PathBuf, directory: OwnedFd) -> Self {
        let (name, to) = ([0; DIGITS + 1], [0; DIGITS + 1]);
        // Touched, so that no page fault falls into a listing.
        let names = vec![MaybeUninit::new(1); NAMES_BYTES];
        Self { path, directory, open: None, name, to, names }
    }
}

/// What the entry of a number is called.
pub(crate) fn name(number: u64) -> CString {
    let mut name = [0; DIGITS + 1];
    write_name(&mut name, number);
    name_in(&name).to_owned()
}

/// Without the formatting of the standard library: it stands between two calls that are timed.
fn write_name(name: &mut [u8; DIGITS + 1], mut number: u64) {
    for digit in name[..DIGITS].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number % 16) as usize];
        number /= 16;
    }
}

fn name_in(name: &[u8; DIGITS + 1]) -> &CStr {
    CStr::from_bytes_until_nul(name).unwrap_or(c"")
}

impl Descriptors for Entries {
    const MUST_MOVE_ALL: bool = true;

    #[inline(always)]
    fn prepare(&mut self, call: &Call) {
        write_name(&mut self.name, call.offset);
        if call.kind == CallKind::Rename {
            write_name(&mut self.to, call.offset ^ RENAMED);
        }
    }

    fn lifecycle<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let (directory, name) = (self.directory.as_fd(), name_in(&self.name));
        let opens = |opened: (Window, Result<OwnedFd, Errno>), open: &mut Option<OwnedFd>| {
            (opened.0, opened.1.map(|file| *open = Some(file)).map(|()| 0))
        };
        let done = match call.kind {
            CallKind::Create => {
                return opens(window(clock, || entry::create(directory, name)), &mut self.open);
            }
            CallKind::Open => return opens(window(clock, || entry::open(directory, name)), &mut self.open),
            CallKind::List => {
                let names = &mut self.names;
                return window(clock, || entry::list(directory, names));
            }
            CallKind::Close => match self.open.take() {
                Some(file) => window(clock, || file::close(file)),
                None => window(clock, || Ok(())),
            },
            CallKind::Stat => window(clock, || entry::stat(directory, name)),
            CallKind::LookUp => window(clock, || entry::look_up(directory, name)),
            CallKind::Rename => {
                let to = name_in(&self.to);
                window(clock, || entry::rename(directory, name, to))
            }
            CallKind::Unlink => window(clock, || entry::unlink(directory, name)),
            _ => (Window { start: 0, stop: 0 }, Err(Errno::INVAL)),
        };
        (done.0, done.1.map(|()| 0))
    }

    #[inline(always)]
    fn open(&self, _: u32) -> Option<impl AsFd> {
        self.open.as_ref()
    }

    fn path(&self, _: &Call) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_long_as_one_another_and_differ() {
        let names = [0, 1, 255, 4096, RENAMED, RENAMED + 4096].map(name);
        assert_eq!(names[2].to_str(), Ok("0000000000ff"));
        assert_eq!(names[5].to_str(), Ok("000100001000"));
        assert!(names.iter().all(|name| name.as_bytes().len() == DIGITS));
    }
}
