//! `fathom explain`: which parameters account for the difference between two machines or mounts in a job's result.

use std::process::ExitCode;

use fathom::explanation::{explain, of_surveys};
use fathom::report;
use fathom::results::{self, Known};
use fathom::session::Work;

use crate::args::explain::ExplainOptions;
use crate::args::model;
use crate::args::run::Jobs;
use crate::console::spinner;
use crate::failure::Failure;

pub(crate) fn run(options: &ExplainOptions) -> Result<ExitCode, Failure> {
    let (Work::Jobs(file), _) = super::run::read(&Jobs::File(&options.job), None)? else {
        let job = options.job.display();
        return Err(Failure::Usage(format!("{job} is a trace; 'fathom explain' takes a job file of fio")));
    };
    let json = options.json.open()?;
    let sides = [&options.first, &options.second];
    let known = [results::read_known(sides[0])?, results::read_known(sides[1])?];
    let mut alike = None;
    let (models, unmodelled) = match known {
        [Known::Model(first), Known::Model(second)] => ([*first, *second], Vec::new()),
        [Known::Survey(first), Known::Survey(second)] => {
            alike = Some(options.on.display().to_string());
            of_surveys(&model::read(&options.on)?, [&first.findings, &second.findings])
        }
        _ => {
            return Err(Failure::Usage(
                "a model and a survey can't be compared: give two models, or two surveys".to_owned(),
            ));
        }
    };
    let names = sides.map(|path| path.display().to_string());
    let [first, second] = &models;
    let mut explained = spinner("predicting with each parameter in turn")
        .during(|| explain(&file.jobs, names, [first, second], unmodelled, options.seed))
        .map_err(|reason| Failure::Failed(format!("{}: {reason}", options.job.display())))?;
    explained.alike = alike;
    json.show(|colours| report::explanation(&explained, colours), &explained)?;
    Ok(ExitCode::SUCCESS)
}
