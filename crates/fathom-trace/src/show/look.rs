//! What is counted of a stretch of a trace. Two stretches, one after the other, make one.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use super::picture::{Dot, Picture};
use super::reuse::number;
use super::timing::Clocks;
use super::{FILES, FileUse, Mix, Moved, Reuse, SCHEMA, Shown, Window, blocks};
use crate::error::Result;
use crate::format::Reader;
use crate::operation::{CallKind, Direction, FileId, Files, Operation, Origin};

/// The blocks that working set and reuse are counted in: a page of the cache.
pub const BLOCK: u64 = 4096;
/// Windows of time.
const WINDOWS: usize = 60;

/// What all stretches of a trace are laid over.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) operations: u64,
    /// The first start and the last end.
    pub(super) times: Option<(i64, i64)>,
}

impl Extent {
    /// Adds the times of a stretch.
    pub(super) fn read(&mut self, reader: &mut Reader) -> Result<()> {
        while let Some(times) = reader.read_times()? {
            self.merge(Self { operations: 0, times: Some(times) });
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, next: Self) {
        self.operations += next.operations;
        self.times = match (self.times, next.times) {
            (Some((first, last)), Some(next)) => Some((first.min(next.0), last.max(next.1))),
            (times, next) => times.or(next),
        };
    }

    fn span_ns(&self) -> u64 {
        self.times.map_or(0, |(first, last)| last.abs_diff(first))
    }
}

/// A stretch of a trace.
#[derive(Debug, Serialize, Deserialize)]
pub struct Look {
    extent: Extent,
    files: Files,
    uses: Vec<Use>,
    mix: Vec<(u64, u64)>,
    moved: [Moved; 2],
    /// Reads and writes whose offset is known.
    located: [u64; 2],
    clocks: Clocks,
    reuse: Reuse,
    dots: Vec<(FileId, Dot)>,
    /// The place of the next operation.
    order: u64,
}

/// What went to a file.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Use {
    /// Its path, spread over 64 bits.
    number: u64,
    operations: u64,
    bytes: [u64; 2],
    /// How far it was touched.
    end: u64,
    /// Where the first read and write began, and where the last ones ended.
    places: [Option<(u64, u64)>; 2],
}

