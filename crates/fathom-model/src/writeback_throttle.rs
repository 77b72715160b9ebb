//! How many writes may be under way while reads are slow: `block/blk-wbt.c` and `block/blk-rq-qos.c` of 6.18, function
//! by function under the names that they have there.
//!
//! Pure: it is told of each request when it comes, goes to the device and is done, and what time it is, in ns. Reads
//! are never held. Left out is reclaim, which has a queue of its own.

use std::collections::VecDeque;

/// The throttle of the writes of a queue: blk-wbt.
#[derive(Clone, Debug)]
pub struct Throttle<R> {
    /// What a read may take: `min_lat_nsec`; zero for no throttle.
    min_lat: u64,
    /// Whether the device has a cache of its own that forgets.
    has_cache: bool,
    depth: Depth,
    wb_background: u32,
    wb_normal: u32,
    unknown_cnt: u32,
    window: u64,
    is_armed: bool,
    /// Reads that came and were done last.
    last_issue: Option<u64>,
    last_comp: Option<u64>,
    /// A read under way, and since when.
    sync_issue: Option<(u64, u64)>,
    inflight: u32,
    sleepers: VecDeque<(R, Urgency)>,
    seen: Seen,
}

/// How many requests may be under way: `struct rq_depth`.
#[derive(Clone, Copy, Debug)]
struct Depth {
    queue_depth: u32,
    max_depth: u32,
    scale_step: i32,
    scaled_max: bool,
}

/// What was done in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    reads: u64,
    fastest_read: u64,
    writes: u64,
}

/// Why something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A caller waits for it: REQ_SYNC.
    Sync,
    /// No caller waits for it: REQ_BACKGROUND.
    Background,
}

/// What a window tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Latency {
    Ok,
    Unknown,
    UnknownWrites,
    Exceeded,
}

/// `RWB_DEF_DEPTH`, `RWB_WINDOW_NSEC`, `RWB_MIN_WRITE_SAMPLES` and `RWB_UNKNOWN_BUMP`.
const DEFAULT_DEPTH: u32 = 16;
const WINDOW: u64 = 100_000_000;
const LEAST_WRITES: u64 = 3;
const UNKNOWN_BUMP: u32 = 5;
/// How long a read counts as one that was here just now: HZ / 10.
const CLOSE: u64 = 100_000_000;

impl<R> Throttle<R> {
    /// A throttle for reads that may take `min_lat` ns, of a queue of `queue_depth` requests.
    pub fn new(min_lat: u64, queue_depth: u32, has_cache: bool) -> Self {
        let depth = Depth { queue_depth, max_depth: 0, scale_step: 0, scaled_max: false };
        let mut throttle = Self {
            min_lat,
            has_cache,
            depth,
            wb_background: 0,
            wb_normal: 0,
            unknown_cnt: 0,
            window: WINDOW,
            is_armed: false,
            last_issue: None,
            last_comp: None,
            sync_issue: None,
            inflight: 0,
            sleepers: VecDeque::new(),
            seen: Seen::default(),
        };
        throttle.depth.calc_max_depth();
        throttle.calc_wb_limits();
        throttle
    }

    /// Whether the throttle limits anything.
    pub fn is_on(&self) -> bool {
        self.min_lat > 0
    }

    /// Records the arrival of a read. Source: `wbt_wait`.
    pub fn read_comes(&mut self, now: u64) {
        self.last_issue = Some(now);
    }

    /// Records the arrival of a write; returns it if it may go on, and keeps it if it has to wait. `waits` says whether a writer
    /// had to pause for its dirty pages within the last second. Source: `wbt_wait`, `rq_qos_wait`.
    pub fn write_comes(&mut self, write: R, urgency: Urgency, waits: bool, now: u64) -> Option<R> {
        if self.sleepers.is_empty() && self.inc_below(urgency, waits, now) {
            return Some(write);
        }
        self.sleepers.push_back((write, urgency));
        None
    }

    /// Records that a read goes to the device. Source: `wbt_issue`.
    pub fn read_issued(&mut self, id: u64, now: u64) {
        self.sync_issue.get_or_insert((id, now));
    }

    /// Records the end of a read, `took` ns after it went to the device. Source: `wbt_done`, `blk_stat_add`.
    pub fn read_done(&mut self, id: u64, took: u64, now: u64) {
        self.last_comp = Some(now);
        if self.sync_issue.is_some_and(|(issued, _)| issued == id) {
            self.sync_issue = None;
        }
        let fastest = if self.seen.reads == 0 { took } else { self.seen.fastest_read.min(took) };
        (self.seen.reads, self.seen.fastest_read) = (self.seen.reads + 1, fastest);
    }

    /// Records the end of a write; returns the writes that may go on now. Source: `wbt_rqw_done`.
    pub fn write_done(&mut self, waits: bool, now: u64) -> Vec<R> {
        self.seen.writes += 1;
        self.write_freed(waits, now)
    }

