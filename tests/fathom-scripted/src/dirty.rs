//! How many dirty data there are, and how long a writer waits for them to become fewer.

use super::Throttle;

/// The dirty data of all files.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    bytes: f64,
    /// When `bytes` were so many, in ns.
    at: f64,
}

impl Dirty {
    /// The ns that a writer of `bytes` at `now` waits. Source: `balance_dirty_pages`, where no writer waits
    /// below the mean of the two settings; here all wait until they are back there.
    pub(super) fn write(&mut self, throttle: Option<Throttle>, now: f64, bytes: u64) -> f64 {
        let Some(throttle) = throttle else { return 0.0 };
        self.drain(throttle, now);
        self.bytes += bytes as f64;
        let free_run = (throttle.background + throttle.limit) as f64 / 2.0;
        let wait = ((self.bytes - free_run) / throttle.device_rate * 1e9).max(0.0);
        self.drain(throttle, now + wait);
        wait
    }

    /// The ns until nothing is dirty.
    pub(super) fn settle(&mut self, throttle: Option<Throttle>, now: f64) -> f64 {
        let Some(throttle) = throttle else { return 0.0 };
        self.drain(throttle, now);
        let wait = self.bytes / throttle.device_rate * 1e9;
        (self.bytes, self.at) = (0.0, now + wait);
        wait
    }

    /// The device writes while there is more than the background threshold.
    fn drain(&mut self, throttle: Throttle, now: f64) {
        // Where it writes in lumps: so many whole periods have ended.
        let ended = |at: f64| {
            if throttle.period > 0.0 { (at / throttle.period).floor() * throttle.period } else { at }
        };
        let written = (ended(now) - ended(self.at)).max(0.0) * throttle.device_rate / 1e9;
        let background = throttle.background as f64;
        if self.bytes > background {
            self.bytes = (self.bytes - written).max(background);
        }
        self.at = now.max(self.at);
    }
}
