//! What the kernel declares: mounts, devices, space and the machine.
//!
//! Nothing here is measured. Experiments may show these facts next to their answers, never use them.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};

use crate::{Error, Result};

/// One line of `/proc/self/mountinfo`. Source: `proc_pid_mountinfo(5)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The number that `statx(2)` gives for files of this mount.
    pub id: u64,
    /// Major and minor number of the file system's `st_dev`; the major of nameless devices is 0.
    pub device: (u32, u32),
    /// Which directory of the file system is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// The type: `ext4`, `overlay`, `fuse.sshfs`.
    pub fs_type: String,
    /// The device, server or word that was mounted.
    pub source: String,
    /// The options of the mount and of the file system, separated by commas.
    pub options: String,
}

/// Space on a file system. Source: `statfs(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// `f_bsize`, in bytes.
    pub block_size: u64,
    /// Bytes that the calling user may still fill.
    pub free_bytes: u64,
    /// All bytes of the file system.
    pub total_bytes: u64,
    /// Whether it is mounted read-only: ST_RDONLY.
    pub is_read_only: bool,
}

/// A block device's queue as sysfs shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// The kernel's name: `vda`, `loop3`.
    pub name: String,
    /// Whether the kernel believes that it seeks.
    pub rotational: Option<bool>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// Sector size that the device is addressed in, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Sector size that the device works in, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// The device's own read-ahead setting, in bytes. A mount need not follow it.
    pub read_ahead_bytes: Option<u64>,
    /// The largest request that the kernel makes of it, in bytes: `max_sectors_kb`.
    pub largest_request_bytes: Option<u64>,
}

/// Whether the kernel sorts pages into generations (MGLRU). Source: `/sys/kernel/mm/lru_gen/enabled`, bit 0;
/// kernels without that file have an active and an inactive list.
pub fn keeps_generations() -> bool {
    let enabled = fs::read_to_string("/sys/kernel/mm/lru_gen/enabled").unwrap_or_default();
    u32::from_str_radix(enabled.trim().trim_start_matches("0x"), 16).is_ok_and(|bits| bits & 1 == 1)
}

/// The page size in bytes. Source: `sysconf(3)`, _SC_PAGESIZE, from the auxiliary vector.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// The user that this process acts as. Source: `geteuid(2)`.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The parent's number: the cheapest system call that does nothing. Source: `getppid(2)`.
#[inline(always)]
pub fn parent_process() -> Option<i32> {
    rustix::process::getppid().map(|process| process.as_raw_nonzero().get())
}

/// The mount that `path` lies on.
///
/// # Errors
/// ENOENT or EACCES for the path; ENOENT where `/proc` is not mounted; ENODEV in a chroot that is no mount.
pub fn mount_of(path: &Path) -> Result<Mount> {
    let table = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(table).map_err(|error| {
        Error::from_io("read", table, &error).with_remedy("mount /proc first: mount -t proc proc /proc")
    })?;
    let mounts: Vec<Mount> = text.lines().filter_map(parse_mount).collect();
    let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
        .map_err(|errno| Error::new("stat", path, errno))?;
    let has_id = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    let by_id = mounts.iter().find(|mount| has_id && mount.id == stat.stx_mnt_id);
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    // Before Linux 5.8 there is no mount number: the last mount of the same device is the visible one.
    by_id.or_else(|| mounts.iter().rev().find(|mount| mount.device == device)).cloned().ok_or_else(|| {
        Error::new("find the mount of", path, rustix::io::Errno::NODEV)
            .with_remedy("if this is a chroot into DIR, first make DIR a mount: mount --bind DIR DIR")
    })
}

/// The mount that the upper layer of an overlay lies on; none of other mounts.
pub fn upper_of(mount: &Mount) -> Option<Mount> {
    let upper = option_value(&mount.options, "upperdir").filter(|_| mount.fs_type == "overlay")?;
    mount_of(Path::new(upper)).ok()
}

