//! Where a job's next transfer goes: sequential, random with replacement, or a random order of all blocks.

mod holes;
mod strides;

use crate::dice::Dice;
use crate::distribution::Draw;
use crate::job::{Blocks, DIRECTIONS, Direction, Distribution, Job, Pattern, Region};

use self::holes::Holes;
use self::strides::Strides;

/// A part of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte of the file that it moves.
    pub offset: u64,
    /// How many bytes it moves.
    pub length: u64,
}

/// The transfers of one thread in one file, pass after pass over its region.
#[derive(Debug)]
pub struct Offsets {
    region: Region,
    blocks: [Blocks; DIRECTIONS],
    read_percent: u64,
    /// The smallest block of the directions that are used: less is no transfer.
    grain: u64,
    /// Whether the last transfer of a pass is made whole, as in fio: where no position is the end of all.
    ends_whole: bool,
    order: Order,
    dice: Dice,
    /// Block sizes with the percentage of each, where these are given.
    splits: [Vec<(u64, u8)>; DIRECTIONS],
    holes: Option<Holes>,
    /// How many random transfers go on where the last one ended, and that many are done.
    every: u32,
    run: u32,
    /// How many of a hundred random transfers are random, where the others do so; and whether any does.
    random_percent: [u64; DIRECTIONS],
    joins: bool,
    /// Where the last transfer began and ended, in the region.
    last: [u64; 2],
    /// Whether blocks of a range have any length.
    is_unaligned: bool,
    /// Whether a run stays where it began.
    is_identical: bool,
    /// Random offsets are multiples of this in each direction, in bytes.
    align: [u64; DIRECTIONS],
    /// Whether the first block size is for sequential transfers and the second for random ones.
    is_sized_by_order: bool,
    /// Which part of the region transfers go to now, where it is worked on in stretches.
    strides: Option<Strides>,
    /// Bytes of this pass that are still to come.
    left: u64,
    /// Bytes of a pass: of several files each ends where it has no block left.
    whole: u64,
    pass: u64,
}

#[derive(Debug)]
enum Order {
    /// The next position of each direction.
    Sequential([u64; DIRECTIONS]),
    /// Any block of so many bytes, again and again, as they are distributed: all alike where that is none.
    Anywhere { draw: Option<Draw>, spread: u64 },
    /// Every block of this size once, in the order of a permutation.
    Shuffled { grain: u64, permutation: Permutation, next: u64 },
    /// Blocks of several sizes that do not overlap.
    Mapped { grain: u64, map: Map },
}

