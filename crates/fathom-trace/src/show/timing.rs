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

#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Start and end of each thread's last operation.
    last: FxHashMap<(u32, u32), (i64, i64)>,
    gaps: Histogram,
    thinks: Histogram,
    durations: Histogram,
    total_ns: f64,
    ends: BinaryHeap<Reverse<i64>>,
    most: usize,
}

impl Clocks {
    pub(super) fn add(&mut self, operation: &Operation) {
        let start = operation.start_ns;
        let duration = operation.duration_ns;
        let end = start.saturating_add_unsigned(duration.unwrap_or(0));
        if let Some((last, last_end)) = self.last.insert((operation.process, operation.thread), (start, end))
        {
            self.gaps.add(u64::try_from(start.saturating_sub(last)).unwrap_or(0));
            if duration.is_some() {
                self.thinks.add(u64::try_from(start.saturating_sub(last_end)).unwrap_or(0));
            }
        }
        let Some(duration) = duration else { return };
        self.durations.add(duration);
        self.total_ns += duration as f64;
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= start) {
            self.ends.pop();
        }
        if self.ends.len() < UNDER_WAY {
            self.ends.push(Reverse(end));
        }
        self.most = self.most.max(self.ends.len());
    }

    pub(super) fn end(self, span_ns: u64) -> Timing {
        Timing {
            threads: self.last.len() as u64,
            has_durations: self.durations.total() > 0,
            gaps_ns: self.gaps,
            think_ns: self.thinks,
            durations_ns: self.durations,
            mean_concurrency: if span_ns > 0 { self.total_ns / span_ns as f64 } else { 0.0 },
            most_concurrency: self.most as u64,
        }
    }
}
