//! Blocks in the order of their last accesses, by Olken's method (1981): every block marks the slot of its last access
//! on a line of time, and the marks behind that slot are counted, here by a bit per slot and sums over blocks of bits.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Blocks that are looked up together.
pub(super) const TOGETHER: usize = 64;

/// Blocks in the order of their last accesses.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(super) struct Stack {
    /// The slot of a block's last access, and the window that it fell into.
    last: FxHashMap<u64, (u32, u8)>,
    line: Line,
}

/// What is written of a stack: how many blocks it has room for, and those in it.
#[derive(Serialize, Deserialize)]
struct Stored {
    room: usize,
    order: Vec<(u64, u8)>,
}

impl From<Stored> for Stack {
    fn from(kept: Stored) -> Self {
        let mut stack = Self::new(kept.room);
        stack.access_all(&kept.order);
        stack
    }
}

impl From<Stack> for Stored {
    fn from(stack: Stack) -> Self {
        Self { room: stack.line.slots() / 4, order: stack.newest(usize::MAX) }
    }
}

/// A block's last access.
pub(super) struct Last {
    /// How many other blocks were touched since.
    pub(super) distance: usize,
    pub(super) window: u8,
}

impl Stack {
    /// Room for that many blocks, and for some accesses between two compactions.
    pub(super) fn new(blocks: usize) -> Self {
        Self { last: FxHashMap::default(), line: Line::new((blocks * 4).max(1 << 16)) }
    }

    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// Looks blocks up that are accessed next: a CPU waits for memory once where none of these waits depends on another.
    pub(super) fn expect(&self, keys: impl Iterator<Item = u64>) {
        std::hint::black_box(keys.filter(|key| self.last.contains_key(key)).count());
    }

    pub(super) fn access(&mut self, key: u64, window: u8) -> Option<Last> {
        if self.line.now as usize == self.line.slots() {
            self.compact(0);
        }
        let last = self.last.insert(key, (self.line.now, window)).map(|(slot, window)| {
            let distance = self.line.marks as usize - self.line.marked_before(slot) - 1;
            self.line.unmark(slot);
            Last { distance, window }
        });
        self.line.mark();
        last
    }

    /// Forgets all but the `least` newest, now and then.
    pub(super) fn keep(&mut self, least: usize) {
        if self.len() > least * 2 {
            self.compact(self.len() - least);
        }
    }

    /// The blocks that were accessed last, at most so many, and the windows of these accesses; the oldest first.
    pub(super) fn newest(&self, most: usize) -> Vec<(u64, u8)> {
        let older = self.len().saturating_sub(most);
        let words = self.line.marked_before_words();
        let mut order = vec![(0, 0); self.len() - older];
        for (&key, &(slot, window)) in &self.last {
            let before = self.line.marked_within(slot) + words[slot as usize / 64];
            if let Some(place) = before.checked_sub(older) {
                order[place] = (key, window);
            }
        }
        order
    }

    pub(super) fn access_all(&mut self, order: &[(u64, u8)]) {
        for together in order.chunks(TOGETHER) {
            self.expect(together.iter().map(|block| block.0));
            together.iter().for_each(|&(key, window)| _ = self.access(key, window));
        }
    }

    pub(super) fn retain_up_to(&mut self, threshold: u64) {
        let line = &mut self.line;
        self.last.retain(|&key, &mut (slot, _)| {
            let stays = key <= threshold;
            if !stays {
                line.unmark(slot);
            }
            stays
        });
    }

    /// Moves all marks to the line's beginning, in their order, but the `oldest`, which are forgotten.
    fn compact(&mut self, oldest: usize) {
        let (line, words) = (&self.line, self.line.marked_before_words());
        self.last.retain(|_, (slot, _)| {
            let before = line.marked_within(*slot) + words[*slot as usize / 64];
            *slot = before.saturating_sub(oldest) as u32;
            before >= oldest
        });
        self.line = Line::new(self.line.slots());
        (0..self.len()).for_each(|_| self.line.mark());
    }
}

/// Marks on a line of slots, counted up to any slot.
#[derive(Debug, Clone)]
struct Line {
    bits: Vec<u64>,
    /// A Fenwick tree over the numbers of marks per word, but for the word of the next slot.
    sums: Vec<u32>,
    marks: u32,
    /// The next slot.
    now: u32,
}

impl Line {
    fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Self { bits: vec![0; words], sums: vec![0; words + 1], marks: 0, now: 0 }
    }

    fn slots(&self) -> usize {
        self.bits.len() * 64
    }

    /// Marks the next slot.
    fn mark(&mut self) {
        let word = self.now as usize / 64;
        self.bits[word] |= 1 << (self.now % 64);
        self.marks += 1;
        self.now += 1;
        if self.now.is_multiple_of(64) {
            self.add(word, self.bits[word].count_ones());
        }
    }

    fn unmark(&mut self, slot: u32) {
        let word = slot as usize / 64;
        self.bits[word] &= !(1 << (slot % 64));
        self.marks -= 1;
        if word < self.now as usize / 64 {
            self.add(word, 1_u32.wrapping_neg());
        }
    }

    fn add(&mut self, word: usize, marks: u32) {
        let mut at = word + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(marks);
            at += at & at.wrapping_neg();
        }
    }

    /// How many marks stand before a slot.
    fn marked_before(&self, slot: u32) -> usize {
        let mut at = slot as usize / 64;
        let mut before = self.marked_within(slot);
        while at > 0 {
            before += self.sums[at] as usize;
            at -= at & at.wrapping_neg();
        }
        before
    }

    /// How many marks stand before a slot in its own word.
    fn marked_within(&self, slot: u32) -> usize {
        (self.bits[slot as usize / 64] & ((1 << (slot % 64)) - 1)).count_ones() as usize
    }

    /// How many marks stand before each word: for many slots that is quicker than the tree.
    fn marked_before_words(&self) -> Vec<usize> {
        let count = |before: &mut usize, word: &u64| {
            let here = *before;
            *before += word.count_ones() as usize;
            Some(here)
        };
        self.bits.iter().scan(0, count).collect()
    }
}
