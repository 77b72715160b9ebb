//! A machine that plays recorded samples back, one experiment's runs in the order they were made.
//!
//! It answers only what was asked before: another workload, or the same with another seed, is
//! refused, so that nothing is inferred from samples of something else.

use std::collections::VecDeque;

use fathom_program::workload::Workload;
use fathom_run::machine::{Fault, Machine};
use fathom_run::samples::Samples;

/// The runs of one experiment that are still to be played.
#[derive(Debug, Clone)]
pub struct Recorded {
    parameter: String,
    runs: VecDeque<Samples>,
    played: usize,
    /// Bytes that might still be written after the last run that was played.
    budget: u64,
    end: Fault,
}

impl Recorded {
    /// The `runs` that were made to find `parameter`. Once they are over, `end` is what a request
    /// for another is answered with: why the recorded experiment got no more, such as [`Fault::OutOfTime`].
    pub fn new(parameter: &str, runs: Vec<Samples>, end: Fault) -> Self {
        Self { parameter: parameter.to_owned(), runs: runs.into(), played: 0, budget: 0, end }
    }
}

impl Machine for Recorded {
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault> {
        let Some(next) = self.runs.front() else { return Err(self.end.clone()) };
        if let Some(what) = difference(workload, &next.workload) {
            return Err(Fault::Unsupported(format!(
                "run {} of {} was recorded with other {what} than are asked for now: infer again with the version and the settings that recorded it",
                self.played, self.parameter
            )));
        }
        self.played += 1;
        self.budget = next.write_budget.saturating_sub(next.bytes_written);
        let played = self.runs.pop_front().ok_or_else(|| self.end.clone())?;
        // Files hold no labels, by which inference asks.
        Ok(Samples { workload: workload.clone(), ..played })
    }

    /// What was left at this point of the recording, so that an experiment which sizes its files by
    /// it sizes them as it did.
    fn write_budget(&self) -> u64 {
        self.runs.front().map_or(self.budget, |next| next.write_budget)
    }
}

/// What two workloads differ in, in the plural.
fn difference(asked: &Workload, recorded: &Workload) -> Option<&'static str> {
    let Workload { files, passes, rounds, warmup_rounds, between_rounds, seed } = asked;
    [
        (*files != recorded.files, "files"),
        (*passes != recorded.passes, "operations"),
        (*rounds != recorded.rounds || *warmup_rounds != recorded.warmup_rounds, "rounds"),
        (*between_rounds != recorded.between_rounds, "commands between rounds"),
        (*seed != recorded.seed, "random orders (another seed)"),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then_some(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_program::workload::{CallKind, Pass, Region, ScratchFile};
    use fathom_scripted::{Script, Scripted};

    fn workload(seed: u64) -> Workload {
        let region = Region { offset: 0, size: 512, step: 512, count: 8 };
        Workload::new(vec![ScratchFile::filled("a", 4096)])
            .pass(Pass::timed(0, &[CallKind::Pread], region))
            .seed(seed)
    }

    fn recorded() -> (Recorded, Samples) {
        let samples = Scripted::new(Script::new(1)).run(&workload(3)).unwrap();
        (Recorded::new("block_size", vec![samples.clone()], Fault::OutOfTime), samples)
    }

    #[test]
    fn what_was_asked_is_played_once_and_then_it_is_over() {
        let (mut machine, samples) = recorded();
        assert_eq!(machine.run(&workload(3)), Ok(samples));
        assert_eq!(machine.run(&workload(3)), Err(Fault::OutOfTime));
    }

    #[test]
    fn another_workload_is_refused_with_what_differs() {
        let refusal = |asked: Workload| recorded().0.run(&asked).unwrap_err().to_string();
        assert!(
            refusal(workload(4))
                .starts_with("run 0 of block_size was recorded with other random orders (another seed) than")
        );
        assert!(refusal(workload(3).rounds(2)).contains("other rounds than"));
        assert!(refusal(workload(3).pass(Pass::pause(1))).contains("other operations than"));
    }
}
