//! Every kind of result: its name, its schema, its text, its page, and its file in a run folder.
//!
//! One row of [`KINDS`] drives `fathom schema`, `fathom report`, the run folders and the test of the published schemas.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fathom_trace::show::{self, HitRatios, Shown};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::{Comparison, Outcome};
use crate::report::{self, Colours, Runs};
use crate::run_folder::{self, Error, Recording};
use fathom_predict::calibration::Account;
use fathom_predict::explanation::Explanation;
use fathom_predict::model::{self, Model};
use fathom_predict::prediction::Predicted;
use fathom_predict::sweep::{Best, Sweep};
use fathom_predict::validation::Validation;
use fathom_run::replay::Replayed;
use fathom_speed::curve::{self, Curve};
use fathom_speed::file_size::FileSize;
use fathom_speed::jobs::Ran;
use fathom_speed::syscalls::Syscalls;
use fathom_speed::transfer::Transfer;
use fathom_speed::versus::Versus;
use fathom_speed::versus::jobs::JobsVersus;
use fathom_speed::xor::Xor;
use fathom_survey::experiment::REGISTRY;
use fathom_survey::lab::LabReport;
use fathom_survey::survey::{self, Survey};

/// A result that a run folder keeps with its page.
pub trait Report: Json {
    /// What its file in a run folder is called, without `.json`.
    fn name(&self) -> &'static str;
    /// As its command prints it.
    fn text(&self, colours: Colours) -> String;
    /// As one HTML file that needs no network.
    fn page(&self) -> String;
    /// The model that it was made on or is about, which is kept in a file of its own.
    fn model(&self) -> Option<&Model> {
        None
    }
    /// Whether something that was asked for has no answer.
    fn is_inconclusive(&self) -> bool {
        false
    }
}

/// A value that can be written as JSON: everything that serde can serialise.
pub trait Json {
    /// The JSON, indented and without a line end behind it.
    ///
    /// # Errors
    /// What serde can't write, such as a map whose keys are no text.
    fn json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> Json for T {
    fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

/// A kind of result.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of the kind, which is also that of the schema `fathom.NAME/VERSION`, where one is published.
    pub name: &'static str,
    /// The JSON Schema, where one is published.
    pub schema: Option<fn() -> Value>,
    /// Its file in a run folder and how that is read, where one is kept.
    kept: Option<(&'static str, Read)>,
}

type Read = fn(&Path, &'static str) -> Result<Box<dyn Report>, Error>;

/// Every kind of result, in the order in which help names them.
pub const KINDS: [Kind; 22] = [
    Kind::new("survey", Some(schema::<Survey>)).kept("survey", read_survey),
    Kind::new("lab", Some(schema::<LabReport>)),
    Kind::new("xor", Some(schema::<Xor>)).kept("xor", read::<Xor>),
    Kind::new("curve", Some(schema::<Curve>)).kept("curve", read::<Curve>),
    Kind::new("comparison", Some(schema::<Comparison>)),
    Kind::new("versus", Some(schema::<Versus>)).kept("versus", read::<Versus>),
    Kind::new("versus-jobs", Some(schema::<JobsVersus>)).kept("versus-jobs", read::<JobsVersus>),
    Kind::new("io", Some(schema::<Transfer>)),
    Kind::new("io-size", Some(schema::<FileSize>)),
    Kind::new("run", Some(schema::<Ran>)).kept("run", read::<Ran>),
    Kind::new("plan", Some(schema::<report::Plan>)),
    Kind::new("syscalls", Some(schema::<Syscalls>)).kept("syscalls", read::<Syscalls>),
    Kind::new("model", Some(model::schema)),
    Kind::new("prediction", Some(schema::<Predicted>)).kept("prediction", read_with_model::<Predicted>),
    Kind::new("sweep", Some(schema::<Sweep>)).kept("sweep", read_with_model::<Sweep>),
    Kind::new("best", Some(schema::<Best>)).kept("best", read_with_model::<Best>),
    Kind::new("validation", Some(schema::<Validation>)).kept("validation", read_with_model::<Validation>),
    Kind::new("explanation", Some(schema::<Explanation>)),
    Kind::new("trace-show", Some(schema::<Shown>)).kept("trace", read::<NamedTrace>),
    Kind::new("trace-hit-ratios", Some(schema::<HitRatios>)),
    // Told by its stages, because other results keep their model as well.
    Kind::new("calibration", None).kept("stages", read_with_model::<Vec<Account>>),
    Kind::new("replay", None).kept("replay", read::<Replayed>),
];

/// The file of a model in the folder of a result, without `.json`.
const MODEL: &str = "model";

impl Kind {
    const fn new(name: &'static str, schema: Option<fn() -> Value>) -> Self {
        Self { name, schema, kept: None }
    }

    const fn kept(self, file: &'static str, read: Read) -> Self {
        Self { kept: Some((file, read)), ..self }
    }

    /// The name of the file of its published schema, if there is one: `fathom.NAME-VERSION.schema.json`.
    pub fn schema_file(&self) -> Option<String> {
        let schema = self.schema?();
        Some(format!("{}.schema.json", schema["title"].as_str()?.replace('/', "-")))
    }
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// The kinds with a published schema.
pub fn published() -> impl Iterator<Item = (Kind, fn() -> Value)> {
    KINDS.into_iter().filter_map(|kind| Some((kind, kind.schema?)))
}

/// A result with the model that it was made on or is about.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct WithModel<T> {
    /// The result.
    pub result: T,
    /// The model.
    #[serde(skip)]
    pub model: Model,
}

/// The properties of a trace, with the name of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedTrace {
    /// The name of the trace's file.
    pub name: String,
    /// The properties of the trace.
    #[serde(flatten)]
    pub shown: Shown,
}

/// A survey read from its folder, with findings inferred again from the samples behind it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Again {
    survey: Survey,
    #[serde(skip)]
    recordings: Vec<Recording>,
}

/// A [`Report`] in a line: its file's name, its text, its page.
macro_rules! report {
    ($type:ty, $name:literal, |$one:ident, $colours:pat_param| $text:expr, $page:expr $(, $more:item)*) => {
        impl Report for $type {
            fn name(&self) -> &'static str {
                $name
            }
            fn text(&self, $colours: Colours) -> String {
                let $one = self;
                $text
            }
            fn page(&self) -> String {
                let $one = self;
                $page
            }
            $($more)*
        }
    };
    (with model: $type:ty, $name:literal, |$one:ident, $colours:pat_param| $text:expr, $page:expr) => {
        report!(WithModel<$type>, $name, |$one, $colours| $text, $page, fn model(&self) -> Option<&Model> {
            Some(&self.model)
        });
    };
}

