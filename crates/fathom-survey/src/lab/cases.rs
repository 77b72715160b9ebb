//! The file systems of the lab.

use std::time::Duration;

/// A file system to be made, with everything that decides its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// A stable name: `ext4-1k-ra128` is ext4 with blocks of 1 KiB and a window of 128 KiB.
    pub name: String,
    /// Program and arguments that make it; the device is appended. `None` where nothing is to be made.
    pub mkfs: Option<Vec<String>>,
    /// The Debian package of the program.
    pub package: Option<&'static str>,
    /// The type that is mounted.
    pub fs_type: String,
    /// Options of the mount, separated by commas.
    pub mount_options: String,
    /// Bytes of the image; only what is written takes space.
    pub image_bytes: u64,
    /// Bytes of a sector of the loop device.
    pub sector_size: u32,
    /// Bytes of a block as made; `None` where the page is the block.
    pub block_size: Option<u64>,
    /// What is special about where files lie.
    pub layout: Layout,
    /// The read-ahead window to set, in KiB; `None` where nothing is read ahead.
    pub read_ahead_kib: Option<u32>,
    /// What else is set while the case is surveyed.
    pub conditions: Conditions,
}

/// What is set beside the file system. A case with any of it is asked about that, and about nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The memory that the survey may use, in bytes: a limit of a control group.
    pub memory: Option<u64>,
    /// `vm.dirty_background_bytes` and `vm.dirty_bytes`.
    pub dirty: Option<[u64; 2]>,
    /// Bytes that the device writes in a second, at most.
    pub write_rate: Option<u64>,
    /// Reads that the device serves in a second, at most.
    pub read_rate: Option<u64>,
    /// `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`, as times.
    pub flusher: Option<[Duration; 2]>,
    /// The mount option `commit` in seconds; zero where the format commits nothing.
    pub commit: Option<u64>,
}

/// How a format was made to lay files out. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As its makers meant.
    Usual,
    /// An ext4 without extents: each block has a pointer.
    SingleBlocks,
    /// Space is handed out in clusters of so many bytes.
    Clusters(u64),
    /// Small files stay in their inodes.
    InlineData,
    /// All free space lies in holes of so many bytes.
    Holes(u64),
}

/// mkfs.xfs refuses anything below 300 MB, and a survey wants 256 MiB free.
const IMAGE_BYTES: u64 = 1 << 30;
/// Bytes in a second that a device writes which is slower than its writers.
const WRITE_RATE: u64 = 100 << 20;

/// Every case, in the order in which they are run.
///
/// All windows are tried on ext4 and xfs with blocks of 4 KiB; the other formats share them out, so
/// that each window is seen on several types without the whole product.
pub fn cases() -> Vec<Case> {
    const WINDOWS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
    let ext = [
        ("ext2", 1024, 128),
        ("ext2", 2048, 32),
        ("ext2", 4096, 64),
        ("ext2", 4096, 16),
        ("ext3", 1024, 64),
        ("ext3", 2048, 512),
        ("ext3", 4096, 256),
        ("ext3", 4096, 192),
        ("ext4", 1024, 32),
        ("ext4", 2048, 128),
        ("ext4", 4096, 0),
    ];
    let xfs = [(512, 128), (1024, 256), (4096, 100), (16384, 512), (65536, 1024)];
    let mut all: Vec<Case> =
        ext.into_iter().map(|(kind, block, window)| ext_case(kind, block, window)).collect();
    all.extend(WINDOWS.into_iter().map(|window| ext_case("ext4", 4096, window)));
    all.extend(xfs.into_iter().map(|(block, window)| xfs_case(block, window)));
    all.extend(WINDOWS.into_iter().map(|window| xfs_case(4096, window)));
    all.extend([128, 1024, 2048].into_iter().map(btrfs_case));
    all.push(tmpfs_case());
    all.extend([(1024, 64), (4096, 256)].into_iter().map(|(block, window)| overlay_case(block, window)));
    all.push(squashfs_case(65536));
    all.extend(
        [(1024, 64), (4096, 128), (16384, 256)].into_iter().map(|(block, window)| fuse_case(block, window)),
    );
    all.extend(special_layouts());
    all.extend(memory_cases());
    all.extend(dirty_cases());
    all.push(slow_case());
    all.extend(flusher_cases());
    all.extend(commit_cases());
    all
}

