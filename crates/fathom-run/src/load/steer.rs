//! What steers a thread of a job by what it sees of itself and of others: `latency_target`, `max_latency`, `rate_min`,
//! `steadystate`, the end of other jobs, and IOR's wear-out. Threads of jobs that ask for none of these run without it.

use std::time::Duration;

use fathom_program::call::Call;
use fathom_program::job::{DIRECTIONS, Direction, Engine, Job};
use fathom_program::job_calls::JobCalls;
use fathom_program::program::{Step, Thread};
use fathom_sys::file::Errno;

use super::Record;
use super::course::{Course, Member};
use super::depth_search::{DepthSearch, Verdict};
use super::ranks::Most;
use super::steady::{Steadiness, Steady};
use crate::executor::{Recorder, Window};

/// Whether a job's threads have to be steered.
pub(super) fn is_steered(job: &Job) -> bool {
    let has_latency = !job.latency.target.is_zero() || job.latency.most.iter().any(|most| !most.is_zero());
    let burns = job.engine == Engine::Cpuio && job.engine_options.cpu.2;
    burns
        || job.course.exitall
        || has_least(job)
        || has_latency
        || job.steady_state.is_some()
        || job.placement.flow.0 > 0
}

fn has_least(job: &Job) -> bool {
    job.rates.least != [0; 3] || job.rates.least_iops != [0; 3]
}

/// A thread of a job with what steers it. Times are in ticks.
pub(super) struct Steered<'a> {
    calls: JobCalls,
    job: &'a Job,
    course: &'a Course,
    number: usize,
    ticks_per_second: f64,
    /// How often counting is still to begin anew: after a delay, and after a ramp.
    beginnings: u8,
    is_ending: bool,
    /// What is left of a long wait, which is cut into short ones to hear of the end of others.
    waits: Option<u64>,
    search: Option<DepthSearch>,
    /// Whether the search is to begin a window.
    renews: bool,
    /// Whether what was done so far is not to count from the next step on.
    forgets: bool,
    steady: Option<Steady>,
    least: Option<Least>,
    /// Says at the end of its time how much it is still to move, because other processes have.
    most: Option<&'a Most>,
    /// Whether its flow lets it make the next transfer or sync.
    has_turn: bool,
}

const SLICE: Duration = Duration::from_millis(20);

impl<'a> Steered<'a> {
    /// A thread by its number among those that run at the same time.
    pub(super) fn new(
        calls: JobCalls,
        job: &'a Job,
        course: &'a Course,
        number: usize,
        ticks_per_second: f64,
        most: Option<&'a Most>,
    ) -> Self {
        let has_target = !job.latency.target.is_zero();
        let search = || DepthSearch::new(&job.latency, job.depth.most.max(1), ticks_per_second);
        Self {
            calls,
            job,
            course,
            number,
            ticks_per_second,
            beginnings: u8::from(!job.ramp_time.is_zero()) + u8::from(job.begins_late()),
            is_ending: false,
            waits: None,
            search: has_target.then(search),
            renews: true,
            forgets: false,
            steady: job.steady_state.filter(|_| course.is_first_reported(number)).map(Steady::new),
            least: has_least(job).then(Least::default),
            most: most.filter(|_| !job.runtime.is_zero()),
            has_turn: job.placement.flow.0 == 0,
        }
    }

    /// How steady it was, where it is to end by that.
    pub(super) fn steadiness(self) -> Option<Steadiness> {
        self.steady.map(Steady::state)
    }

    /// What comes before a transfer or a sync of a thread whose flow others have to catch up in; none where it has its turn.
    fn await_turn(&mut self, now: u64) -> Option<Step<bool>> {
        /// How long such a thread spins where `flow_sleep` says nothing.
        const SPIN: Duration = Duration::from_micros(1);
        if self.has_turn || self.is_ending || self.calls.is_done() || now >= self.calls.ends() {
            return None;
        }
        self.has_turn = self.course.takes_turn(self.number);
        let ticks = |time: Duration| now + (time.as_secs_f64() * self.ticks_per_second) as u64;
        match (self.has_turn, self.job.placement.flow.2) {
            (true, _) => None,
            (false, Duration::ZERO) => Some(Step::Spin(ticks(SPIN))),
            (false, sleep) => Some(self.wait(now, ticks(sleep))),
        }
    }

