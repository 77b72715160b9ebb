//! The overflows by which policies are told apart, and what is probed after each.
//!
//! Spans are in parts of the capacity C. All begin with an empty cache.
//!
//! | overflow | the file | tells |
//! |---|---|---|
//! | once | 2 C, read once | whether what came first goes first |
//! | again | 0.8 C, every second unit of 0.6 C read again | whether a second use matters |
//! | second | 0.9 C, read forward and then backward | whether the order of the second use matters |
//! | third | the same after two readings forward | whether the order of a third use matters |
//! | scan | 0.42 C, read twice, a part of it often; 0.06 C that come back | whether long readings pass by |
//! | history | 0.1 C that come back after 1.05 C | whether dropped pages are remembered |

use crate::inference::replacement::Remains;
use crate::inference::survivors;
use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Traversal, Workload};

/// An overflow, and where its probes stand in it.
pub(super) struct Overflow {
    pub(super) workload: Workload,
    pub(super) groups: Vec<Group>,
}

/// Probes that belong together.
pub(super) struct Group {
    /// Their passes.
    pub(super) passes: Vec<usize>,
    /// In each, the first position and the distance to the next one.
    pub(super) first: usize,
    pub(super) every: usize,
}

impl Group {
    fn of(pass: usize) -> Self {
        Self { passes: vec![pass], first: 0, every: 1 }
    }
}

/// The share of each group, by overflow.
pub(super) type Shares = [Vec<f64>; 6];

/// The file whose pages are looked at, and the one that is read to make others leave.
const TEST: usize = 0;
const OTHER: usize = 1;
/// Bytes of a unit, which is read in one go: not less than a folio can have, because the pages of one live
/// and die together.
const UNIT: u64 = 2 << 20;
/// A small cache has at least so many units.
const FEWEST_UNITS: u64 = 24;
/// Bytes of a probe: few, because a miss brings them in.
const PROBE: u64 = 16 << 10;
/// Probes of a group, and how near to each other they may be.
const PROBES: u64 = 64;
const APART: u64 = 128 << 10;
/// Linux judges the lengths of its lists by counts that may be old. A kernel thread brings them up to date
/// every two seconds, unless its CPU sleeps; after four, the code that needs them does it itself:
/// `mem_cgroup_flush_stats_ratelimited` of `mm/memcontrol.c`.
const COUNTED_NS: u64 = 4_100_000_000;
/// How long all overflows together wait for that.
pub(super) const WAITING_NS: u64 = 2 * COUNTED_NS;

/// Bytes read from holes in all overflows together, in parts of the capacity, rounded up.
pub(super) const VOLUME: u64 = 15;

/// All of them, for a cache of so many bytes.
pub(super) fn all(capacity: u64) -> [Overflow; 6] {
    [once(capacity), again(capacity), second(capacity), third(capacity), scan(capacity), history(capacity)]
}

/// What the shares of [`all`] mean.
pub(super) fn remains([once, again, second, third, scan, history]: &Shares) -> Remains {
    Remains {
        once: std::array::from_fn(|quarter| once[quarter]),
        again: again[0] - again[1],
        second: second[0] - second[1],
        third: third[0] - third[1],
        short: scan[0],
        long: scan[1],
        often: scan[2],
        refault: scan[3],
        history: history[0],
    }
}

fn once(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    steps.read(TEST, [0.0, 2.0]);
    // The last first: what is found there makes nothing leave, and what is missed elsewhere does.
    let mut quarters = [1.5, 1.0, 0.5, 0.0].map(|from| steps.probe([from, from + 0.5], 2));
    quarters.reverse();
    steps.finish(quarters.into())
}

fn again(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    steps.read(TEST, [0.0, 0.8]);
    // A hand that spares what was used has gone round when the second use comes.
    steps.read(OTHER, [0.0, 0.3]);
    // What has left by now would make others leave when it comes back, and those the next ones.
    steps.read_every_second(TEST, [0.2, 0.8]);
    steps.read(OTHER, [0.3, 0.72]);
    let passes = steps.probe_units([0.2, 0.8]);
    let groups = [1, 0].map(|first| Group { passes: passes.clone(), first, every: 2 });
    steps.finish(groups.into())
}

fn second(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    steps.read(TEST, [0.0, 0.9]);
    steps.read_backward(TEST, [0.0, 0.9]);
    steps.turned()
}

fn third(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    steps.read(TEST, [0.0, 0.9]);
    steps.read(TEST, [0.0, 0.9]);
    steps.read_backward(TEST, [0.0, 0.9]);
    steps.wait();
    steps.turned()
}

fn scan(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    let (twice, often, back) = ([0.0, 0.25], [0.25, 0.42], [0.42, 0.48]);
    steps.read(TEST, [0.0, 0.42]);
    steps.read(TEST, [0.0, 0.42]);
    for _ in 0..6 {
        steps.read(TEST, often);
    }
    steps.read(TEST, back);
    steps.read(OTHER, [0.0, 0.4]);
    steps.wait();
    // 0.1 C leave, and then come back: fewer than have been used twice, even if as many are read ahead.
    steps.read(OTHER, [0.4, 0.62]);
    steps.read(TEST, back);
    steps.read(OTHER, [0.62, 1.31]);
    let short = steps.probe(twice, 1);
    steps.read(OTHER, [1.31, 2.11]);
    let long = [twice, often, back].map(|span| steps.probe(span, 3));
    steps.finish([short].into_iter().chain(long).collect())
}

