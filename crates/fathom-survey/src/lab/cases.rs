//! The file systems of the lab.

use std::time::Duration;

use crate::case::{Case, Conditions, Layout, WRITE_RATE};

/// mkfs.xfs refuses anything below 300 MB, and a survey wants 256 MiB free.
pub(super) const IMAGE_BYTES: u64 = 1 << 30;

/// The cases without a planted server, in the order in which they are run.
///
/// All windows are tried on ext4 and xfs with blocks of 4 KiB; the other formats share them out, so
/// that each window is seen on several types without the whole product.
pub(super) fn plain_cases() -> Vec<Case> {
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
    all.extend(lying_cases());
    all.extend(special_layouts());
    all.extend(memory_cases());
    all.extend(dirty_cases());
    all.push(slow_case());
    all.extend(flusher_cases());
    all.extend(commit_cases());
    all
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

/// Limits of memory, on formats that differ in what they cache besides the data.
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
pub(super) fn fuse_case(block: u64, window: u32) -> Case {
    Case {
        mkfs: None,
        package: None,
        mount_options: format!("block={block},size={IMAGE_BYTES},page=10us,new_block=30us"),
        ..on_device("fuse", block, window, "", "")
    }
}

/// The same where `st_blocks` says something else than the space that a file takes.
fn lying_cases() -> [Case; 2] {
    [("length", "st_blocks=length"), ("constant", "st_blocks=131072")].map(|(name, lie)| {
        let case = fuse_case(16384, 128);
        Case {
            name: format!("fuse-{name}-ra128"),
            mount_options: format!("{},{lie},unlink=hides", case.mount_options),
            ..case
        }
    })
}

fn tmpfs_case() -> Case {
    Case {
        name: "tmpfs".to_owned(),
        mkfs: None,
        package: None,
        mount_options: format!("size={IMAGE_BYTES}"),
        block_size: None,
        read_ahead_kib: None,
        ..on_device("tmpfs", 4096, 0, "", "")
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
    use crate::case::{Basis, Kernel, Truth};
    use crate::experiment::by_name;
    use crate::finding::Value;
    use crate::lab::cases;
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

    fn truth(name: &str, parameter: &str, kernel: &str, page_size: u64) -> Truth {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let kernel = Kernel { name: kernel.to_owned(), page_size, generations: false };
        by_name(parameter).unwrap().truth(&case, &kernel)
    }

    const KERNEL: &str = "Linux 6.18.44-x";

    #[test]
    fn truth_is_what_was_made_and_set() {
        let truth = |name, parameter| truth(name, parameter, KERNEL, 4096);
        assert_eq!(truth("ext2-1k-ra128", "block_size"), Truth::known(1024, Basis::Made));
        assert_eq!(truth("xfs-64k-ra1024", "readahead_window"), Truth::known(1 << 20, Basis::Set));
        assert_eq!(truth("ext4-4k-ra128", "readahead_first"), Truth::known(16384, Basis::Rule));
        assert_eq!(truth("ext4-4k-ra128", "readahead_random"), Truth::known(4096, Basis::Rule));
        assert_eq!(truth("tmpfs", "block_size"), Truth::known(4096, Basis::Page));
        let no_window = Truth::NotApplicable { basis: Basis::Memory };
        assert_eq!(truth("tmpfs", "readahead_first"), no_window);
        assert_eq!(truth("ext4-4k-ra0", "readahead_window"), Truth::known(0, Basis::Set));
        assert_eq!(truth("ext4-4k-ra0", "readahead_first"), Truth::known(4096, Basis::Rule));
    }

    #[test]
    fn the_format_decides_where_files_lie() {
        let of = |name: &str, parameter| match truth(name, parameter, KERNEL, 4096) {
            Truth::Known { value: Value::Whole(value), .. } => Some(value),
            _ => None,
        };
        assert_eq!(of("ext2-2k-ra32", "direct_pointers"), Some(12));
        assert_eq!(of("ext2-2k-ra32", "pointers_per_indirect"), Some(512));
        assert_eq!(of("ext4-4k-ra128", "direct_pointers"), None);
        assert_eq!(of("ext4-inline-ra128", "inline_limit"), Some(128));
        assert_eq!(of("btrfs-4k-ra128", "inline_limit"), Some(2048));
        assert_eq!(of("btrfs-4k-ra1024", "inline_limit"), Some(1000));
        assert_eq!(of("xfs-sectors4k-ra256", "direct_io_alignment"), Some(4096));
        assert_eq!(of("ext4-holes256k-ra128", "extent_length"), Some(256 << 10));
    }

    #[test]
    fn where_no_rule_is_certain_the_witness_judges() {
        for (name, kernel) in [("xfs-64k-ra1024", "Linux 6.18.1"), ("ext4-4k-ra128", "Linux 9.1.0")] {
            let open = truth(name, "readahead_first", kernel, 4096);
            assert_eq!(open, Truth::Unknown);
            assert_eq!(open.judged_by(Some(&Value::Whole(65536))), Truth::known(65536, Basis::Witness));
        }
        assert_eq!(Truth::Unknown.judged_by(None), Truth::Unknown);
        let rule = truth("ext4-4k-ra128", "readahead_first", "Linux 5.10.0", 4096);
        assert_eq!(rule.judged_by(Some(&Value::Whole(1))), Truth::known(16384, Basis::Rule));
    }

    #[test]
    fn a_window_is_a_whole_number_of_pages() {
        let window = |page| truth("xfs-4k-ra100", "readahead_window", KERNEL, page);
        assert_eq!(window(65536), Truth::known(65536, Basis::Set));
        assert_eq!(window(4096), Truth::known(102_400, Basis::Set));
        assert_eq!(truth("xfs-4k-ra100", "readahead_first", KERNEL, 65536), Truth::Unknown);
    }
}