    /// Goes on after its time, until it has moved as much as the fastest process.
    fn wear_out(&mut self, now: u64) {
        if (self.calls.is_done() || now >= self.calls.ends())
            && let Some(most) = self.most.take()
        {
            match most(self.calls.moved()) {
                Ok(bytes) => self.calls.go_on_to(bytes),
                Err(fault) => self.member().fail(fault.to_string()),
            }
        }
    }

    fn member(&self) -> &Member {
        self.course.member(self.number)
    }

    fn wait(&mut self, now: u64, until: u64) -> Step<bool> {
        let slice = now + (SLICE.as_secs_f64() * self.ticks_per_second) as u64;
        self.waits = (until > slice).then_some(until);
        Step::Wait(until.min(slice))
    }

    /// What its latencies and rates say; a step that must come first.
    fn look(&mut self, now: u64) -> Option<Step<bool>> {
        let seconds = now as f64 / self.ticks_per_second;
        if let Some(steady) = &mut self.steady
            && steady.look(seconds, self.course.moved_together(self.number))
        {
            self.course.end_together(self.number);
        }
        if self.beginnings > 0 {
            return None;
        }
        let member = self.course.member(self.number);
        if let Some(least) = &mut self.least
            && let Some(reason) =
                least.look(self.job, (seconds * 1000.0) as u64, |side| member.moved_in(side))
        {
            member.fail(reason);
        }
        let search = self.search.as_mut()?;
        let counts = [member.moved()[0], member.late()];
        if std::mem::take(&mut self.renews) {
            search.renew(now, counts);
            return None;
        }
        let verdict = search.look(now, counts);
        member.set_depth(search.depth());
        match verdict {
            Verdict::GoOn => return None,
            Verdict::Smaller => {}
            Verdict::Found => self.forgets = true,
            Verdict::Done => {
                self.is_ending = true;
                self.calls.stop(now);
            }
            Verdict::TooSlow => {
                let target = self.job.latency.target;
                member.fail(format!(
                    "[{}]: not even one transfer at a time holds latency_target={target:?}",
                    self.job.name
                ));
                return None;
            }
        }
        self.renews = true;
        Some(Step::Drain)
    }
}

impl Thread for Steered<'_> {
    type Label = bool;

    fn next(&mut self, now: u64) -> Step<bool> {
        if std::mem::take(&mut self.forgets) {
            return Step::StartCounting;
        }
        if !self.is_ending
            && let Some(step) = self.look(now)
        {
            return step;
        }
        self.wear_out(now);
        if self.member().must_end() && !std::mem::replace(&mut self.is_ending, true) {
            self.waits = None;
            self.calls.stop(now);
        }
        if let Some(until) = self.waits.take().filter(|&until| until > now) {
            return self.wait(now, until);
        }
        if let Some(step) = self.await_turn(now) {
            return step;
        }
        match self.calls.next(now) {
            Step::Wait(until) => self.wait(now, until),
            Step::Call(call, counts) => {
                self.has_turn &= !counts || self.job.placement.flow.0 == 0;
                Step::Call(call, counts)
            }
            Step::StartCounting => {
                self.beginnings = self.beginnings.saturating_sub(1);
                Step::StartCounting
            }
            step => step,
        }
    }

    fn depth(&self) -> u32 {
        self.search.as_ref().map_or(u32::MAX, DepthSearch::depth)
    }

    fn ends(&self) -> u64 {
        self.calls.ends()
    }
}

/// What a steered thread records, and what steers it of that.
pub(super) struct Watched<'a> {
    record: &'a mut Record,
    member: &'a Member,
    job: &'a Job,
    ns_per_tick: f64,
}

impl<'a> Watched<'a> {
    pub(super) fn new(
        record: &'a mut Record,
        member: &'a Member,
        job: &'a Job,
        ticks_per_second: f64,
    ) -> Self {
        Self { record, member, job, ns_per_tick: 1e9 / ticks_per_second }
    }

