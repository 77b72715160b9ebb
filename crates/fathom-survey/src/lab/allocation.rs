//! The truth about where files lie: by the format that was made, and by how it was made.

use super::cases::{Case, Layout};
use super::truth::{Basis, Truth};
use crate::finding::Value;

/// Pointers in the inode of ext2, ext3 and ext4 without extents. Source: `EXT4_NDIR_BLOCKS` of `fs/ext4/ext4.h`.
const DIRECT: u64 = 12;
/// Bytes of a pointer there.
const POINTER: u64 = 4;
/// What btrfs keeps inline unless it is told otherwise. Source: `BTRFS_DEFAULT_MAX_INLINE`.
const BTRFS_INLINE: u64 = 2048;

/// The truth of a parameter of allocation in a case; `None` for other parameters and formats that
/// the lab knows nothing of.
pub(super) fn truth(case: &Case, parameter: &str) -> Option<Truth> {
    let known = |value: u64, basis| Some(Truth::Known { value: Value::Whole(value), basis });
    let none = |basis| Some(Truth::NotApplicable { basis });
    let scheme = scheme(case)?;
    let by_scheme = |indirect: Option<u64>| match (scheme, indirect) {
        ("indirect", Some(value)) => known(value, Basis::Format),
        ("memory", _) => none(Basis::Memory),
        _ => none(Basis::Format),
    };
    match parameter {
        "direct_pointers" => by_scheme(Some(DIRECT)),
        "pointers_per_indirect" => by_scheme(case.block_size.map(|block| block / POINTER)),
        "allocation_scheme" => {
            Some(Truth::Known { value: Value::Word(scheme.to_owned()), basis: Basis::Format })
        }
        "extent_length" => match (scheme, case.layout) {
            ("memory" | "indirect", _) => by_scheme(None),
            (_, Layout::Holes(bytes)) => known(bytes, Basis::Made),
            _ => None,
        },
        "inline_limit" => known(inline_limit(case), Basis::Format),
        "direct_io_alignment" => match case.fs_type.as_str() {
            "tmpfs" => none(Basis::Memory),
            "btrfs" => known(case.block_size?, Basis::Made),
            _ => known(u64::from(case.sector_size), Basis::Made),
        },
        _ => None,
    }
}

fn scheme(case: &Case) -> Option<&'static str> {
    match case.fs_type.as_str() {
        "ext2" | "ext3" => Some("indirect"),
        "ext4" if case.layout == Layout::SingleBlocks => Some("indirect"),
        "ext4" | "xfs" => Some("extents"),
        "btrfs" => Some("copy_on_write"),
        "tmpfs" => Some("memory"),
        _ => None,
    }
}

/// Bytes that a file may have to be kept inline.
///
/// ext4 keeps 60 bytes where the inode's pointers would be, and the rest as an attribute in what an
/// inode of 256 bytes has left: 256 - 128 (the old inode) - 32 (its later fields) - 4 (the
/// attributes' header) - 20 (this one's entry) - 4 (the end of the list). Source:
/// `ext4_get_max_inline_size` of `fs/ext4/inline.c`.
fn inline_limit(case: &Case) -> u64 {
    let option = case.mount_options.split(',').find_map(|option| option.strip_prefix("max_inline="));
    match (case.fs_type.as_str(), case.layout) {
        ("btrfs", _) => option.and_then(|bytes| bytes.parse().ok()).unwrap_or(BTRFS_INLINE),
        (_, Layout::InlineData) => 60 + 256 - 128 - 32 - 4 - 20 - 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::cases;

    #[test]
    fn what_was_made_decides() {
        let of = |name: &str, parameter| {
            let case = cases().into_iter().find(|case| case.name == name).unwrap();
            match truth(&case, parameter)? {
                Truth::Known { value: Value::Whole(value), .. } => Some(value),
                _ => None,
            }
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
}
