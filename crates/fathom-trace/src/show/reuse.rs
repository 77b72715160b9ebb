//! Reuse distances, and the hit ratio of an LRU cache of every size, in one pass.
//!
//! An access hits in an LRU cache of n blocks exactly if fewer than n other blocks were touched since the last
//! access to its block (Mattson and others, "Evaluation techniques for storage hierarchies", 1970).
//!
//! While no more than [`TRACKED`] blocks are seen, every distance is exact. Where there are more, distances below
//! `NEAR` stay exact for every access, from the blocks that were touched last. The longer ones are estimated from a
//! sample: blocks are taken by the hash of their number, so that all accesses to a block are taken or none, at a rate
//! that falls so that the sample keeps its bound, and distances and counts are scaled by it (SHARDS with fixed size:
//! Waldspurger and others, FAST 2015). That paper puts what the sampled counts differ from the true ones at the
//! shortest distance; here that many accesses beyond the exact distances are known, and the sampled counts are made to
//! add up to it. How far the sample may be off is seen from its own parts: it is divided by hash once more, and
//! the curves of the parts differ as samples of that size do.
//!
//! Two stretches of accesses, counted each by itself, make one (PARDA: Niu and others, IPDPS 2012): the first access to
//! a block in the later stretch waits until the earlier one tells how long ago the last was.

mod stack;

use std::hash::Hasher;

use rustc_hash::FxHasher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::stack::{Stack, TOGETHER};
use crate::operation::Direction;

/// Blocks whose accesses are followed at once: some 60 MiB.
pub const TRACKED: usize = 1 << 20;
/// Distances below it are exact for all accesses, where the bound on blocks is not small itself.
const NEAR: usize = 1 << 17;
/// Parts of a sample, by which its error is estimated.
const PARTS: usize = 8;
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

/// Different blocks in a window of time, as far as they are known before the end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Touched {
    /// How many.
    pub all: f64,
    /// Those that were not touched before.
    pub new: f64,
}

/// An access to a block.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Access {
    key: u64,
    direction: Direction,
    window: u8,
}

/// Follows accesses to blocks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reuse {
    tracked: usize,
    /// Hashes up to it are sampled.
    threshold: u64,
    sampled: Stack,
    /// All blocks that were touched last, once not all are sampled.
    recent: Option<Stack>,
    /// Each block's first access, in order: of the first blocks all, then of those that are sampled.
    firsts: Vec<Access>,
    tallies: [Tally; 2],
    windows: Vec<f64>,
    /// Accesses that are looked up together next.
    waiting: Vec<Access>,
}

