//! Reuse distances, and the hit ratio of an LRU cache of every size, in one pass.
//!
//! An access hits in an LRU cache of n blocks exactly if fewer than n other blocks were touched since the last
//! access to its block (Mattson and others, "Evaluation techniques for storage hierarchies", 1970). The number
//! of these is counted by Olken's method (1981): every block marks the slot of its last access on a line of
//! time, and the marks behind that slot are counted, here by a bit per slot and sums over blocks of bits.
//!
//! While no more than [`TRACKED`] blocks are seen, every distance is exact. Where there are more, the shorter
//! distances (a quarter of that bound) stay exact for every access, from the blocks that were touched last. The
//! longer ones are estimated from a sample: blocks are taken by the hash of their number, so that all accesses to
//! a block are taken or none, at a rate that falls so that the sample keeps its bound, and distances and counts
//! are scaled by it (SHARDS with fixed size: Waldspurger and others, FAST 2015). That paper puts what the sampled
//! counts differ from the true ones at the shortest distance; here that many accesses beyond the exact
//! distances are known, and the sampled counts are made to add up to it.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Direction, FileId};

/// Blocks whose accesses are followed at once: some 150 MiB.
pub const TRACKED: usize = 1 << 22;
/// Steps per doubling of the cache's size on the curve.
const STEPS: u32 = 64;

/// The hit ratio at one cache size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The cache, in bytes.
    pub cache_bytes: u64,
    /// Of all accesses to blocks, the part that hits.
    pub hit_ratio: f64,
    /// Of the reads among them.
    pub read_hit_ratio: f64,
}

/// What an access to a block was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touched {
    /// How many blocks it stands for; 0 where the block is not sampled.
    pub weight: f64,
    /// No access to the block was seen before.
    pub is_first: bool,
    /// None was seen before in the same window.
    pub is_first_in_window: bool,
}

/// Follows accesses to blocks.
#[derive(Debug)]
pub struct Reuse {
    tracked: usize,
    /// Hashes up to it are sampled.
    threshold: u64,
    weight: f64,
    sampled: Stack,
    /// All blocks that were touched last, once not all are sampled.
    recent: Option<Stack>,
    tallies: [Tally; 2],
}

/// What the distances of reads, or of writes, come to.
#[derive(Debug, Default)]
struct Tally {
    accesses: u64,
    exact: Histogram,
    /// Beyond the exact distances: how many accesses, and those that were sampled, by their weights.
    far: u64,
    sampled: Histogram,
    sampled_first: f64,
}

impl Default for Reuse {
    fn default() -> Self {
        Self::with_bound(TRACKED)
    }
}

impl Reuse {
    /// Follows at most `tracked` blocks at once.
    ///
    /// # Panics
    /// Where that is below 8 or above 2^28.
    #[must_use]
    pub fn with_bound(tracked: usize) -> Self {
        assert!((8..=1 << 28).contains(&tracked), "a bound of {tracked} blocks");
        Self {
            tracked,
            threshold: u64::MAX,
            weight: 1.0,
            sampled: Stack::new(tracked),
            recent: None,
            tallies: [Tally::default(), Tally::default()],
        }
    }

    /// Distances below it are always exact.
    fn near(&self) -> usize {
        self.tracked / 4
    }

    /// An access to a block of a file in a window of time.
    pub fn access(&mut self, file: FileId, block: u64, access: Direction, window: u8) -> Touched {
        let key = mixed(file, block);
        let near = self.near();
        let tally = &mut self.tallies[access as usize];
        tally.accesses += 1;
        let mut is_far = false;
        if let Some(recent) = &mut self.recent {
            let distance =
                recent.access(key, window).map(|last| last.distance).filter(|&distance| distance < near);
            match distance {
                Some(distance) => tally.exact.add(distance as u64, 1.0),
                None => {
                    tally.far += 1;
                    is_far = true;
                }
            }
            recent.keep(near);
        }
        if key > self.threshold {
            return Touched { weight: 0.0, is_first: false, is_first_in_window: false };
        }
        let weight = self.weight;
        let last = self.sampled.access(key, window);
        match (&last, is_far) {
            (Some(last), true) => {
                let distance = (last.distance as f64 * weight).max(near as f64);
                tally.sampled.add(distance as u64, weight);
            }
            (None, true) => tally.sampled_first += weight,
            (Some(last), false) if self.recent.is_none() => tally.exact.add(last.distance as u64, 1.0),
            _ => {}
        }
        if self.sampled.len() > self.tracked {
            self.sample_fewer();
        }
        Touched {
            weight,
            is_first: last.is_none(),
            is_first_in_window: last.is_none_or(|last| last.window != window),
        }
    }