impl Case {
    /// Whether the name contains `pattern`: `xfs`, `4k`, `ra128`.
    pub fn matches(&self, pattern: &str) -> bool {
        self.name.contains(pattern)
    }

    /// Whether the case is about `parameter`.
    pub fn asks(&self, parameter: &str) -> bool {
        let Conditions { memory, dirty, read_rate, flusher, commit, .. } = self.conditions;
        match parameter {
            "device_latency" if read_rate.is_some() => true,
            "page_cache_capacity" | "page_cache_policy" => memory.is_some(),
            "dirty_throttle_point" => dirty.is_some(),
            "writeback_delay" => flusher.is_some(),
            "commit_interval" => commit.is_some(),
            // Nothing can be written there, so what is declared is all that there is.
            _ if self.fs_type == "squashfs" => {
                ["page_size", "block_size", "readahead_window"].contains(&parameter)
            }
            _ => self.conditions == Conditions::default(),
        }
    }

    /// How long its questions take by nature, because the kernel does.
    pub fn time(&self) -> Duration {
        let Conditions { memory, dirty, flusher, commit, .. } = self.conditions;
        // What is waited for several times, and as much again for everything else.
        let flusher = flusher.map(|[expiry, wakeup]| 8 * (expiry + wakeup));
        let commit = commit.map(|seconds| Duration::from_secs(40 * (seconds + 1)));
        // The device may be as slow as half of what it is allowed.
        let dirty = dirty.map(|_| Duration::from_secs(2 * self.write_bytes() / WRITE_RATE));
        // Files of several times the limit are read over and over.
        let memory = memory.map(|bytes| Duration::from_secs(60 + bytes / (4 << 20)));
        flusher.or(commit).or(dirty).or(memory).unwrap_or_default()
    }

    /// Bytes that its questions may have to write.
    pub fn write_bytes(&self) -> u64 {
        // Every size of burst up to more than what may be dirty, and nine of twice as much as that.
        self.conditions.dirty.map_or(0, |[_, limit]| 20 * limit)
    }
}

/// Delays of the flusher, on formats that differ in how they write.
fn flusher_cases() -> Vec<Case> {
    let on = |base: Case, expiry: u64, wakeup: u64| Case {
        name: format!("{}-expire{expiry}", base.fs_type),
        conditions: Conditions {
            flusher: Some([expiry, wakeup].map(Duration::from_millis)),
            ..Conditions::default()
        },
        ..base
    };
    vec![
        on(ext_case("ext2", 1024, 128), 2000, 500),
        on(ext_case("ext3", 4096, 256), 3000, 1000),
        on(ext_case("ext4", 4096, 128), 1500, 500),
        on(ext_case("ext4", 1024, 32), 4000, 250),
        on(xfs_case(4096, 128), 2500, 1000),
        on(btrfs_case(128), 2000, 700),
        on(tmpfs_case(), 1000, 500),
    ]
}

/// Intervals between commits, on formats with a journal; on others there is nothing to ask for.
fn commit_cases() -> Vec<Case> {
    let on = |base: Case, seconds: u64| Case {
        name: format!("{}-commit{seconds}", base.fs_type),
        mount_options: if seconds > 0 { format!("commit={seconds}") } else { String::new() },
        conditions: Conditions { commit: Some(seconds), ..Conditions::default() },
        ..base
    };
    let (ext3, ext4) = (ext_case("ext3", 4096, 256), ext_case("ext4", 4096, 128));
    let mut all: Vec<Case> = [1, 3, 5].into_iter().map(|seconds| on(ext3.clone(), seconds)).collect();
    all.extend([1, 2, 3, 5].into_iter().map(|seconds| on(ext4.clone(), seconds)));
    all.push(on(ext_case("ext2", 1024, 128), 0));
    all
}

