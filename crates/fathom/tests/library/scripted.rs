//! Every experiment by timing alone, on machines whose truth is planted.
//!
//! Three questions of each: is it right where the truth is there to be found, does its stated
//! interval hold the truth, and is it silent where there is nothing but noise.
//!
//! The regime in which an answer is owed: noise with a spread of 5 to 30 % (blocks above 8 KiB, of
//! which few fit into a sweep: to 15 %), 1 % of outliers of 50 times the median and a drift of 20 %;
//! first writes at least a quarter slower than others, and faults as well; handing a window to the
//! device at least ten times a cached read, and a device that takes at least as long as that to
//! answer, and at most a millisecond. Run with `--nocapture` for the figures.

mod blocks;
mod cache;
mod costs;
mod metadata;
mod policy;
mod quiet;
mod read_ahead;
mod served;

use std::time::Duration;

use fathom::experiment::{Effort, REGISTRY, by_name};
use fathom::finding::{Finding, Kind, Status, Value};
use fathom::survey::{self, Plan};
use fathom_scripted::{Pure, Script, Scripted};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

const SIGMAS: [f64; 3] = [0.05, 0.15, 0.3];

/// The finding of one parameter on a machine of its own.
fn ask(script: Script, parameter: &str) -> Finding {
    let plan = Plan {
        experiments: vec![by_name(parameter).unwrap()],
        evidence: vec![Kind::Timing],
        effort: Effort::Full,
        seed: script.seed,
        max_time: Duration::from_secs(600),
        intrusive: true,
    };
    survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap().remove(0).finding
}

/// Answers to a question whose truth is known.
#[derive(Default)]
struct Score {
    right: u32,
    silent: u32,
    /// What was said instead, and where.
    wrong: Vec<String>,
    /// Why nothing was said.
    reasons: Vec<String>,
    covered: u32,
}

impl Score {
    fn count(&mut self, case: &str, finding: &Finding, truth: &Value) {
        match &finding.value {
            Some(value) if value == truth => self.right += 1,
            Some(value) => self.wrong.push(format!("{case}: {value:?} for {truth:?}")),
            None => {
                self.silent += 1;
                self.reasons.push(format!("{case}: {}", finding.caveats.join("; ")));
            }
        }
        if let (Some([low, high]), Some(truth)) = (finding.interval, truth.as_number()) {
            self.covered += u32::from((low..=high).contains(&truth));
        }
    }

    fn trials(&self) -> u32 {
        self.right + self.silent + self.wrong.len() as u32
    }

    fn assert_never_wrong(&self, name: &str) {
        let Self { right, silent, wrong, .. } = self;
        show(&format!("{name}: {right} right, {silent} silent, {} wrong of {}", wrong.len(), self.trials()));
        self.reasons.iter().for_each(|reason| show(&format!("  silent: {reason}")));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }

    /// Never wrong, and answered in 95 % of the trials.
    fn assert_right(&self, name: &str) {
        self.assert_never_wrong(name);
        assert!(100 * self.right >= 95 * self.trials(), "{name} is too often silent");
    }

    /// Of the answers, as many intervals hold the truth as the level says, or more.
    fn assert_covers(&self, name: &str) {
        let answered = self.trials() - self.silent;
        show(&format!("{name}: intervals hold the truth in {} of {answered} answers", self.covered));
        assert!(self.covered * 100 >= answered * 95, "{name}");
    }
}

/// The figures behind the assertions, for `cargo test -- --nocapture`.
fn show(figure: &str) {
    println!("{figure}");
}

const NOISES: [Pure; 10] = [
    Pure::Lognormal { sigma: 0.05 },
    Pure::Lognormal { sigma: 0.3 },
    Pure::Lognormal { sigma: 1.5 },
    Pure::HeavyTails { exponent: 2.0 },
    Pure::HeavyTails { exponent: 1.0 },
    Pure::Wandering { sigma: 0.3, correlation: 0.9 },
    Pure::Wandering { sigma: 1.0, correlation: 0.99 },
    Pure::Wandering { sigma: 2.0, correlation: 0.999 },
    Pure::Spikes { share: 0.01, factor: 50.0 },
    Pure::Spikes { share: 0.2, factor: 50.0 },
];

/// On noise of every kind, `trials` in all, at least 99 % must be inconclusive.
fn is_silent_on_noise(parameter: &str, trials: u64) {
    let spoken = |seed: u64| {
        let pure = NOISES[seed as usize % NOISES.len()];
        let finding = ask(Script::noise_only(pure, seed), parameter);
        (finding.status != Status::Inconclusive)
            .then(|| format!("{pure:?}, seed {seed}: {} {:?}", finding.status, finding.value))
    };
    let spoken: Vec<String> = (0..trials).into_par_iter().filter_map(spoken).collect();
    show(&format!("{parameter} on noise alone: {} of {trials} inconclusive", trials - spoken.len() as u64));
    assert!(100 * spoken.len() as u64 <= trials, "{parameter}: {spoken:#?}");
}

#[test]
#[ignore = "two minutes of work; the tests above are its beginning"]
fn every_experiment_is_silent_on_1000_noises() {
    for experiment in REGISTRY {
        is_silent_on_noise(experiment.about().parameter, 1000);
    }
}