impl Offsets {
    /// The order follows from the job's seed and this number, of the thread and its file.
    ///
    /// # Errors
    /// One sentence where the map of a random order would not fit into memory, or a zone not into the region.
    pub fn new(job: &Job, region: Region, number: u32) -> Result<Self, String> {
        let used = || job.directions().map(|direction| job.blocks[direction as usize]);
        let grain = used().map(|blocks| blocks.least).min().unwrap_or(1);
        let is_sized_by_order = job.order.sizes_by_order;
        let is_uniform = used().all(|blocks| blocks == Blocks::fixed(grain)) && !is_sized_by_order;
        let splits = [0, 1].map(|side: usize| job.order.splits[side].clone());
        let strides = Strides::of(job, region);
        let stretch = strides.as_ref().map_or(region.length, Strides::length);
        let count = stretch / grain;
        let mut dice = Dice::new(job.seed ^ (u64::from(number) << 32));
        let is_drawn = job.order.distribution != Distribution::Uniform;
        let align = [0, 1].map(|side: usize| match job.order.align[side] {
            0 => job.blocks[side].least,
            align => align,
        });
        let is_aligned = [0, 1].iter().all(|&side| align[side] == job.blocks[side].least);
        let has_map = job.random_map || is_uniform && job.order.generator.is_some();
        let order = match (job.pattern, has_map && is_aligned && !is_drawn, is_uniform) {
            (Pattern::Sequential, ..) => Order::Sequential([0; DIRECTIONS]),
            (Pattern::Random, false, _) => {
                let spread = match job.order.distribution {
                    Distribution::Uniform | Distribution::Zoned | Distribution::ZonedBytes => stretch,
                    // fio draws these from the whole of a file, wherever its stretch begins.
                    _ => region.length,
                };
                let draw = || Draw::of(&job.order, (spread / grain).max(1), grain, dice.draw());
                Order::Anywhere { draw: is_drawn.then(draw).transpose()?, spread }
            }
            (Pattern::Random, true, true) => {
                Order::Shuffled { grain, permutation: Permutation::new(count, &mut dice), next: 0 }
            }
            (Pattern::Random, true, false) => Order::Mapped { grain, map: Map::of(count)? },
        };
        let read_percent = u64::from(job.read_percent);
        let every = if job.pattern == Pattern::Random { job.order.every.max(1) } else { 1 };
        let random_percent = [0, 1].map(|side: usize| u64::from(job.order.percentage_random[side]));
        let is_mixture = job.pattern == Pattern::Random && random_percent != [100; DIRECTIONS];
        let (joins, is_anywhere) = (every > 1 || is_mixture, matches!(order, Order::Anywhere { .. }));
        let goes_on = (is_anywhere || job.order.skip != 0) && job.passes_to_the_end();
        let is_bounded = job.file_count() <= 1 && strides.is_none() && !goes_on && !job.counts_passes();
        let whole = if is_bounded { region.length } else { u64::MAX };
        let is_mixed = job.directions().count() == DIRECTIONS;
        Ok(Self {
            random_percent,
            joins,
            region,
            blocks: job.blocks,
            read_percent,
            grain,
            ends_whole: is_mixed || is_anywhere || joins || job.order.skip != 0,
            order,
            dice,
            splits,
            holes: (job.order.skip != 0).then(|| Holes::of(job, region)),
            every,
            run: 0,
            last: [0; 2],
            is_unaligned: job.order.unaligned,
            is_identical: job.order.identical,
            align,
            is_sized_by_order,
            strides,
            left: whole,
            whole,
            pass: 0,
        })
    }

    /// Reading or writing, by the job's mix.
    #[inline(always)]
    pub fn direction(&mut self) -> Direction {
        let reads = match self.read_percent {
            100 => true,
            0 => false,
            percent => self.dice.below(100) < percent,
        };
        if reads { Direction::Read } else { Direction::Write }
    }

    /// The next transfer; none where this pass is over.
    #[inline(always)]
    pub fn next(&mut self, direction: Direction) -> Option<Span> {
        if self.strides.is_some() {
            return self.next_of_stretch(direction);
        }
        self.next_in(direction)
    }

    /// The next transfer in one of several files, whose thread has transferred so much in the stretch that it works on.
    #[inline(always)]
    pub fn next_of_thread(&mut self, direction: Direction, stretch: &mut u64) -> Option<Span> {
        if let Some(strides) = &mut self.strides {
            strides.moved = *stretch;
        }
        let span = self.next(direction);
        *stretch = self.strides.as_ref().map_or(0, |strides| strides.moved);
        span
    }

