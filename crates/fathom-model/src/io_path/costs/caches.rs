//! What a CPU's caches have near, and what waits for the rest: data, the caller's buffer, a folio's buffers.

use fathom_net::{Rng, Span};

use super::at;
use crate::file_read::PAGE;
use crate::parameters::{Curve, Parameters, Scalar, Scalars};

/// Calls up to the first size wait alone, those from the second on for much at once.
const WAITS_ALONE: [f64; 2] = [16_384.0, 65_536.0];
/// When a CPU's own cache loses the caller's buffer, by what it holds: as it is full.
const OWN_LOSES: [f64; 2] = [0.85, 1.6];
/// When a CPU's first cache loses the buffers that a write walks through, by what it holds: as it is full. What streams
/// through the next one leaves what is looked at again and again there for longer.
const FIRST_LOSES: [f64; 2] = [0.8, 1.2];
const NEXT_LOSES: [f64; 2] = [3.0, 12.0];
const MIB: f64 = 1_048_576.0;
/// Up to this many MiB of data are near, as were the data by which copies of near data were measured; from [`WHOLLY_FAR`] on all are far.
const WHOLLY_NEAR: f64 = 0.75;
const WHOLLY_FAR: f64 = 128.0;
/// From this many MiB on jumps cost the most, as did the jumps that were measured.
const JUMPS_FAR: f64 = 64.0;

/// The jump of a call that does not go on where the last one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// Whether it leads into the middle of a line of the CPU's caches, so that each load lies across two lines.
    is_between_lines: bool,
    /// Pages that it touches, of which it jumps to each: the CPU fetches ahead only to the end of a page.
    touched: u64,
    /// Pages that as many bytes need if they lie together, for which the cost of a jump is known.
    needed: u64,
}

/// A line of the CPU's caches, in bytes.
const LINE: u64 = 64;

impl Jump {
    /// The jump of a call of `bytes` at this offset, if it is one.
    fn to(offset: u64, bytes: u64, jumped: bool) -> Option<Self> {
        jumped.then_some(Self {
            is_between_lines: !offset.is_multiple_of(LINE),
            touched: (offset % PAGE + bytes).div_ceil(PAGE),
            needed: bytes.div_ceil(PAGE).max(1),
        })
    }
}

/// When data were last moved that a copy finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::io_path) enum Seen {
    /// Never.
    Never,
    /// Moved `times` times, the last time `bytes` ago; the share `alike` of the moves were of the same kind as this one.
    Before { bytes: u64, times: u64, alike: f64 },
    /// They are made now, or were moved a moment ago.
    Now,
}

/// What a CPU's caches hold, in bytes, and what it waits for the rest: in ns, in ns per byte or as a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::io_path) struct Caches {
    scalars: Scalars,
    /// The share of a wait by the doublings of what is near.
    share: Vec<(f64, f64)>,
    once: Vec<(f64, f64)>,
    jump_share: Vec<(f64, f64)>,
    far: Vec<(f64, f64)>,
    jump: Vec<(f64, f64)>,
}

impl Caches {
    /// As a set of parameters says.
    pub(super) fn of(parameters: &Parameters) -> Self {
        let by_doublings = |curve| {
            let points = parameters.curve(curve).into_iter();
            points.map(|(bytes, share)| (doublings(bytes / MIB), share)).collect()
        };
        Self {
            scalars: parameters.scalars(),
            share: by_doublings(Curve::FarOf),
            once: by_doublings(Curve::FarOnce),
            jump_share: by_doublings(Curve::JumpOf),
            far: parameters.curve(Curve::Far),
            jump: parameters.curve(Curve::Jump),
        }
    }

    /// What a copy of `bytes` of a read of `of_call` at an offset takes longer where it does not begin with a line of the
    /// caches, so that each load lies across two. From some KiB on other things take longer, which hide it.
    pub(in crate::io_path) fn being_across(&self, bytes: u64, of_call: u64, offset: u64) -> f64 {
        const SEEN: f64 = 4_096.0;
        if offset.is_multiple_of(LINE) {
            return 0.0;
        }
        let of_call = of_call.max(1) as f64;
        self.scalars[Scalar::AcrossLines] * (of_call / SEEN).min(1.0) * bytes as f64 / of_call
    }

