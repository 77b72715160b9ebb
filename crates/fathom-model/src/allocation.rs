//! Where the blocks of a file lie, and what of the device has to be read to know it: the pointers of ext2
//! (`fs/ext4/indirect.c`) and the extents of ext4 (`fs/ext4/extents.c`).
//!
//! Pure: a device is a line on which the next free byte is known, and a file takes what comes next. So what is taken in
//! turns lies in turns. Of the free blocks of a real device, its groups and what is set aside for a file that grows,
//! nothing is known here.
//!
//! ```
//! use fathom_model::allocation::{Layout, Scheme};
//!
//! let scheme = Scheme::Indirect { direct: 12, pointers: 256 };
//! let (mut layout, mut free) = (Layout::new(scheme, 1024), 0);
//! layout.allocate([0, 25], &mut free);
//! // Twelve blocks of 1 KiB, a block of pointers, and the others behind it.
//! let runs: Vec<_> = layout.runs([0, 25]).collect();
//! assert_eq!(runs, [(0, 3, 0), (3, 22, 13 << 10)]);
//! assert_eq!(layout.chain(2).len(), 0);
//! assert_eq!(layout.chain(3).len(), 1, "one block of pointers leads there");
//! ```

use std::collections::BTreeMap;

use crate::file_read::PAGE;

/// How a file system records where a file's blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One pointer for each block: some in the inode, the others in blocks of pointers, which blocks of pointers may lead to in
    /// turn.
    Indirect {
        /// Pointers in the inode.
        direct: u64,
        /// Pointers in a block of them.
        pointers: u64,
    },
    /// Extents, which are runs of blocks: some in the inode, the others in leaves of a tree.
    Extents {
        /// Runs in the inode: four of ext4.
        in_inode: u64,
        /// Runs in a leaf.
        in_leaf: u64,
        /// The longest run, in bytes.
        longest: u64,
    },
}

/// A block that says where others are: its level, one above the data, and its number there.
pub type Pointer = (u32, u64);

/// The places of one file's pages on the device.
#[derive(Clone, Debug)]
pub struct Layout {
    scheme: Scheme,
    /// Bytes of a block.
    block: u64,
    /// Runs in the order of the file.
    runs: Vec<Run>,
    pointers: BTreeMap<Pointer, Placed>,
}

/// A run of pages that lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    pages: u64,
    /// The byte of the device.
    at: u64,
}

/// A block of pointers on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    at: u64,
    is_cached: bool,
    is_dirty: bool,
}

impl Layout {
    /// A file without blocks.
    pub fn new(scheme: Scheme, block: u64) -> Self {
        Self { scheme, block, runs: Vec::new(), pointers: BTreeMap::new() }
    }

    /// Gives each page of a range that has no place one, from the device's first `free` byte on, and the blocks that lead to it.
    /// Returns how many of these blocks are new or changed since they were last written.
    pub fn allocate(&mut self, [first, end]: [u64; 2], free: &mut u64) -> u64 {
        let before = self.dirty_pointers().count() as u64;
        let mut page = first;
        while page < end {
            let next = self.runs.partition_point(|run| run.first <= page);
            if let Some(run) = next.checked_sub(1).map(|at| self.runs[at])
                && page < run.first + run.pages
            {
                page = run.first + run.pages;
                continue;
            }
            let until = self.runs.get(next).map_or(end, |run| run.first.min(end));
            let pages = match self.scheme {
                Scheme::Indirect { .. } => {
                    self.place(&self.chain(page), free);
                    self.pages_of_one_chain(page, until)
                }
                Scheme::Extents { .. } => until - page,
            };
            self.insert(Run { first: page, pages, at: *free });
            *free += pages * PAGE;
            self.grow_tree(page, free);
            page += pages;
        }
        (self.dirty_pointers().count() as u64).saturating_sub(before)
    }

    /// The runs of a range: first page, pages, and the byte of the device. Pages without a place are left out.
    pub fn runs(&self, [first, end]: [u64; 2]) -> impl Iterator<Item = (u64, u64, u64)> {
        let from = self.runs.partition_point(|run| run.first + run.pages <= first);
        let of = self.runs[from..].iter().take_while(move |run| run.first < end);
        of.map(move |run| {
            let start = run.first.max(first);
            let last = (run.first + run.pages).min(end);
            (start, last - start, run.at + (start - run.first) * PAGE)
        })
    }

