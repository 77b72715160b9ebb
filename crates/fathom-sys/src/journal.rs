//! The journals of jbd2, which ext3, ext4 and ocfs2 use: what they have done.

use std::fs;
use std::path::{Path, PathBuf};

/// Where each journal has a directory, named after its device and inode: `loop5-8`.
const JOURNALS: &str = "/proc/fs/jbd2";

/// How many transactions of the journal on the block device `name` have been committed since it was mounted.
/// `None` where there is no such journal or the kernel does not count. Source: `jbd2_seq_info_show`.
pub fn transactions(name: &str) -> Option<u64> {
    let text = fs::read_to_string(directory(name)?.join("info")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

pub(crate) fn directory(name: &str) -> Option<PathBuf> {
    let belongs = |path: &PathBuf| {
        let entry = path.file_name().map(|entry| entry.to_string_lossy().into_owned());
        // A device may have a dash in its name, an inode number has none; a journal of its own has no inode.
        entry.is_some_and(|entry| entry == name || entry.rsplit_once('-').is_some_and(|(own, _)| own == name))
    };
    fs::read_dir(Path::new(JOURNALS)).ok()?.flatten().map(|entry| entry.path()).find(belongs)
}
