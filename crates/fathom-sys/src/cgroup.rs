//! Control groups: where this process is in them, and how much memory they leave it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::facts::{Mount, number, parse_mount};

/// The version of a hierarchy of control groups, which decides the names of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy per controller: `memory.limit_in_bytes`.
    One,
    /// The unified hierarchy: `memory.max`.
    Two,
}

/// A mounted hierarchy, and this process's place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Which version it is.
    pub version: Version,
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The directory of this process's group.
    pub own: PathBuf,
}

/// A limit on memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The limit in bytes.
    pub bytes: u64,
    /// The file that says so.
    pub file: PathBuf,
}

/// The hierarchy that has `controller`, where it is mounted: one of version 1 that bears the name, or the
/// unified one if the controller is available in it. Source: `cgroups(7)`.
pub fn hierarchy(controller: &str) -> Option<Hierarchy> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let places = fs::read_to_string("/proc/self/cgroup").ok()?;
    hierarchy_in(&mounts, &places, controller)
}

/// The same by the text of `/proc/self/mountinfo` and of `/proc/self/cgroup`.
fn hierarchy_in(mounts: &str, places: &str, controller: &str) -> Option<Hierarchy> {
    let first = mounts.lines().filter_map(parse_mount).find_map(|mount| {
        let version = version_of(&mount)?;
        let has = match version {
            Version::One => mount.options.split(',').any(|option| option == controller),
            Version::Two => fs::read_to_string(mount.point.join("cgroup.controllers"))
                .is_ok_and(|list| list.split_whitespace().any(|name| name == controller)),
        };
        has.then_some((version, mount))
    });
    let (version, Mount { root, point, .. }) = first?;
    let place = places.lines().find_map(|line| place(line, version, controller))?;
    // In a container the mount may begin further down, or the place be told from outside.
    let below = Path::new(place).strip_prefix(&root).unwrap_or(Path::new(""));
    let own = if below.as_os_str().is_empty() { point.clone() } else { point.join(below) };
    Some(Hierarchy { version, mount: point, own })
}

/// The smallest limit on memory among the group of this process and those above it, where there is one.
pub fn memory_limit() -> Option<MemoryLimit> {
    limit_in(&hierarchy("memory")?)
}

fn limit_in(hierarchy: &Hierarchy) -> Option<MemoryLimit> {
    let names: &[&str] = match hierarchy.version {
        Version::One => &["memory.limit_in_bytes"],
        // Memory above the high mark is taken back at once, so that it limits the cache as the other does.
        Version::Two => &["memory.max", "memory.high"],
    };
    let groups = hierarchy.own.ancestors().take_while(|group| group.starts_with(&hierarchy.mount));
    let limits = groups.flat_map(|group| names.iter().map(|name| group.join(name))).filter_map(|file| {
        // "max" is no number, and version 1 has an endless limit that is one.
        let bytes = number(&file).filter(|&bytes| bytes < ENDLESS)?;
        Some(MemoryLimit { bytes, file })
    });
    limits.min_by_key(|limit| limit.bytes)
}

/// What a control group lets a block device do in a second; none where there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Bytes: read, written.
    pub bytes: [Option<u64>; 2],
    /// Requests: reads, writes.
    pub requests: [Option<u64>; 2],
    /// Which requests they limit.
    pub hold: Held,
}

/// Which requests the limits of a group hold back. The kernel's own threads are in the root group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Held {
    /// All: it is the root group, which has limits in version 1 alone.
    #[default]
    All,
    /// Requests for the group's files, by whichever thread writes them back; requests of a journal's thread are not limited.
    Files,
    /// Requests that the group's programs make themselves: version 1 does not know which group's data are written back.
    Callers,
}

