//! The options of `fathom calibrate` and `fathom validate`.

use std::path::PathBuf;

use clap::Args;
use fathom::session::{Against, BY_FIO, Work};
use fathom::validation::Condition;

use crate::args::budget::BudgetOptions;
use crate::args::changed;
use crate::args::keep::KeepOptions;
use crate::args::model::OnOptions;
use crate::args::run::ReplayOptions;
use crate::failure::Failure;
use crate::keep::Destination;
use crate::output::JsonOptions;

#[derive(Debug, Args)]
#[command(mut_args(changed("max_write", |arg| arg.default_value("8GiB"))))]
#[command(mut_args(changed("max_time", |arg| {
    arg.default_value("130s").help("Make runs for at most this long; the fit that follows them takes 15 to 60 s")
})))]
pub(crate) struct CalibrateOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Write the model to this new file.
    #[arg(long, default_value = "MODEL.json", value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Also keep the model, its fits and a page that shows both in this new folder. Without this option they are kept
    /// below ~/.local/state/fathom ($XDG_STATE_HOME/fathom), which holds the last 10.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Write only the model, and keep no page.
    #[arg(long, conflicts_with = "report")]
    pub(crate) no_report: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
}

#[derive(Debug, Args)]
#[command(mut_args(changed("on", |arg| arg.help(
    "The model to check (a file that 'fathom calibrate' wrote); 'assumed' is a built-in example. Without this option the file \
     system is calibrated first",
))))]
#[command(mut_args(changed("max_write", |arg| {
    arg.default_value("12GiB").help("Write at most this much in all, calibration included")
})))]
#[command(mut_args(changed("max_time", |arg| {
    arg.default_value("10m").help("Take at most this long, calibration included")
})))]
pub(crate) struct ValidateOptions {
    /// A directory on the file system to run the jobs on.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) on: OnOptions,
    /// Compare the predictions with runs of these fio job files, each job by itself. Without this option the jobs are a
    /// built-in set of usual ones.
    #[arg(long, num_args = 1.., value_name = "JOB.fio", conflicts_with_all = ["traces", "quiet_machine"])]
    jobs: Vec<PathBuf>,
    /// Measure the model's own error: wait before each run until the machine is at rest and no other program works on the
    /// same core, and take another set of built-in jobs. Without this option the machine is left as it is.
    #[arg(long, conflicts_with = "traces")]
    quiet_machine: bool,
    /// How often to run each job.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) repeats: u16,
    /// Do not run the jobs with fio. Otherwise fio, if installed, runs each as well, and what it prints is compared.
    #[arg(long)]
    pub(crate) no_fio: bool,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// Also check what-if predictions, by changing the machine: the mount's read-ahead window, the limit of dirty data, a
    /// control group with little memory. Every change is undone. Needs --quiet-machine.
    #[arg(long, conflicts_with = "traces", requires = "quiet_machine")]
    pub(crate) intrusive: bool,
    /// Replay these traces instead of running jobs.
    #[arg(long, num_args = 1.., value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
    /// Also write the tables to FILE in Markdown, with the date and the machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
}

impl CalibrateOptions {
    /// Where the page goes.
    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination::of(self.report.as_deref(), !self.no_report)
    }
}

impl ValidateOptions {
    /// What the model is held against.
    ///
    /// # Errors
    /// A job file that can't be read, or that has no jobs.
    pub(crate) fn against(&self) -> Result<Against, Failure> {
        if !self.traces.is_empty() {
            return Ok(Against::Traces { traces: self.traces.clone(), how: self.replaying.how() });
        }
        if !self.quiet_machine {
            let read = |path: &PathBuf| match Work::read(path)? {
                Work::Jobs(file) => Ok(file),
                Work::Trace(path) => {
                    Err(Failure::Usage(format!("--jobs: {} is a trace: give it to --traces", path.display())))
                }
            };
            let files = self.jobs.iter().map(read).collect::<Result<_, _>>()?;
            return Ok(Against::Field { files, by_fio: !self.no_fio });
        }
        let by_fio = if self.no_fio { 0 } else { BY_FIO.min(usize::from(self.repeats)) };
        let more: &[Condition] = if self.intrusive { &Condition::INTRUSIVE } else { &[] };
        Ok(Against::Jobs { conditions: [&[Condition::Usual], more].concat(), by_fio })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use fathom::model::Model;

    use super::*;

    #[derive(Parser)]
    struct Calibrates {
        #[command(flatten)]
        options: CalibrateOptions,
    }

    #[derive(Parser)]
    struct Validates {
        #[command(flatten)]
        options: ValidateOptions,
    }

    #[test]
    fn what_may_be_written_is_enough_where_nobody_says_otherwise() {
        let Calibrates { options } = Calibrates::parse_from(["calibrate"]);
        let calibration = fathom::calibration::needs().unwrap().writes;
        assert!(calibration <= options.budget.limits.max_write, "a calibration writes {calibration}");
        let Validates { options } = Validates::parse_from(["validate", "--quiet-machine"]);
        let repeats = usize::from(options.repeats);
        let mut model = Model::assumed();
        let again = fathom::calibration::one_check_of_each(&model);
        model.checks = again.into_iter().map(|job| (job.name, 1.0)).collect();
        let Against::Jobs { conditions, by_fio } = options.against().unwrap() else {
            panic!("jobs are the default")
        };
        let needs = fathom::validation::needs(&conditions, &model, repeats, by_fio).unwrap();
        let both = calibration + needs.writes;
        assert!(both <= options.budget.limits.max_write, "a calibration and a validation write {both}");
    }
}