    /// The blocks that lead to a page from the inode, in their order.
    pub fn chain(&self, page: u64) -> Vec<Pointer> {
        match self.scheme {
            Scheme::Indirect { direct, pointers } => {
                let Some(beyond) = (page * PAGE / self.block).checked_sub(direct) else { return Vec::new() };
                // Blocks of one level lead to `pointers` blocks each; of two, to as many of those; and so on.
                let (mut beyond, mut reach, mut depth) = (beyond, pointers, 1);
                let mut base = 0;
                while beyond >= reach {
                    beyond -= reach;
                    base += reach / pointers;
                    reach *= pointers;
                    depth += 1;
                }
                let leaf = base + beyond / pointers;
                let above = (2..=depth).rev().map(|level| {
                    // Unique among the blocks of its level.
                    (level, (u64::from(depth) << 48) + beyond / pointers.pow(level))
                });
                above.chain([(1, leaf)]).collect()
            }
            Scheme::Extents { in_inode, in_leaf, .. } => {
                let runs = self.runs.len() as u64;
                if runs <= in_inode {
                    return Vec::new();
                }
                let run = self.runs.partition_point(|run| run.first <= page).saturating_sub(1) as u64;
                let leaf = run / in_leaf;
                if runs.div_ceil(in_leaf) <= in_inode {
                    vec![(1, leaf)]
                } else {
                    vec![(2, leaf / in_leaf), (1, leaf)]
                }
            }
        }
    }

    /// How many pages from one on, before `end`, have the same blocks leading to them.
    pub fn pages_of_one_chain(&self, page: u64, end: u64) -> u64 {
        match self.scheme {
            Scheme::Indirect { direct, pointers } => {
                let block = page * PAGE / self.block;
                let last = match block.checked_sub(direct) {
                    None => direct,
                    Some(beyond) => direct + (beyond / pointers + 1) * pointers,
                };
                ((last * self.block).div_ceil(PAGE)).clamp(page + 1, end.max(page + 1)) - page
            }
            Scheme::Extents { .. } => {
                let run = self.runs.get(self.runs.partition_point(|run| run.first <= page).saturating_sub(1));
                let last = run.map_or(end, |run| run.first + run.pages);
                last.clamp(page + 1, end.max(page + 1)) - page
            }
        }
    }

    /// The place of a block of pointers, and whether it is in memory; none where there is no such block.
    pub fn pointer(&self, pointer: Pointer) -> Option<(u64, bool)> {
        self.pointers.get(&pointer).map(|placed| (placed.at, placed.is_cached))
    }

    /// A block of pointers was read into memory.
    pub fn cache(&mut self, pointer: Pointer) {
        if let Some(placed) = self.pointers.get_mut(&pointer) {
            placed.is_cached = true;
        }
    }

    /// Removes blocks of pointers from memory, except for those that have still to be written.
    pub fn forget(&mut self) {
        self.pointers.values_mut().for_each(|placed| placed.is_cached = placed.is_dirty);
    }

    /// The places of the blocks of pointers that have to be written; afterwards they count as written.
    pub fn write_dirty(&mut self) -> Vec<u64> {
        let places = self.dirty_pointers().collect();
        self.pointers.values_mut().for_each(|placed| placed.is_dirty = false);
        places
    }

    fn dirty_pointers(&self) -> impl Iterator<Item = u64> {
        self.pointers.values().filter(|placed| placed.is_dirty).map(|placed| placed.at)
    }

    /// Places the leaves that new runs need, and what stands above them.
    fn grow_tree(&mut self, changed: u64, free: &mut u64) {
        let Scheme::Extents { in_inode, in_leaf, .. } = self.scheme else { return };
        let runs = self.runs.len() as u64;
        if runs <= in_inode {
            return;
        }
        let leaves = runs.div_ceil(in_leaf);
        let nodes = if leaves <= in_inode { 0 } else { leaves.div_ceil(in_leaf) };
        for (level, wanted) in [(1, leaves), (2, nodes)] {
            let last = self.pointers.range((level, 0)..(level + 1, 0)).next_back();
            let there = last.map_or(0, |((_, number), _)| number + 1);
            let new: Vec<Pointer> = (there..wanted).map(|number| (level, number)).collect();
            self.place(&new, free);
        }
        self.place(&self.chain(changed), free);
    }

    /// Gives blocks of pointers a place, where they have none; they have to be written.
    fn place(&mut self, pointers: &[Pointer], free: &mut u64) {
        for &pointer in pointers {
            let placed = self.pointers.entry(pointer).or_insert_with(|| {
                let at = *free;
                *free += self.block;
                Placed { at, is_cached: true, is_dirty: true }
            });
            placed.is_dirty = true;
        }
    }