    /// The part of the blocks that is followed; 1 where the curve is exact.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { (self.threshold as f64 + 1.0) / 2f64.powi(64) }
    }

    /// Blocks seen, of all that there are.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        (self.sampled.len() as f64 * self.weight).round() as u64
    }

    fn sample_fewer(&mut self) {
        if self.recent.is_none() {
            self.recent = Some(self.sampled.newest(self.near()));
        }
        // An eighth less each time: a block's history is lost as late as possible.
        self.threshold = self.threshold / 8 * 7;
        self.weight = 1.0 / self.rate();
        self.sampled.retain_up_to(self.threshold);
    }

    /// The curve for blocks of that many bytes, from one block to all of them.
    #[must_use]
    pub fn curve(&self, block_bytes: u64) -> Vec<Point> {
        let ratio = |hits: f64, all: f64| if all > 0.0 { (hits / all).clamp(0.0, 1.0) } else { 0.0 };
        let [reads, writes] = &self.tallies;
        let all = (reads.accesses + writes.accesses) as f64;
        let scales = [reads.scale(), writes.scale()];
        let longest = self.tallies.iter().map(Tally::steps).max().unwrap_or(0);
        let mut hits = [0.0; 2];
        let mut curve = Vec::new();
        for step in 0..longest {
            let more: [f64; 2] = std::array::from_fn(|kind| {
                let tally = &self.tallies[kind];
                tally.exact.at(step) + tally.sampled.at(step) * scales[kind]
            });
            if step > 0 && more == [0.0; 2] {
                continue;
            }
            hits = [hits[0] + more[0], hits[1] + more[1]];
            curve.push(Point {
                cache_bytes: Histogram::end(step).saturating_mul(block_bytes),
                hit_ratio: ratio(hits[0] + hits[1], all),
                read_hit_ratio: ratio(hits[0], reads.accesses as f64),
            });
        }
        curve
    }
}

impl Tally {
    /// What makes the sampled accesses add up to those that there were.
    fn scale(&self) -> f64 {
        let sampled = self.sampled.total() + self.sampled_first;
        if sampled > 0.0 { self.far as f64 / sampled } else { 0.0 }
    }

    fn steps(&self) -> usize {
        self.exact.counts.len().max(self.sampled.counts.len())
    }
}

/// Blocks in the order of their last accesses.
#[derive(Debug, Clone)]
struct Stack {
    /// The slot of a block's last access, and the window that it fell into.
    last: FxHashMap<u64, (u32, u8)>,
    line: Line,
    now: u32,
}

/// A block's last access.
struct Last {
    /// How many other blocks were touched since.
    distance: usize,
    window: u8,
}

impl Stack {
    /// Room for that many blocks, and for some accesses between two compactions.
    fn new(blocks: usize) -> Self {
        Self { last: FxHashMap::default(), line: Line::new((blocks * 4).max(1 << 16)), now: 0 }
    }

    fn len(&self) -> usize {
        self.last.len()
    }

    fn access(&mut self, key: u64, window: u8) -> Option<Last> {
        if self.now as usize == self.line.slots() {
            self.compact(0);
        }
        let last = self.last.insert(key, (self.now, window)).map(|(slot, window)| {
            let distance = self.line.marked_after(slot) as usize;
            self.line.unmark(slot);
            Last { distance, window }
        });
        self.line.mark(self.now);
        self.now += 1;
        last
    }

    /// Forgets all but the `least` newest, now and then.
    fn keep(&mut self, least: usize) {
        if self.len() > least * 2 {
            self.compact(self.len() - least);
        }
    }