report!(Curve, "curve", |it, colours| report::curve(it, colours), report::curve_page(it));
report!(Syscalls, "syscalls", |it, _| report::syscalls(it), report::syscalls_page(it));
report!(Versus, "versus", |it, colours| report::versus(it, colours), report::versus_page(it));
report!(
    JobsVersus,
    "versus-jobs",
    |it, colours| report::versus_jobs(it, colours),
    report::versus_jobs_page(it)
);
report!(Ran, "run", |it, _| report::jobs(it), report::jobs_page(it));
report!(Xor, "xor", |it, _| report::xor(it), report::xor_page(it));
report!(NamedTrace, "trace", |it, _| show::text::render(&it.shown), report::trace_page(&it.shown, &it.name));
report!(Replayed, "replay", |it, _| report::replay(it), report::replay_page(it));
report!(
    with model: Predicted, "prediction",
    |it, _| report::prediction(&it.result), report::prediction_page(&it.result, &it.model, &[])
);
report!(
    with model: Sweep, "sweep",
    |it, colours| report::sweep(&it.result, colours), report::sweep_page(&it.result, &it.model)
);
report!(
    with model: Best, "best",
    |it, colours| report::best(&it.result, &it.model, colours), report::best_page(&it.result, &it.model)
);
report!(
    with model: Validation, "validation",
    |it, colours| report::validation(&it.result, colours), report::validation_page(&it.result, &it.model)
);
report!(
    with model: Vec<Account>, "stages",
    |it, _| report::calibration(&it.model, &it.result), report::calibration_page(&it.model, &it.result)
);
report!(
    Again,
    "survey",
    |it, colours| report::survey(&it.survey, colours),
    report::survey_page(&it.survey, &it.runs(), REGISTRY),
    fn is_inconclusive(&self) -> bool {
        self.survey.is_inconclusive(false)
    }
);

impl Again {
    fn runs(&self) -> Runs<'_> {
        self.recordings.iter().map(|one| (one.parameter.as_str(), one.runs.as_slice())).collect()
    }
}

/// Makes sure that a result can be kept in `directory`. Call this before anything is measured.
///
/// # Errors
/// [`Error::Taken`] where it holds a result, [`Error::File`] where it can't be made.
pub fn check_free(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::file("make", directory, &error))?;
    let mut names = KINDS.iter().filter_map(|kind| Some(kind.kept?.0)).chain([MODEL]);
    match names.any(|name| file(directory, name).exists()) {
        true => Err(Error::Taken(directory.to_owned())),
        false => Ok(()),
    }
}

/// Writes a result and its page, and returns the page's path.
///
/// # Errors
/// [`Error::File`] where a file can't be written.
pub fn keep(directory: &Path, result: &dyn Report) -> Result<PathBuf, Error> {
    if let Some(model) = result.model() {
        write(&file(directory, MODEL), model)?;
    }
    write(&file(directory, result.name()), result)?;
    run_folder::write_page(directory, &result.page())
}

/// Reads the result in a folder. A survey is inferred again from its samples.
///
/// # Errors
/// [`Error::File`] where it holds no result, or one that can't be read; [`Error::Damaged`] where a file holds something
/// else than its name says; [`Error::Mismatch`] where samples do not answer what their experiment asks now.
pub fn open(directory: &Path) -> Result<Box<dyn Report>, Error> {
    let mut kept = KINDS.iter().filter_map(|kind| kind.kept);
    let found = kept.find(|(name, _)| file(directory, name).exists());
    let (name, read) = found.unwrap_or(("survey", read_survey));
    read(directory, name)
}