    /// The next transfer in what the region is now.
    #[inline(always)]
    fn next_in(&mut self, direction: Direction) -> Option<Span> {
        let is_random = self.is_random(direction);
        let sizes = self.sizes(direction, is_random);
        let wanted = self.length(sizes);
        let least = self.blocks[sizes].least;
        let (room, block) = (self.left, self.grain.min(least));
        if self.region.length < block || room < if self.ends_whole { 1 } else { block } {
            return None;
        }
        let length = if wanted > room && !self.ends_whole { room / least * least } else { wanted };
        if self.joins {
            let from = self.last[usize::from(!self.is_identical)];
            if !is_random && from + length <= self.region.length && length >= least {
                (self.last, self.left) = ([from, from + length], self.left.saturating_sub(length));
                return Some(Span { offset: self.region.offset + from, length });
            }
        }
        let span = match &mut self.order {
            Order::Sequential(positions) => {
                let position = &mut positions[direction as usize];
                let mut rest = self.region.length - (*position).min(self.region.length);
                if let Some(holes) = &self.holes {
                    *position = holes.after(*position, self.region.offset)?;
                    rest = holes.file - self.region.offset - *position;
                }
                let length = if length > rest { rest / least * least } else { length };
                let span = Span { offset: *position, length };
                *position += length;
                (length >= least).then_some(span)?
            }
            Order::Anywhere { draw, spread } => {
                let align = self.align[direction as usize];
                let count = (spread.saturating_sub(least.saturating_sub(align)) / align).max(1);
                let block = match draw {
                    None => self.dice.below(count),
                    Some(draw) => draw.block(count, || self.dice.share()),
                };
                let offset = block * align;
                Span { offset, length: length.min((*spread - offset) / least * least) }
            }
            Order::Shuffled { grain, permutation, next } => {
                let block = permutation.next(next)?;
                Span { offset: block * *grain, length: *grain }
            }
            Order::Mapped { grain, map } => {
                let drawn = self.dice.below(map.count);
                let (block, run) = map.take(drawn, length.div_ceil(*grain))?;
                // What begins in the last block may reach past the end; such a transfer is as short as that block.
                let offset = block * *grain;
                Span { offset, length: length.min(run * *grain).min(self.region.length - offset) }
            }
        };
        self.left = self.left.saturating_sub(span.length);
        self.last = [span.offset, span.offset + span.length];
        Some(Span { offset: self.region.offset + span.offset, ..span })
    }

    /// Whether blocks may come again before all have come, so that nothing tells one pass from the next.
    pub fn is_endless(&self) -> bool {
        matches!(self.order, Order::Anywhere { .. })
    }

    /// Whether the file has no block left for this pass; no pass of an order whose blocks may come again ends so.
    pub fn is_at_end(&self) -> bool {
        !self.ends_whole && (self.left < self.grain || self.whole == u64::MAX)
    }

    /// Begins again, in another random order.
    pub fn rewind(&mut self) {
        self.pass += 1;
        self.left = self.whole;
        if let Some(strides) = &mut self.strides {
            strides.rewind();
        }
        self.reorder();
    }

    /// Nothing of the region is done.
    fn reorder(&mut self) {
        match &mut self.order {
            Order::Sequential(positions) => *positions = [0; DIRECTIONS],
            Order::Anywhere { .. } => {}
            Order::Shuffled { permutation, next, .. } => {
                *permutation = Permutation::new(permutation.count, &mut self.dice);
                *next = 0;
            }
            Order::Mapped { map, .. } => map.clear(),
        }
    }

    /// Whether the next transfer is at a random place, where others go on from the last.
    #[inline(always)]
    fn is_random(&mut self, direction: Direction) -> bool {
        if !self.joins {
            return !matches!(self.order, Order::Sequential(_));
        }
        self.run = (self.run + 1) % self.every;
        match self.every {
            1 => self.dice.below(100) < self.random_percent[direction as usize],
            _ => self.run == 1,
        }
    }

    /// Whose block sizes a transfer has, by their place.
    #[inline(always)]
    fn sizes(&self, direction: Direction, is_random: bool) -> usize {
        if self.is_sized_by_order { usize::from(is_random) } else { direction as usize }
    }

    /// How much to transfer: each multiple of the least is as likely as in fio, where the most takes what is over.
    #[inline(always)]
    fn length(&mut self, sizes: usize) -> u64 {
        let split = &self.splits[sizes];
        if !split.is_empty() {
            let drawn = self.dice.below(100);
            let mut sum = 0;
            let found = split.iter().find(|(_, percent)| {
                sum += u64::from(*percent);
                drawn < sum
            });
            return found.or(split.last()).map_or(0, |&(size, _)| size);
        }
        let Blocks { least, most } = self.blocks[sizes];
        if least == most {
            return least;
        }
        let drawn = (least + self.dice.below(most)).min(most);
        if self.is_unaligned { drawn } else { drawn / least * least }
    }
}

