//! A model held to single runs of job files as users make them.

use fathom_program::job::{self, JobFile};
use fathom_run::fault::Fault;
use fathom_run::load::Testbed;
use fathom_stats::quantile;

use super::{ByFio, Held, Outcomes, Predicted, Trials, predict_job};
use crate::model::{Model, Runner};
use crate::prediction;
use crate::single_runs::{self, Run, SingleRuns};

/// The jobs that are run where none are given.
const JOBS: &str = include_str!("field.fio");

/// The jobs that are run where the user gives none, in the proportions of what people write.
///
/// # Errors
/// What is wrong with them, which a test rules out.
pub fn usual_jobs(surroundings: &job::Surroundings<'_>) -> Result<JobFile, String> {
    job::parse(JOBS, surroundings).map_err(|mistake| format!("line {}: {}", mistake.line, mistake.reason))
}

/// Predicts each job of some files by itself, then makes the programs run each once in every round. The prediction is compared with
/// what fio prints if the model predicts fio's runs, or else with what Fathom measures.
///
/// # Errors
/// What ends the runs: an interrupt, the end of the time before anything was run, a full disk.
pub fn validate_in_field(
    files: &[JobFile],
    trials: &Trials<'_>,
    testbed: &mut Testbed,
) -> Result<Outcomes, Fault> {
    let mut outcomes = Outcomes::default();
    let (mut predicted, mut runs) = (Vec::new(), Vec::new());
    for mut one in files.iter().flat_map(SingleRuns::of) {
        match predict_job(&one.job, trials.model, trials.seed) {
            Ok(forecast) => {
                one.writes = forecast.writes;
                runs.push(one);
                predicted.push(forecast);
            }
            Err(reason) => outcomes.refused.push(reason),
        }
    }
    let programs = if trials.by_fio > 0 { single_runs::programs() } else { &[Runner::Fathom] };
    testbed.watch().expect((runs.len() * programs.len() * trials.repeats) as u64);
    single_runs::run(&mut runs, programs, trials.repeats, trials.seed, testbed)?;
    for (forecast, runs) in predicted.iter().zip(&runs) {
        match (hold(forecast, runs, trials.model), &runs.refusal) {
            (Some(held), _) => outcomes.jobs.push(held),
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or("it was not run in time: raise --max-time");
                outcomes.refused.push(format!("[{}]: {reason}", forecast.job.name));
            }
        }
    }
    Ok(outcomes)
}

/// A prediction next to the runs of the job; none where there are none.
fn hold(one: &Predicted, all: &SingleRuns, model: &Model) -> Option<Held> {
    let rates = |by: Runner| all.by(by).iter().map(|run| run.rate).collect::<Vec<_>>();
    let by = model.parameters.choices.runner;
    let runs = rates(by);
    let tail = |run: &Run| {
        let [.., p99, p999] = run.latencies_ns;
        Some([p99?, p999?])
    };
    let tails: Vec<_> = all.by(by).iter().filter_map(tail).collect();
    let medians = [Runner::Fio, Runner::Fathom].map(|by| quantile::median(&rates(by)));
    let fio = medians[0].zip(medians[1]).map(|(bytes_per_second, fathoms_bytes_per_second)| ByFio {
        bytes_per_second,
        fathoms_bytes_per_second,
        runs: rates(Runner::Fio),
    });
    let covered_runs = Some(runs.iter().filter(|&&rate| one.figures.rate.holds(rate)).count());
    let class = prediction::class(&one.job, &model.parameters);
    let held = one.figures.held(&one.job.name, class, runs, &tails)?;
    Some(Held { covered_runs, fio, ..held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::load::surroundings;

    #[test]
    fn the_usual_jobs_are_predicted() {
        let jobs = usual_jobs(&surroundings(&|_| None)).unwrap().jobs;
        let model = Model::assumed();
        let direct = jobs.iter().filter(|job| job.direct).count();
        assert!(jobs.len() >= 25 && direct * 2 > jobs.len(), "{direct} of {}", jobs.len());
        for job in &jobs {
            let predicted = predict_job(job, &model, 1).unwrap();
            assert!(predicted.figures.rate.value > 0.0, "{}", job.name);
        }
    }
}
