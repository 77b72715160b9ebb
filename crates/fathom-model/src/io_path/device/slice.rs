//! The block layer's throttle of a control group: `block/blk-throttle.c` of 6.18.
//!
//! Time is cut into slices. The allowance of a slice may be dispatched at once when it begins; further requests wait
//! for the next slice: a device with a limit does much at first, then nothing for the rest of the slice. An allowance
//! that is not used is kept until nothing was dispatched for one to two slices (the end of a slice is rounded up).

use crate::io_path::costs::Costs;
use crate::io_path::request::Request;
use crate::parameters::Scalar;

/// The slice of one direction. Times are in jiffies, except that of the last dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice {
    start: u64,
    end: u64,
    requests: u64,
    bytes: u64,
    /// When the last request went on, in ns: they keep their order.
    last: u64,
}

/// What may be done in a second, in units of time of the kernel.
struct Rates {
    hz: u64,
    slice: u64,
    requests: u64,
    bytes: u64,
}

impl Slice {
    /// The first slice of reads or of writes, part of which may already be spent.
    pub(super) fn first(costs: &Costs, is_write: bool) -> Self {
        let slices = costs.limit_slice as f64 / 1e9 * costs[Scalar::LimitSpent];
        let [requests, bytes] = costs.limits[usize::from(is_write)].map(|rate| (rate * slices) as u64);
        Self { requests, bytes, ..Self::default() }
    }

    /// When a request that comes `now` has gone on to the device with its last bio, both in ns. Source:
    /// `tg_dispatch_time`, `throtl_charge_bio`, `throtl_trim_slice`.
    pub(super) fn dispatch(&mut self, costs: &Costs, request: &Request, now: u64) -> u64 {
        let jiffy = costs.jiffy;
        let [requests, bytes] = costs.limits[usize::from(request.is_write)].map(|rate| rate as u64);
        let slice = (costs.limit_slice / jiffy).max(1);
        let rates = Rates { hz: 1_000_000_000 / jiffy, slice, requests, bytes };
        if requests == 0 && bytes == 0 {
            return now;
        }
        let bios = request.bios.max(1);
        (0..bios).fold(now, |_, _| self.dispatch_bio(&rates, jiffy, request.bytes() / bios, now))
    }

    /// When one bio of so many bytes goes on.
    fn dispatch_bio(&mut self, rates: &Rates, jiffy: u64, bytes: u64, now: u64) -> u64 {
        let is_first = now >= self.last;
        let mut at = now.max(self.last);
        if is_first && at / jiffy > self.end {
            *self = Self { start: at / jiffy, end: at / jiffy, last: at, ..Self::default() };
        }
        loop {
            let tick = at / jiffy;
            self.end = self.end.max((tick + rates.slice).next_multiple_of(rates.slice));
            match self.wait(rates, bytes, tick - self.start) {
                0 => break,
                wait => at = (tick + wait) * jiffy,
            }
        }
        self.requests += 1;
        self.bytes += bytes;
        self.trim(rates, at / jiffy);
        self.last = at;
        at
    }

    /// How many jiffies a bio waits that comes `elapsed` jiffies after the slice began. Source:
    /// `tg_within_bps_limit`, `tg_within_iops_limit`.
    fn wait(&self, rates: &Rates, bytes: u64, elapsed: u64) -> u64 {
        let mut wait = 0;
        if rates.bytes > 0 {
            let until = elapsed.max(1).next_multiple_of(rates.slice);
            let over = (self.bytes + bytes).saturating_sub(rates.bytes * until / rates.hz);
            if over > 0 {
                wait = (over * rates.hz / rates.bytes).max(1) + until - elapsed;
            }
        }
        if rates.requests > 0 {
            let until = (elapsed + 1).next_multiple_of(rates.slice);
            if self.requests >= rates.requests * until / rates.hz {
                wait = wait.max(until - elapsed).max(rates.hz / rates.requests + 1);
            }
        }
        wait
    }

    /// Forgets whole slices that are over, but the last.
    fn trim(&mut self, rates: &Rates, now: u64) {
        self.end = (now + rates.slice).next_multiple_of(rates.slice);
        let elapsed = (now - self.start) / rates.slice * rates.slice;
        if elapsed < 2 * rates.slice {
            return;
        }
        let elapsed = elapsed - rates.slice;
        self.bytes = self.bytes.saturating_sub(rates.bytes * elapsed / rates.hz);
        self.requests = self.requests.saturating_sub(rates.requests * elapsed / rates.hz);
        self.start += elapsed;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::page_cache::{FetchId, FileId};
    use crate::parameters::Parameters;

    fn held_to(settings: &[(&str, &str)]) -> Costs {
        Costs::of(&Parameters::assumed().with(settings))
    }

    fn read(pages: u64) -> Request {
        Request::read(FetchId(NonZeroU32::MIN), FileId(0), 0, pages)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_slice_is_handed_out_at_once_and_the_rest_waits_for_the_next() {
        let costs = held_to(&[("limit_read_iops", "2000"), ("limit_slice", "100ms")]);
        let mut slice = Slice::default();
        let times: Vec<u64> = (0..500).map(|_| slice.dispatch(&costs, &read(1), 1000 * MS)).collect();
        assert!(times[..200].iter().all(|&time| time == 1000 * MS));
        assert!(times[200..400].iter().all(|&time| time == 1100 * MS), "{:?}", times[200]);
        assert_eq!(times[499], 1200 * MS);
        let after = |rest: u64| {
            let mut slice = slice;
            let from = 1200 * MS + rest * MS;
            (0..700).filter(|_| slice.dispatch(&costs, &read(1), from) == from).count()
        };
        assert_eq!(after(100), 300, "what a slice leaves adds up");
        assert_eq!(after(250), 200, "rest is forgotten");
    }

    #[test]
    fn of_a_first_slice_that_is_spent_nothing_is_left() {
        let costs = held_to(&[("limit_read_rate", "10M"), ("limit_slice", "100ms"), ("limit_spent", "1")]);
        let mut slice = Slice::first(&costs, false);
        assert!(slice.dispatch(&costs, &read(200), 0) > 100 * MS);
        assert_eq!(Slice::default().dispatch(&costs, &read(200), 0), 0);
    }

    #[test]
    fn each_bio_of_a_request_counts() {
        let costs = held_to(&[("limit_read_iops", "2000"), ("limit_slice", "100ms")]);
        let mut slice = Slice::default();
        let four = Request { bios: 4, ..read(4) };
        let times: Vec<u64> = (0..100).map(|_| slice.dispatch(&costs, &four, 1000 * MS)).collect();
        assert!(times[..50].iter().all(|&time| time == 1000 * MS));
        assert!(times[50..].iter().all(|&time| time == 1100 * MS), "{times:?}");
    }

    #[test]
    fn bytes_are_held_to_their_rate_in_the_long_run() {
        let costs = held_to(&[("limit_read_rate", "10M"), ("limit_slice", "100ms")]);
        let mut slice = Slice::default();
        let mut now = 0;
        for _ in 0..160 {
            // One after the other: 20 MiB in pieces of 128 KiB.
            now = slice.dispatch(&costs, &read(32), now) + MS / 10;
        }
        assert!((1_700 * MS..2_100 * MS).contains(&now), "{now}");
    }

    #[test]
    fn what_is_not_limited_does_not_wait() {
        let costs = held_to(&[("limit_write_rate", "1M"), ("limit_slice", "100ms")]);
        assert_eq!(Slice::default().dispatch(&costs, &read(1000), 5), 5);
    }
}
