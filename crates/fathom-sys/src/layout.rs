//! Where a file's bytes lie: FIEMAP, and space set aside without writing.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::{Errno, Result};

const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// FIEMAP_FLAG_SYNC: what is dirty is written before the map is drawn.
const SYNC: u32 = 1;
const LAST: u32 = 0x1;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;
/// Extents that one call asks for.
const BATCH: usize = 256;

/// Struct `fiemap_extent` of `uapi/linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Struct `fiemap` of `uapi/linux/fiemap.h` with room for [`BATCH`] extents.
#[repr(C)]
struct RawMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// A run of a file's bytes that lie together. Sizes in bytes. Source: `Documentation/filesystems/fiemap.rst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins in the file.
    pub logical: u64,
    /// Where it begins on the device; meaningless for bytes that are inline.
    pub physical: u64,
    /// How long it is.
    pub length: u64,
    /// Whether its bytes stand among the metadata.
    pub inline: bool,
    /// Whether it is set aside and not written.
    pub unwritten: bool,
    /// Whether its bytes are compressed or encrypted, so that it is shorter on the device.
    pub encoded: bool,
    /// Whether another file has it too.
    pub shared: bool,
}

/// What alignment direct I/O needs, in bytes. Source: `statx(2)`, STATX_DIOALIGN, Linux 6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Of the memory; zero where the file can't be read so.
    pub memory: u32,
    /// Of offsets and lengths; zero where the file can't be read so.
    pub offset: u32,
}

/// The extents of a file in order, after what is dirty has been written.
///
/// # Errors
/// EOPNOTSUPP or ENOTTY where the file system draws no map.
pub fn extents(file: impl AsFd) -> Result<Vec<Extent>> {
    let mut all = Vec::new();
    let mut map = Box::new(RawMap {
        start: 0,
        length: u64::MAX,
        flags: SYNC,
        mapped: 0,
        room: BATCH as u32,
        reserved: 0,
        extents: [RawExtent::default(); BATCH],
    });
    loop {
        let descriptor = file.as_fd().as_raw_fd();
        // SAFETY: the structure has the kernel's layout with room for as many extents as it says, and
        // outlives the call, which writes to it alone.
        crate::error::done(unsafe { libc::ioctl(descriptor, FS_IOC_FIEMAP as _, &raw mut *map) }.into())?;
        let found = map.extents.get(..map.mapped as usize).unwrap_or_default();
        all.extend(found.iter().map(Extent::from_raw));
        match found.last() {
            Some(last) if last.flags & LAST == 0 => map.start = last.logical + last.length,
            _ => return Ok(all),
        }
        map.length = u64::MAX - map.start;
    }
}

/// The alignment that the kernel declares for direct I/O on the regular file at `path`, where it does. Source: `statx(2)`.
pub fn direct_alignment(path: &Path) -> crate::Result<Option<DirectAlignment>> {
    let stat = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::DIOALIGN);
    match stat {
        Ok(stat) if stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            Ok(Some(DirectAlignment { memory: stat.stx_dio_mem_align, offset: stat.stx_dio_offset_align }))
        }
        Ok(_) | Err(Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(crate::Error::new("statx", path, errno)),
    }
}

impl Extent {
    /// Whether it lies where no data can, at the first byte of a device: a map that says so is one of the file alone. Source:
    /// `smb3_fiemap` of `fs/smb/client/smb2ops.c`, which gives places in the file for places on the device.
    pub fn is_nowhere(&self) -> bool {
        self.physical == 0 && !self.inline
    }

    fn from_raw(raw: &RawExtent) -> Self {
        let has = |flag: u32| raw.flags & flag != 0;
        Self {
            logical: raw.logical,
            physical: raw.physical,
            length: raw.length,
            inline: has(INLINE),
            unwritten: has(UNWRITTEN),
            encoded: has(ENCODED),
            shared: has(SHARED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn data_at_the_first_byte_of_a_device_are_nowhere() {
        let at = |physical, flags| Extent::from_raw(&RawExtent { physical, flags, ..RawExtent::default() });
        assert!(at(0, 0).is_nowhere() && !at(4096, 0).is_nowhere() && !at(0, INLINE).is_nowhere());
    }

    #[test]
    fn a_written_file_is_mapped_from_its_first_byte_to_its_last() {
        let path = std::env::temp_dir().join(format!("fathom-layout-{}", std::process::id()));
        let mut file =
            std::fs::OpenOptions::new().create_new(true).read(true).write(true).open(&path).unwrap();
        file.write_all(&[7; 1 << 20]).unwrap();
        let (map, declared) = (extents(&file), direct_alignment(&path));
        std::fs::remove_file(&path).unwrap();
        assert!(declared.is_ok());
        match map {
            Ok(map) => {
                assert_eq!(map.first().map(|extent| extent.logical), Some(0));
                assert_eq!(map.iter().map(|extent| extent.length).sum::<u64>(), 1 << 20);
            }
            Err(errno) => assert!(matches!(errno, Errno::OPNOTSUPP | Errno::NOTTY), "{errno:?}"),
        }
    }
}
