//! How much may be dirty before writers wait, out of bursts of writes that each began with nothing dirty.
//!
//! A burst makes data dirty many times as fast as the device takes them away, so that what was written
//! when the first write waits is nearly what was dirty. It is a little more: the device took some away
//! meanwhile, and the kernel lets the first waits add up before it has a writer sleep
//! (`balance_dirty_pages`: a pause below the shortest is carried over to the next). Both are estimated
//! from the durations of the same burst.
//!
//! A device does not take data evenly: a disk's cache, or a control group that grants bytes for a tenth of a second,
//! swallows many MiB in the 2 ms for which the flusher or another program has the writer's processor. Only bursts
//! whose writer was held up for next to no time before it had to wait tell where the point is.

use fathom_stats::quantile;

use fathom_program::units::Bytes;
use fathom_run::samples::Samples;

/// The label of the pass of a burst's writes.
pub const WRITES: &str = "writes";
/// The label of the pass of the sync after the writes, which ends once the device has all of them.
pub const SYNC: &str = "sync";

/// Where the writes of a burst began to wait. All values in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Onset {
    /// The bytes written before the first write that waited.
    pub written: f64,
    /// The bytes that the first wait pays for, at the pace of the waits. It was due this much earlier, or up to twice as much,
    /// because at the threshold itself the kernel lets a writer go at twice the pace at which it levels off (`wb_position_ratio`).
    pub owed: f64,
    /// The bytes that the device stored in the time up to there at its mean pace. The device may have begun late.
    pub drained: f64,
    /// The bytes that could have been written in the time for which the writer was held up before. A device that stores much at
    /// once is no faster than that.
    pub held_up: f64,
}

/// What one burst shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waiting {
    /// Writes wait from this point on.
    From(Onset),
    /// No write waits, or too few at the end to be sure: write more.
    NotYet,
    /// The device stores data nearly as fast as they become dirty, so that the bytes written are not the bytes that are dirty.
    DrainsAlong,
}

/// The amount of dirty data at which writers wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The amount in bytes.
    pub bytes: f64,
    /// The interval that the agreeing bursts allow.
    pub interval: [f64; 2],
    /// The confidence level of the interval.
    pub level: f64,
}

/// Waits are looked for in stretches of this part of a burst: several writes each, because a writer that
/// waits makes some at full pace and pays for all at once.
const STRETCHES: usize = 16;
/// In a stretch that waits a write takes so many times as long as a typical one, on average: the pace of
/// processors and of memory changes by less.
const TELLING_TIMES: f64 = 4.0;
/// A writer that waits is no faster than so many times the device. The kernel lets it go at up to twice the
/// device's pace, and takes a device that it does not know yet for one of 100 MB/s (`INIT_BW`): eight times one of
/// 25 MB/s.
const PACE_OF_DEVICE: f64 = 8.0;
/// Writers must be so many times as fast as the device: what it takes away meanwhile is then at most an
/// eighth of what was written, and half of that is the error.
const OUTPACES: f64 = 8.0;
/// Onsets that differ by more than this share are not of the same point. A writer that was held up for more than this share of its
/// time is not used: the device may have stored as much.
pub const AGREE_WITHIN: f64 = 0.15;
/// Bursts that must agree.
const ENOUGH: usize = 4;

/// What each burst of a run shows. Writes are of one size, in order, and start at the beginning.
pub fn waits(samples: &Samples) -> Vec<Waiting> {
    let Some(pass) = samples.labelled(WRITES).next() else { return Vec::new() };
    let region = samples.workload.passes[pass].region;
    let (writes, syncs) = (samples.matrix(pass, 0), samples.latencies(SYNC, 0));
    let burst = |(latencies, sync): (&[f64], &f64)| waiting(latencies, *sync, region.size as f64);
    writes.chunks_exact(region.count as usize).zip(&syncs).map(burst).collect()
}