/// What the distances of reads, or of writes, come to.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Tally {
    accesses: u64,
    exact: Histogram,
    /// Beyond the exact distances: those that were sampled, by their weights.
    sampled: [Histogram; PARTS],
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
            sampled: Stack::new(tracked),
            recent: None,
            firsts: Vec::new(),
            tallies: [Tally::default(), Tally::default()],
            windows: Vec::new(),
            waiting: Vec::with_capacity(TOGETHER),
        }
    }

    /// Follows no more than that part of the blocks from the beginning.
    #[must_use]
    pub fn at_rate(mut self, rate: f64) -> Self {
        self.sample_up_to((rate * 2f64.powi(64)) as u64);
        self
    }

    /// Distances below it are always exact.
    fn near(&self) -> usize {
        NEAR.min(self.tracked / 4)
    }

    /// How many blocks a sampled one stands for.
    fn weight(&self) -> f64 {
        1.0 / self.rate()
    }

    /// An access to a block in a window of time; `file` is spread over 64 bits.
    pub fn access(&mut self, file: u64, block: u64, direction: Direction, window: u8) {
        self.waiting.push(Access { key: block_key(file, block), direction, window });
        if self.waiting.len() == TOGETHER {
            self.settle();
        }
    }

    /// Counts the accesses that wait.
    fn settle(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.iter().for_each(|access| self.tallies[access.direction as usize].accesses += 1);
        self.follow_all(&waiting, false);
        waiting.clear();
        self.waiting = waiting;
    }

    fn follow_all(&mut self, accesses: &[Access], are_far: bool) {
        for together in accesses.chunks(TOGETHER) {
            let stack = self.recent.as_ref().filter(|_| !are_far).unwrap_or(&self.sampled);
            stack.expect(together.iter().map(|access| access.key));
            together.iter().for_each(|&access| self.follow(access, are_far));
        }
    }

    /// Finds how long ago an access's block was touched; `is_far` where that is known to be beyond the exact distances.
    fn follow(&mut self, access: Access, is_far: bool) {
        let (near, weight) = (self.near(), self.weight());
        let Access { key, direction, window } = access;
        let tally = &mut self.tallies[direction as usize];
        let mut is_exact = false;
        let mut is_new = false;
        if let Some(recent) = self.recent.as_mut().filter(|_| !is_far) {
            let last = recent.access(key, window);
            recent.keep(near);
            is_new = last.is_none() && self.firsts.len() < near;
            if let Some(last) = last.filter(|last| last.distance < near) {
                tally.exact.add(last.distance as u64, 1.0);
                is_exact = true;
            }
        }
        if key <= self.threshold {
            let last = self.sampled.access(key, window);
            is_new = last.is_none();
            if let Some(last) = last {
                if self.recent.is_none() {
                    tally.exact.add(last.distance as u64, 1.0);
                } else if !is_exact {
                    let distance = (last.distance as f64 * weight).max(near as f64);
                    tally.sampled[part(key)].add(distance as u64, weight);
                }
                if last.window != window {
                    *self.touched(window) += weight;
                }
            }
        }
        if is_new {
            self.firsts.push(access);
        }
        if self.sampled.len() > self.tracked {
            // An eighth less each time: a block's history is lost as late as possible.
            self.sample_up_to(self.threshold / 8 * 7);
        }
    }

    fn touched(&mut self, window: u8) -> &mut f64 {
        let window = usize::from(window);
        if self.windows.len() <= window {
            self.windows.resize(window + 1, 0.0);
        }
        &mut self.windows[window]
    }

    /// The part of the blocks that is followed; 1 where the curve is exact.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { (self.threshold as f64 + 1.0) / 2f64.powi(64) }
    }

    /// Blocks seen, of all that there are.
    #[must_use]
    pub fn blocks(&mut self) -> u64 {
        self.settle();
        (self.sampled.len() as f64 * self.weight()).round() as u64
    }

    fn sample_up_to(&mut self, threshold: u64) {
        if threshold >= self.threshold {
            return;
        }
        let near = self.near();
        if self.recent.is_none() {
            let mut recent = Stack::new(near * 2);
            recent.access_all(&self.sampled.newest(near));
            self.recent = Some(recent);
        }
        self.threshold = threshold;
        self.sampled.retain_up_to(threshold);
        let mut place = 0;
        self.firsts.retain(|first| {
            place += 1;
            place <= near || first.key <= threshold
        });
    }

    /// Adds the accesses that came next.
    pub fn merge(&mut self, mut next: Self) {
        self.settle();
        next.settle();
        self.sample_up_to(next.threshold);
        next.sample_up_to(self.threshold);
        // Behind so many other blocks, a first access is far from all that was before.
        let all = if next.recent.is_some() { next.near() } else { next.firsts.len() };
        let (early, late) = next.firsts.split_at(all.min(next.firsts.len()));
        self.follow_all(early, false);
        self.follow_all(late, true);
        let near = self.near();
        if let Some(recent) = &mut self.recent {
            recent.access_all(&next.recent.as_ref().unwrap_or(&next.sampled).newest(near));
            recent.keep(near);
        }
        next.sampled.retain_up_to(self.threshold);
        self.sampled.access_all(&next.sampled.newest(usize::MAX));
        for (tally, next) in self.tallies.iter_mut().zip(&next.tallies) {
            tally.accesses += next.accesses;
            tally.exact.merge(&next.exact);
            tally.sampled.iter_mut().zip(&next.sampled).for_each(|(sampled, next)| sampled.merge(next));
        }
        for (window, touched) in (0..).zip(&next.windows) {
            *self.touched(window) += touched;
        }
    }

    /// Different blocks per window, in so many windows.
    pub fn windows(&mut self, count: usize) -> Vec<Touched> {
        self.settle();
        let mut windows = vec![Touched::default(); count];
        windows.iter_mut().zip(&self.windows).for_each(|(window, all)| window.all = *all);
        for first in self.firsts.iter().filter(|first| first.key <= self.threshold) {
            let window = &mut windows[usize::from(first.window)];
            window.all += self.weight();
            window.new += self.weight();
        }
        windows
    }

    /// The curve for blocks of that many bytes, from one block to all of them, and its largest standard error.
    #[must_use]
    pub fn curve(&mut self, block_bytes: u64) -> (Vec<Point>, f64) {
        self.settle();
        let ratio = |hits: f64, all: f64| if all > 0.0 { (hits / all).clamp(0.0, 1.0) } else { 0.0 };
        let [reads, writes] = &self.tallies;
        let all = (reads.accesses + writes.accesses) as f64;
        let scales: [Scales; 2] = [Direction::Read, Direction::Write].map(|direction| self.scales(direction));
        let longest = self.tallies.iter().map(Tally::steps).max().unwrap_or(0);
        let mut hits = [0.0; 2];
        let mut of_parts = [0.0; PARTS];
        let mut curve = Vec::new();
        let mut error = 0.0_f64;
        for step in 0..longest {
            let mut more = [0.0; 2];
            for (more, (tally, scales)) in more.iter_mut().zip(self.tallies.iter().zip(&scales)) {
                *more = tally.exact.at(step);
                for (part, sampled) in tally.sampled.iter().enumerate() {
                    *more += sampled.at(step) * scales.whole;
                    of_parts[part] += sampled.at(step) * scales.parts[part];
                }
            }
            if step > 0 && more == [0.0; 2] {
                continue;
            }
            hits = [hits[0] + more[0], hits[1] + more[1]];
            error = error.max(ratio(standard_error(&of_parts), all));
            curve.push(Point {
                cache_bytes: Histogram::end(step).saturating_mul(block_bytes),
                hit_ratio: ratio(hits[0] + hits[1], all),
                read_hit_ratio: ratio(hits[0], reads.accesses as f64),
            });
        }
        (curve, error)
    }

    /// What makes the sampled accesses, and those of each part of the sample, add up to those that there were.
    fn scales(&self, direction: Direction) -> Scales {
        let tally = &self.tallies[direction as usize];
        let is_meant = |first: &&Access| first.direction == direction;
        let (near, far) = self.firsts.split_at(self.near().min(self.firsts.len()));
        let mut sampled: [f64; PARTS] = std::array::from_fn(|part| tally.sampled[part].total());
        far.iter().filter(is_meant).for_each(|first| sampled[part(first.key)] += self.weight());
        let known = tally.exact.total() + near.iter().filter(is_meant).count() as f64;
        let far = tally.accesses as f64 - known;
        let scale = |sampled: f64| if sampled > 0.0 { far / sampled } else { 0.0 };
        Scales { whole: scale(sampled.iter().sum()), parts: sampled.map(scale) }
    }
}

