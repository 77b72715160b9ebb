//! `fathom compare`: what differs between results, beyond noise.

use std::fs;
use std::process::ExitCode;

use fathom::comparison::{self, Rules};
use fathom::experiment::REGISTRY;
use fathom::{report, run_folder};

use crate::args::compare::CompareOptions;
use crate::console;
use crate::failure::{DIFFERENT, Failure, INCONCLUSIVE};
use crate::output::{Output, plain};

pub(crate) fn run(options: &CompareOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let mut outcomes = Vec::new();
    for path in &options.runs {
        let outcome = run_folder::read_outcome(path).map_err(|error| Failure::Failed(error.to_string()))?;
        outcomes.push((path.display().to_string(), outcome));
    }
    let rules = Rules { rate: options.rate / 100.0, margin: options.margin / 100.0 };
    let comparison = comparison::compare(&outcomes, rules, REGISTRY).map_err(Failure::Usage)?;
    if let Some(page) = &options.page {
        fs::write(page, report::comparison_page(&comparison, &outcomes)).map_err(|error| {
            Failure::Failed(format!("--page: can't write {}: {}", page.display(), plain(&error)))
        })?;
    }
    console::tell(&report::comparison(&comparison), json.as_ref().is_some_and(Output::is_stdout))?;
    if let Some(output) = json {
        output.write(&comparison)?;
    }
    Ok(match (comparison.has_differences(), comparison.is_empty()) {
        (true, _) => ExitCode::from(DIFFERENT),
        (false, true) => ExitCode::from(INCONCLUSIVE),
        (false, false) => ExitCode::SUCCESS,
    })
}