/// All numbers below `count` once, in an order that looks random, without memory: a counter is put
/// through a bijection of the next power of two, and what falls beyond is left out.
#[derive(Debug)]
struct Permutation {
    count: u64,
    mask: u64,
    half: u32,
    keys: [u64; 3],
}

impl Permutation {
    fn new(count: u64, dice: &mut Dice) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        // Odd factors are invertible modulo a power of two.
        let keys = [dice.draw() | 1, dice.draw() | 1, dice.draw()];
        Self { count, mask, half: (bits / 2).max(1), keys }
    }

    #[inline(always)]
    fn next(&self, counter: &mut u64) -> Option<u64> {
        while *counter <= self.mask {
            let block = self.image(*counter);
            *counter += 1;
            if block < self.count {
                return Some(block);
            }
        }
        None
    }

    /// Each step is a bijection of the numbers up to the mask: a xor with a key, odd multiplications,
    /// and xors with the own higher bits.
    #[inline(always)]
    fn image(&self, value: u64) -> u64 {
        let mut value = (value ^ self.keys[2]) & self.mask;
        for key in [self.keys[0], self.keys[1], self.keys[0]] {
            value = value.wrapping_mul(key) & self.mask;
            value ^= value >> self.half;
        }
        value
    }
}

/// Which blocks of a pass are taken: a bit each, and a bit for each full word of bits.
#[derive(Debug)]
struct Map {
    count: u64,
    taken: Vec<u64>,
    full: Vec<u64>,
}

/// 32 MiB of bits.
const MOST_MAPPED: u64 = 1 << 28;

impl Map {
    fn of(count: u64) -> Result<Self, String> {
        if count > MOST_MAPPED {
            return Err(format!(
                "a random order of {count} blocks of several sizes needs more memory than is allowed: \
                 add norandommap, or use one block size"
            ));
        }
        let words = count.div_ceil(64) as usize;
        let mut map = Self { count, taken: vec![0; words], full: vec![0; words.div_ceil(64)] };
        map.clear();
        Ok(map)
    }

    fn clear(&mut self) {
        self.taken.fill(0);
        self.full.fill(0);
        let beyond = self.taken.len() as u64 * 64 - self.count;
        if let (Some(last), 1..) = (self.taken.last_mut(), beyond) {
            *last = u64::MAX << (64 - beyond);
        }
    }

    /// Takes up to `wanted` free blocks in a row, from the first free one at or after `from`, which
    /// begins again at the start; gives where and how many, none where nothing is free.
    fn take(&mut self, from: u64, wanted: u64) -> Option<(u64, u64)> {
        let first = self.free_from(from).or_else(|| self.free_from(0))?;
        let end = (first + wanted).min(self.count);
        let stop = (first..end).find(|&block| self.is_taken(block)).unwrap_or(end);
        for block in first..stop {
            let word = (block / 64) as usize;
            self.taken[word] |= 1 << (block % 64);
            if self.taken[word] == u64::MAX {
                self.full[word / 64] |= 1 << (word % 64);
            }
        }
        Some((first, stop - first))
    }

