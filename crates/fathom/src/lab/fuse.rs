//! The lab's own FUSE file system, which is slow and broken as planned.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_fuse::Plan;
use fathom_sys::facts;
use fathom_sys::process::Helper;

use super::build::{PATIENCE, Unbuilt, plain, until};

/// How the helper says that there is no FUSE, and that it can't be mounted.
const NO_FUSE: u8 = 2;

/// A mounted FUSE file system, and the process that serves it.
///
/// A process that waits in the kernel for itself can't be killed, so that the one that surveys can't
/// be the one that serves.
#[derive(Debug)]
pub(super) struct Host {
    _helper: Helper,
}

impl Host {
    /// Mounts a new file system at `point`; `options` are the words of a [`Plan`].
    pub(super) fn mount(point: &Path, options: &str) -> Result<Self, Unbuilt> {
        let plan: Plan = options.parse().map_err(Unbuilt::Failed)?;
        if !Path::new("/dev/fuse").exists() {
            return Err(Unbuilt::Skipped("there is no /dev/fuse: load the module 'fuse'".to_owned()));
        }
        let mut helper = Helper::start(|| serve_in_helper(point, plan))
            .map_err(|error| Unbuilt::Failed(format!("serve {}: {error}", point.display())))?;
        let mut ended = false;
        until(PATIENCE, || {
            ended = helper.has_ended();
            ended || is_served(point)
        });
        match !ended && is_served(point) {
            true => Ok(Self { _helper: helper }),
            false => Err(Unbuilt::Unsupported(format!("mount {}: the kernel refuses FUSE", point.display()))),
        }
    }
}

/// Serves a new file system at `point` until it is unmounted or `interrupt` is set, and unmounts it.
///
/// `options` are the words of a [`Plan`].
///
/// # Errors
/// One sentence: wrong options, no FUSE, no privilege.
pub fn serve(point: &Path, options: &str, interrupt: &AtomicBool) -> Result<(), String> {
    let served = fathom_fuse::mount(point, options.parse()?).map_err(|error| complaint(point, &error))?;
    while !served.has_ended() && !interrupt.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn serve_in_helper(point: &Path, plan: Plan) -> u8 {
    match fathom_fuse::mount(point, plan) {
        Ok(served) => served.wait().map_or(1, |()| 0),
        Err(_) => NO_FUSE,
    }
}

fn complaint(point: &Path, error: &io::Error) -> String {
    format!("mount FUSE at {}: {}", point.display(), plain(error))
}

fn is_served(point: &Path) -> bool {
    facts::mount_of(point).is_ok_and(|mount| mount.point == point && mount.fs_type.starts_with("fuse"))
}
