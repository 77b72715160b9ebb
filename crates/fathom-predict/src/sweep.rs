//! Sweeps: jobs predicted for each cell of a grid of settings.
//!
//! An axis of the grid is a parameter of the model or an option of the jobs, with the values that it takes. Each cell is
//! what [`predict`] gives with its settings: it depends on nothing but the [`Plan`] and its place in the grid, so that it
//! may be predicted by any thread, process or machine. All cells share their random numbers: what differs between two
//! of them is due to the settings.
//!
//! ```
//! use fathom_predict::sweep::{Axis, Of};
//!
//! let blocks = Axis::read(Of::Job, "bs=4k,64k")?;
//! assert_eq!(blocks.values, ["4k", "64k"]);
//! let points = Axis::read(Of::Model, "far_of=4M:0.2,8M:0.4;4M:0.3")?;
//! assert_eq!(points.values, ["4M:0.2,8M:0.4", "4M:0.3"]);
//! # Ok::<(), String>(())
//! ```

mod best;

use std::collections::BTreeMap;

use fathom_model::parameters::named;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::best::{BEST_SCHEMA, Best, By, Race, Rival, Round, Task, Tried};
use crate::model::{Made, Model};
use crate::prediction::{Forecast, Prediction, Settings, predict};
use fathom_program::job::JobFile;

/// The schema of a written [`Sweep`].
pub const SCHEMA: &str = "fathom.sweep/1";

/// A larger grid is a mistake.
const MOST_CELLS: usize = 10_000_000;

/// What an axis changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// A parameter of the model, one of its parts, or a preset.
    Model,
    /// An option of every job.
    Job,
}

/// One axis of a grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Whether the axis changes the model or the jobs: `model` or `job`.
    pub of: Of,
    /// The parameter or the option.
    pub name: String,
    /// The values of the axis, as they were typed.
    pub values: Vec<String>,
}

/// The plan of a sweep: everything that its cells depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    version: String,
    /// The model.
    pub model: Model,
    /// Where the job file is: other files that it names may be relative to it.
    pub path: String,
    /// The text of the job file.
    pub jobs: String,
    /// The axes of the grid; the last one changes fastest.
    pub axes: Vec<Axis>,
    /// How many sets of parameters are drawn for each cell.
    pub draws: u32,
    /// The seed of the draws and of the model's randomness, in every cell.
    pub seed: u64,
}

/// The cells of a grid, as they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.sweep/1")]
pub struct Sweep {
    /// Always `fathom.sweep/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// What the model was made from; nothing where every value is assumed.
    pub made: Option<Made>,
    /// The seed of every cell.
    pub seed: u64,
    /// How many sets of parameters were drawn for each cell.
    pub draws: u32,
    /// The axes of the grid; the last one changes fastest.
    pub axes: Vec<Axis>,
    /// The cells in the order of the grid.
    pub cells: Vec<Cell>,
    /// The number of further cells of the grid that are not predicted here.
    pub missing: usize,
}

/// One cell of a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Its place in the grid, from zero.
    pub cell: usize,
    /// The value on each axis, by the axis' name.
    pub settings: BTreeMap<String, String>,
    /// What each job will do; empty where the cell is refused.
    pub jobs: Vec<Forecast>,
    /// Notes on the jobs, such as options without effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The reason why there is no prediction, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A part of a grid, for one of several processes that share it: every `of`-th cell from the `number`-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Axis {
    /// Reads `NAME=VALUE,VALUE...`. If there is a semicolon, semicolons separate the values, and values may contain commas.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn read(of: Of, typed: &str) -> Result<Self, String> {
        let (name, values) =
            typed.split_once('=').ok_or_else(|| format!("'{typed}' has no values: say NAME=VALUE,VALUE"))?;
        let separator = if values.contains(';') { ';' } else { ',' };
        let values = values.trim_end_matches(';').split(separator).map(|value| value.trim().to_owned());
        Self { of, name: name.trim().to_owned(), values: values.collect() }.checked()
    }

    /// An axis of the model's parameter of this name, or of the jobs' option where the model has no such parameter.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn new(name: &str, values: Vec<String>) -> Result<Self, String> {
        let of = if name == "preset" || named(name).is_ok() { Of::Model } else { Of::Job };
        Self { of, name: name.to_owned(), values }.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let Self { name, values, .. } = &self;
        let is_twice = |at: usize| values[..at].contains(&values[at]);
        match (0..values.len()).find(|&at| values[at].is_empty() || is_twice(at)) {
            _ if values.is_empty() => Err(format!("{name} has no value")),
            Some(at) if is_twice(at) => Err(format!("{name} has {} twice", values[at])),
            Some(_) => Err(format!("{name} has an empty value")),
            None => Ok(self),
        }
    }
}