/// Reads a result from its JSON: of kind `prediction`, `sweep`, `best`, `validation`, `run`, `survey` or `trace-show` with the
/// trace's name. `model` is the one that it was made on, the built-in example where there is none. A survey comes without its
/// samples.
///
/// # Errors
/// Another kind, or JSON of something else.
pub fn of_json(kind: &str, json: &str, model: Option<Model>) -> Result<Box<dyn Report>, String> {
    fn typed<T: DeserializeOwned>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }
    let model = model.unwrap_or_else(Model::assumed);
    Ok(match kind {
        "prediction" => Box::new(WithModel { result: typed::<Predicted>(json)?, model }),
        "sweep" => Box::new(WithModel { result: typed::<Sweep>(json)?, model }),
        "best" => Box::new(WithModel { result: typed::<Best>(json)?, model }),
        "validation" => Box::new(WithModel { result: typed::<Validation>(json)?, model }),
        "run" => Box::new(typed::<Ran>(json)?),
        "trace-show" => Box::new(typed::<NamedTrace>(json)?),
        "survey" => Box::new(Again { survey: typed(json)?, recordings: Vec::new() }),
        other => return Err(format!("'{other}' is no kind of result that can be shown by itself")),
    })
}

fn write(path: &Path, value: &(impl Json + ?Sized)) -> Result<(), Error> {
    run_folder::write_file(path, |to| Ok(writeln!(to, "{}", value.json()?)?))
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.json"))
}

fn read<T: Report + DeserializeOwned + 'static>(
    directory: &Path,
    name: &'static str,
) -> Result<Box<dyn Report>, Error> {
    Ok(Box::new(run_folder::read_json::<T>(&file(directory, name))?))
}

fn read_with_model<T: DeserializeOwned + 'static>(
    directory: &Path,
    name: &'static str,
) -> Result<Box<dyn Report>, Error>
where
    WithModel<T>: Report,
{
    let result: T = run_folder::read_json(&file(directory, name))?;
    Ok(Box::new(WithModel { result, model: run_folder::read_json(&file(directory, MODEL))? }))
}

fn read_survey(directory: &Path, _: &'static str) -> Result<Box<dyn Report>, Error> {
    let (recorded, recordings) = run_folder::read(directory)?;
    let survey = run_folder::infer_again(&recorded, recordings.clone())?;
    Ok(Box::new(Again { survey, recordings }))
}

/// Reads a survey or curves to compare, from a run folder or from the JSON itself.
///
/// # Errors
/// [`Error::File`] where it can't be read, [`Error::Damaged`] where it is nothing that can be compared.
pub fn read_outcome(path: &Path) -> Result<Outcome, Error> {
    let file = match path.is_dir() {
        true => Some(file(path, "curve")).filter(|curve| curve.exists() && !file(path, "survey").exists()),
        false => Some(path.to_owned()),
    };
    let file = file.unwrap_or_else(|| self::file(path, "survey"));
    let json: Value = run_folder::read_json(&file)?;
    match json["schema"].as_str() {
        Some(survey::SCHEMA) => typed(&file, json).map(Outcome::Survey),
        Some(curve::SCHEMA) => typed(&file, json).map(Outcome::Curve),
        other => {
            let what = other.map_or_else(|| "names no schema".to_owned(), |name| format!("is a {name}"));
            let reason = format!("it {what}: {} and {} can be compared", survey::SCHEMA, curve::SCHEMA);
            Err(Error::Damaged { path: file, line: None, reason })
        }
    }
}

/// Reads what is known of a machine: a model, from its file or from the folder of a result; or else a survey, by [`read_outcome`].
///
/// # Errors
/// As [`read_outcome`].
pub fn read_known(path: &Path) -> Result<Known, Error> {
    let model = file(path, MODEL);
    let json = if model.exists() { model } else { path.to_owned() };
    let text = fs::read_to_string(&json).unwrap_or_default();
    let damaged = |reason: String| Error::Damaged { path: json.clone(), line: None, reason };
    if text.contains("\"fathom.model/") {
        return Model::read(&text).map(|model| Known::Model(Box::new(model))).map_err(damaged);
    }
    match read_outcome(path)? {
        Outcome::Survey(survey) => Ok(Known::Survey(survey)),
        Outcome::Curve(_) => Err(damaged("it holds curves: a model or a survey is needed".to_owned())),
    }
}

/// What is known of a machine.
#[derive(Debug, Clone)]
pub enum Known {
    /// A model, which is all that a prediction needs.
    Model(Box<Model>),
    /// The findings of a survey.
    Survey(Box<Survey>),
}

fn typed<T: DeserializeOwned>(path: &Path, json: Value) -> Result<Box<T>, Error> {
    serde_json::from_value(json).map(Box::new).map_err(|error| Error::Damaged {
        path: path.to_owned(),
        line: None,
        reason: error.to_string(),
    })
}
