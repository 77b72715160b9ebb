//! How much may be dirty, and how long a writer pauses: `mm/page-writeback.c` under the kernel's names.
//!
//! Pure: it counts pages and jiffies and is told what is dirty. It holds for one device that takes all
//! writes: its share of the limit (`wb_thresh`) is the whole. Left out are the counters per CPU, groups,
//! the strict limit, and real-time tasks.

/// The thresholds of dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The flusher writes as long as more pages than this are dirty: `bg_thresh`.
    pub background: u64,
    /// The limit of dirty pages: `thresh`.
    pub limit: u64,
}

impl Thresholds {
    /// The number of dirty pages at which writers begin to pause. Source: `dirty_freerun_ceiling`.
    pub fn freerun(self) -> u64 {
        self.limit.midpoint(self.background)
    }
}

/// What is known of the speed at which the device takes writes, in pages and jiffies: `struct
/// bdi_writeback`. Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Jiffies in a second.
    pub hz: u64,
    /// The recent bandwidth of writes.
    pub write_bandwidth: u64,
    /// The smoothed bandwidth of writes.
    pub avg_write_bandwidth: u64,
    /// The rate at which one writer may dirty pages.
    pub dirty_ratelimit: u64,
    /// The rate that `dirty_ratelimit` tends to.
    pub balanced_dirty_ratelimit: u64,
    /// The limit that follows the threshold down slowly: `dirty_limit` of the domain.
    pub dirty_limit: u64,
    /// Whether more than the limit was dirty when a writer last looked.
    pub dirty_exceeded: bool,
    /// Pages dirtied so far, and how many those were when the speed was last estimated.
    pub dirtied: u64,
    /// Pages written so far, and how many those were when the speed was last estimated.
    pub written: u64,
    dirtied_stamp: u64,
    written_stamp: u64,
    /// The jiffy at which the speed was last looked at.
    bw_time_stamp: u64,
}

/// What a task remembers of its own writes: part of `struct task_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirtier {
    /// Pages dirtied since it last looked.
    pub nr_dirtied: u64,
    /// The number of pages after which the task looks again.
    pub nr_dirtied_pause: u64,
    /// The time from which its pages have to be paid for by pauses, in jiffies.
    pub dirty_paused_when: Option<u64>,
}

/// The result of balancing dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Whether the flusher is to be woken.
    pub wakes_flusher: bool,
    /// How long the writer pauses, in jiffies.
    pub pause: u64,
}

const PAGE_SHIFT: u32 = 12;
const RATELIMIT_CALC_SHIFT: u32 = 10;
/// `INIT_BW`: 100 MB/s, in pages.
const INITIAL: u64 = 100 << (20 - PAGE_SHIFT);
/// `DIRTY_POLL_THRESH`: 128 KiB, in pages.
const DIRTY_POLL_THRESH: u64 = 128 >> (PAGE_SHIFT - 10);

impl Default for Dirtier {
    fn default() -> Self {
        Self { nr_dirtied: 0, nr_dirtied_pause: DIRTY_POLL_THRESH, dirty_paused_when: None }
    }
}

impl Dirtier {
    /// Whether the task has dirtied so many pages that it must look. Source: `balance_dirty_pages_ratelimited`.
    pub fn must_look(&self, speed: &Speed) -> bool {
        let often = if speed.dirty_exceeded { 32 >> (PAGE_SHIFT - 10) } else { u64::MAX };
        self.nr_dirtied >= self.nr_dirtied_pause.min(often)
    }
}

/// The dirty pages that a writer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Pages that are dirty and not yet under writeback.
    pub dirty: u64,
    /// Pages under writeback.
    pub writeback: u64,
    /// Whether the flusher is writing.
    pub is_flushing: bool,
}

impl Speed {
    /// The speed of a device of which nothing is known yet.
    pub fn unknown(hz: u64, thresholds: Thresholds) -> Self {
        Self {
            hz,
            write_bandwidth: INITIAL,
            avg_write_bandwidth: INITIAL,
            dirty_ratelimit: INITIAL,
            balanced_dirty_ratelimit: INITIAL,
            dirty_limit: thresholds.limit,
            dirty_exceeded: false,
            dirtied: 0,
            written: 0,
            dirtied_stamp: 0,
            written_stamp: 0,
            bw_time_stamp: 0,
        }
    }