fn history(capacity: u64) -> Overflow {
    let mut steps = Steps::new(capacity);
    steps.read(TEST, [0.0, 0.1]);
    steps.read(OTHER, [0.0, 1.05]);
    steps.read(TEST, [0.0, 0.1]);
    steps.read(OTHER, [1.05, 2.15]);
    let group = steps.probe([0.0, 0.1], 2);
    steps.finish(vec![group])
}

/// Passes in the making.
struct Steps {
    capacity: u64,
    unit: u64,
    passes: Vec<Pass>,
}

impl Steps {
    fn new(capacity: u64) -> Self {
        let most = (capacity / FEWEST_UNITS).max(PROBE);
        let unit = UNIT.min(1 << most.ilog2());
        let mut steps = Self { capacity, unit, passes: Vec::new() };
        steps.empty(TEST);
        steps.empty(OTHER);
        steps
    }

    fn empty(&mut self, file: usize) {
        self.passes.push(Pass::untimed(file, &[CallKind::Evict, CallKind::Close, CallKind::Open]));
    }

    /// The first unit of a span, and the first one behind it.
    fn units(&self, span: [f64; 2]) -> [u64; 2] {
        span.map(|part| (part * self.capacity as f64 / self.unit as f64).round() as u64)
    }

    fn reading(&self, file: usize, span: [f64; 2]) -> Pass {
        let [from, to] = self.units(span);
        let region = Region { offset: from * self.unit, size: self.unit, step: self.unit, count: to - from };
        Pass::priming(file, &[CallKind::Pread], region)
    }

    fn read(&mut self, file: usize, span: [f64; 2]) {
        self.passes.push(self.reading(file, span));
    }

    fn read_backward(&mut self, file: usize, span: [f64; 2]) {
        self.passes.push(self.reading(file, span).direction(Traversal::Backward));
    }

    /// Reads the second unit of each pair.
    fn read_every_second(&mut self, file: usize, span: [f64; 2]) {
        let [from, to] = self.pairs(span);
        let (offset, step) = ((from + 1) * self.unit, 2 * self.unit);
        let region = Region { offset, size: self.unit, step, count: (to - from) / 2 };
        self.passes.push(Pass::priming(file, &[CallKind::Pread], region));
    }

    /// As [`Self::units`], and whole pairs.
    fn pairs(&self, span: [f64; 2]) -> [u64; 2] {
        self.units(span).map(|unit| unit / 2 * 2)
    }

    fn wait(&mut self) {
        self.passes.push(Pass::pause(COUNTED_NS));
    }

    /// Probes a span; `place` of 4 is where between neighbours, so that none is probed twice.
    fn probe(&mut self, span: [f64; 2], place: u64) -> Group {
        let [from, to] = self.units(span).map(|unit| unit * self.unit);
        let count = ((to - from) / APART).clamp(1, PROBES);
        let step = (to - from) / count / PROBE * PROBE;
        let offset = from + step / 4 * place / PROBE * PROBE;
        Group::of(self.probing(Region { offset, size: PROBE, step, count }))
    }

    /// Probes units of a span at several places in each, since one is a large part of a small cache. They
    /// are the first and the second of their pair by turns.
    fn probe_units(&mut self, span: [f64; 2]) -> Vec<usize> {
        let [from, to] = self.pairs(span);
        let every = (to - from).div_ceil(PROBES / 2) | 1;
        let places = [1, 3, 5, 7].map(|eighth| {
            let offset = from * self.unit + self.unit / 8 * eighth / PROBE * PROBE;
            Region { offset, size: PROBE, step: every * self.unit, count: (to - from).div_ceil(every) }
        });
        places.map(|region| self.probing(region)).into()
    }

    fn probing(&mut self, region: Region) -> usize {
        // In an order of chance: a miss makes others leave.
        self.passes.push(Pass::timed(TEST, &[CallKind::Prefetch], region).direction(Traversal::Random));
        self.passes.len() - 1
    }

    /// Lets 0.4 C leave, and probes both ends of what was read.
    fn turned(mut self) -> Overflow {
        self.read(OTHER, [0.0, 0.5]);
        let groups = [[0.0, 0.1], [0.8, 0.9]].map(|span| self.probe(span, 2));
        self.finish(groups.into())
    }

    /// Adds what known hits and misses take, and the end.
    fn finish(mut self, groups: Vec<Group>) -> Overflow {
        let probed = self.passes[self.passes.len() - 1].region;
        let hits = self.probing(probed);
        self.passes[hits].label = survivors::HITS;
        self.empty(TEST);
        let misses = self.probing(probed);
        self.passes[misses].label = survivors::MISSES;
        self.empty(TEST);
        self.empty(OTHER);
        // Each file ends where its reading does, so that nothing more is read ahead.
        let length = |file: usize| {
            let read = self.passes.iter().filter(|pass| pass.file == file && pass.ops == [CallKind::Pread]);
            read.map(|pass| pass.region.offset + pass.region.step * pass.region.count).max().unwrap_or(0)
        };
        let file = |name: &str, length: u64| ScratchFile::sparse(&format!("{name}-{length}"), length);
        let files = vec![file("test", length(TEST)), file("other", length(OTHER))];
        let workload = self.passes.into_iter().fold(Workload::new(files), Workload::pass);
        Overflow { workload, groups }
    }
}