/// Space on the file system at `path`. Source: `statfs(2)`.
pub fn space(path: &Path) -> Result<Space> {
    let stat = rustix::fs::statfs(path).map_err(|errno| Error::new("statfs", path, errno))?;
    let block_size = u64::try_from(stat.f_bsize).unwrap_or(0);
    Ok(Space {
        block_size,
        free_bytes: stat.f_bavail.saturating_mul(block_size),
        total_bytes: stat.f_blocks.saturating_mul(block_size),
        is_read_only: stat.f_flags as u64 & libc::ST_RDONLY != 0,
    })
}

/// The read-ahead limit that governs files of `mount`, in bytes, and the file that declares it.
///
/// A mount need not follow its block device: btrfs has a setting of its own, overlay reads through
/// its upper layer, and nameless devices have their own entry. Source:
/// `Documentation/ABI/testing/sysfs-class-bdi`.
pub fn declared_read_ahead(mount: &Mount) -> Option<(u64, PathBuf)> {
    let file = backing_device(mount)?.join("read_ahead_kb");
    number(&file).map(|kib| (kib * 1024, file))
}

/// The share of the machine's dirty data in percent that `mount` may have and never more; `None` where only all of
/// them together are limited.
///
/// A kernel before 6.2 does not say whether a share is strict: one below 100 % is, as FUSE sets it.
pub fn strict_share(mount: &Mount) -> Option<u64> {
    let directory = backing_device(mount)?;
    let share = number(directory.join("max_ratio"))?;
    (number(directory.join("strict_limit")).unwrap_or(u64::from(share < 100)) > 0).then_some(share)
}

/// The directory of sysfs about the backing device of `mount`.
fn backing_device(mount: &Mount) -> Option<PathBuf> {
    let candidates = match mount.fs_type.as_str() {
        "overlay" => return backing_device(&upper_of(mount)?),
        "btrfs" => btrfs_bdi(&mount.source).into_iter().collect(),
        // Their pages are the only copy: there is nothing to read ahead from.
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => Vec::new(),
        _ => {
            let (major, minor) = mount.device;
            let class = Path::new("/sys/class/bdi");
            vec![class.join(format!("{major}:{minor}")), class.join(format!("{major}:{minor}-fuseblk"))]
        }
    };
    candidates.into_iter().find(|directory| directory.join("read_ahead_kb").exists())
}

/// The block device behind a mount, where there is one.
pub fn device_of(mount: &Mount) -> Option<Device> {
    let (major, minor) = mount.device;
    let by_number = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let directory = fs::canonicalize(&by_number).ok().or_else(|| {
        let name = Path::new(&mount.source).strip_prefix("/dev").ok()?;
        fs::canonicalize(Path::new("/sys/class/block").join(name)).ok()
    })?;
    let name = directory.file_name()?.to_string_lossy().into_owned();
    // A partition has no queue of its own: its disk has.
    let queue = [directory.join("queue"), directory.join("../queue")].into_iter().find(|path| path.is_dir());
    let Some(queue) = queue else { return Some(Device { name, ..Device::default() }) };
    Some(Device {
        name,
        rotational: number(queue.join("rotational")).map(|flag| flag == 1),
        scheduler: word(&queue.join("scheduler")).map(|line| chosen(&line)),
        logical_block_bytes: number(queue.join("logical_block_size")),
        physical_block_bytes: number(queue.join("physical_block_size")),
        read_ahead_bytes: number(queue.join("read_ahead_kb")).map(|kib| kib * 1024),
        largest_request_bytes: number(queue.join("max_sectors_kb")).map(|kib| kib * 1024),
    })
}

/// What a block device has done since it is there, reads before writes. Source: `Documentation/block/stat.rst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceStat {
    /// Requests that were completed.
    pub requests: [u64; 2],
    /// Requests that became part of others before.
    pub merged: [u64; 2],
    /// Bytes.
    pub bytes: [u64; 2],
    /// Milliseconds between submission and completion, of all requests together.
    pub wait_ms: [u64; 2],
    /// Milliseconds in which there was something to do.
    pub busy_ms: u64,
    /// Those milliseconds, each as often as requests waited in it.
    pub queue_ms: u64,
}