    /// Records that a write became part of another; returns the writes that may go on now.
    pub fn write_freed(&mut self, waits: bool, now: u64) -> Vec<R> {
        self.inflight = self.inflight.saturating_sub(1);
        let limit = if self.has_cache && !waits { 0 } else { self.wb_normal };
        if self.inflight > 0 && self.inflight >= limit {
            return Vec::new();
        }
        let wakes = self.inflight == 0 || limit - self.inflight >= self.wb_background / 2;
        if wakes { self.wake_all(waits, now) } else { Vec::new() }
    }

    /// The ns until the end of the window that has to be begun; reported once. Source: `rwb_arm_timer`.
    pub fn arm_timer(&mut self) -> Option<u64> {
        if self.is_armed || !self.is_on() || (self.inflight == 0 && self.depth.scale_step == 0) {
            return None;
        }
        self.is_armed = true;
        self.window = match u32::try_from(self.depth.scale_step) {
            Ok(step) if step > 0 => (WINDOW << 4) / u64::from((step + 1) << 8).isqrt(),
            _ => WINDOW,
        };
        Some(self.window)
    }

    /// Ends a window, so that more or fewer writes may be under way; returns those that may go on now. Source: `wb_timer_fn`.
    pub fn timer_fn(&mut self, waits: bool, now: u64) -> Vec<R> {
        self.is_armed = false;
        let latency = self.latency_exceeded(waits, now);
        self.seen = Seen::default();
        let changes = match latency {
            Latency::Exceeded => self.depth.scale_down(true),
            Latency::Ok | Latency::UnknownWrites => return self.scale_up(waits, now),
            Latency::Unknown => {
                self.unknown_cnt += 1;
                if self.unknown_cnt < UNKNOWN_BUMP {
                    return Vec::new();
                }
                match self.depth.scale_step {
                    1.. => return self.scale_up(waits, now),
                    0 => false,
                    _ => self.depth.scale_down(false),
                }
            }
        };
        if changes {
            self.calc_wb_limits();
            self.unknown_cnt = 0;
        }
        Vec::new()
    }

    fn scale_up(&mut self, waits: bool, now: u64) -> Vec<R> {
        if !self.depth.scale_up() {
            return Vec::new();
        }
        self.calc_wb_limits();
        self.unknown_cnt = 0;
        self.wake_all(waits, now)
    }

    fn latency_exceeded(&self, waits: bool, now: u64) -> Latency {
        let waited = self.sync_issue.map_or(0, |(_, issued)| now - issued);
        if waited > self.window || (waited > self.min_lat && self.seen.reads == 0) {
            return Latency::Exceeded;
        }
        if self.seen.reads == 0 || self.seen.writes < LEAST_WRITES {
            let only_writes = self.seen.writes > 0 || waits || self.inflight > 0;
            return if only_writes { Latency::UnknownWrites } else { Latency::Unknown };
        }
        if self.seen.fastest_read > self.min_lat { Latency::Exceeded } else { Latency::Ok }
    }

    fn calc_wb_limits(&mut self) {
        let most = self.depth.max_depth;
        (self.wb_normal, self.wb_background) = match most {
            _ if self.min_lat == 0 => (0, 0),
            0..=2 => (most, 1),
            _ => (most.div_ceil(2), most.div_ceil(4)),
        };
    }

    fn get_limit(&self, urgency: Urgency, waits: bool, now: u64) -> u32 {
        let is_close = |at: Option<u64>| at.is_some_and(|at| now < at + CLOSE);
        if urgency == Urgency::Sync || waits {
            self.depth.max_depth
        } else if urgency == Urgency::Background || is_close(self.last_issue) || is_close(self.last_comp) {
            self.wb_background
        } else {
            self.wb_normal
        }
    }

    fn inc_below(&mut self, urgency: Urgency, waits: bool, now: u64) -> bool {
        let may = self.inflight < self.get_limit(urgency, waits, now);
        self.inflight += u32::from(may);
        may
    }

    /// In their order, up to the first that has to wait on.
    fn wake_all(&mut self, waits: bool, now: u64) -> Vec<R> {
        let mut awake = Vec::new();
        while let Some(&(_, urgency)) = self.sleepers.front() {
            if !self.inc_below(urgency, waits, now) {
                break;
            }
            awake.extend(self.sleepers.pop_front().map(|(write, _)| write));
        }
        awake
    }
}

impl Depth {
    /// Whether more can't be had by scaling. Source: `rq_depth_calc_max_depth`.
    fn calc_max_depth(&mut self) -> bool {
        let Self { queue_depth, scale_step, .. } = *self;
        if queue_depth == 1 {
            self.max_depth = if scale_step > 0 { 1 } else { 2 };
            return scale_step <= 0;
        }
        let depth = DEFAULT_DEPTH.min(queue_depth);
        let most = 3 * queue_depth / 4;
        let step = scale_step.unsigned_abs().min(31);
        let wanted = match scale_step {
            1.. => 1 + ((depth - 1) >> step),
            0 => depth,
            _ => 1 + (u64::from(depth - 1) << step).min(u64::from(u32::MAX / 2)) as u32,
        };
        let is_most = scale_step < 0 && wanted > most;
        self.max_depth = if is_most { most } else { wanted };
        is_most
    }