    /// The same estimate for a device that took this many pages a second lately.
    #[must_use]
    pub fn expecting(mut self, pages: u64) -> Self {
        let pages = pages.max(1);
        (self.write_bandwidth, self.avg_write_bandwidth) = (pages, pages);
        (self.dirty_ratelimit, self.balanced_dirty_ratelimit) = (pages, pages);
        self
    }

    /// Makes a task that dirtied pages look at the dirty pages. Source: one turn of `balance_dirty_pages`.
    pub fn balance_dirty_pages(
        &mut self,
        task: &mut Dirtier,
        found: Found,
        thresholds: Thresholds,
        now: u64,
    ) -> Balance {
        let dirty = found.dirty + found.writeback;
        let over = found.dirty > thresholds.background && !found.is_flushing;
        if dirty <= thresholds.freerun() {
            self.dirty_exceeded = false;
            *task = Dirtier {
                nr_dirtied: 0,
                nr_dirtied_pause: dirty_poll_interval(dirty, thresholds.limit),
                dirty_paused_when: Some(now),
            };
            return Balance { wakes_flusher: over, pause: 0 };
        }
        self.dirty_exceeded = dirty > thresholds.limit;
        let limit = thresholds.limit.max(self.dirty_limit);
        let share = Share { limit: thresholds.limit, dirty };
        let position = wb_position_ratio(thresholds, limit, dirty, share, self.avg_write_bandwidth);
        if now > self.bw_time_stamp + self.interval() {
            self.update_bandwidth(now, Some((thresholds, dirty, position)));
        }
        let task_ratelimit = (self.dirty_ratelimit * position) >> RATELIMIT_CALC_SHIFT;
        let max_pause = self.wb_max_pause(dirty);
        let (min_pause, nr_dirtied_pause) = self.wb_min_pause(max_pause, task_ratelimit);
        let balance = Balance { wakes_flusher: !found.is_flushing, pause: 0 };
        let mut virtual_now = now;
        let mut pause = max_pause;
        if let Some(period) = (self.hz * task.nr_dirtied).checked_div(task_ratelimit) {
            let think = task.dirty_paused_when.map_or(0, |when| now as i64 - when as i64);
            let due = period as i64 - think;
            if due < min_pause as i64 {
                task.let_go(due, period, now, self.hz);
                return balance;
            }
            virtual_now += (due as u64).saturating_sub(max_pause).min(max_pause);
            pause = (due as u64).min(max_pause);
        }
        // Where the rate is nothing the task looks again before it writes more.
        let again = if task_ratelimit == 0 { task.nr_dirtied } else { 0 };
        let nr_dirtied_pause = if again > 0 { again } else { nr_dirtied_pause };
        let dirty_paused_when = Some(virtual_now + pause);
        *task = Dirtier { nr_dirtied: again, nr_dirtied_pause, dirty_paused_when };
        Balance { pause, ..balance }
    }

    /// Begins an estimate when an idle device gets writes, so that idle time does not count. Source: `wb_bandwidth_estimate_start`.
    pub fn start_estimate(&mut self, now: u64, is_idle: bool) {
        if is_idle && now > self.bw_time_stamp + self.interval() {
            (self.bw_time_stamp, self.dirtied_stamp, self.written_stamp) = (now, self.dirtied, self.written);
        }
    }

    /// Updates the device's speed, unless that was done within the last 200 ms. Source: `wb_update_bandwidth`, as `do_writepages`
    /// calls it.
    pub fn estimate(&mut self, now: u64) {
        if now > self.bw_time_stamp + self.interval() {
            self.update_bandwidth(now, None);
        }
    }

    /// `BANDWIDTH_INTERVAL`: 200 ms.
    pub fn interval(&self) -> u64 {
        (self.hz / 5).max(1)
    }