/// The counters of the block device `name` as the kernel calls it, where it has them.
pub fn device_stat(name: &str) -> Option<DeviceStat> {
    let text = fs::read_to_string(block(name).join("stat")).ok()?;
    let figures: Vec<u64> = text.split_whitespace().map_while(|figure| figure.parse().ok()).collect();
    let pair = |at: usize| Some([*figures.get(at)?, *figures.get(at + 4)?]);
    Some(DeviceStat {
        requests: pair(0)?,
        merged: pair(1)?,
        // In sectors of 512 bytes, whatever the device's own are.
        bytes: pair(2)?.map(|sectors| sectors * 512),
        wait_ms: pair(3)?,
        busy_ms: *figures.get(9)?,
        queue_ms: *figures.get(10)?,
    })
}

/// The whole disk of a block device: of a partition the disk that it is on, of any other the device itself.
pub fn whole_disk(name: &str) -> Option<String> {
    let directory = fs::canonicalize(block(name)).ok()?;
    let whole = if directory.join("partition").exists() { directory.parent()? } else { &directory };
    Some(whole.file_name()?.to_string_lossy().into_owned())
}

/// The block devices that another one is made of, in the order of their names.
pub fn devices_below(name: &str) -> Vec<String> {
    let entries = fs::read_dir(block(name).join("slaves")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn block(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

/// The caches between a processor and its memory that hold data: level and bytes, in ascending order; empty
/// where the kernel does not tell. Source: `Documentation/ABI/testing/sysfs-devices-system-cpu`.
pub fn cpu_caches() -> Vec<(u32, u64)> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/cpu0/cache") else { return Vec::new() };
    let holds_data = |path: &Path| word(&path.join("type")).is_some_and(|kind| kind != "Instruction");
    let of = |path: PathBuf| {
        let kib: u64 = word(&path.join("size"))?.trim_end_matches('K').parse().ok()?;
        Some((number(path.join("level"))? as u32, kib * 1024))
    };
    let indices = entries.flatten().map(|entry| entry.path()).filter(|path| holds_data(path));
    let mut caches: Vec<(u32, u64)> = indices.filter_map(of).collect();
    caches.sort_unstable();
    caches
}

/// Name and release of the kernel: `Linux 6.18.1`. Source: `uname(2)`.
pub fn kernel() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

/// The processor's architecture: `x86_64`, `aarch64`. Source: `uname(2)`.
pub fn arch() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// Memory in bytes. Source: `proc_meminfo(5)`, MemTotal.
pub fn memory_bytes() -> u64 {
    memory(&meminfo(), "MemTotal").unwrap_or(0)
}

/// Load averages over 1, 5 and 15 minutes. Source: `proc_loadavg(5)`.
pub fn load_averages() -> Vec<f64> {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).filter_map(|figure| figure.parse().ok()).collect()
}

/// Bytes that programs may still take without anything being swapped. Source: `proc_meminfo(5)`, MemAvailable.
pub fn available_memory() -> Option<u64> {
    memory(&meminfo(), "MemAvailable")
}

/// Bytes of files and of processes that the kernel has reclaimed since it booted, for any reason: a lack of memory, a limit, or
/// DAMON, which reclaims what was not used for long. None where the kernel does not count them. Source: `pgsteal_file` and
/// `pgsteal_anon` of `/proc/vmstat`, counted in `mm/vmscan.c`.
pub fn reclaimed_bytes() -> Option<u64> {
    reclaimed(&fs::read_to_string("/proc/vmstat").ok()?, page_size())
}

fn reclaimed(vmstat: &str, page: u64) -> Option<u64> {
    let count = |name: &str| {
        let line = vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    Some((count("pgsteal_file")? + count("pgsteal_anon")?) * page)
}

/// Whether free memory goes back to the host of this virtual machine. Source: `mm/page_reporting.c`;
/// `VIRTIO_BALLOON_F_REPORTING`, feature 5 of the virtio balloon.
pub fn returns_free_memory() -> bool {
    const BALLOON: &str = "/sys/bus/virtio/drivers/virtio_balloon";
    const ORDER: &str = "/sys/module/page_reporting/parameters/page_reporting_order";
    let read = |path: &Path| fs::read_to_string(path).ok();
    let devices = fs::read_dir(BALLOON).into_iter().flatten().flatten();
    let features: Vec<String> = devices.filter_map(|device| read(&device.path().join("features"))).collect();
    is_reporting(&features, read(ORDER.as_ref()).as_deref())
}

fn is_reporting(features: &[String], order: Option<&str>) -> bool {
    const REPORTING: usize = 5;
    // `MAX_PAGE_ORDER`: no free block is larger.
    const LARGEST: i64 = 10;
    let is_off = order.and_then(|order| order.trim().parse().ok()).is_some_and(|order: i64| order > LARGEST);
    !is_off && features.iter().any(|bits| bits.as_bytes().get(REPORTING) == Some(&b'1'))
}

/// Bytes of free memory that lie in blocks smaller than 2 MiB; none where the kernel does not tell. Source: `/proc/buddyinfo`,
/// `proc_buddyinfo(5)`.
pub fn free_in_pieces() -> Option<u64> {
    Some(in_pieces(&fs::read_to_string("/proc/buddyinfo").ok()?, page_size()))
}

fn in_pieces(buddyinfo: &str, page: u64) -> u64 {
    const WHOLE: u64 = 2 << 20;
    let of_zone = |line: &str| -> u64 {
        // `Node 0, zone   Normal`, then how many blocks there are of one page, of two, of four and so on.
        let counts = line.split_whitespace().skip(4).map_while(|count| count.parse::<u64>().ok());
        counts
            .zip(0..)
            .map(|(count, order)| (count, page << order))
            .take_while(|(_, bytes)| *bytes < WHOLE)
            .map(|(count, bytes)| count * bytes)
            .sum()
    };
    buddyinfo.lines().map(of_zone).sum()
}

/// What the kernel tells of memory, as one text; empty where it tells nothing. Source: `proc_meminfo(5)`.
pub(crate) fn meminfo() -> String {
    fs::read_to_string("/proc/meminfo").unwrap_or_default()
}

/// The memory of that name in such a text, in bytes.
pub(crate) fn memory(meminfo: &str, name: &str) -> Option<u64> {
    let figure = |line: &str| {
        let kib = line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix(" kB")?;
        kib.trim().parse::<u64>().ok()
    };
    meminfo.lines().find_map(figure).map(|kib| kib * 1024)
}

/// Major and minor number of the block device `name` as the kernel calls it.
pub fn device_numbers(name: &str) -> Option<(u32, u32)> {
    let text = word(&Path::new("/sys/class/block").join(name).join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether the file system on the block device `name` keeps a journal of jbd2: ext3, and most of ext4.
pub fn has_journal(name: &str) -> bool {
    crate::journal::directory(name).is_some()
}

/// Requests of a FUSE mount that the kernel sends in the background at once, at most: `max_background` of its connection,
/// which root and who mounted it may read. None of other mounts, and of what may not be read. Source: `fuse_ctl_add_conn`.
pub fn fuse_background(mount: &Mount) -> Option<u64> {
    if !mount.fs_type.starts_with("fuse") {
        return None;
    }
    let (major, minor) = mount.device;
    let limit = format!("{}/max_background", major << 20 | minor);
    number(format!("/sys/fs/fuse/connections/{limit}")).or_else(|| {
        // Containers seldom have fusectl mounted; a mount in no place at all ends with its descriptor.
        let connections = crate::mount::without_place("fusectl").ok()?;
        number(format!("/proc/self/fd/{}/{limit}", connections.as_raw_fd()))
    })
}

/// The value of `key=value` in a comma-separated option list.
pub fn option_value<'a>(options: &'a str, key: &str) -> Option<&'a str> {
    options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
}

pub(crate) fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut left = before.split(' ');
    let id = left.next()?.parse().ok()?;
    let (major, minor) = left.nth(1)?.split_once(':')?;
    let (root, point) = (unescape(left.next()?), unescape(left.next()?));
    let mount_options = left.next()?;
    let mut right = after.split(' ');
    let fs_type = right.next()?.to_owned();
    let source = unescape(right.next()?).to_string_lossy().into_owned();
    let options = match right.next() {
        Some(super_options) => format!("{mount_options},{super_options}"),
        None => mount_options.to_owned(),
    };
    let device = (major.parse().ok()?, minor.parse().ok()?);
    Some(Mount { id, device, root, point, fs_type, source, options })
}

/// Undoes the kernel's octal escapes: `\040` is a space.
fn unescape(field: &str) -> PathBuf {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\').then(|| field.get(at + 1..at + 4)).flatten();
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&plain))
}

