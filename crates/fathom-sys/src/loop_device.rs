//! Loop devices over nameless files: both vanish when the last user lets go, whatever ends it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{Error, Result};

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
/// LO_FLAGS_AUTOCLEAR: the kernel detaches the device at its last close.
const AUTOCLEAR: u32 = 4;
/// LO_FLAGS_DIRECT_IO: the device bypasses the page cache of the file below.
const DIRECT_IO: u32 = 16;

/// Struct `loop_info64` of `uapi/linux/loop.h`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Struct `loop_config` of `uapi/linux/loop.h`.
#[repr(C)]
struct Config {
    descriptor: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

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
        if result != 0 {
            return Err(Error::new("attach", &path, crate::error::last_errno()));
        }
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

fn configuration(descriptor: i32, sector_size: u32) -> Config {
    Config {
        descriptor: descriptor.cast_unsigned(),
        block_size: sector_size,
        info: Info {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: AUTOCLEAR | DIRECT_IO,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    }
}
