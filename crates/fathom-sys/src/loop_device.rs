//! Loop devices over nameless files: both vanish when the last user lets go, whatever ends it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use linux_raw_sys::loop_device::{
    LO_FLAGS_AUTOCLEAR, LO_FLAGS_DIRECT_IO, LOOP_CONFIGURE, LOOP_CTL_GET_FREE, loop_config,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{Error, Result};

/// A loop device. It stays attached while this value, a mount or another process holds it open.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    _open: OwnedFd,
}

impl LoopDevice {
    /// Attaches a device of `size` bytes and sectors of `sector_size` bytes to a new file without a
    /// name in `directory` (which must allow O_TMPFILE, as tmpfs does).
    ///
    /// # Errors
    /// EACCES or EPERM without root; ENOSPC where `directory` is full; ENXIO without loop devices.
    pub fn over_nameless_file(directory: &Path, size: u64, sector_size: u32) -> Result<Self> {
        let backing = rustix::fs::open(
            directory,
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )
        .map_err(|errno| Error::new("create an image in", directory, errno))?;
        rustix::fs::ftruncate(&backing, size)
            .map_err(|errno| Error::new("size an image in", directory, errno))?;
        // Another process may take the free number first: ask again.
        for _ in 0..64 {
            match Self::attach(&backing, sector_size) {
                Err(error) if error.errno == Errno::BUSY => {}
                other => return other,
            }
        }
        Err(Error::new("attach a loop device to an image in", directory, Errno::BUSY))
    }

    fn attach(backing: &OwnedFd, sector_size: u32) -> Result<Self> {
        let control_path = Path::new("/dev/loop-control");
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let control = rustix::fs::open(control_path, flags, Mode::empty())
            .map_err(|errno| Error::new("open", control_path, errno))?;
        // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a device number.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
        if number < 0 {
            return Err(Error::new("find a free loop device by", control_path, crate::error::last_errno()));
        }
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let open = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|errno| Error::new("open", &path, errno))?;
        let config = configuration(backing.as_fd().as_raw_fd(), sector_size);
        // SAFETY: the structure has the kernel's layout and outlives the call, which only reads it.
        let result = unsafe { libc::ioctl(open.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) };
        crate::error::done(result.into()).map_err(|errno| Error::new("attach", &path, errno))?;
        Ok(Self { path, _open: open })
    }

    /// The device's path: `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device's name: `loopN`.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

fn configuration(descriptor: i32, sector_size: u32) -> loop_config {
    // SAFETY: the structure is whole numbers and arrays of them, which may all be zero.
    let mut config: loop_config = unsafe { std::mem::zeroed() };
    (config.fd, config.block_size) = (descriptor.cast_unsigned(), sector_size);
    // The kernel detaches the device at its last close, and it bypasses the page cache of the file below.
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR as u32 | LO_FLAGS_DIRECT_IO as u32;
    config
}
