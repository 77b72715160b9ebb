//! A pass of an experiment's workload as a program: its operations at each position, in the round's order.

use crate::call::{Call, CallKind, FileId, Position};
use crate::program::{Step, Thread};
use crate::workload::{Buffer, Pass};

/// One pass in one round.
#[derive(Debug)]
pub struct PassCalls {
    pass: Pass,
    file: FileId,
    order: Vec<u32>,
    ticks_per_ns: f64,
    /// How many positions are done, and how many operations at the next one.
    visit: u32,
    step: u32,
    file_position: Position,
    /// Whether any operation begins at the file position.
    seeks: bool,
    /// The size of a page, and which pages of a fresh buffer were touched; of use to machines that are told.
    page: u64,
    touched: Vec<bool>,
}

/// Which operation of a pass a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// How many positions were visited before.
    pub visit: u32,
    /// The index of the position in the region.
    pub position: u32,
    /// The operation's place in the pass.
    pub step: u32,
}

impl PassCalls {
    /// A pass over positions in `order`; `page` is the size of a page where the machine must be told which pages of a
    /// fresh buffer a call is the first to touch, and zero where it sees that by itself.
    pub fn new(pass: &Pass, file: FileId, order: Vec<u32>, ticks_per_second: f64, page: u64) -> Self {
        Self {
            pass: pass.clone(),
            file,
            order,
            ticks_per_ns: ticks_per_second / 1e9,
            visit: 0,
            step: 0,
            file_position: Position::default(),
            seeks: pass.ops.iter().any(|op| matches!(op, CallKind::Read | CallKind::Write)),
            page,
            touched: Vec::new(),
        }
    }

    /// Pages of a fresh buffer that an operation at a position is the first to touch.
    fn fresh_pages(&mut self, op: CallKind, position: u32) -> u32 {
        let Buffer::Fresh { step } = self.pass.buffer else { return 0 };
        if self.page == 0 || op.direction().is_none() {
            return 0;
        }
        let from = u64::from(position) * step;
        let pages = from / self.page..(from + self.pass.region.size).div_ceil(self.page);
        if self.touched.len() < pages.end as usize {
            self.touched.resize(pages.end as usize, false);
        }
        pages.filter(|&page| !std::mem::replace(&mut self.touched[page as usize], true)).count() as u32
    }
}

impl Thread for PassCalls {
    /// None of the seeks that a read or write at the file position needs first.
    type Label = Option<Visit>;

    #[inline(always)]
    fn next(&mut self, now: u64) -> Step<Option<Visit>> {
        if self.step as usize == self.pass.ops.len() {
            (self.step, self.visit) = (0, self.visit + 1);
            if self.pass.gap_ns > 0 {
                return Step::Wait(now + (self.pass.gap_ns as f64 * self.ticks_per_ns) as u64);
            }
        }
        let Some(&position) = self.order.get(self.visit as usize) else { return Step::End };
        let Some(&kind) = self.pass.ops.get(self.step as usize) else { return Step::End };
        let region = self.pass.region;
        let offset = region.offset + u64::from(position) * region.step;
        let buffer = match self.pass.buffer {
            Buffer::Reused => 0,
            Buffer::Fresh { step } => u64::from(position) * step,
        };
        let call = Call { buffer, ..Call::new(kind, self.file).at(offset, region.size) };
        if self.seeks
            && let Some(seek) = self.file_position.seek_before(&call)
        {
            return Step::Call(seek, None);
        }
        let fresh_pages = if self.page > 0 { self.fresh_pages(kind, position) } else { 0 };
        let label = Visit { visit: self.visit, position, step: self.step };
        self.step += 1;
        Step::Call(Call { fresh_pages, ..call }, Some(label))
    }
}
