//! What the threads of jobs know of each other while they run: which wait for others, and which end others when they end.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use fathom_program::job::{DIRECTIONS, Direction, Engine, Job, Others};

use super::locks::Locks;
use crate::executor::Control;
use crate::fault::Fault;

/// The threads that run at the same time.
pub(super) struct Course {
    members: Vec<Member>,
    /// Whether jobs that have not begun are not to begin.
    ends_all: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
    flows: Vec<Flow>,
    /// What `lockfile` guards.
    pub(super) locks: Locks,
}

/// The jobs of one `flow_id`. Source: fio's `flow.c`.
struct Flow {
    id: u32,
    /// The weights of the threads that run, and their transfers and syncs, from one.
    weight: AtomicU64,
    turns: AtomicU64,
}

/// One of them.
#[derive(Default)]
pub(super) struct Member {
    name: String,
    /// Up to which `stonewall` or `new_group`.
    group: u32,
    is_reported_with_group: bool,
    /// Of a thread of `cpuio`, whether it ends with the other jobs.
    burns: Option<bool>,
    has_ended: AtomicBool,
    must_end: AtomicBool,
    transfers: [AtomicU64; DIRECTIONS],
    bytes: [AtomicU64; DIRECTIONS],
    /// Transfers that took longer than `latency_target`.
    late: AtomicU64,
    /// The depth of `latency_target`; zero without it.
    depth: AtomicU32,
    fault: Mutex<Option<String>>,
    /// `flow`, the place of its flow, and its turns.
    weight: u64,
    flow: usize,
    turns: AtomicU64,
}

/// The longest sleep that hears no interrupt.
const SLICE: Duration = Duration::from_millis(20);

