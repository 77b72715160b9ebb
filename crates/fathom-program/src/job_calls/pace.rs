//! When a thread's next transfer may begin, by `thinktime` and the rates, and how many there are beyond its time.

use super::JobCalls;
use crate::call::{Call, DIRECTIONS, Direction};
use crate::program::Step;

impl JobCalls {
    /// Bytes that it has asked to transfer.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Goes on, whatever its runtime, until it has moved so many bytes.
    pub fn go_on_to(&mut self, bytes: u64) {
        self.left = bytes.saturating_sub(self.moved);
        self.times.iter_mut().for_each(|times| times.end = u64::MAX);
    }

    /// A burst of `cpuio`, or the rest after it, so that the CPU is busy for `cpuload` of a hundred. Source: `engines/cpu.c`.
    #[cold]
    pub(super) fn burn(&mut self, now: u64, end: u64) -> Step<bool> {
        if now >= end {
            return Step::End;
        }
        let (load, burst) = (self.job.engine_options.cpu.0, self.job.engine_options.burst());
        let (load, rest) = (u64::from(load.clamp(1, 100)), u64::from(100 - load.min(100)));
        if std::mem::take(&mut self.thinks) {
            return Step::Wait((now + self.ticks(burst) * rest / load).min(end));
        }
        self.thinks = rest > 0;
        let direction = self.files[0].offsets.direction();
        Step::Call(Call { kind: self.kind(direction), ..self.files[0].call }, true)
    }

    /// Ticks that so many bytes take of one direction's rate.
    pub(super) fn share(&self, side: usize, bytes: u64) -> f64 {
        match self.job.bound(side) {
            0 => 0.0,
            rate => bytes as f64 / rate as f64 * self.ticks_per_second,
        }
    }

    /// What comes between two transfers: nothing, or the beginning of a wait.
    #[cold]
    pub(super) fn think(&mut self, now: u64, end: u64) -> Option<Step<bool>> {
        let (thinking, time) = (self.job.thinking, self.job.thinktime);
        self.unthought += 1;
        let by_time = !thinking.iotime.is_zero();
        let is_time = by_time && now.saturating_sub(self.thought) >= self.ticks(thinking.iotime + time);
        let counts = !by_time || thinking.blocks > 0;
        let is_turn = counts && self.unthought >= thinking.blocks.max(1);
        if !is_time && !is_turn {
            return None;
        }
        (self.unthought, self.thought) = (0, now);
        let until = now.saturating_add(self.ticks(time)).min(end);
        let side = self.side as usize;
        let least = self.share(side, self.job.blocks[side].least) as u64;
        if let (true, true, Some(times)) = (self.is_paced, self.job.rates.ignore_thinktime, &mut self.times) {
            // The next transfer is due when the wait is over, as if there had been none.
            let waits = until - now;
            times.due[side] += if least <= waits { waits - least } else { waits };
        }
        if thinking.spin.is_zero() {
            return Some(Step::Wait(until));
        }
        self.think_until = Some(until);
        Some(Step::Spin(now.saturating_add(self.ticks(thinking.spin.min(time))).min(until)))
    }

    /// The direction of the next transfer, and when it is due; the other one goes first if it is due first.
    pub(super) fn paced(&self, drawn: Direction, now: u64, due: [u64; DIRECTIONS]) -> (Direction, u64) {
        let other = match drawn {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        };
        let due = |direction: Direction| due[direction as usize];
        let goes_first = due(drawn) > now && self.job.does(other) && due(other) < due(drawn);
        let direction = if goes_first { other } else { drawn };
        (direction, due(direction))
    }
}