impl Look {
    /// Nothing as yet, from the operation of that place on; no more than `rate` of the blocks are followed.
    pub(super) fn new(extent: Extent, order: u64, rate: f64) -> Self {
        Self {
            extent,
            files: Files::default(),
            uses: Vec::new(),
            mix: vec![(0, 0); CallKind::ALL.len()],
            moved: [Moved::default(), Moved::default()],
            located: [0; 2],
            clocks: Clocks::default(),
            reuse: Reuse::default().at_rate(rate),
            dots: Vec::new(),
            order,
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.reuse.rate()
    }

    /// Adds the operations of a stretch.
    pub(super) fn read(&mut self, reader: &mut Reader) -> Result<()> {
        while let Some((operations, files)) = reader.read()? {
            self.add(operations, files);
        }
        Ok(())
    }

    fn add(&mut self, operations: &[Operation], files: &Files) {
        for path in &files.paths()[self.uses.len()..] {
            self.files.id(path);
            self.uses.push(Use { number: number(path), ..Use::default() });
        }
        for operation in operations {
            let mix = &mut self.mix[operation.kind as usize];
            mix.0 += 1;
            mix.1 += u64::from(operation.result.is_some_and(|result| result < 0));
            self.clocks.add(operation);
            self.uses[operation.file.0 as usize].operations += 1;
            if let Some(direction) = operation.kind.direction() {
                self.access(operation, direction);
            }
            self.order += 1;
        }
    }

    fn access(&mut self, operation: &Operation, access: Direction) {
        let bytes = operation.moved_bytes();
        let moved = &mut self.moved[access as usize];
        moved.count += 1;
        moved.bytes = moved.bytes.saturating_add(bytes);
        moved.sizes.add(operation.length);
        let used = &mut self.uses[operation.file.0 as usize];
        let of_file = &mut used.bytes[access as usize];
        *of_file = of_file.saturating_add(bytes);
        let Some(offset) = operation.offset else { return };
        self.located[access as usize] += 1;
        used.end = used.end.max(offset.saturating_add(operation.length));
        let end = offset.saturating_add(bytes);
        let place = &mut used.places[access as usize];
        follow(moved, *place, offset);
        *place = Some((place.map_or(offset, |place| place.0), end));
        if Picture::has(self.order, self.extent.operations) {
            let dot = Dot { order: self.order, offset, length: operation.length, access };
            self.dots.push((operation.file, dot));
        }
        if bytes > 0 {
            let first_ns = self.extent.times.map_or(0, |times| times.0);
            let since = operation.start_ns.abs_diff(first_ns) / (self.extent.span_ns() / WINDOWS as u64 + 1);
            let window = usize::try_from(since).unwrap_or(0).min(WINDOWS - 1) as u8;
            for block in blocks(offset, bytes) {
                self.reuse.access(used.number, block, access, window);
            }
        }
    }

    /// Adds the stretch that comes next.
    pub fn merge(&mut self, next: Self) {
        for (path, used) in next.files.paths().iter().zip(next.uses) {
            let at = self.files.id(path).0 as usize;
            if at == self.uses.len() {
                self.uses.push(used);
                continue;
            }
            let so_far = &mut self.uses[at];
            so_far.operations += used.operations;
            so_far.end = so_far.end.max(used.end);
            for (way, moved) in self.moved.iter_mut().enumerate() {
                so_far.bytes[way] = so_far.bytes[way].saturating_add(used.bytes[way]);
                let Some((offset, end)) = used.places[way] else { continue };
                follow(moved, so_far.places[way], offset);
                so_far.places[way] = Some((so_far.places[way].map_or(offset, |place| place.0), end));
            }
        }
        for (mix, next) in self.mix.iter_mut().zip(next.mix) {
            *mix = (mix.0 + next.0, mix.1 + next.1);
        }
        for (moved, next) in self.moved.iter_mut().zip(next.moved) {
            moved.merge(&next);
        }
        self.located = [0, 1].map(|way| self.located[way] + next.located[way]);
        self.clocks.merge(next.clocks);
        self.reuse.merge(next.reuse);
        for (file, dot) in next.dots {
            self.dots.push((self.files.id(next.files.path(file)), dot));
        }
        self.order = next.order;
    }

    pub(super) fn end(mut self, origin: Origin) -> Shown {
        let without_offset =
            self.moved.iter().map(|moved| moved.count).sum::<u64>() - self.located.iter().sum::<u64>();
        for (moved, located) in self.moved.iter_mut().zip(self.located) {
            moved.run_bytes = moved.bytes as f64 / (located as f64 - moved.sequential).max(1.0);
            let all = (moved.count.max(1)) as f64;
            for part in [&mut moved.sequential, &mut moved.forward, &mut moved.backward] {
                *part /= all;
            }
        }
        let ends: Vec<u64> = self.uses.iter().map(|used| used.end).collect();
        let mut files: Vec<(usize, Use)> = self.uses.into_iter().enumerate().collect();
        files.retain(|(_, used)| used.operations > 0);
        let file_count = files.len() as u64;
        files
            .sort_by_key(|(_, used)| Reverse((used.bytes[0].saturating_add(used.bytes[1]), used.operations)));
        files.truncate(FILES);
        let named = |(at, used): (usize, Use)| FileUse {
            path: String::from_utf8_lossy(&self.files.paths()[at]).into_owned(),
            operations: used.operations,
            read_bytes: used.bytes[0],
            written_bytes: used.bytes[1],
        };
        let mix = CallKind::ALL.iter().copied().zip(self.mix).filter(|(_, mix)| mix.0 > 0);
        let [reads, writes] = self.moved;
        let bytes = |blocks: f64| (blocks * BLOCK as f64) as u64;
        let windows = self.reuse.windows(WINDOWS).into_iter();
        let (hit_ratios, hit_ratio_error) = self.reuse.curve(BLOCK);
        Shown {
            schema: SCHEMA.to_owned(),
            origin,
            operations: self.extent.operations,
            span_ns: self.extent.span_ns(),
            mix: mix.map(|(kind, (count, failed))| Mix { kind, count, failed }).collect(),
            reads,
            writes,
            file_count,
            files: files.into_iter().map(named).collect(),
            timing: self.clocks.end(self.extent.span_ns()),
            working_set: windows
                .map(|window| Window { touched_bytes: bytes(window.all), new_bytes: bytes(window.new) })
                .collect(),
            footprint_bytes: self.reuse.blocks().saturating_mul(BLOCK),
            hit_ratios,
            hit_ratio_error,
            sampled: self.reuse.rate(),
            without_offset,
            picture: Picture::new(self.extent.operations, &ends, self.dots),
        }
    }
}

/// Compares where a read or write begins with where the last one ended. Summed here, made parts at the end.
fn follow(moved: &mut Moved, last: Option<(u64, u64)>, offset: u64) {
    match last.map(|(_, end)| offset.cmp(&end)) {
        Some(Ordering::Equal) => moved.sequential += 1.0,
        Some(Ordering::Greater) => moved.forward += 1.0,
        Some(Ordering::Less) => moved.backward += 1.0,
        None => {}
    }
}
