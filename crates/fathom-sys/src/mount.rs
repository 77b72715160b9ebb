//! Mounts that nothing outside sees: they end with the process, whatever ends it.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, UnmountFlags,
};
use rustix::thread::UnshareFlags;

use crate::{Error, Result};

/// Moves the calling thread, and threads and children it starts later, into a mount name space of its own.
///
/// Must be called before other threads exist, or they keep seeing the old one. Nothing mounted
/// afterwards is seen outside, and the kernel unmounts all of it when the last process inside ends:
/// also after SIGKILL. Source: `mount_namespaces(7)`.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub fn enter_private_namespace() -> Result<()> {
    let root = Path::new("/");
    // SAFETY: NEWNS leaves memory and descriptors shared; it only gives this thread its own view of mounts.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
        .map_err(|errno| Error::new("unshare the mount name space of", root, errno))?;
    rustix::mount::mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| Error::new("make private the mounts below", root, errno))
}

/// Mounts `source` of type `fs_type` on `target` with comma-separated `options`. Source: `mount(2)`.
///
/// # Errors
/// What `mount(2)` gives; EINVAL or ENODEV where the kernel lacks the file system or refuses its format.
pub fn mount(source: &str, target: &Path, fs_type: &str, options: &str) -> Result<()> {
    let data =
        std::ffi::CString::new(options).map_err(|_| Error::new("mount", target, rustix::io::Errno::INVAL))?;
    rustix::mount::mount(source, target, fs_type, MountFlags::empty(), data.as_c_str())
        .map_err(|errno| Error::new("mount", target, errno))
}

/// Unmounts `target`. Source: `umount2(2)`.
///
/// # Errors
/// What `umount2(2)` gives; EBUSY while files are open.
pub fn unmount(target: &Path) -> Result<()> {
    rustix::mount::unmount(target, UnmountFlags::empty())
        .map_err(|errno| Error::new("unmount", target, errno))
}

/// Takes `target` out of sight now; the kernel unmounts it when its last user is gone. Source:
/// `umount2(2)`, MNT_DETACH.
pub fn detach(target: &Path) -> Result<()> {
    rustix::mount::unmount(target, UnmountFlags::DETACH).map_err(|errno| Error::new("detach", target, errno))
}

/// Mounts a file system of type `fs_type` in no place: it is reached by this descriptor alone, and ends with it.
/// Source: `fsopen(2)`, `fsmount(2)`.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN, ENODEV where the kernel lacks the file system, ENOSYS before Linux 5.2.
pub fn without_place(fs_type: &str) -> Result<OwnedFd> {
    let mounted = || {
        let configuring = rustix::mount::fsopen(fs_type, FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(&configuring)?;
        rustix::mount::fsmount(&configuring, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    mounted().map_err(|errno| Error::new("mount without a place", Path::new(fs_type), errno))
}