    /// Judges a transfer by how long it took as a whole, in ticks.
    fn judge(&self, call: &Call, direction: Direction, ticks: u64, moved: u64) {
        let took = Duration::from_nanos((ticks as f64 * self.ns_per_tick) as u64);
        let latency = &self.job.latency;
        let most = latency.most[direction as usize];
        if !most.is_zero() && took > most {
            let (name, kind, offset) = (&self.job.name, call.kind.name(), call.offset);
            self.member.fail(format!(
                "[{name}]: a {kind} at byte {offset} took {took:?}: more than max_latency={most:?}"
            ));
        }
        self.member.count(direction, moved, !latency.target.is_zero() && took > latency.target);
    }
}

impl Recorder<bool> for Watched<'_> {
    fn record(&mut self, call: &Call, counts: bool, window: Window, moved: u64) {
        self.record.outcome.depth = self.member.depth();
        self.record.record(call, counts, window, moved);
        if let (Some(direction), false) = (call.kind.direction(), self.job.is_queued()) {
            self.judge(call, direction, window.ticks(), moved);
        }
    }

    fn submitted(&mut self, call: &Call, counts: bool, moments: [u64; 3]) {
        self.record.submitted(call, counts, moments);
        if let Some(direction) = call.kind.direction() {
            self.judge(call, direction, moments[2].saturating_sub(moments[0]), call.bytes);
        }
    }

    fn prioritized(&mut self, call: &Call, counts: bool, priority: u16, moments: [u64; 3]) {
        self.record.prioritized(call, counts, priority, moments);
    }

    fn forgives(&mut self, call: &Call, errno: Errno) -> bool {
        self.record.forgives(call, errno)
    }

    fn forgives_mismatch(&mut self) -> bool {
        self.record.forgives_mismatch()
    }

    fn start_counting(&mut self, now: u64) {
        self.record.start_counting(now);
    }

    fn verify(&mut self, now: u64, begins: bool) {
        self.record.verify(now, begins);
    }
}

/// The least rates of a job, averaged over `rate_cycle`.
#[derive(Default)]
struct Least {
    /// When each direction was looked at, in milliseconds, and its transfers and bytes then.
    last: [Option<(u64, [u64; 2])>; DIRECTIONS],
}

impl Least {
    /// What rate is too low; `moved` gives transfers and bytes so far of a direction.
    fn look(&mut self, job: &Job, now: u64, moved: impl Fn(usize) -> [u64; 2]) -> Option<String> {
        /// At first a rate is not judged.
        const SETTLES: u64 = 2000;
        if now < SETTLES {
            return None;
        }
        (0..DIRECTIONS).find_map(|side| {
            let (bytes, iops) = (job.rates.least[side], u64::from(job.rates.least_iops[side]));
            let counts = moved(side);
            if bytes == 0 && iops == 0 || counts[0] == 0 {
                return None;
            }
            let Some((then, before)) = self.last[side] else {
                self.last[side] = Some((now, counts));
                return None;
            };
            let spent = now - then;
            if spent == 0 || u128::from(spent) < job.rates.cycle.as_millis() {
                return None;
            }
            self.last[side] = Some((now, counts));
            let rate = |which: usize| (counts[which] - before[which]) * 1000 / spent;
            let (option, least, rate) =
                if bytes > 0 { ("rate_min", bytes, rate(1)) } else { ("rate_iops_min", iops, rate(0)) };
            (rate < least).then(|| format!("[{}]: {option}={least} is not met: {rate} a second", job.name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_too_low_only_after_a_while_and_over_a_cycle() {
        let mut job = Job::named("slow");
        job.rates.least_iops[1] = 100;
        let mut least = Least::default();
        let mut look = |now, writes| least.look(&job, now, |side| [if side == 1 { writes } else { 0 }, 0]);
        assert_eq!(look(1000, 1), None);
        assert_eq!(look(2000, 10), None, "this begins a cycle");
        assert_eq!(look(2500, 10), None);
        assert_eq!(look(3000, 110), None);
        assert_eq!(look(4000, 209).unwrap(), "[slow]: rate_iops_min=100 is not met: 99 a second");
    }
}
