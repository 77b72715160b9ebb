//! Pauses between a thread's operations, durations, and how many operations are under way at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Histogram;
use crate::operation::Operation;

/// Pauses, durations and concurrency.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Threads, or what the source has in their place.
    pub threads: u64,
    /// Whether the source tells how long operations took; without, what follows but the gaps is empty.
    pub has_durations: bool,
    /// From the start of a thread's operation to that of its next one, in ns.
    pub gaps_ns: Histogram,
    /// From the end of a thread's operation to the start of its next one, in ns: what the program does itself.
    pub think_ns: Histogram,
    /// How long operations took, in ns.
    pub durations_ns: Histogram,
    /// Operations under way at once, over time, on average (Little's law).
    pub mean_concurrency: f64,
    /// The most that were under way at once.
    pub most_concurrency: u64,
}

/// More operations than that are not under way at once.
const UNDER_WAY: usize = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Clocks {
    /// By process and thread, in one number.
    threads: FxHashMap<u64, Course>,
    gaps: Histogram,
    thinks: Histogram,
    durations: Histogram,
    total_ns: u64,
    /// Of operations that are under way.
    ends: BinaryHeap<Reverse<i64>>,
    /// The latest start of all that have a duration.
    latest: Option<i64>,
    /// Each time that more were under way than ever before: the latest start until then, and how many.
    rises: Vec<(i64, usize)>,
}

/// A thread's first operation and its last one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Course {
    first: Times,
    last: Times,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Times {
    start: i64,
    end: i64,
    has_duration: bool,
}

impl Clocks {
    pub(super) fn add(&mut self, operation: &Operation) {
        let start = operation.start_ns;
        let duration = operation.duration_ns;
        let end = start.saturating_add_unsigned(duration.unwrap_or(0));
        let times = Times { start, end, has_duration: duration.is_some() };
        let thread = u64::from(operation.process) << 32 | u64::from(operation.thread);
        self.follow(thread, Course { first: times, last: times });
        let Some(duration) = duration else { return };
        self.durations.add(duration);
        self.total_ns = self.total_ns.saturating_add(duration);
        self.forget(start);
        if self.ends.len() < UNDER_WAY {
            self.ends.push(Reverse(end));
        }
        self.latest = self.latest.max(Some(start));
        self.rise(start, self.ends.len());
    }

    /// Operations that had ended at a time are not under way any more.
    fn forget(&mut self, time: i64) {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= time) {
            self.ends.pop();
        }
    }

    /// A thread's next operations.
    fn follow(&mut self, thread: u64, next: Course) {
        let Some(course) = self.threads.get_mut(&thread) else {
            self.threads.insert(thread, next);
            return;
        };
        let Course { last, .. } = std::mem::replace(course, Course { first: course.first, last: next.last });
        let start = next.first.start;
        self.gaps.add(u64::try_from(start.saturating_sub(last.start)).unwrap_or(0));
        if next.first.has_duration {
            self.thinks.add(u64::try_from(start.saturating_sub(last.end)).unwrap_or(0));
        }
    }

    fn rise(&mut self, start: i64, under_way: usize) {
        if under_way > self.most() {
            self.rises.push((self.latest.map_or(start, |latest| latest.max(start)), under_way));
        }
    }

    fn most(&self) -> usize {
        self.rises.last().map_or(0, |rise| rise.1)
    }

    /// Adds what came next.
    pub(super) fn merge(&mut self, mut next: Self) {
        next.threads.drain().for_each(|(thread, course)| self.follow(thread, course));
        self.gaps.merge(&next.gaps);
        self.thinks.merge(&next.thinks);
        self.durations.merge(&next.durations);
        self.total_ns = self.total_ns.saturating_add(next.total_ns);
        // While more began than ever before in it, some that began before it had not ended.
        for (start, under_way) in next.rises {
            self.forget(start);
            self.rise(start, (under_way + self.ends.len()).min(UNDER_WAY));
        }
        next.latest.iter().for_each(|&latest| self.forget(latest));
        self.ends.append(&mut next.ends);
        self.latest = self.latest.max(next.latest);
    }

    pub(super) fn end(self, span_ns: u64) -> Timing {
        Timing {
            threads: self.threads.len() as u64,
            has_durations: self.durations.total() > 0,
            mean_concurrency: if span_ns > 0 { self.total_ns as f64 / span_ns as f64 } else { 0.0 },
            most_concurrency: self.most() as u64,
            gaps_ns: self.gaps,
            think_ns: self.thinks,
            durations_ns: self.durations,
        }
    }
}
