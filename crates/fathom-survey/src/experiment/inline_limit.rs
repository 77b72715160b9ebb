//! The longest file whose bytes stand among the metadata.
//!
//! Where a file system keeps small files in the inode or in its tree, they take no block of their own.
//! The map of the file's extents says so by a flag; `st_blocks` may be zero as well, but need not be.

use std::slice;

use super::layouts::{self, COPY_ON_WRITE, last_where, scheme_of};
use super::prelude::*;
use crate::case::Layout;
use crate::finding::Trial;

pub(super) struct InlineLimit;

/// No file system keeps more than that inline.
const LONGEST: u64 = 64 << 10;

/// What btrfs keeps inline unless it is told otherwise. Source: `BTRFS_DEFAULT_MAX_INLINE`.
const BTRFS_INLINE: u64 = 2048;
/// What ext4 keeps inline with inodes of 256 bytes: 60 bytes where the pointers would be, and the rest as an
/// attribute in what is left of them behind the old inode, its later fields, the attributes' header, this one's
/// entry and the end of the list. Source: `ext4_get_max_inline_size` of `fs/ext4/inline.c`.
const EXT4_INLINE: u64 = 60 + 256 - 128 - 32 - 4 - 20 - 4;

/// What was tried, and what came of it.
const FILE: &str = "a file of that size";
const INLINE: &str = "among the metadata";
const BLOCK: &str = "takes a block";

impl Experiment for InlineLimit {
    fn about(&self) -> &'static About {
        &About {
            parameter: "inline_limit",
            unit: "bytes",
            question: "Up to which size is a file kept in its inode or among other metadata, without a block of its own?",
            method: "Files of growing size are written and synced. The maps of their extents (FIEMAP) show which are kept among the metadata.",
            source: "KERNEL: ext4 inline_data, btrfs max_inline",
            cost: Cost { seconds: 1, write_bytes: 256 << 10, read_bytes: 0 },
            nature: Nature::Fixed,
            inconclusive: "It could not be seen whether small files take a block.",
            ..About::USUAL
        }
    }

    fn timing(&self, _: &mut Session<'_>) -> Result<Evidence, Fault> {
        let reason = "whether a small file is kept inline is decided when it reaches the device, and costs less than that takes";
        Ok(Evidence::inconclusive(Kind::Timing, "none", reason))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let method = "fiemap_inline";
        let silent = |reason: &str| Ok(vec![Evidence::inconclusive(Kind::Witness, method, reason)]);
        match is_inline(witness, LONGEST)? {
            None => return silent("the file system has no map of a file's extents (FIEMAP)"),
            Some(true) => {
                return silent("even a large file seems to take no block: nothing follows from that");
            }
            Some(false) => {}
        }
        let mut trials = vec![Trial::new(FILE, LONGEST, BLOCK)];
        let limit = last_where(0..LONGEST, |size| {
            let is_inline = is_inline(witness, size)? == Some(true);
            trials.push(Trial::new(FILE, size, if is_inline { INLINE } else { BLOCK }));
            Ok(is_inline)
        })?;
        Ok(vec![Evidence::measured(Kind::Witness, method, Value::Whole(limit)).tried(trials)])
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        let option = case.mount_options.split(',').find_map(|option| option.strip_prefix("max_inline="));
        let bytes = match (scheme_of(case), case.layout) {
            (None, _) => return Truth::Unknown,
            (Some(COPY_ON_WRITE), _) => option.and_then(|bytes| bytes.parse().ok()).unwrap_or(BTRFS_INLINE),
            (_, Layout::InlineData) => EXT4_INLINE,
            _ => 0,
        };
        Truth::known(bytes, Basis::Format)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(match finding.whole()? {
            0 => "A file of one byte takes a block: nothing is kept inline.".to_owned(),
            limit => format!(
                "A file of up to {} is kept among the metadata; one byte more takes a block.",
                Bytes(limit)
            ),
        })
    }
}

/// Whether a new file of `size` bytes takes no block, where that can be seen.
fn is_inline(witness: &mut dyn Witness, size: u64) -> Result<Option<bool>, Fault> {
    let Some(layout) = layouts::written(witness, 0, &[slice::from_ref(&(0..size))])?.pop() else {
        return Ok(None);
    };
    Ok(match layout.extents.as_deref() {
        Some([extent, ..]) => Some(extent.inline),
        // A count of blocks alone tells nothing: btrfs counts what it keeps inline, too. A page of memory is a page.
        _ if witness.declared().is_memory_only() && layout.allocated > 0 => Some(false),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_found_wherever_it_is() {
        for limit in (0..64).chain([2048, 65534, 65535]) {
            let mut asked = 0;
            let found = last_where(0..65536, |size| {
                asked += 1;
                assert!(size > 0 && size < 65536);
                Ok(size <= limit)
            });
            assert_eq!((found, asked <= 32), (Ok(limit), true), "after {asked} questions");
        }
    }
}
