//! What an experiment may use while it asks by timing: a machine, a seed, a budget, and a memory.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use fathom_program::workload::Workload;
use fathom_run::machine::{Fault, Machine};
use fathom_run::samples::Samples;

/// How thoroughly an experiment measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Few rounds: answers where the signal is plain.
    Quick,
    /// Enough rounds for the intervals that the documentation states.
    #[default]
    Full,
}

/// An experiment's access to a machine.
pub struct Session<'a> {
    machine: &'a mut dyn Machine,
    seed: u64,
    effort: Effort,
    time_left: Duration,
    runs: Vec<Samples>,
    memory: &'a mut Memory,
}

/// What earlier experiments of the same survey found on the way, by type.
#[derive(Default)]
pub struct Memory(HashMap<TypeId, Box<dyn Any>>);

impl<'a> Session<'a> {
    /// A session that may use `time` of the machine's own time.
    pub fn new(
        machine: &'a mut dyn Machine,
        memory: &'a mut Memory,
        seed: u64,
        effort: Effort,
        time: Duration,
    ) -> Self {
        Self { machine, seed, effort, time_left: time, runs: Vec::new(), memory }
    }

    /// Runs a workload, with the session's seed, and keeps the samples for the report.
    ///
    /// # Errors
    /// What the machine gives; [`Fault::OutOfTime`] when the budget is used up.
    pub fn observe(&mut self, workload: Workload) -> Result<&Samples, Fault> {
        if self.time_left.is_zero() {
            return Err(Fault::OutOfTime);
        }
        let seed = self.seed.wrapping_add(self.runs.len() as u64);
        let started = Instant::now();
        let samples = self.machine.run(&workload.seed(seed))?;
        // A simulated machine's time is its own; a real one also takes time to make its files.
        let elapsed = Duration::from_nanos(samples.elapsed_ns).max(started.elapsed());
        self.time_left = self.time_left.saturating_sub(elapsed);
        self.runs.push(samples);
        self.runs.last().ok_or(Fault::OutOfTime)
    }

    /// `full` rounds, or a third of them where a quick answer is wanted, but at least `fewest`.
    pub fn rounds(&self, full: u32, fewest: u32) -> u32 {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => (full / 3).max(fewest),
        }
    }

    /// How thoroughly to measure.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// How much of the machine's time is left.
    pub fn time_left(&self) -> Duration {
        self.time_left
    }

    /// Bytes that may still be written.
    pub fn write_budget(&self) -> u64 {
        self.machine.write_budget()
    }

    /// Returns what `find` gives, or gave when an earlier experiment of this survey called it.
    ///
    /// # Errors
    /// What `find` gives; a failure is not remembered.
    pub fn recall<T: Clone + 'static>(
        &mut self,
        find: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(known) = self.memory.0.get(&TypeId::of::<T>()).and_then(|any| any.downcast_ref::<T>()) {
            return Ok(known.clone());
        }
        let found = find(self)?;
        self.memory.0.insert(TypeId::of::<T>(), Box::new(found.clone()));
        Ok(found)
    }

    /// All runs made so far, in order.
    pub fn into_runs(self) -> Vec<Samples> {
        self.runs
    }
}