    /// Source: `__wb_update_bandwidth`.
    fn update_bandwidth(&mut self, now: u64, for_writer: Option<(Thresholds, u64, u64)>) {
        let elapsed = (now - self.bw_time_stamp).max(1);
        if let Some((thresholds, dirty, position)) = for_writer {
            self.update_dirty_limit(thresholds.limit, dirty);
            self.update_dirty_ratelimit(thresholds, dirty, position, elapsed);
        }
        self.update_write_bandwidth(elapsed);
        (self.bw_time_stamp, self.dirtied_stamp, self.written_stamp) = (now, self.dirtied, self.written);
    }

    /// Source: `domain_update_dirty_limit`.
    fn update_dirty_limit(&mut self, threshold: u64, dirty: u64) {
        let target = threshold.max(dirty);
        if self.dirty_limit < threshold {
            self.dirty_limit = threshold;
        } else if self.dirty_limit > target {
            self.dirty_limit -= (self.dirty_limit - target) >> 5;
        }
    }

    /// Source: `wb_update_write_bandwidth`.
    fn update_write_bandwidth(&mut self, elapsed: u64) {
        let period = (3 * self.hz).next_power_of_two();
        let (mut avg, old) = (self.avg_write_bandwidth, self.write_bandwidth);
        let written = (self.written - self.written_stamp) * self.hz;
        let new = if elapsed > period {
            avg = written / elapsed;
            avg
        } else {
            let new = (written + old * (period - elapsed)) / period;
            if avg > old && old >= new {
                avg -= (avg - old) >> 3;
            } else if avg < old && old <= new {
                avg += (old - avg) >> 3;
            }
            new
        };
        (self.write_bandwidth, self.avg_write_bandwidth) = (new, avg.max(1));
    }

    /// Source: `wb_update_dirty_ratelimit`.
    fn update_dirty_ratelimit(&mut self, thresholds: Thresholds, dirty: u64, position: u64, elapsed: u64) {
        let limit = thresholds.limit.max(self.dirty_limit);
        let setpoint = u64::midpoint(thresholds.freerun(), limit);
        let dirty_rate = (self.dirtied - self.dirtied_stamp) * self.hz / elapsed;
        let task_ratelimit = ((self.dirty_ratelimit * position) >> RATELIMIT_CALC_SHIFT) + 1;
        let balanced = task_ratelimit * self.avg_write_bandwidth / (dirty_rate | 1);
        let balanced = balanced.min(self.avg_write_bandwidth);
        self.dirty_ratelimit = self.next_ratelimit(balanced, task_ratelimit, dirty < setpoint);
        self.balanced_dirty_ratelimit = balanced;
    }

    /// The next rate of a writer, from the balanced rate and its present rate: a step towards both, if both and the last balanced
    /// rate agree on the direction. Source: `wb_update_dirty_ratelimit`.
    pub fn next_ratelimit(&self, balanced: u64, task_ratelimit: u64, is_below: bool) -> u64 {
        let rate = self.dirty_ratelimit;
        let step = if is_below {
            self.balanced_dirty_ratelimit.min(balanced).min(task_ratelimit).saturating_sub(rate)
        } else {
            rate.saturating_sub(self.balanced_dirty_ratelimit.max(balanced).max(task_ratelimit))
        };
        let shift = rate / (2 * step + 1);
        let step = if shift < 64 { (step >> shift).div_ceil(8) } else { 0 };
        (if rate < balanced { rate + step } else { rate.saturating_sub(step) }).max(1)
    }

    /// The longest pause that leaves the device with work. Source: `wb_max_pause`.
    pub fn wb_max_pause(&self, dirty: u64) -> u64 {
        let per_pause = self.avg_write_bandwidth / (1 + self.hz / 8).next_power_of_two();
        (dirty / (1 + per_pause) + 1).min((self.hz / 5).max(1))
    }