/// What a burst with these latencies shows. Writes have `size` bytes and start at the beginning; the unit of time does not matter.
pub fn waiting(latencies: &[f64], sync: f64, size: f64) -> Waiting {
    let stretch = latencies.len() / STRETCHES;
    // Those that come first do not wait, unless a burst is many times too long.
    let Some(typical) = quantile::median(&latencies[..4 * stretch]).filter(|_| stretch >= 2) else {
        return Waiting::NotYet;
    };
    // The device has been at work for no longer than this, so that it takes no longer for one write.
    let of_device = (latencies.iter().sum::<f64>() + sync) / latencies.len() as f64;
    if of_device < OUTPACES * typical {
        return Waiting::DrainsAlong;
    }
    let slow = (of_device / PACE_OF_DEVICE).max(TELLING_TIMES * typical);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let waits = |at: &usize| {
        let ahead = &latencies[*at..*at + stretch];
        let mean = mean(ahead);
        // One stall alone is none, and a writer does not wait until a write pays for more than itself.
        let longest = ahead.iter().copied().fold(0.0, f64::max) / stretch as f64;
        ahead[0] >= mean - longest
            && mean >= slow
            && mean - longest >= (slow / 2.0).max(TELLING_TIMES * typical)
    };
    let Some(from) = (0..=latencies.len() - stretch).find(waits) else { return Waiting::NotYet };
    let first = from + rise(&latencies[from..from + stretch], mean(&latencies[from..from + stretch]) / 4.0);
    let pace = mean(&latencies[first..(first + stretch).min(latencies.len())]);
    let until: f64 = latencies[..first].iter().sum();
    // A little wait may come first, and what the device takes just before the point puts it off by no more than a stretch.
    let before = first.saturating_sub(stretch);
    Waiting::From(Onset {
        written: first as f64 * size,
        owed: latencies[first] / pace * size,
        drained: until / of_device * size,
        held_up: (latencies[..before].iter().sum::<f64>() / typical - before as f64).max(0.0) * size,
    })
}

/// Where latencies begin to stay above `level`: the place of the least sum of what they exceed it by (the
/// cumulative sum of Page 1954), so that a lone stall before that is passed over.
fn rise(latencies: &[f64], level: f64) -> usize {
    let (mut sum, mut least, mut place) = (0.0, 0.0, 0);
    for (at, latency) in latencies.iter().enumerate() {
        if sum < least {
            (least, place) = (sum, at);
        }
        sum += latency - level;
    }
    place
}

/// The point that bursts agree on; or why there is none.
///
/// Data that other programs make dirty meanwhile let waits come early, and a device that takes much at once lets them
/// come late. Which bursts count is decided by how long their writers were held up, never by what they say.
///
/// # Errors
/// One sentence: what keeps the bursts from telling.
pub fn agreed(bursts: &[Waiting]) -> Result<Point, String> {
    let onsets: Vec<Onset> = bursts.iter().filter_map(Waiting::onset).collect();
    if 3 * onsets.len() < 2 * bursts.len() {
        return Err(match bursts.contains(&Waiting::DrainsAlong) {
            true => DRAINS_ALONG.to_owned(),
            false => SOME_WAIT.to_owned(),
        });
    }
    let free: Vec<Onset> = onsets.iter().filter(|onset| onset.is_free()).copied().collect();
    if free.len() < ENOUGH {
        return Err(format!(
            "in {} of {} bursts the writer was held up before it had to wait, by other programs or by the flusher, while the device may have taken any amount",
            onsets.len() - free.len(),
            bursts.len()
        ));
    }
    let middle = median(&free, |onset| onset.written);
    let is_near = |onset: &&Onset| (onset.written - middle).abs() <= AGREE_WITHIN * middle;
    let near: Vec<Onset> = free.iter().filter(is_near).copied().collect();
    if near.len() < ENOUGH || 4 * near.len() < 3 * free.len() {
        return Err("writes begin to wait in another place in each burst".to_owned());
    }
    let bytes = middle - median(&near, Onset::late) / 2.0;
    let earliest = near.iter().map(|onset| onset.written - onset.late()).fold(f64::INFINITY, f64::min);
    let latest = near.iter().map(|onset| onset.written).fold(0.0, f64::max);
    let interval = [earliest.max(0.0), latest];
    if interval[1] - interval[0] > 2.0 * AGREE_WITHIN * bytes {
        let [low, high] = interval.map(|bytes| Bytes(bytes as u64));
        return Err(format!(
            "writes begin to wait somewhere between {low} and {high}: the device takes away too much of what is written before"
        ));
    }
    // All of them lie on one side of their median with a probability of one half for each.
    let level = 1.0 - 0.5_f64.powi(near.len() as i32 - 1);
    Ok(Point { bytes, interval, level })
}

impl Onset {
    /// Whether the writer was held up for so little time that the device can't have taken much in it.
    fn is_free(&self) -> bool {
        self.held_up <= AGREE_WITHIN * self.written
    }

    /// By how much more than the point may have been written, at most.
    fn late(&self) -> f64 {
        2.0 * self.owed + self.drained.max(self.held_up)
    }
}

/// Why bursts too short to show anything well give no answer.
pub const SOME_WAIT: &str = "writes wait in some bursts and in others they do not";

/// Why a device that keeps up gives no answer.
pub const DRAINS_ALONG: &str = "the device takes data away nearly as fast as they can be made dirty, so that what was written is not what is dirty";

fn median(onsets: &[Onset], of: impl Fn(&Onset) -> f64) -> f64 {
    quantile::median(&onsets.iter().map(of).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}

impl Waiting {
    /// The onset of the waits, if there are any.
    pub fn onset(&self) -> Option<Onset> {
        match self {
            Waiting::From(onset) => Some(*onset),
            Waiting::NotYet | Waiting::DrainsAlong => None,
        }
    }
}
