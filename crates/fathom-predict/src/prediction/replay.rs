//! A planned replay that the model can run, and what no part of the model stands for.

use std::collections::BTreeMap;
use std::sync::Arc;

use fathom_program::call::{Call, CallKind, DIRECTIONS};
use fathom_sys::file::special_flags;
use fathom_trace::replay::{O_TRUNC, Pace, Plan, Step};

use fathom_run::replay::How;

/// The replay of a trace in a form that the model can run.
#[derive(Debug, Clone)]
pub struct Replay {
    pub(super) plan: Arc<Plan>,
    pub(super) how: How,
    /// Reads and writes that begin where the last one on their file ended, and all of them; by direction.
    pub(super) in_order: [[usize; 2]; DIRECTIONS],
}

/// Files of more bytes than this are not simulated.
const MOST_BYTES: u64 = 1 << 36;

/// What is known of files as the trace goes on.
struct Check {
    sizes: Vec<u64>,
    /// Where the last access to each file ended.
    ends: Vec<u64>,
    refused: BTreeMap<String, u64>,
    in_order: [[usize; 2]; DIRECTIONS],
}

impl Replay {
    /// Makes a replay of a plan, if the model can express it.
    ///
    /// # Errors
    /// What the model can't express, each kind with its count.
    pub fn new(plan: &Arc<Plan>, how: How) -> Result<Self, String> {
        let bytes = plan.laid_out().saturating_add(plan.writes);
        if bytes > MOST_BYTES {
            return Err(format!("its files have {bytes} bytes, and at most {MOST_BYTES} can be simulated"));
        }
        let mut check = Check {
            sizes: plan.files.clone(),
            ends: vec![0; plan.files.len()],
            refused: BTreeMap::new(),
            in_order: Default::default(),
        };
        in_order(plan).into_iter().for_each(|(thread, at)| check.step(&plan.threads[thread][at]));
        if !check.refused.is_empty() {
            let named = |(what, count): (&String, &u64)| format!("{count} x {what}");
            let all: Vec<String> = check.refused.iter().map(named).collect();
            return Err(format!("the model does not know {}", all.join("; ")));
        }
        Ok(Self { plan: Arc::clone(plan), how, in_order: check.in_order })
    }

    /// How long the replay takes in ns if each call takes `call_ns` of it, and threads start their calls at the recorded
    /// times and after the calls that they wait for.
    pub fn length_ns(&self, mut call_ns: impl FnMut(&Call) -> f64) -> f64 {
        let plan = &*self.plan;
        let since =
            |step: &Step, from: i64| u64::try_from(step.operation.start_ns.saturating_sub(from)).unwrap_or(0);
        let mut ends = vec![0.0_f64; plan.threads.len()];
        for (thread, at) in in_order(plan) {
            let step = &plan.threads[thread][at];
            let begin = step.after_thread.map_or(0.0, |begin| ends[begin.thread]);
            let begin = ends[thread].max(begin);
            let before = at.checked_sub(1).map(|before| plan.threads[thread][before].end_ns());
            let pause = match self.how.pace {
                Pace::Fast => 0,
                Pace::Think => {
                    let after = step.after_thread.map_or(0, |begin| begin.pause_ns);
                    before.map_or(0, |before| since(step, before)) + after
                }
                Pace::Recorded => since(step, plan.first_ns).saturating_sub(begin as u64),
            };
            ends[thread] = begin + pause as f64 + call_ns(&step.call(plan.sizes.len()));
        }
        ends.into_iter().fold(0.0, f64::max)
    }

    /// The size of each file at first, in bytes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.plan.files.iter().copied()
    }

    /// The settings of the replay.
    pub fn how(&self) -> How {
        self.how
    }

    /// Whether anything waits for the device by asking for it.
    pub(super) fn syncs(&self) -> bool {
        self.plan.threads.iter().flatten().any(|step| step.operation.kind.is_sync())
    }
}

/// Thread and place of every step, by the time at which it began; a thread's own stay in their order.
fn in_order(plan: &Plan) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    for (thread, steps) in plan.threads.iter().enumerate() {
        let mut latest = i64::MIN;
        for (at, step) in steps.iter().enumerate() {
            latest = latest.max(step.operation.start_ns);
            order.push((latest, thread, at));
        }
    }
    order.sort_unstable();
    order.into_iter().map(|(_, thread, at)| (thread, at)).collect()
}

impl Check {
    fn refuse(&mut self, what: &str) {
        *self.refused.entry(what.to_owned()).or_default() += 1;
    }

    fn step(&mut self, step: &Step) {
        let (operation, file) = (&step.operation, step.file);
        let offset = operation.offset.unwrap_or(0);
        if let Some(direction) = operation.kind.direction() {
            if operation.offset.is_none() {
                self.refuse("reads or writes at an offset that the trace does not give");
            }
            let [in_order, all] = &mut self.in_order[direction as usize];
            *in_order += usize::from(operation.offset == Some(self.ends[file]));
            *all += 1;
            self.ends[file] = offset.saturating_add(operation.moved_bytes());
            if operation.kind.is_write() {
                self.sizes[file] = self.sizes[file].max(offset.saturating_add(operation.length));
            }
        }
        let flags = step.call(0).flags;
        match operation.kind {
            _ if step.frees.is_some() => {}
            CallKind::Open if operation.result.is_some_and(|result| result < 0) => {}
            CallKind::Open if flags & O_TRUNC != 0 && std::mem::take(&mut self.sizes[file]) > 0 => {}
            CallKind::Open => {
                special_flags(flags).into_iter().for_each(|flag| self.refuse(&format!("open with {flag}")));
            }
            CallKind::Truncate if operation.length == self.sizes[file] => {}
            CallKind::Truncate if operation.length == 0 => self.sizes[file] = 0,
            kind @ (CallKind::Truncate | CallKind::Allocate | CallKind::Discard) => self.refuse(kind.name()),
            _ => {}
        }
    }
}
