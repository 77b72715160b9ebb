//! `fathom calibrate`: a model of the machine and the file system at a path, by measuring.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use fathom::results::{Json, Report, WithModel};

use super::session;
use crate::args::calibrate::CalibrateOptions;
use crate::console::{self, runs};
use crate::failure::Failure;
use crate::keep;

pub(crate) fn run(options: &CalibrateOptions) -> Result<ExitCode, Failure> {
    let mut session = session(&options.path, options.budget)?;
    keep::check(options.destination())?;
    let cant = |error: std::io::Error| Failure::unwritable("--out", &options.out, &error);
    // Taken now, so that a wrong name costs no time; a file that is there is kept.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&options.out).map_err(cant)?;
    let made = runs("calibrating", session.progress().clone()).during(|| session.calibrate());
    if made.is_err() {
        // It is empty.
        let _ = std::fs::remove_file(&options.out);
    }
    let (model, result) = made?;
    file.write_all((model.json()? + "\n").as_bytes()).map_err(cant)?;
    let calibration = WithModel { result, model };
    console::print(&calibration.text(console::colours(false)))?;
    let (name, path) = (options.out.display(), session.path().display());
    console::print(&format!("\nThe model is {name}.\n"))?;
    let next = format!(
        "Next: 'fathom validate {path} --on {name}' measures how good its predictions are; \
         'fathom predict JOB.fio --on {name}' predicts jobs without running them.\n"
    );
    keep::result(options.destination(), "calibrate", &next, &calibration)?;
    Ok(ExitCode::SUCCESS)
}