    /// How long a copy of a range of bytes, out of a call of `of_call`, waits because the data or the caller's buffer are not
    /// near the CPU. For the data it depends on when they were last `seen`, and on whether the call `jumped` to them. A buffer
    /// is far if it is too large: since a byte of it was last used all its other bytes were, and as many of the page cache.
    ///
    /// The wait for data is not proportional to the size, because the CPU fetches ahead while it does something else: it is
    /// interpolated between measured points.
    pub(in crate::io_path) fn waiting_for(
        &self,
        of_call: u64,
        [from, to]: [u64; 2],
        seen: Seen,
        jumped: bool,
    ) -> f64 {
        let share = self.seen_from(seen, &self.share, WHOLLY_FAR);
        let [alone, at_once] = WAITS_ALONE;
        let small = ((at_once - of_call as f64) / (at_once - alone)).clamp(0.0, 1.0);
        let distance = share + small * self.scalars[Scalar::FarSmall] * share * (1.0 - share);
        let mut data = distance * at(self.far.iter().copied(), of_call as f64) * (to - from) as f64
            / of_call.max(1) as f64;
        if let Some(jump) = Jump::to(from, of_call, jumped) {
            data += self.seen_from(seen, &self.jump_share, JUMPS_FAR) * self.far_jump(of_call, jump);
        }
        // A copy that waits for data waits for its buffer at the same time.
        let buffer = self.scalars[Scalar::FarBuffer]
            + distance * (self.scalars[Scalar::FarBoth] - self.scalars[Scalar::FarBuffer]);
        // What is made now is written without being read, and takes no room before.
        let taken = if seen == Seen::Now { of_call } else { taken_by(of_call, 0) };
        data + buffer * (to - from) as f64 * lost(taken as f64, self.scalars[Scalar::NearCache], OWN_LOSES)
    }

    /// How long a jump of a call of `of_call` bytes takes to data that are wholly far.
    fn far_jump(&self, of_call: u64, jump: Jump) -> f64 {
        let [least, most] = [self.jump[0].0, self.jump[self.jump.len() - 1].0];
        let between = if jump.is_between_lines { self.scalars[Scalar::JumpBetween] } else { 0.0 };
        let pages = jump.touched as f64 / jump.needed as f64;
        pages * at(self.jump.iter().copied(), (of_call as f64).clamp(least, most)) + between
    }

    /// A wait for far data around its mean: most are a little shorter, and few much longer.
    pub(in crate::io_path) fn waiting(&self, mean: u64, rng: &mut Rng) -> Span {
        let mean = mean as f64;
        let spread = self.scalars[Scalar::FarSpread].min(1.0);
        if spread == 0.0 || mean == 0.0 {
            return Span::round(mean);
        }
        Span::round(mean * (1.0 - spread) + rng.exponential(mean * spread))
    }

    /// What a write of `bytes` waits for that walks through the buffers of a folio's pages, before it copies and after.
    /// `since` the last one ended the caches took so many bytes. Source: `block_write_begin`, `block_commit_write`.
    pub(in crate::io_path) fn walking(&self, pages: u64, since: u64, bytes: u64) -> f64 {
        pages as f64 * (self.buffer(since) + self.buffer(taken_by(bytes, pages)))
    }

    /// What one buffer of such a walk takes that was last looked at before the caches took so many bytes. It leads to the
    /// next, so that a walk waits for each of those that are lost, from wherever they come.
    fn buffer(&self, since: u64) -> f64 {
        let since = since as f64;
        let out =
            lost(since, self.scalars[Scalar::FirstCache], FIRST_LOSES) * self.scalars[Scalar::WalkedOut];
        let far = lost(since, self.scalars[Scalar::NearCache], NEXT_LOSES) * self.scalars[Scalar::WalkedFar];
        self.scalars[Scalar::WalkedPage] + out + far
    }

    /// How far data are, by how far those are that come round often: 0 where they are near, 1 where they are wholly far. A
    /// shared cache keeps what is asked for again, so that with each time they are nearer to where they stay; what was
    /// written is not asked for, and the other way round.
    fn seen_from(&self, seen: Seen, share: &[(f64, f64)], wholly: f64) -> f64 {
        let (bytes, times, alike) = match seen {
            Seen::Never => return self.distance(share, wholly, f64::INFINITY),
            Seen::Before { bytes, times, alike } => (bytes as f64, times.min(64) as i32, alike),
            Seen::Now => return 0.0,
        };
        let often = self.distance(share, wholly, bytes);
        let more = self.distance(&self.once, WHOLLY_FAR, bytes) - often;
        if more <= 0.0 {
            return often;
        }
        // Each time after the first leaves this part of it. How often it was is binomial: the mean over it.
        let left = bytes / (bytes + self.scalars[Scalar::FarSettles]);
        let other = 1.0 - alike;
        let never = other.powi(times);
        let kept = never + ((other + alike * left).powi(times) - never) / left;
        often + more * kept.min(1.0)
    }