/// Limits of memory, on formats that differ in what they cache beside the data.
fn memory_cases() -> Vec<Case> {
    let on = |base: Case, mib: u64| Case {
        name: format!("{}-memory{mib}", base.fs_type),
        conditions: Conditions { memory: Some(mib << 20), ..Conditions::default() },
        ..base
    };
    let bases =
        [ext_case("ext2", 1024, 128), ext_case("ext4", 4096, 128), xfs_case(4096, 128), btrfs_case(1024)];
    let sizes = [128, 256, 512];
    bases.into_iter().flat_map(|base| sizes.map(|mib| on(base.clone(), mib))).collect()
}

fn ext_case(kind: &str, block: u64, window: u32) -> Case {
    // Left to a thread of the kernel, the tables would be written while the survey measures.
    let now = if kind == "ext2" { "lazy_itable_init=0" } else { "lazy_itable_init=0,lazy_journal_init=0" };
    let words = format!("mkfs.{kind} -q -F -b {block} -E {now}");
    on_device(kind, block, window, &words, "e2fsprogs")
}

fn xfs_case(block: u64, window: u32) -> Case {
    // Only the old format, which current kernels refuse by default, has blocks of 512 B.
    let format = if block < 1024 { "-m crc=0 " } else { "" };
    on_device("xfs", block, window, &format!("mkfs.xfs -q -f {format}-b size={block}"), "xfsprogs")
}

fn btrfs_case(window: u32) -> Case {
    let case = on_device("btrfs", 4096, window, "mkfs.btrfs -q -f -s 4096", "btrfs-progs");
    let mount_options = if window == 1024 { "max_inline=1000" } else { "" };
    Case { mount_options: mount_options.to_owned(), ..case }
}

/// File systems that were made to lay files out in ways of their own.
fn special_layouts() -> [Case; 6] {
    let ext4 = |name: &str, options: &str, layout| {
        let now = "lazy_itable_init=0,lazy_journal_init=0";
        let words = format!("mkfs.ext4 -q -F -b 4096 -E {now} {options}");
        let case = on_device("ext4", 4096, 128, words.trim_end(), "e2fsprogs");
        Case { name: format!("ext4-{name}-ra128"), layout, ..case }
    };
    let sectors = |case: Case, name: &str| Case { name: name.to_owned(), sector_size: 4096, ..case };
    [
        ext4("noextents", "-O ^extent,^64bit,^metadata_csum", Layout::SingleBlocks),
        ext4("bigalloc64k", "-O bigalloc -C 65536", Layout::Clusters(65536)),
        ext4("inline", "-O inline_data -I 256", Layout::InlineData),
        ext4("holes256k", "-m 0", Layout::Holes(256 << 10)),
        sectors(ext4("sectors4k", "", Layout::Usual), "ext4-sectors4k-ra128"),
        sectors(xfs_case(4096, 256), "xfs-sectors4k-ra256"),
    ]
}

fn on_device(kind: &str, block: u64, window: u32, mkfs: &str, package: &'static str) -> Case {
    let size = if block < 1024 { block.to_string() } else { format!("{}k", block / 1024) };
    Case {
        name: format!("{kind}-{size}-ra{window}"),
        mkfs: Some(mkfs.split(' ').map(str::to_owned).collect()),
        package: Some(package),
        fs_type: kind.to_owned(),
        mount_options: String::new(),
        image_bytes: IMAGE_BYTES,
        sector_size: 512,
        block_size: Some(block),
        layout: Layout::Usual,
        read_ahead_kib: Some(window),
        conditions: Conditions::default(),
    }
}

/// Layers over ext4: files are those of the upper layer, and so is all that is asked of them.
fn overlay_case(block: u64, window: u32) -> Case {
    Case {
        name: format!("overlay-{}k-ra{window}", block / 1024),
        fs_type: "overlay".to_owned(),
        ..ext_case("ext4", block, window)
    }
}

