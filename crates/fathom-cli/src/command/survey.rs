//! `fathom survey`: every question asked of the file system at a path.

use std::path::Path;
use std::process::ExitCode;

use fathom::experiment::REGISTRY;
use fathom::report;
use fathom::run_folder;
use fathom::session::{Surveyed, survey_model};

use super::session;
use crate::args::SurveyOptions;
use crate::console::Progress;
use crate::failure::{self, Failure};
use crate::guard;
use crate::keep::{self, Destination};

const NEXT: &str =
    "Next: 'fathom curve' measures how fast it is; 'fathom compare' says what differs from another survey.\n";

pub(crate) fn run(options: &SurveyOptions) -> Result<ExitCode, Failure> {
    let model = options.on.model()?;
    let plan = options.plan.plan(options.intrusive || model.is_some())?;
    let mut session = match model {
        Some(_) => None,
        None => Some(session(&options.path, options.plan.budget)?),
    };
    let json = options.json.open()?;
    let destination = options.keep.destination(!json.is_stdout());
    // Made before anything is measured.
    let folder = match destination {
        Destination::Folder(folder) => Some(run_folder::create(folder)?),
        Destination::Shelf | Destination::Nowhere => None,
    };
    let weights = plan.experiments.iter().map(|one| u64::from(one.about().cost.seconds));
    let bar = Progress::over(weights.collect());
    let mut progress = |done: usize, next: &str| bar.at(done, next);
    let surveyed = match (&mut session, &model) {
        (Some(session), _) => session.survey(&plan, &mut progress),
        (None, Some(model)) => {
            guard::interruptible()?;
            let name = options.on.on.as_deref().unwrap_or(Path::new("assumed"));
            let name = (name, options.on.what_if.set.as_slice());
            survey_model(model, name, &plan, options.plan.budget.limits.max_write, &mut progress)
        }
        (None, None) => unreachable!("without a model there is a session"),
    };
    drop(bar);
    let Surveyed { survey, answers, left_behind } = surveyed?;
    // Printed first: a folder that can't be written must not cost the answers.
    json.show(|colours| report::survey(&survey, colours), &survey)?;
    keep::put(destination, "survey", NEXT, |directory| {
        let folder = folder.map_or_else(|| run_folder::create(directory), Ok)?;
        folder.write(&survey, plan.effort, &answers)?;
        let runs = answers.iter().map(|one| (one.finding.parameter.as_str(), one.runs.as_slice())).collect();
        run_folder::write_page(directory, &report::survey_page(&survey, &runs, REGISTRY))
    })?;
    match left_behind {
        Some(left) => Err(Failure::Failed(left)),
        None => Ok(failure::done(!survey.is_inconclusive(!options.plan.only.is_empty()))),
    }
}