    /// The `count` newest by themselves.
    fn newest(&self, count: usize) -> Self {
        let mut order: Vec<(&u64, &(u32, u8))> = self.last.iter().collect();
        order.sort_unstable_by_key(|(_, last)| last.0);
        let mut newest = Self::new(count * 2);
        for (key, last) in order.into_iter().rev().take(count).rev() {
            newest.access(*key, last.1);
        }
        newest
    }

    fn retain_up_to(&mut self, threshold: u64) {
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
        if oldest > 0 {
            let mut slots: Vec<u32> = self.last.values().map(|last| last.0).collect();
            let (_, &mut first, _) = slots.select_nth_unstable(oldest);
            self.last.retain(|_, last| last.0 >= first);
        }
        let mut order: Vec<&mut (u32, u8)> = self.last.values_mut().collect();
        order.sort_unstable();
        self.line.clear();
        self.now = 0;
        for last in order {
            last.0 = self.now;
            self.line.mark(self.now);
            self.now += 1;
        }
    }
}

/// Spreads file and block over all 64 bits: the finaliser of SplitMix64 (Steele and others, 2014), which maps
/// different inputs to different outputs.
pub(super) fn mixed(file: FileId, block: u64) -> u64 {
    let mut value = block.wrapping_add(u64::from(file.0).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Counts of distances: each by itself up to [`STEPS`], then [`STEPS`] steps per doubling.
#[derive(Debug, Default)]
struct Histogram {
    counts: Vec<f64>,
}

impl Histogram {
    fn add(&mut self, distance: u64, weight: f64) {
        let step = Self::step(distance);
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0.0);
        }
        self.counts[step] += weight;
    }

    fn at(&self, step: usize) -> f64 {
        self.counts.get(step).copied().unwrap_or(0.0)
    }

    fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    fn step(distance: u64) -> usize {
        if distance < u64::from(STEPS) {
            return distance as usize;
        }
        let shift = distance.ilog2() - STEPS.ilog2();
        (u64::from(shift * STEPS) + (distance >> shift)) as usize
    }

    /// The least cache, in blocks, in which every distance of this step hits.
    fn end(step: usize) -> u64 {
        let step = step as u64 + 1;
        let steps = u64::from(STEPS);
        if step < 2 * steps {
            return step;
        }
        let shift = step / steps - 1;
        (steps + step % steps) << shift
    }
}

/// Marks on a line of slots, counted from any slot on.
#[derive(Debug, Clone)]
struct Line {
    bits: Vec<u64>,
    /// A Fenwick tree over the numbers of marks per [`WORDS`] words: small enough for the CPU's caches.
    sums: Vec<u32>,
    marks: u32,
}

const WORDS: usize = 8;

impl Line {
    fn new(slots: usize) -> Self {
        let blocks = slots.div_ceil(64 * WORDS);
        Self { bits: vec![0; blocks * WORDS], sums: vec![0; blocks + 1], marks: 0 }
    }

    fn slots(&self) -> usize {
        self.bits.len() * 64
    }

    fn clear(&mut self) {
        self.bits.fill(0);
        self.sums.fill(0);
        self.marks = 0;
    }