    fn is_taken(&self, block: u64) -> bool {
        self.taken[(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    fn free_from(&self, from: u64) -> Option<u64> {
        let word = (from / 64) as usize;
        let here = !*self.taken.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
        }
        let mut group = (word + 1) / 64;
        let mut mask = u64::MAX << ((word + 1) % 64);
        while let Some(full) = self.full.get(group) {
            let open = !full & mask;
            if open != 0 {
                let word = group * 64 + open.trailing_zeros() as usize;
                let bits = !*self.taken.get(word)?;
                return (bits != 0).then(|| word as u64 * 64 + u64::from(bits.trailing_zeros()));
            }
            group += 1;
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(pattern: Pattern, least: u64, most: u64) -> Job {
        Job { pattern, blocks: [Blocks { least, most }; DIRECTIONS], ..Job::named("test") }
    }

    fn pass(job: &Job, region: Region) -> Vec<Span> {
        let mut offsets = Offsets::new(job, region, 0).unwrap();
        let spans: Vec<Span> = std::iter::from_fn(|| {
            let direction = offsets.direction();
            offsets.next(direction)
        })
        .collect();
        for span in &spans {
            assert!(
                span.offset >= region.offset && span.offset + span.length <= region.offset + region.length
            );
        }
        spans
    }

    fn is_covered_once(mut spans: Vec<Span>, region: Region, tail: u64) {
        spans.sort_by_key(|span| span.offset);
        let mut at = region.offset;
        for span in spans {
            assert_eq!(span.offset, at);
            at += span.length;
        }
        assert!(at <= region.offset + region.length && region.offset + region.length - at <= tail);
    }

    #[test]
    fn a_pass_visits_everything_once_in_any_order_and_size() {
        for (offset, length) in [(0, 4096), (4096, 1 << 20), (0, 1_000_000), (512, 37 * 4096)] {
            let region = Region { offset, length, file: offset + length };
            for pattern in [Pattern::Sequential, Pattern::Random] {
                is_covered_once(pass(&job(pattern, 4096, 4096), region), region, 4095);
                if length > 16384 {
                    is_covered_once(pass(&job(pattern, 4096, 16384), region), region, 4095);
                }
            }
        }
    }

    #[test]
    fn a_random_order_looks_random_and_differs_from_pass_to_pass() {
        let region = Region { offset: 0, length: 4096 * 4096, file: 4096 * 4096 };
        let job = job(Pattern::Random, 4096, 4096);
        let first = pass(&job, region);
        let next_to =
            first.windows(2).filter(|pair| pair[1].offset == pair[0].offset + pair[0].length).count();
        assert!(next_to < 10, "{next_to} of 4095 steps go to the next block");
        // The mean of a step between two random places is a third of the whole.
        let steps: f64 = first.windows(2).map(|pair| pair[1].offset.abs_diff(pair[0].offset) as f64).sum();
        let mean = steps / 4095.0 / region.length as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.02, "{mean}");
        let mut offsets = Offsets::new(&job, region, 0).unwrap();
        offsets.rewind();
        let second: Vec<Span> = std::iter::from_fn(|| offsets.next(Direction::Read)).collect();
        assert_ne!(first, second);
        is_covered_once(second, region, 0);
        assert_eq!(first, pass(&job, region), "the same seed gives the same order");
        assert_ne!(first, pass(&Job { seed: 1, ..job }, region));
    }

    #[test]
    fn without_a_map_blocks_come_again() {
        let region = Region { offset: 0, length: 64 * 4096, file: 64 * 4096 };
        let spans = pass(&Job { random_map: false, ..job(Pattern::Random, 4096, 4096) }, region);
        let mut seen: Vec<u64> = spans.iter().map(|span| span.offset).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(spans.len(), 64);
        assert!((30..55).contains(&seen.len()), "{}", seen.len());
    }

    #[test]
    fn a_mix_of_two_sizes_moves_all_and_makes_the_last_transfer_whole() {
        let region = Region { offset: 0, length: 256 << 10, file: 256 << 10 };
        for seed in 0..50 {
            let sizes = [Blocks::fixed(4 << 10), Blocks::fixed(16 << 10)];
            let mixed = Job { read_percent: 50, blocks: sizes, seed, ..job(Pattern::Sequential, 1, 1) };
            let spans = pass(&mixed, region);
            assert!(spans.iter().all(|span| matches!(span.length >> 10, 4 | 16)), "{spans:?}");
            let moved: u64 = spans.iter().map(|span| span.length).sum();
            assert!((256..=268).contains(&(moved >> 10)), "{moved} bytes");
        }
    }

    #[test]
    fn a_mix_is_mixed_as_asked() {
        let mixed = Job { read_percent: 70, ..job(Pattern::Sequential, 4096, 4096) };
        let region = Region { offset: 0, length: 1 << 30, file: 1 << 30 };
        let mut offsets = Offsets::new(&mixed, region, 0).unwrap();
        let reads = (0..10_000).filter(|_| offsets.direction() == Direction::Read).count();
        assert!((6800..7200).contains(&reads), "{reads}");
    }
}
