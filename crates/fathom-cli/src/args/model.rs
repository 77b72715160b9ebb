//! The options of what runs on a model instead of a machine.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use fathom::model::Model;

use crate::failure::{Failure, plain};

/// A model to run on, where one is named. The help is that of a survey; other commands change it.
#[derive(Debug, Clone, Args)]
pub(crate) struct OnOptions {
    /// Survey this model of a machine (a file that 'fathom calibrate' wrote) instead of a real file system; 'assumed' is a
    /// built-in example.
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) on: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) what_if: SetOptions,
}

/// What is different from the model.
#[derive(Debug, Clone, Args)]
pub(crate) struct SetOptions {
    /// Give a parameter of the model another value, such as readahead=1M or dirty_ratio=5; a curve takes points, as in
    /// new=4K:1300,64K:3550. 'fathom net parameters' lists all.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

impl OnOptions {
    /// The model, with what was set; none where none is named.
    ///
    /// # Errors
    /// A file that can't be read, one that holds no model, a setting that makes no sense.
    pub(crate) fn model(&self) -> Result<Option<Model>, Failure> {
        match &self.on {
            Some(path) => self.what_if.model(path).map(Some),
            None if self.what_if.set.is_empty() => Ok(None),
            None => {
                Err(Failure::Usage("--set: name the model that it changes with --on MODEL.json".to_owned()))
            }
        }
    }
}

impl SetOptions {
    /// The model of a file, with what was set.
    ///
    /// # Errors
    /// As [`OnOptions::model`].
    pub(crate) fn model(&self, path: &Path) -> Result<Model, Failure> {
        let mut model = read(path)?;
        for typed in &self.set {
            model.set(typed).map_err(|reason| Failure::Usage(format!("--set: {reason}")))?;
        }
        Ok(model)
    }
}

/// A model, or the built-in example.
///
/// # Errors
/// A file that can't be read, one that holds no model.
pub(crate) fn read(path: &Path) -> Result<Model, Failure> {
    if path == Path::new("assumed") {
        return Ok(Model::assumed());
    }
    let failed = |reason: String| Failure::Failed(format!("{}: {reason}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(plain(&error)))?;
    Model::read(&text).map_err(failed)
}