    fn scale_up(&mut self) -> bool {
        if self.scaled_max {
            return false;
        }
        self.scale_step -= 1;
        self.scaled_max = self.calc_max_depth();
        true
    }

    /// A step of more than one where reads were too slow.
    fn scale_down(&mut self, is_hard: bool) -> bool {
        if self.max_depth == 1 {
            return false;
        }
        self.scale_step = if self.scale_step < 0 && is_hard { 0 } else { self.scale_step + 1 };
        self.scaled_max = false;
        self.calc_max_depth();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn throttle() -> Throttle<u64> {
        Throttle::new(75 * MS, 256, false)
    }

    /// How many writes of a kind may be under way.
    fn go_on(throttle: &mut Throttle<u64>, urgency: Urgency, waits: bool) -> usize {
        (0..100).filter_map(|write| throttle.write_comes(write, urgency, waits, 0)).count()
    }

    #[test]
    fn sixteen_go_on_if_somebody_waits_and_four_if_nobody_does() {
        assert_eq!(go_on(&mut throttle(), Urgency::Sync, false), 16);
        assert_eq!(go_on(&mut throttle(), Urgency::Background, false), 4);
        assert_eq!(go_on(&mut throttle(), Urgency::Background, true), 16);
    }

    #[test]
    fn those_that_wait_go_on_in_their_order_and_behind_a_cache_all_at_once() {
        let mut plain = throttle();
        go_on(&mut plain, Urgency::Sync, false);
        // Half of sixteen, and the background's half below: those are woken at six.
        let woken: Vec<usize> = (0..11).map(|_| plain.write_done(false, 0).len()).collect();
        assert_eq!(woken, [0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0]);
        let mut cached = Throttle::new(75 * MS, 256, true);
        go_on(&mut cached, Urgency::Sync, false);
        let woken: Vec<usize> = (0..16).map(|_| cached.write_done(false, 0).len()).collect();
        assert_eq!(woken[..15], [0; 15]);
        assert_eq!(woken[15], 16);
    }

    /// A window of reads that took so long, and writes.
    fn window(throttle: &mut Throttle<u64>, read: Option<u64>, writes: u64, now: u64) {
        throttle.write_comes(0, Urgency::Sync, false, now);
        throttle.arm_timer();
        if let Some(took) = read {
            throttle.read_issued(1, now);
            throttle.read_done(1, took, now);
        }
        (0..writes).for_each(|_| drop(throttle.write_done(false, now)));
        throttle.timer_fn(false, now);
    }

    /// How many writes may be under way: in the background, and at most.
    fn limits<R>(throttle: &Throttle<R>) -> [u32; 2] {
        [throttle.wb_background, throttle.depth.max_depth]
    }

    #[test]
    fn slow_reads_halve_what_may_be_under_way_and_fast_ones_give_it_back() {
        let mut throttle = throttle();
        let mut seen = Vec::new();
        for (took, now) in [80, 90, 100, 100, 100, 5, 5].into_iter().zip(1..) {
            window(&mut throttle, Some(took * MS), 3, now * 100 * MS);
            seen.push(limits(&throttle));
        }
        assert_eq!(seen, [[2, 8], [1, 4], [1, 2], [1, 1], [1, 1], [1, 2], [1, 4]]);
    }

    #[test]
    fn writes_alone_get_more_up_to_three_quarters_of_the_queue_and_lose_it_to_the_first_slow_read() {
        let mut throttle = throttle();
        let mut seen = Vec::new();
        for now in 1..6 {
            window(&mut throttle, None, 3, now * 100 * MS);
            seen.push(limits(&throttle)[1]);
        }
        assert_eq!(seen, [31, 61, 121, 192, 192]);
        window(&mut throttle, Some(80 * MS), 3, 700 * MS);
        assert_eq!(limits(&throttle), [4, 16]);
    }

    #[test]
    fn a_read_that_does_not_come_back_counts_as_slow() {
        let mut throttle = throttle();
        throttle.write_comes(0, Urgency::Sync, false, 0);
        assert_eq!(throttle.arm_timer(), Some(100 * MS));
        assert_eq!(throttle.arm_timer(), None, "it runs");
        throttle.read_issued(7, MS);
        throttle.timer_fn(false, 100 * MS);
        assert_eq!(limits(&throttle), [2, 8]);
        // 100 ms by the root of two, in whole numbers: 22 of 16.
        assert_eq!(throttle.arm_timer(), Some(1_600 * MS / 22));
    }
}