    fn mark(&mut self, slot: u32) {
        self.bits[slot as usize / 64] |= 1 << (slot % 64);
        self.marks += 1;
        let mut at = slot as usize / (64 * WORDS) + 1;
        while at < self.sums.len() {
            self.sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn unmark(&mut self, slot: u32) {
        self.bits[slot as usize / 64] &= !(1 << (slot % 64));
        self.marks -= 1;
        let mut at = slot as usize / (64 * WORDS) + 1;
        while at < self.sums.len() {
            self.sums[at] -= 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many marks stand behind a slot that is marked.
    fn marked_after(&self, slot: u32) -> u32 {
        let word = slot as usize / 64;
        let block = word / WORDS;
        let mut before: u32 = self.bits[block * WORDS..word].iter().map(|word| word.count_ones()).sum();
        before += (self.bits[word] & ((1 << (slot % 64)) - 1)).count_ones();
        let mut at = block;
        while at > 0 {
            before += self.sums[at];
            at -= at & at.wrapping_neg();
        }
        self.marks - before - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits of an LRU list that is kept as a list.
    fn naive_hits(accesses: &[u64], size: usize) -> usize {
        let mut list: Vec<u64> = Vec::new();
        let mut hits = 0;
        for &block in accesses {
            if let Some(at) = list.iter().position(|&other| other == block) {
                hits += usize::from(at < size);
                list.remove(at);
            }
            list.insert(0, block);
        }
        hits
    }

    /// A stream of numbers that stays the same: SplitMix64.
    struct Stream(u64);

    impl Stream {
        fn next(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mixed(FileId(0), self.0) % below
        }

        /// Skewed, as block traces are: half of the accesses go to an eighth of the blocks, again and again.
        fn skewed(&mut self, blocks: u64) -> u64 {
            let mut below = blocks;
            while below > 8 && self.next(2) == 0 {
                below /= 8;
            }
            self.next(below)
        }
    }

    #[test]
    fn every_cache_size_agrees_with_a_list_that_is_kept_in_order() {
        let mut stream = Stream(1);
        let accesses: Vec<u64> = (0..20_000).map(|_| stream.skewed(700)).collect();
        let mut reuse = Reuse::with_bound(1000);
        for &block in &accesses {
            reuse.access(FileId(3), block, Direction::Read, 0);
        }
        assert_eq!(reuse.rate(), 1.0);
        let curve = reuse.curve(1);
        assert!(curve.len() > 100);
        for point in curve {
            let expected = naive_hits(&accesses, point.cache_bytes as usize) as f64 / accesses.len() as f64;
            assert!((point.hit_ratio - expected).abs() < 1e-9, "{point:?}, and {expected} by the list");
        }
    }

    #[test]
    fn the_line_is_compacted_without_a_trace() {
        let mut stream = Stream(2);
        let accesses: Vec<u64> = (0..200_000).map(|_| stream.skewed(3000)).collect();
        let (mut short, mut long) = (Reuse::with_bound(4000), Reuse::with_bound(1 << 20));
        assert!(short.sampled.line.slots() < accesses.len());
        for &block in &accesses {
            short.access(FileId(0), block, Direction::Write, 0);
            long.access(FileId(0), block, Direction::Write, 0);
        }
        assert_eq!(short.curve(4096), long.curve(4096));
    }

    #[test]
    fn a_sample_is_within_a_percent_of_the_whole() {
        for seed in 0..2 {
            let mut stream = Stream(seed);
            let (mut exact, mut sampled) = (Reuse::default(), Reuse::with_bound(10_000));
            for _ in 0..700_000 {
                let block = stream.skewed(100_000);
                let access = if stream.next(3) == 0 { Direction::Write } else { Direction::Read };
                exact.access(FileId(1), block, access, 0);
                sampled.access(FileId(1), block, access, 0);
            }
            assert!(sampled.rate() < 0.2);
            let truth = exact.curve(4096);
            let worst = worst_error(&truth, &sampled.curve(4096));
            assert!(worst < 0.01, "seed {seed}: {worst}");
        }
    }

    /// The largest difference of hit ratios between two curves.
    fn worst_error(truth: &[Point], curve: &[Point]) -> f64 {
        let at = |curve: &[Point], bytes: u64| {
            let place = curve.partition_point(|point| point.cache_bytes <= bytes);
            place.checked_sub(1).map_or(0.0, |place| curve[place].hit_ratio)
        };
        let sizes = (12..31).flat_map(|power| [2u64.pow(power), 2u64.pow(power) * 3 / 2]);
        sizes.map(|bytes| (at(truth, bytes) - at(curve, bytes)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn steps_hold_what_they_say() {
        for distance in (0..5000).chain([1 << 20, (1 << 40) + 12345]) {
            let step = Histogram::step(distance);
            assert!(distance < Histogram::end(step), "{distance} in step {step}");
            assert!(step == 0 || distance >= Histogram::end(step - 1), "{distance} in step {step}");
        }
    }
}
