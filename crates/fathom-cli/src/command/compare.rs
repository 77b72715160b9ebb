//! `fathom compare`: what differs between results, beyond noise.

use std::fs;
use std::process::ExitCode;

use fathom::comparison::{self, Rules};
use fathom::experiment::REGISTRY;
use fathom::{report, results};

use crate::args::compare::CompareOptions;
use crate::console::spinner;
use crate::failure::{DIFFERENT, Failure, INCONCLUSIVE};

pub(crate) fn run(options: &CompareOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let json = options.json.open()?;
    let bar = spinner("comparing");
    let mut outcomes = Vec::new();
    for path in &options.runs {
        outcomes.push((path.display().to_string(), results::read_outcome(path)?));
    }
    let rules = Rules { rate: options.rate / 100.0, margin: options.margin / 100.0 };
    let comparison = comparison::compare(&outcomes, rules, REGISTRY).map_err(Failure::Usage)?;
    drop(bar);
    if let Some(page) = &options.page {
        fs::write(page, report::comparison_page(&comparison, &outcomes))
            .map_err(|error| Failure::unwritable("--page", page, &error))?;
    }
    json.show(|_| report::comparison(&comparison), &comparison)?;
    Ok(match (comparison.has_differences(), comparison.is_empty()) {
        (true, _) => ExitCode::from(DIFFERENT),
        (false, true) => ExitCode::from(INCONCLUSIVE),
        (false, false) => ExitCode::SUCCESS,
    })
}