    /// The shortest useful pause, and the number of pages after which to look again. Source: `wb_min_pause`.
    pub fn wb_min_pause(&self, max_pause: u64, task_ratelimit: u64) -> (u64, u64) {
        let per_second = self.hz.next_power_of_two();
        let (hi, lo) = (self.avg_write_bandwidth.ilog2(), self.dirty_ratelimit.ilog2());
        let target = (self.hz / 100).max(1) + u64::from(hi.saturating_sub(lo)) * (10 * self.hz) / 1024;
        let mut target = target.min(1 + max_pause / 2);
        let mut pages = self.dirty_ratelimit * target / per_second;
        if pages < DIRTY_POLL_THRESH {
            target = max_pause;
            pages = self.dirty_ratelimit * target / per_second;
            if pages > DIRTY_POLL_THRESH {
                pages = DIRTY_POLL_THRESH;
                target = self.hz * DIRTY_POLL_THRESH / self.dirty_ratelimit;
            }
        }
        if self.hz * pages / (task_ratelimit + 1) > max_pause {
            target = max_pause;
            pages = task_ratelimit * target / per_second;
        }
        (if pages >= DIRTY_POLL_THRESH { 1 + target / 2 } else { target }, pages)
    }
}

impl Dirtier {
    /// A pause that is too short is owed, unless the task dirties little.
    fn let_go(&mut self, pause: i64, period: u64, now: u64, hz: u64) {
        if pause < -(hz as i64) {
            (self.dirty_paused_when, self.nr_dirtied) = (Some(now), 0);
        } else if period > 0 {
            self.dirty_paused_when = Some(self.dirty_paused_when.unwrap_or(0) + period);
            self.nr_dirtied = 0;
        } else if self.nr_dirtied_pause <= self.nr_dirtied {
            self.nr_dirtied_pause += self.nr_dirtied;
        }
    }
}

/// The number of pages after which a task that need not pause looks again. Source: `dirty_poll_interval`.
pub fn dirty_poll_interval(dirty: u64, limit: u64) -> u64 {
    if limit > dirty { 1 << ((limit - dirty).ilog2() >> 1) } else { 1 }
}

/// A device's share of the threshold and of the dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its share of the threshold: `wb_thresh`.
    pub limit: u64,
    /// Its share of the dirty pages: `wb_dirty`.
    pub dirty: u64,
}

/// The factor by which a writer is slowed down or sped up so that the dirty pages come to the setpoint, in 1,024ths. `limit` is the
/// limit that follows the threshold down. Source: `wb_position_ratio`, `pos_ratio_polynom`.
pub fn wb_position_ratio(
    thresholds: Thresholds,
    limit: u64,
    dirty: u64,
    share: Share,
    bandwidth: u64,
) -> u64 {
    if dirty >= limit {
        return 0;
    }
    let setpoint = u64::midpoint(thresholds.freerun(), limit);
    let x = ((setpoint as i64 - dirty as i64) << RATELIMIT_CALC_SHIFT) / ((limit - setpoint) as i64 | 1);
    let cube = (((x * x) >> RATELIMIT_CALC_SHIFT) * x) >> RATELIMIT_CALC_SHIFT;
    let mut ratio = (cube + (1 << RATELIMIT_CALC_SHIFT)).clamp(0, 2 << RATELIMIT_CALC_SHIFT) as u64;
    let Share { limit: part_of_limit, dirty: own } = share;
    let share = part_of_limit.min(thresholds.limit).max((limit - dirty) / 8);
    let part = (share << 16) / (thresholds.limit | 1);
    let wb_setpoint = (setpoint * part) >> 16;
    // A share above the threshold wraps round in the kernel, and back.
    let span = ((thresholds.limit + 8 * bandwidth).saturating_sub(share) * part) >> 16;
    let end = wb_setpoint + span;
    if own < end - span / 4 {
        ratio = ratio * (end - own) / (span | 1);
    } else {
        ratio /= 4;
    }
    let reserve = share / 2;
    if own < reserve {
        ratio = if own > reserve / 8 { ratio * reserve / own } else { ratio * 8 };
    }
    ratio
}

/// The number of pages of a file that the flusher writes before it turns to the next file. Source: `writeback_chunk_size`.
pub fn writeback_chunk_size(speed: &Speed) -> u64 {
    const LEAST: u64 = 4096 >> (PAGE_SHIFT - 10);
    let pages = (speed.avg_write_bandwidth / 2).min(speed.dirty_limit / 8);
    (pages + LEAST) / LEAST * LEAST
}

#[cfg(test)]
mod tests;
