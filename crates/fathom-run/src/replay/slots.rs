//! The descriptors of a replay, which its threads share.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use fathom_program::call::{Call, CallKind};
use fathom_sys::Error;
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Errno};
use fathom_trace::FileId;
use fathom_trace::replay::Plan;

use crate::executor::{Descriptors, Window, window};
use crate::fault::Fault;

/// What each descriptor of the program is, and where each path is.
#[derive(Debug)]
pub(super) struct Slots {
    open: Vec<RwLock<Option<OwnedFd>>>,
    /// The trace's paths, and as many that nothing ever has.
    paths: Vec<PathBuf>,
    present: usize,
}

impl Slots {
    /// Opens what was open before the trace began.
    pub(super) fn new(plan: &Plan, mut paths: Vec<PathBuf>) -> Result<Self, Fault> {
        let present = paths.len();
        paths.extend((0..present).map(|at| paths[at].with_extension("absent")).collect::<Vec<_>>());
        let slots =
            Self { open: std::iter::repeat_with(RwLock::default).take(plan.slots).collect(), paths, present };
        for (slot, FileId(at), position) in &plan.inherited {
            let path = &slots.paths[*at as usize];
            let opened = file::open(path).map_err(|errno| Error::new("open", path, errno))?;
            file::seek(opened.as_fd(), *position).map_err(|errno| Error::new("seek", path, errno))?;
            slots.fill(*slot as u32, opened);
        }
        Ok(slots)
    }

    fn fill(&self, slot: u32, file: OwnedFd) {
        *self.open[slot as usize].write().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}

/// A descriptor that is open, and that stays open until this is dropped.
struct Held<'a>(RwLockReadGuard<'a, Option<OwnedFd>>);

impl AsFd for Held<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("it is open").as_fd()
    }
}

impl Descriptors for &Slots {
    /// A trace's file may have ended.
    const MUST_MOVE_ALL: bool = false;

    fn lifecycle<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let path = &self.paths[call.path as usize];
        match call.kind {
            CallKind::Close => {
                // Not where another descriptor still means the same.
                let slot = &self.open[call.descriptor as usize];
                let last = if call.flags == 0 {
                    slot.write().unwrap_or_else(PoisonError::into_inner).take()
                } else {
                    None
                };
                match last {
                    Some(file) => window(clock, || file::close(file).map(|()| 0)),
                    None => window(clock, || Ok(0)),
                }
            }
            CallKind::Unlink => window(clock, || file::unlink(path).map(|()| 0)),
            CallKind::Rename => {
                let to = &self.paths[call.to as usize];
                window(clock, || file::rename(path, to, call.flags).map(|()| 0))
            }
            CallKind::Dup => {
                let copied = self.with(call.descriptor, |file| {
                    window(clock, || {
                        let copy = file.try_clone_to_owned();
                        copy.map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or(0)))
                    })
                });
                (copied.0, copied.1.map(|copy| self.fill(call.to, copy)).map(|()| 0))
            }
            _ => {
                let (window, opened) = window(clock, || file::open_with(path, call.flags));
                let is_found = (call.path as usize) < self.present;
                match opened {
                    Err(_) if !is_found => (window, Ok(0)),
                    opened => (window, opened.map(|file| self.fill(call.descriptor, file)).map(|()| 0)),
                }
            }
        }
    }

    fn open(&self, descriptor: u32) -> Option<impl AsFd> {
        let held = self.open[descriptor as usize].read().unwrap_or_else(PoisonError::into_inner);
        held.is_some().then_some(Held(held))
    }

    fn path(&self, call: &Call) -> &Path {
        &self.paths[call.path as usize]
    }
}