/// Read-only: nothing but what it declares can be asked.
fn squashfs_case(block: u64) -> Case {
    let words = format!("mksquashfs EMPTY DEVICE -noappend -quiet -no-progress -b {block}");
    on_device("squashfs", block, 128, &words, "squashfs-tools")
}

/// Served by the lab itself: what a page read and a block of new space cost is planted.
fn fuse_case(block: u64, window: u32) -> Case {
    Case {
        mkfs: None,
        package: None,
        mount_options: format!("block={block},size={IMAGE_BYTES},page=10us,new_block=30us"),
        ..on_device("fuse", block, window, "", "")
    }
}

fn tmpfs_case() -> Case {
    Case {
        name: "tmpfs".to_owned(),
        mkfs: None,
        package: None,
        fs_type: "tmpfs".to_owned(),
        mount_options: format!("size={IMAGE_BYTES}"),
        image_bytes: IMAGE_BYTES,
        sector_size: 512,
        block_size: None,
        layout: Layout::Usual,
        read_ahead_kib: None,
        conditions: Conditions::default(),
    }
}

/// Limits of dirty data, on a device that is slower than its writers.
fn dirty_cases() -> Vec<Case> {
    let on = |base: Case, background: u64, limit: u64| Case {
        name: format!("{}-dirty{limit}", base.fs_type),
        conditions: Conditions {
            dirty: Some([background << 20, limit << 20]),
            write_rate: Some(WRITE_RATE),
            ..Conditions::default()
        },
        // What may be written must fit, even if nothing is ever freed.
        image_bytes: 6 * IMAGE_BYTES,
        ..base
    };
    let bases =
        [ext_case("ext2", 4096, 64), ext_case("ext4", 4096, 128), xfs_case(4096, 128), btrfs_case(1024)];
    // Half of it, as the kernel has it, and other shares.
    let halves = [64, 128, 256].map(|limit| (limit / 2, limit));
    let others = [(40, 200), (12, 48), (80, 100), (150, 200)];
    let halved = bases.iter().flat_map(|base| halves.map(|(low, high)| on(base.clone(), low, high)));
    let other = bases.iter().zip(others).map(|(base, (low, high))| on(base.clone(), low, high));
    halved.chain(other).collect()
}

/// A device that serves so few reads that each has to wait for its turn: a tenth of a second.
fn slow_case() -> Case {
    Case {
        name: "ext4-reads10".to_owned(),
        conditions: Conditions { read_rate: Some(10), ..Conditions::default() },
        ..ext_case("ext4", 4096, 128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap};

    #[test]
    fn names_are_unique_and_no_name_is_part_of_another() {
        let all = cases();
        for case in &all {
            let same = all.iter().filter(|other| other.name.starts_with(&case.name)).count();
            let longer =
                all.iter().filter(|other| other.name != case.name && other.name.starts_with(&case.name));
            assert_eq!(same - longer.count(), 1, "{}", case.name);
        }
    }

    #[test]
    fn every_window_is_tried_on_several_types_and_every_format_is_there() {
        let all = cases();
        let mut types: HashMap<u32, BTreeSet<&str>> = HashMap::new();
        for case in &all {
            if let Some(window) = case.read_ahead_kib {
                types.entry(window).or_default().insert(&case.fs_type);
            }
        }
        for window in [32, 64, 128, 256, 512, 1024] {
            assert!(types[&window].len() >= 3, "{window} KiB");
        }
        for format in
            ["ext2-1k", "ext3-2k", "ext4-4k", "xfs-512", "xfs-1k", "xfs-16k", "xfs-64k", "btrfs", "tmpfs"]
        {
            assert!(all.iter().any(|case| case.matches(format)), "{format}");
        }
        let plain = all.iter().filter(|case| case.conditions == Conditions::default()).count();
        assert!(plain <= 60);
    }
}
