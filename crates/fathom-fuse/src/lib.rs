//! A file system in memory that is served over FUSE, slow and broken exactly as planned.
//!
//! A lab needs file systems that fail at a known call and are slow by a known time, which no real one
//! does on demand. What goes wrong stands in a [`Plan`]; the words of one are those of a mount's
//! options:
//!
//! ```
//! use fathom_fuse::Plan;
//!
//! let plan: Plan = "block=16384,new_block=30us,eio=read@5,hang=fsync@2:30s".parse().unwrap();
//! assert_eq!(plan.block_bytes, 16384);
//! assert_eq!(plan.faults.len(), 2);
//! ```
#![cfg(target_os = "linux")]

mod faults;
mod memory;
mod plan;
mod server;
mod stripes;
mod tree;

use std::io;
use std::path::Path;

use fuser::{BackgroundSession, Config, MountOption, Session};

pub use self::plan::{Blocks, Call, Fault, Happens, Opening, Plan, When, Writes};
pub use self::stripes::{Layout, Stripes};

/// What `/proc/self/mounts` calls it: `fuse.fathom`.
const SUBTYPE: &str = "fathom";

/// A mounted file system. Dropping it unmounts it and waits for the calls under way.
#[derive(Debug)]
pub struct Served(Option<BackgroundSession>);

/// Mounts a new, empty file system at `point` and serves it on threads of this process.
///
/// A process that uses what it serves itself can't be killed while a call hangs: serve it from
/// another one.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN and without `fusermount3`; ENODEV or ENOENT without FUSE.
pub fn mount(point: &Path, plan: Plan) -> io::Result<Served> {
    clients(&[point], plan)?.pop().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Mounts one new, empty file system at several points, each with caches of its own, as that of a server with several
/// clients is.
///
/// # Errors
/// As [`mount`].
pub fn clients(points: &[&Path], plan: Plan) -> io::Result<Vec<Served>> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(SUBTYPE.to_owned()),
        MountOption::Subtype(SUBTYPE.to_owned()),
        MountOption::DefaultPermissions,
    ];
    config.mount_options.extend(plan.max_read.map(|bytes| MountOption::CUSTOM(format!("max_read={bytes}"))));
    // More than one: while one call hangs, others are still served.
    config.n_threads = Some(plan.threads.into());
    let server = server::Server::new(plan);
    let serve = |point: &&Path| Session::new(server.clone(), point, &config)?.spawn();
    points.iter().map(|point| serve(point).map(|session| Served(Some(session)))).collect()
}

impl Served {
    /// Whether somebody else has unmounted it.
    pub fn has_ended(&self) -> bool {
        self.0.as_ref().is_none_or(|session| session.guard.is_finished())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            // If the mount is in use, the owner of the mount point detaches it.
            let _ = session.umount_and_join();
        }
    }
}