    /// How far data are that come round again after so many bytes, where so many MiB are wholly far. The caches let go of
    /// them little by little, and further ones are looked for in more pages than the CPU keeps in mind.
    fn distance(&self, curve: &[(f64, f64)], wholly: f64, bytes: f64) -> f64 {
        let mib = bytes / MIB;
        if self.scalars[Scalar::NearCache] == 0.0 || mib <= WHOLLY_NEAR {
            return 0.0;
        }
        at(curve.iter().copied().chain([(doublings(wholly), 1.0)]), doublings(mib.min(wholly)))
    }
}

/// What a CPU's caches take in for a copy, which has two ends, and for a walk through the buffers of so many pages.
pub(in crate::io_path) fn taken_by(copied: u64, pages: u64) -> u64 {
    // `struct buffer_head`
    const BUFFER: u64 = 104;
    2 * copied + pages * BUFFER
}

/// How likely a cache has lost what it was given before so many bytes: not while they are less than one of these shares of
/// what it holds, surely when they are more than the other.
fn lost(bytes: f64, cache: f64, [kept, gone]: [f64; 2]) -> f64 {
    if cache == 0.0 { 0.0 } else { ((bytes / cache / kept).log2() / (gone / kept).log2()).clamp(0.0, 1.0) }
}

/// How often what is near at most is to be doubled to be so many MiB.
fn doublings(mib: f64) -> f64 {
    (mib / WHOLLY_NEAR).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Caches {
        Caches::of(&Parameters::assumed().with(settings))
    }

    /// Data of which so many bytes come round and were moved so often, a part of it alike.
    fn round(bytes: u64, times: u64, alike: f64) -> Seen {
        Seen::Before { bytes, times, alike }
    }

    #[test]
    fn a_buffer_that_the_own_cache_has_no_room_for_is_waited_for() {
        let caches = with(&[("near_cache", "2M"), ("far_buffer", "0.03"), ("far_both", "0.01")]);
        let waits = |kib: u64, seen| caches.waiting_for(kib << 10, [0, 10_000], seen, false).round();
        let near = round(0, 1, 1.0);
        assert_eq!([512, 768, 2048, 4096].map(|kib| waits(kib, near)), [0.0, 0.0, 300.0, 300.0]);
        let at_the_brim = waits(1024, near);
        assert!(0.0 < at_the_brim && at_the_brim < 150.0, "{at_the_brim}");
        assert_eq!(waits(2048, Seen::Never), 100.0, "a thread waits for both at once");
        assert_eq!([1536, 4096].map(|kib| waits(kib, Seen::Now)), [0.0, 300.0], "a new page takes no room");
    }

    #[test]
    fn a_read_across_lines_takes_longer_by_its_size_up_to_a_page() {
        let caches = with(&[("across_lines", "40")]);
        let across = |bytes, of_call, offset| caches.being_across(bytes, of_call, offset);
        assert_eq!(
            [across(1_024, 1_024, 0), across(1_024, 1_024, 64), across(1_024, 1_024, 100)],
            [0.0, 0.0, 10.0]
        );
        assert_eq!([across(8_000, 8_000, 1), across(2_000, 8_000, 1)], [40.0, 10.0]);
    }

    #[test]
    fn far_is_what_comes_round_after_more_than_the_caches_hold() {
        let far = |mib: u64, jumped: bool| {
            let jumps = [("jump", "100"), ("jump_4k", "300"), ("jump_8k", "500"), ("jump_16k", "200")];
            let waits =
                [("near_cache", "1M"), ("far_4k", "1000"), ("far_of_16m", "0.8"), ("far_of_32m", "0.9")];
            with(&[jumps.as_slice(), &waits].concat())
                .waiting_for(4096, [0, 4096], round(mib << 20, 60, 1.0), jumped)
                .round()
        };
        assert_eq!([far(0, true), far(128, false), far(1000, false)], [0.0, 1000.0, 1000.0]);
        assert_eq!([far(16, false), far(32, false), far(128, true)], [800.0, 900.0, 1300.0]);
        assert!(far(1, false) < far(2, false) && far(2, false) < far(8, false));
        let unaligned = with(&[("near_cache", "1M"), ("jump", "100"), ("jump_between", "70")]);
        let jump = |offset, jumped| unaligned.waiting_for(512, [offset, offset + 512], Seen::Never, jumped);
        assert_eq!([jump(700, false), jump(700, true), jump(1 << 20, true)], [0.0, 170.0, 100.0]);
        assert_eq!([3_584, 3_648, 3_700].map(|offset| jump(offset, true)), [100.0, 200.0, 270.0]);
        let large = |offset| unaligned.waiting_for(16_384, [offset, offset + 16_384], Seen::Never, true);
        assert_eq!(large(512), 1.25 * large(4_096), "five pages instead of four");
        let near = with(&[("far_4k", "1000"), ("far_once_4m", "0.5")]);
        assert_eq!(near.waiting_for(4096, [1, 4097], Seen::Never, true), 0.0, "all is near");
    }

    #[test]
    fn small_calls_wait_for_more_and_jumps_by_a_curve_of_their_own() {
        let settings = [
            ("near_cache", "1M"),
            ("far_16k", "1000"),
            ("far_64k", "1000"),
            ("far_of_16m", "0.2"),
            ("far_once_16m", "0"),
            ("far_once_4m", "0"),
            ("far_small", "0.5"),
            ("jump_16k", "100"),
            ("jump_of_16m", "0.6"),
        ];
        let caches = with(&settings);
        let waits = |kib: u64, mib: u64, jumped| {
            let bytes = kib << 10;
            caches.waiting_for(bytes, [0, bytes], round(mib << 20, 60, 1.0), jumped).round()
        };
        assert_eq!([16, 40, 64].map(|kib| waits(kib, 16, false)), [280.0, 240.0, 200.0]);
        assert_eq!(waits(16, 128, false), 1000.0, "of what is wholly far nothing is left");
        assert_eq!([16, 64].map(|mib| waits(64, mib, true) - waits(64, mib, false)), [60.0, 100.0]);
    }

    #[test]
    fn with_each_time_that_data_are_asked_for_again_they_are_nearer() {
        let settings = [
            ("near_cache", "4M"),
            ("far_4k", "1000"),
            ("far_of_16m", "0.2"),
            ("far_once_16m", "1"),
            ("far_settles", "16M"),
        ];
        let caches = with(&settings);
        let far =
            |times, alike| caches.waiting_for(4096, [0, 4096], round(16 << 20, times, alike), false).round();
        assert_eq!(caches.waiting_for(4096, [0, 4096], Seen::Never, false), 1000.0);
        assert_eq!([1, 2, 3, 60].map(|times| far(times, 1.0)), [1000.0, 600.0, 400.0, 200.0]);
        assert_eq!(far(9, 0.0), 1000.0, "what was written alone");
        // One of four was read twice before.
        assert_eq!(far(2, 0.5), 900.0);
        let apart = |mib: u64| caches.waiting_for(4096, [0, 4096], round(mib << 20, 1, 1.0), false);
        assert!(0.0 < apart(1) && apart(1) < apart(4) && apart(4) < 1000.0, "not all at once");
    }

    #[test]
    fn waits_differ_and_are_as_long_as_their_mean_together() {
        let caches = with(&[("far_spread", "0.2")]);
        let mut rng = Rng::new(7);
        let mut waits: Vec<u64> = (0..100_000).map(|_| caches.waiting(1_000, &mut rng).as_ticks()).collect();
        waits.sort_unstable();
        let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
        assert!((mean - 1_000.0).abs() < 5.0, "{mean}");
        // 800 and what an exponential of 200 exceeds once in a hundred times.
        assert!(waits[99_000].abs_diff(800 + 921) < 20 && waits[0] >= 800, "{}", waits[99_000]);
        assert_eq!(with(&[]).waiting(1_000, &mut rng).as_ticks(), 1_000);
    }

    #[test]
    fn buffers_are_lost_from_one_cache_after_the_other() {
        let settings = [
            ("first_cache", "10000"),
            ("near_cache", "2M"),
            ("walked_page", "1"),
            ("walked_out", "2"),
            ("walked_far", "10"),
        ];
        let caches = with(&settings);
        let buffer = |bytes: u64| caches.buffer(bytes).round();
        assert_eq!([8_000, 9_798, 12_000].map(buffer), [1.0, 2.0, 3.0]);
        assert_eq!([6, 12, 24, 64].map(|mib| buffer(mib << 20)), [3.0, 8.0, 13.0, 13.0]);
        assert_eq!(with(&[("walked_far", "10")]).buffer(1 << 30), 0.0, "all is near");
        // Before the copy from far, and after it from where the copy has pushed them.
        assert_eq!(caches.walking(10, 24 << 20, 2_048), 10.0 * (13.0 + 1.0));
        assert_eq!(caches.walking(10, 24 << 20, 65_536), 10.0 * (13.0 + 3.0));
    }
}
