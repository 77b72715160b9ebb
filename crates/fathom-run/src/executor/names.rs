//! fio's engines that make, look at or remove files and directories and move no data. Source: `engines/fileoperations.c`.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use fathom_program::call::{Call, CallKind};
use fathom_program::job::Job;
use fathom_sys::Error;
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Errno};
use fathom_sys::transfer::{self, StatCall};

use super::{Engine, Window, window};
use crate::fault::Fault;

/// The calls on names of such an engine; its transfers move nothing.
pub(crate) struct Names {
    /// By descriptor.
    paths: Vec<PathBuf>,
    are_directories: bool,
    stat: StatCall,
    /// The file that was made last; it is closed before the next call.
    made: Option<OwnedFd>,
}

impl Names {
    /// The engine of a job on these paths.
    pub(crate) fn of(job: &Job, paths: Vec<PathBuf>) -> Self {
        let stat = match job.engine_options.stat_type.as_deref() {
            Some("lstat") => StatCall::Lstat,
            Some("statx") => StatCall::Statx,
            _ => StatCall::Stat,
        };
        Self { paths, are_directories: job.engine.has_directories(), stat, made: None }
    }
}

impl Engine for Names {
    fn prepare(&mut self, _: &Call) {
        self.made = None;
    }

    #[inline(always)]
    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let path = &self.paths[call.descriptor as usize];
        let nothing = |window: (Window, Result<(), Errno>)| (window.0, window.1.map(|()| 0));
        match (call.kind, self.are_directories) {
            (CallKind::Create, true) => nothing(window(clock, || transfer::mkdir(path))),
            (CallKind::Create, false) => {
                let (window, made) = window(clock, || file::open_or_create(path));
                (window, made.map(|made| self.made = Some(made)).map(|()| 0))
            }
            (CallKind::Stat, _) => nothing(window(clock, || transfer::stat(path, self.stat).map(drop))),
            (CallKind::Unlink, true) => nothing(window(clock, || transfer::rmdir(path))),
            (CallKind::Unlink, false) => nothing(window(clock, || file::unlink(path))),
            _ => window(clock, || Ok(call.bytes as usize)),
        }
    }

    fn check(&mut self, _: &Call, moved: usize) -> Result<u64, Fault> {
        Ok(moved as u64)
    }

    fn failure(&self, call: Call, errno: Errno) -> Fault {
        let what = match (call.kind, self.are_directories) {
            (CallKind::Create, true) => "mkdir",
            (CallKind::Unlink, true) => "rmdir",
            (kind, _) => super::engine::named(kind),
        };
        Fault::System(Error::new(what, &self.paths[call.descriptor as usize], errno))
    }
}