    /// Puts a run among the others, as a part of the one before it where it follows on that.
    fn insert(&mut self, run: Run) {
        let longest = match self.scheme {
            Scheme::Indirect { .. } => u64::MAX,
            Scheme::Extents { longest, .. } => (longest / PAGE).max(1),
        };
        let (mut run, mut at) = (run, self.runs.partition_point(|other| other.first < run.first));
        if let Some(before) = at.checked_sub(1).map(|before| &mut self.runs[before])
            && before.first + before.pages == run.first
            && before.at + before.pages * PAGE == run.at
        {
            let more = run.pages.min(longest.saturating_sub(before.pages));
            before.pages += more;
            run = Run { first: run.first + more, pages: run.pages - more, at: run.at + more * PAGE };
        }
        while run.pages > 0 {
            let pages = run.pages.min(longest);
            self.runs.insert(at, Run { pages, ..run });
            run = Run { first: run.first + pages, pages: run.pages - pages, at: run.at + pages * PAGE };
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT2: Scheme = Scheme::Indirect { direct: 12, pointers: 256 };
    const EXT4: Scheme = Scheme::Extents { in_inode: 4, in_leaf: 340, longest: 128 << 20 };

    #[test]
    fn blocks_of_pointers_lie_where_the_blocks_they_lead_to_begin() {
        let (mut layout, mut free) = (Layout::new(EXT2, 1024), 0);
        layout.allocate([0, 1000], &mut free);
        let runs: Vec<(u64, u64, u64)> = layout.runs([0, 140]).collect();
        // 12 blocks; one that leads to 256; one that leads to such, and the first of those.
        assert_eq!(
            runs,
            [(0, 3, 0), (3, 64, 13 << 10), (67, 64, (13 + 256 + 2) << 10), (131, 9, (13 + 3 + 512) << 10)]
        );
        let lengths: Vec<usize> = [0, 2, 3, 66, 67, 999].map(|page| layout.chain(page).len()).to_vec();
        assert_eq!(lengths, [0, 0, 1, 1, 2, 2]);
        // Of 4,000 blocks 12 need nothing, and 256 one each; the others one above all.
        assert_eq!(layout.write_dirty().len() as u64, 1 + 1 + (4000_u64 - 268).div_ceil(256));
        assert_eq!(layout.write_dirty(), [0_u64; 0]);
    }

    #[test]
    fn no_two_blocks_share_a_place_at_any_depth() {
        let (mut layout, mut free) = (Layout::new(Scheme::Indirect { direct: 2, pointers: 4 }, 4096), 0);
        layout.allocate([0, 80], &mut free);
        let mut taken: Vec<u64> = layout.write_dirty();
        taken.extend(
            layout.runs([0, 80]).flat_map(|(_, pages, at)| (0..pages).map(move |page| at + page * PAGE)),
        );
        taken.sort_unstable();
        // Of 80 blocks: 2 direct, 4 by one, 16 by two, 58 by three.
        let pointers = 1 + (1 + 4) + (1 + 4 + 15);
        assert_eq!(taken, (0..80 + pointers).map(|block| block * PAGE).collect::<Vec<u64>>());
        assert_eq!(layout.chain(79).len(), 3);
    }

    #[test]
    fn files_that_are_written_in_turns_lie_in_turns_and_need_a_leaf() {
        let (mut one, mut other, mut free) = (Layout::new(EXT4, 4096), Layout::new(EXT4, 4096), 0);
        for at in 0..5 {
            one.allocate([at, at + 1], &mut free);
            other.allocate([2 * at, 2 * at + 2], &mut free);
        }
        assert_eq!(one.runs([0, 5]).count(), 5);
        assert_eq!((one.chain(0), one.chain(4)), (vec![(1, 0)], vec![(1, 0)]));
        let mut whole = Layout::new(EXT4, 4096);
        whole.allocate([0, 100], &mut free);
        whole.allocate([50, 200], &mut free);
        assert_eq!(whole.runs([0, 200]).count(), 1, "what follows on is one run");
        assert_eq!(whole.chain(199), []);
    }

    #[test]
    fn a_run_is_no_longer_than_the_longest() {
        let scheme = Scheme::Extents { in_inode: 4, in_leaf: 340, longest: 8 * PAGE };
        let (mut layout, mut free) = (Layout::new(scheme, 4096), 0);
        layout.allocate([0, 3], &mut free);
        layout.allocate([3, 20], &mut free);
        let lengths: Vec<u64> = layout.runs([0, 20]).map(|(_, pages, _)| pages).collect();
        assert_eq!(lengths, [8, 8, 4]);
    }
}