struct Scales {
    whole: f64,
    parts: [f64; PARTS],
}

/// The part of the sample that a block is in.
fn part(key: u64) -> usize {
    key as usize % PARTS
}

/// Of the mean of these.
fn standard_error(of_parts: &[f64; PARTS]) -> f64 {
    let count = PARTS as f64;
    let mean = of_parts.iter().sum::<f64>() / count;
    let squares: f64 = of_parts.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

impl Tally {
    fn steps(&self) -> usize {
        self.sampled.iter().map(|sampled| sampled.counts.len()).fold(self.exact.counts.len(), usize::max)
    }
}

/// Spreads a number over all 64 bits: the finaliser of SplitMix64 (Steele and others, 2014), which maps
/// different inputs to different outputs.
pub(super) fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// What a block of a file is called.
pub(super) fn block_key(file: u64, block: u64) -> u64 {
    mixed(block.wrapping_add(file))
}

/// A file's number for [`Reuse::access`], the same in all stretches of a trace.
pub(super) fn number(path: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(path);
    mixed(hasher.finish())
}

/// Counts of distances: each by itself up to [`STEPS`], then [`STEPS`] steps per doubling.
#[derive(Debug, Default, Serialize, Deserialize)]
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

    fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0.0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
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
            mixed(self.0) % below
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
            reuse.access(3, block, Direction::Read, 0);
        }
        assert_eq!(reuse.rate(), 1.0);
        let (curve, error) = reuse.curve(1);
        assert_eq!(error, 0.0);
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
        assert!(4000 * 4 < accesses.len());
        for &block in &accesses {
            short.access(0, block, Direction::Write, 0);
            long.access(0, block, Direction::Write, 0);
        }
        assert_eq!(short.curve(4096), long.curve(4096));
    }

    /// Reads and writes of blocks, in 35 windows of time.
    fn accesses(seed: u64) -> Vec<(u64, Direction, u8)> {
        let mut stream = Stream(seed);
        let access = |at: u64| {
            let direction = if stream.next(3) == 0 { Direction::Write } else { Direction::Read };
            (stream.skewed(100_000), direction, (at / 20_000) as u8)
        };
        (0..700_000).map(access).collect()
    }

    fn counted(mut reuse: Reuse, accesses: &[(u64, Direction, u8)]) -> Reuse {
        accesses.iter().for_each(|&(block, direction, window)| reuse.access(1, block, direction, window));
        reuse
    }

    /// The same accesses counted in stretches of so many, which are merged.
    fn merged(begin: impl Fn(&Reuse) -> Reuse, accesses: &[(u64, Direction, u8)], size: usize) -> Reuse {
        let first = Reuse::with_bound(8);
        let mut stretches = accesses.chunks(size);
        let mut whole = counted(begin(&first), stretches.next().unwrap_or_default());
        for stretch in stretches {
            whole.merge(counted(begin(&whole), stretch));
        }
        whole
    }

    #[test]
    fn stretches_make_the_whole_to_the_last_bit_where_it_is_exact() {
        let accesses = accesses(5);
        let exact = |_: &Reuse| Reuse::with_bound(100_000);
        for (count, size) in [(5000, 7), (700_000, 30_000), (700_000, 333_333)] {
            let mut whole = counted(Reuse::with_bound(100_000), &accesses[..count]);
            let mut merged = merged(exact, &accesses[..count], size);
            assert_eq!(merged.curve(4096), whole.curve(4096));
            assert_eq!((merged.blocks(), merged.windows(60)), (whole.blocks(), whole.windows(60)));
        }
    }

    #[test]
    fn a_sample_is_as_near_to_the_whole_as_it_says_merged_or_not() {
        for seed in 0..4 {
            let accesses = accesses(seed);
            let mut exact = counted(Reuse::default(), &accesses);
            let truth = exact.curve(4096).0;
            let bounded = |_: &Reuse| Reuse::with_bound(10_000);
            let ways = [
                counted(Reuse::with_bound(10_000), &accesses),
                counted(Reuse::with_bound(40_000).at_rate(0.1), &accesses),
                merged(bounded, &accesses, 100_000),
                merged(|before| Reuse::with_bound(10_000).at_rate(before.rate()), &accesses, 9_000),
            ];
            for (way, mut sampled) in ways.into_iter().enumerate() {
                let (curve, error) = sampled.curve(4096);
                let worst = worst_error(&truth, &curve);
                assert!(sampled.rate() < 0.2);
                assert!(
                    worst < 0.01 && worst < 3.0 * error && error < 0.01,
                    "{seed} {way}: {worst}, {error}"
                );
                let blocks = sampled.blocks() as f64 / exact.blocks() as f64;
                assert!((blocks - 1.0).abs() < 0.05, "{seed} {way}: {blocks} of the blocks");
                for (at, (window, truth)) in sampled.windows(60).iter().zip(exact.windows(60)).enumerate() {
                    let near = |one: f64, other: f64| (one - other).abs() <= 0.1 * truth.all;
                    assert!(near(window.all, truth.all) && near(window.new, truth.new), "{seed} {way} {at}");
                }
            }
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
