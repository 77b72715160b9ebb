//! `zonemode=strided`: some bytes of one stretch of a file, then some of the next.

use super::{Offsets, Order, Span};
use crate::job::{Direction, Job, Region};

/// The stretches of a region. Source: `setup_strided_zone_mode` of fio's `io_u.c`.
#[derive(Debug)]
pub(super) struct Strides {
    /// `zonesize`: bytes that are transferred in a stretch before the next one; `zonerange`: how long a stretch is;
    /// `zoneskip`: what lies between two.
    size: u64,
    range: u64,
    skip: u64,
    whole: Region,
    /// Where the stretch begins, and how much was transferred in it.
    at: u64,
    pub(super) moved: u64,
}

impl Strides {
    /// None where a job works on all of its region.
    pub(super) fn of(job: &Job, whole: Region) -> Option<Self> {
        let [size, range, skip] = job.order.strides;
        // fio has them for one file alone.
        let is_one = job.files.open.max(1) == 1 || job.file_count() == 1;
        let range = if range == 0 { size } else { range };
        (size > 0 && is_one).then_some(Self { size, range, skip, whole, at: whole.offset, moved: 0 })
    }

    /// How long a stretch is.
    pub(super) fn length(&self) -> u64 {
        self.range
    }

    pub(super) fn rewind(&mut self) {
        (self.at, self.moved) = (self.whole.offset, 0);
    }

    fn end(&self) -> u64 {
        self.whole.offset + self.whole.length
    }
}

impl Offsets {
    /// The next transfer of the stretch whose turn it is; none where it would reach past the end of the region.
    #[cold]
    pub(super) fn next_of_stretch(&mut self, direction: Direction) -> Option<Span> {
        let strides = self.strides.as_mut()?;
        let is_over = strides.moved >= strides.size;
        if is_over {
            strides.moved = 0;
            strides.at = strides.at.saturating_add(strides.range).saturating_add(strides.skip);
            if strides.at >= strides.end() {
                strides.at = strides.whole.offset;
            }
        }
        // Blocks come again where more is transferred in a stretch than it has.
        let begins_again = strides.moved.is_multiple_of(strides.range);
        let (at, range, end) = (strides.at, strides.range, strides.end());
        self.region = Region { offset: at, length: range, ..self.region };
        if begins_again {
            self.reorder();
        } else if let Order::Sequential(positions) = &mut self.order
            && (is_over || positions[direction as usize] >= range)
        {
            positions[direction as usize] = 0;
        }
        let span = match &mut self.order {
            // A block that begins in a stretch may reach into the next.
            Order::Sequential(positions) => {
                if let Some(holes) = &self.holes {
                    let position = &mut positions[direction as usize];
                    *position = holes.after(*position, at)?;
                }
                let offset = at + positions[direction as usize];
                let length = self.length(self.sizes(direction, false));
                Span { offset, length }
            }
            _ => self.next_in(direction)?,
        };
        if let Order::Sequential(positions) = &mut self.order {
            positions[direction as usize] += span.length;
        }
        let strides = self.strides.as_mut().filter(|_| span.offset + span.length <= end)?;
        strides.moved += span.length;
        Some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Pattern;

    fn offsets(job: &Job) -> Vec<u64> {
        let region = Region { offset: 0, length: 64 << 10, file: 64 << 10 };
        let mut offsets = Offsets::new(job, region, 0).unwrap();
        (0..8).filter_map(|_| offsets.next(Direction::Read)).map(|span| span.offset >> 10).collect()
    }

    #[test]
    fn some_of_each_stretch_is_transferred() {
        let mut job = Job::named("x");
        job.order.strides = [8 << 10, 16 << 10, 4 << 10];
        assert_eq!(offsets(&job), [0, 4, 20, 24, 40, 44, 60]);
        // More than a stretch has.
        job.order.strides = [12 << 10, 8 << 10, 0];
        assert_eq!(offsets(&job), [0, 4, 0, 8, 12, 8, 16, 20]);
        job.pattern = Pattern::Random;
        job.order.strides = [8 << 10, 8 << 10, 8 << 10];
        let mut drawn = offsets(&job);
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 4, 16, 20, 32, 36, 48, 52]);
    }
}