impl Shard {
    /// Reads `I/N`: part I of N.
    ///
    /// # Errors
    /// One sentence where it is something else.
    pub fn read(typed: &str) -> Result<Self, String> {
        let parts =
            typed.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err(format!("'{typed}' is not a part: write I/N, from 1/N to N/N")),
        }
    }

    /// Whether the cell belongs to this part.
    pub fn has(&self, cell: usize) -> bool {
        cell % self.of == self.number - 1
    }
}

impl Plan {
    /// A plan for the text of the job file at `path`.
    ///
    /// # Errors
    /// A name that stands for two axes, a setting that the model does not have, a grid that is too large.
    pub fn new(
        model: Model,
        (path, jobs): (String, String),
        axes: Vec<Axis>,
        settings: Settings,
    ) -> Result<Self, String> {
        for (at, Axis { of, name, values }) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.name == *name) {
                return Err(format!("{name} is set twice: give all its values at once, as {name}=1,2"));
            }
            for value in values.iter().filter(|_| *of == Of::Model) {
                model.clone().set(&format!("{name}={value}"))?;
            }
        }
        let cells = axes.iter().try_fold(1_usize, |cells, axis| cells.checked_mul(axis.values.len()));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            return Err(format!("the sweep has more than {MOST_CELLS} combinations"));
        }
        let Settings { draws, seed } = settings;
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), model, path, jobs, axes, draws, seed })
    }

    /// The number of cells of the grid.
    pub fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The settings of a cell that change `of`, in the order of the axes.
    pub fn settings(&self, cell: usize, of: Of) -> Vec<(String, String)> {
        let mut rest = cell;
        let value = |axis: &Axis| {
            let at = rest % axis.values.len();
            rest /= axis.values.len();
            (axis.of, axis.name.clone(), axis.values[at].clone())
        };
        let mut all: Vec<_> = self.axes.iter().rev().map(value).collect();
        all.reverse();
        all.into_iter().filter(|one| one.0 == of).map(|(_, name, value)| (name, value)).collect()
    }

    /// Predicts a cell with its jobs. A cell without jobs, or with jobs that the model can't express, contains the reason.
    pub fn predict(&self, cell: usize, jobs: Result<JobFile, String>) -> Cell {
        let mut notes = Vec::new();
        let predicted = jobs.and_then(|file| {
            notes = file.notes;
            predict(&file.jobs, &self.model_of(cell)?, self.how())
        });
        let (jobs, refused) = match predicted {
            Ok(Prediction { forecasts, .. }) => (forecasts, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        Cell { cell, settings: self.all_settings(cell), jobs, notes, refused }
    }

    /// The value on each axis of a cell, by the axis' name.
    fn all_settings(&self, cell: usize) -> BTreeMap<String, String> {
        [Of::Model, Of::Job].into_iter().flat_map(|of| self.settings(cell, of)).collect()
    }

    /// The model with what a cell sets of it.
    fn model_of(&self, cell: usize) -> Result<Model, String> {
        let mut model = self.model.clone();
        for (name, value) in self.settings(cell, Of::Model) {
            model.set(&format!("{name}={value}"))?;
        }
        Ok(model)
    }

    fn how(&self) -> Settings {
        Settings { draws: self.draws, seed: self.seed }
    }

    /// The sweep that consists of these cells of the grid.
    pub fn sweep(&self, mut cells: Vec<Cell>) -> Sweep {
        cells.sort_by_key(|cell| cell.cell);
        Sweep {
            schema: SCHEMA.to_owned(),
            version: self.version.clone(),
            made: self.model.made.clone(),
            seed: self.seed,
            draws: self.draws,
            axes: self.axes.clone(),
            missing: self.cells() - cells.len(),
            cells,
        }
    }
}

/// Applies `one` to each of many cells or tasks, on all CPUs; ends at the first error.
///
/// # Errors
/// What `one` says.
pub fn each<T: Sync, R: Send, E: Send>(
    all: &[T],
    one: impl Fn(&T) -> Result<R, E> + Send + Sync,
) -> Result<Vec<R>, E> {
    all.par_iter().with_max_len(1).map(one).collect()
}

#[cfg(test)]
mod tests {
    use fathom_program::job::Job;

    use super::*;

    fn plan(axes: &[(Of, &str)]) -> Result<Plan, String> {
        let axes = axes.iter().map(|(of, typed)| Axis::read(*of, typed)).collect::<Result<_, _>>()?;
        Plan::new(Model::assumed(), Default::default(), axes, Settings { draws: 2, seed: 7 })
    }

    #[test]
    fn cells_are_counted_through_with_the_last_axis_fastest() {
        let plan =
            plan(&[(Of::Model, "readahead=64K,1M"), (Of::Job, "bs=4k,8k,16k"), (Of::Model, "block=4K")])
                .unwrap();
        assert_eq!(plan.cells(), 6);
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(plan.settings(4, Of::Model), [own("readahead", "1M"), own("block", "4K")]);
        assert_eq!(plan.settings(4, Of::Job), [own("bs", "8k")]);
    }

    #[test]
    fn a_cell_is_what_a_prediction_with_its_settings_is() {
        let plan = plan(&[(Of::Model, "readahead=64K,1M")]).unwrap();
        let job = Job { size: Some(1 << 20), ..Job::named("cold") };
        let mut model = Model::assumed();
        model.set("readahead=1M").unwrap();
        let alone = predict(std::slice::from_ref(&job), &model, Settings { draws: 2, seed: 7 }).unwrap();
        let cell = plan.predict(1, Ok(JobFile { jobs: vec![job], ..JobFile::default() }));
        assert_eq!((cell.jobs, cell.refused), (alone.forecasts, None));
        assert_eq!(plan.predict(0, Err("why".to_owned())).refused.as_deref(), Some("why"));
    }

    #[test]
    fn what_is_no_grid_is_said() {
        for (axes, said) in [
            (vec![(Of::Job, "bs")], "NAME=VALUE,VALUE"),
            (vec![(Of::Job, "bs=4k,,8k")], "an empty value"),
            (vec![(Of::Job, "bs=4k,4k")], "4k twice"),
            (vec![(Of::Job, "bs=4k"), (Of::Job, "bs=8k")], "bs is set twice"),
            (vec![(Of::Model, "readahaed=1M")], "did you mean 'readahead'"),
        ] {
            let error = plan(&axes).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let many = (0..5000).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
        let axes = [format!("bs={many}"), format!("size={many}")];
        assert!(plan(&[(Of::Job, &axes[0]), (Of::Job, &axes[1])]).unwrap_err().contains("more than"));
    }

    #[test]
    fn shards_share_out_every_cell_once() {
        let shards = ["1/3", "2/3", "3/3"].map(|typed| Shard::read(typed).unwrap());
        for cell in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(cell)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "3", "a/3", "1/0"] {
            assert!(Shard::read(wrong).is_err(), "{wrong}");
        }
    }
}