/// The limits that a control group puts on this process and the device of these numbers: `7:0`. In the unified hierarchy those of
/// the groups above count as well. Source: `throtl_pd_init`, `inode_cgwb_enabled`.
pub fn device_limits(numbers: (u32, u32)) -> DeviceLimits {
    let Some(hierarchy) = hierarchy("blkio").or_else(|| hierarchy("io")) else {
        return DeviceLimits::default();
    };
    let numbers = format!("{}:{}", numbers.0, numbers.1);
    let read = |group: &Path, name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
    match hierarchy.version {
        Version::One => {
            let group = &hierarchy.own;
            let one = |name: &str| limit_of(&read(group, &format!("blkio.throttle.{name}_device")), &numbers);
            // Only the root of a hierarchy has this file.
            let is_root = group.join("release_agent").exists();
            DeviceLimits {
                bytes: ["read_bps", "write_bps"].map(one),
                requests: ["read_iops", "write_iops"].map(one),
                hold: if is_root { Held::All } else { Held::Callers },
            }
        }
        Version::Two => {
            let groups = hierarchy.own.ancestors().take_while(|group| group.starts_with(&hierarchy.mount));
            let none = DeviceLimits { hold: Held::Files, ..DeviceLimits::default() };
            groups.fold(none, |limits, group| {
                let text = read(group, "io.max");
                let one = |name: &str| named_limit_of(&text, &numbers, name);
                limits.and(["rbps", "wbps"].map(one), ["riops", "wiops"].map(one))
            })
        }
    }
}

impl DeviceLimits {
    /// Whether there is any.
    pub fn is_limited(&self) -> bool {
        self.bytes.iter().chain(&self.requests).any(Option::is_some)
    }

    /// With others: the lower one of each.
    fn and(self, bytes: [Option<u64>; 2], requests: [Option<u64>; 2]) -> Self {
        let lower = |one: [Option<u64>; 2], two: [Option<u64>; 2]| {
            [0, 1].map(|way: usize| one[way].into_iter().chain(two[way]).min())
        };
        Self { bytes: lower(self.bytes, bytes), requests: lower(self.requests, requests), ..self }
    }
}