impl Course {
    /// The course of threads, given by their jobs, which work on this many files.
    pub(super) fn of<'a>(threads: impl Iterator<Item = (&'a Job, u32)>, files: usize) -> Self {
        let mut group = 0;
        let mut flows: Vec<Flow> = Vec::new();
        let mut flow_of = |(weight, id, _): (u32, u32, Duration)| {
            let known = flows.iter().position(|flow| flow.id == id);
            let flow = known.unwrap_or_else(|| {
                flows.push(Flow { id, weight: AtomicU64::new(0), turns: AtomicU64::new(1) });
                flows.len() - 1
            });
            flows[flow].weight.fetch_add(u64::from(weight), Ordering::Relaxed);
            flow
        };
        let member = |(job, number): (&Job, u32)| {
            group += u32::from(job.course.new_group && number == 0);
            let is_reported_with_group = job.group_reporting;
            let (name, weight) = (job.name.clone(), u64::from(job.placement.flow.0));
            let flow = flow_of(job.placement.flow);
            let burns = (job.engine == Engine::Cpuio).then_some(job.engine_options.cpu.2);
            Member { name, group, is_reported_with_group, burns, weight, flow, ..Member::default() }
        };
        let members: Vec<Member> = threads.map(member).collect();
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let ends_all = AtomicBool::new(false);
        let course = Self { members, ends_all, lock, changed, flows, locks: Locks::new(files) };
        course.end_burners();
        course
    }

    /// Ends the threads of `cpuio` that end with the other jobs, where all these have ended.
    fn end_burners(&self) {
        let is_left = |member: &Member| member.burns.is_none() && !member.has_ended.load(Ordering::Acquire);
        if !self.members.iter().any(is_left) {
            self.members.iter().filter(|member| member.burns == Some(true)).for_each(Member::end);
        }
    }

    pub(super) fn member(&self, number: usize) -> &Member {
        &self.members[number]
    }

    /// What a thread ended itself for.
    pub(super) fn fault(&self, number: usize) -> Option<Fault> {
        let reason = self.members[number].fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        reason.map(Fault::Unsupported)
    }

    pub(super) fn ends_all(&self) -> bool {
        self.ends_all.load(Ordering::Relaxed)
    }

    /// Waits until all threads of the job of this name have ended, if it is one of these, or this one must end.
    pub(super) fn wait_for(&self, name: &str, number: usize, control: &Control<'_>) -> Result<(), Fault> {
        let is_free = || {
            let mut named = self.members.iter().filter(|member| member.name == name);
            named.all(|member| member.has_ended.load(Ordering::Acquire)) || self.members[number].must_end()
        };
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_free() {
            control.go_on()?;
            lock = self.changed.wait_timeout(lock, SLICE).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Whether a thread may make a transfer or a sync: its share of those of its flow is not above that of its weight.
    pub(super) fn takes_turn(&self, number: usize) -> bool {
        let member = &self.members[number];
        let flow = &self.flows[member.flow];
        let all = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        let (turns, weights) =
            (all(&member.turns) / all(&flow.turns), member.weight as f64 / all(&flow.weight));
        if turns > weights {
            return false;
        }
        flow.turns.fetch_add(1, Ordering::Relaxed);
        member.turns.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// A thread has ended.
    pub(super) fn ended(&self, number: usize, job: &Job) {
        let member = &self.members[number];
        let flow = &self.flows[member.flow];
        flow.turns.fetch_sub(member.turns.load(Ordering::Relaxed), Ordering::Relaxed);
        flow.weight.fetch_sub(member.weight, Ordering::Relaxed);
        member.has_ended.store(true, Ordering::Release);
        self.end_burners();
        let is_meant = |other: &&Member| job.course.ends(member.group, other.group);
        self.members.iter().filter(is_meant).for_each(Member::end);
        if job.course.exitall && job.course.exit_what == Others::All {
            self.ends_all.store(true, Ordering::Relaxed);
        }
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// The threads whose rates are one: all of a group that is reported as one, else the thread itself.
    fn reported_with(&self, number: usize) -> impl Iterator<Item = &Member> {
        let own = &self.members[number];
        let is_same = move |member: &Member| {
            own.is_reported_with_group && member.is_reported_with_group && member.group == own.group
        };
        let one = move |(other, member)| (other == number || is_same(member)).then_some(member);
        self.members.iter().enumerate().filter_map(one)
    }

    /// Whether no thread before this one is reported with it.
    pub(super) fn is_first_reported(&self, number: usize) -> bool {
        self.reported_with(number).next().is_some_and(|first| std::ptr::eq(first, &self.members[number]))
    }

    /// Transfers and bytes of all threads that are reported with one.
    pub(super) fn moved_together(&self, number: usize) -> [u64; 2] {
        self.reported_with(number).fold([0, 0], |sum, member| {
            let [transfers, bytes] = member.moved();
            [sum[0] + transfers, sum[1] + bytes]
        })
    }

    /// Ends all threads that are reported with one.
    pub(super) fn end_together(&self, number: usize) {
        self.reported_with(number).for_each(Member::end);
    }
}

impl Member {
    pub(super) fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.must_end.store(true, Ordering::Relaxed);
    }

    /// Ends it with an error: the first one holds.
    pub(super) fn fail(&self, reason: String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.end();
    }

    /// Counts a transfer; its thread alone does so.
    pub(super) fn count(&self, direction: Direction, bytes: u64, is_late: bool) {
        let side = direction as usize;
        self.transfers[side].fetch_add(1, Ordering::Relaxed);
        self.bytes[side].fetch_add(bytes, Ordering::Relaxed);
        self.late.fetch_add(u64::from(is_late), Ordering::Relaxed);
    }

    pub(super) fn depth(&self) -> Option<u32> {
        Some(self.depth.load(Ordering::Relaxed)).filter(|&depth| depth > 0)
    }

    pub(super) fn set_depth(&self, depth: u32) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    pub(super) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Transfers and bytes of one direction.
    pub(super) fn moved_in(&self, side: usize) -> [u64; 2] {
        [&self.transfers, &self.bytes].map(|count| count[side].load(Ordering::Relaxed))
    }

    /// Transfers and bytes of both.
    pub(super) fn moved(&self) -> [u64; 2] {
        let [reads, writes] = [self.moved_in(0), self.moved_in(1)];
        [reads[0] + writes[0], reads[1] + writes[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_flow_share_its_turns_by_their_weights_until_one_has_ended() {
        let job = |weight| {
            let mut job = Job::named("x");
            job.placement.flow.0 = weight;
            job
        };
        let (light, heavy) = (job(1), job(3));
        let course = Course::of([(&light, 0), (&heavy, 0)].into_iter(), 0);
        let mut turns = [0, 0];
        for _ in 0..400 {
            for (number, count) in turns.iter_mut().enumerate() {
                *count += u32::from(course.takes_turn(number));
            }
        }
        assert!(turns[0] * 3 <= turns[1] + 3 && turns[1] <= turns[0] * 3 + 3, "{turns:?}");
        course.ended(1, &heavy);
        assert!((0..100).all(|_| course.takes_turn(0)));
    }
}