/// btrfs mounts carry a nameless device number; the file system is found by the device it was mounted from.
fn btrfs_bdi(source: &str) -> Option<PathBuf> {
    let device = fs::canonicalize(source).ok()?;
    let name = device.file_name()?;
    let systems = fs::read_dir("/sys/fs/btrfs").ok()?;
    systems
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("devices").join(name).exists())
        .map(|path| path.join("bdi"))
}

/// What the machine runs in: `none`, `container`, `hypervisor` or a product's name. Source: the firmware, `/proc/cpuinfo`.
pub fn virtualisation() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let guest = cpu.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    let contained = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    let product = word(Path::new("/sys/class/dmi/id/sys_vendor"));
    match (contained, guest, product) {
        (true, ..) => "container".to_owned(),
        (false, true, Some(vendor)) => vendor,
        (false, true, None) => "hypervisor".to_owned(),
        (false, false, _) => "none".to_owned(),
    }
}

fn chosen(schedulers: &str) -> String {
    let bracketed = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(schedulers, |(name, _)| name).to_owned()
}

/// The number that a file of the kernel holds.
pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    word(path.as_ref())?.parse().ok()
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_what_is_smaller_than_a_huge_page() {
        let text =
            "Node 0, zone      DMA      1      0      2 \nNode 0, zone   Normal  3 0 0 0 0 0 0 0 1 7 2552 \n";
        assert_eq!(in_pieces(text, 4096), (1 + 2 * 4 + 3 + 256) * 4096);
        assert_eq!(in_pieces("", 4096), 0);
    }

    #[test]
    fn what_was_taken_is_counted_in_bytes_where_the_kernel_counts_it() {
        let text = "pgsteal_kswapd 5\npgsteal_anon 2\npgsteal_file 30\npgsteal_filed 7\n";
        assert_eq!(reclaimed(text, 4096), Some(32 * 4096));
        assert_eq!(reclaimed("pgsteal_file 30\n", 4096), None);
    }

    #[test]
    fn free_memory_goes_back_where_the_balloon_may_and_the_kernel_does() {
        let [may, may_not] = ["0110010100\n", "0110000100\n"].map(str::to_owned);
        let both = [may_not.clone(), may];
        assert_eq!([Some("9\n"), Some("-1\n"), None].map(|order| is_reporting(&both, order)), [true; 3]);
        assert!(!is_reporting(&both, Some("11\n")) && !is_reporting(&[may_not], Some("9\n")));
        assert!(!is_reporting(&[], None));
    }

    #[test]
    fn reads_a_line_with_escapes_and_optional_fields() {
        let line =
            r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.id, 36);
        assert_eq!(mount.device, (98, 0));
        assert_eq!((mount.root.as_path(), mount.point.as_path()), (Path::new("/mnt1"), Path::new("/mnt 2")));
        assert_eq!(mount.fs_type, "ext3");
        assert_eq!(option_value(&mount.options, "errors"), Some("continue"));
    }

    #[test]
    fn a_broken_line_is_not_a_mount() {
        assert_eq!(parse_mount("36 35 980 / / rw"), None);
        assert_eq!(unescape(r"a\9z"), Path::new(r"a\9z"));
    }

    #[test]
    fn the_chosen_scheduler_is_the_bracketed_one() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn this_machine_has_a_root_mount_with_a_type() {
        let mount = mount_of(Path::new("/")).unwrap();
        assert!(!mount.fs_type.is_empty());
        assert!(space(Path::new("/")).unwrap().block_size > 0);
        assert!(memory_bytes() > 0 && kernel().starts_with("Linux ") && load_averages().len() == 3);
    }
}