/// The limit of a device among lines of numbers and limit, as version 1 has them.
fn limit_of(text: &str, numbers: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(numbers)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The same of lines of numbers and named limits, `max` for none, as the unified hierarchy has them.
fn named_limit_of(text: &str, numbers: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(numbers)?.strip_prefix(' '))?;
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

/// More than any machine has: `PAGE_COUNTER_MAX` of version 1 is the largest whole number of pages.
const ENDLESS: u64 = 1 << 60;

/// The version of a mounted hierarchy; none of another mount.
fn version_of(mount: &Mount) -> Option<Version> {
    match mount.fs_type.as_str() {
        "cgroup" => Some(Version::One),
        "cgroup2" => Some(Version::Two),
        _ => None,
    }
}

/// The path of a line of `/proc/self/cgroup`, where it is about the wanted hierarchy.
fn place<'a>(line: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let wanted = match version {
        Version::One => controllers.split(',').any(|name| name == controller),
        Version::Two => controllers.is_empty(),
    };
    wanted.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_told_apart() {
        let version = |line| version_of(&parse_mount(line).unwrap());
        let one = "35 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";
        let two = "36 30 0:32 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!((version(one), version(two)), (Some(Version::One), Some(Version::Two)));
        assert_eq!(version("36 35 98:0 / / rw - ext4 /dev/a rw"), None);
        assert_eq!(place("4:memory,cpu:/a:b", Version::One, "memory"), Some("/a:b"));
        assert_eq!(place("0::/user", Version::Two, "memory"), Some("/user"));
        assert_eq!(place("4:memory:/a", Version::Two, "memory"), None);
    }

    /// A unified hierarchy in files, mounted as `root` of it, and a process in the group `place`.
    fn unified(name: &str, root: &str, place: &str, files: &[(&str, &str)]) -> Option<MemoryLimit> {
        let mount = std::env::temp_dir().join(format!("fathom-cgroup-{name}-{}", std::process::id()));
        fs::create_dir_all(&mount).unwrap();
        fs::write(mount.join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
        for (file, text) in files {
            fs::create_dir_all(mount.join(file).parent().unwrap()).unwrap();
            fs::write(mount.join(file), text).unwrap();
        }
        let first = "35 30 0:31 / /nowhere rw - cgroup cgroup rw,cpu";
        let line =
            format!("36 30 0:32 {root} {} rw shared:4 - cgroup2 cgroup2 rw,nsdelegate", mount.display());
        let places = format!("3:cpu:/elsewhere\n0::{place}\n");
        let found = hierarchy_in(&format!("{first}\n{line}\n"), &places, "memory");
        let limit = found.as_ref().and_then(limit_in);
        assert_eq!(found.unwrap().version, Version::Two);
        fs::remove_dir_all(&mount).unwrap();
        limit.map(|limit| MemoryLimit { file: limit.file.strip_prefix(&mount).unwrap().to_owned(), ..limit })
    }

    fn limit(bytes: u64, file: &str) -> Option<MemoryLimit> {
        Some(MemoryLimit { bytes, file: PathBuf::from(file) })
    }

    #[test]
    fn the_smallest_limit_on_the_way_up_counts_in_the_unified_hierarchy() {
        let files = [
            ("a/memory.max", "314572800\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.high", "max\n"),
            ("other/memory.max", "4096\n"),
        ];
        assert_eq!(unified("up", "/", "/a/b", &files), limit(300 << 20, "a/memory.max"));
        assert_eq!(unified("none", "/", "/a/b", &files[1..]), None);
        assert_eq!(unified("root", "/", "/", &files), None, "the root has no limit");
    }

    #[test]
    fn the_high_mark_limits_too() {
        let files = [("a/memory.max", "314572800\n"), ("a/memory.high", "209715200\n")];
        assert_eq!(unified("high", "/", "/a", &files), limit(200 << 20, "a/memory.high"));
    }

    #[test]
    fn in_a_container_the_mount_may_begin_at_the_own_group() {
        let files = [("memory.max", "314572800\n")];
        assert_eq!(unified("inside", "/docker/1", "/docker/1", &files), limit(300 << 20, "memory.max"));
        assert_eq!(unified("outside", "/", "/../..", &files), limit(300 << 20, "memory.max"));
    }

    #[test]
    fn a_hierarchy_without_the_controller_is_not_taken() {
        let mounts = "35 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      36 30 0:32 / /nowhere rw - cgroup2 cgroup2 rw\n";
        let found = hierarchy_in(mounts, "4:memory:/a\n0::/b\n", "memory").unwrap();
        assert_eq!((found.version, found.own), (Version::One, PathBuf::from("/sys/fs/cgroup/memory/a")));
        assert_eq!(hierarchy_in(mounts, "4:memory:/a\n0::/b\n", "io"), None);
    }

    #[test]
    fn limits_on_devices_are_found_by_their_numbers() {
        assert_eq!(limit_of("7:0 1000\n7:1 52428800\n", "7:1"), Some(52_428_800));
        assert_eq!(limit_of("7:12 1000\n", "7:1"), None);
        let text = "7:1 rbps=1000 wbps=max riops=max wiops=20\n";
        assert_eq!(named_limit_of(text, "7:1", "rbps"), Some(1000));
        assert_eq!(named_limit_of(text, "7:1", "wbps"), None);
        let one = DeviceLimits { bytes: [Some(5), None], ..DeviceLimits::default() };
        let two = DeviceLimits { bytes: [Some(3), Some(9)], ..DeviceLimits::default() };
        assert_eq!(one.and(two.bytes, two.requests).bytes, [Some(3), Some(9)]);
        assert!(two.is_limited() && !DeviceLimits::default().is_limited());
    }

    #[test]
    fn a_limit_is_below_what_is_endless() {
        assert!(memory_limit().is_none_or(|limit| limit.bytes < ENDLESS && limit.file.exists()));
    }
}
