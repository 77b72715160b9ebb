//! A model of a machine as a file: its parameters with their origins, its parts, and what it was made from.
//!
//! ```
//! use fathom_predict::model::Model;
//!
//! let mut model = Model::assumed();
//! model.set("readahead=1M")?;
//! let text = serde_json::to_string(&model).unwrap();
//! assert_eq!(Model::read(&text)?, model);
//! assert!(Model::read("{}").unwrap_err().contains("schema"));
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;

use fathom_model::io_path::Path;
use fathom_model::parameters::{CHOICES, ChoiceRow, Named, named};
use fathom_model::presets::preset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fathom_model::file_read::PAGE;
pub use fathom_model::io_path::View;
pub use fathom_model::parameters::{
    Answers, Curve, Device, Found, FreeMemory, Journal, Limited, Number, Opening, Origin, Parameter,
    Parameters, Queued, Reclaim, Runner, Scalar, Stage as Fits, Syncs, Works, names, page,
};

use fathom_run::provenance::{MachineFacts, MountFacts};

/// The schema of a written [`Model`].
pub const SCHEMA: &str = "fathom.model/2";
/// The schema of models that were written before: the points of curves are parameters of their own in it.
const BEFORE: &str = "fathom.model/1";

/// Limits that a device may be held to: bytes per second read and written, and requests per second read and written.
pub const LIMITS: [Scalar; 4] =
    [Scalar::LimitReadRate, Scalar::LimitWriteRate, Scalar::LimitReadIops, Scalar::LimitWriteIops];

/// A model of a machine's I/O path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Model {
    /// What the model was made from; none for a model that was never measured.
    pub made: Option<Made>,
    /// The numbers and the parts of the model.
    pub parameters: Parameters,
    /// How far the model was off on jobs that the calibration ran, by class of job.
    pub residuals: BTreeMap<String, Residual>,
    /// Bytes per second of jobs that the calibration ran, by name: running them again shows what has changed since.
    pub checks: BTreeMap<String, f64>,
}

/// A model as it is written to `MODEL.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.model/2")]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Always `fathom.model/2`.
    #[schemars(extend("const" = SCHEMA))]
    schema: String,
    /// What it was made from; nothing of a model that was never measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
    /// Which parts the path has, by name: `device`, `kernel`, `journal`; those that are missing are assumed.
    #[serde(default, alias = "components")]
    choices: BTreeMap<String, String>,
    /// Its numbers by name; those that are missing are assumed.
    #[serde(default, alias = "parameters")]
    scalars: BTreeMap<String, Entry>,
    /// Its numbers that depend on a size, by name: straight lines through points; those that are missing are assumed.
    #[serde(default)]
    curves: BTreeMap<String, Vec<Entry>>,
    /// How far it was off on the jobs that it was fitted to, by class of job.
    #[serde(default)]
    residuals: BTreeMap<String, Residual>,
    /// Bytes per second of the jobs that the calibration ran, by name: to run them again shows what has changed since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    checks: BTreeMap<String, f64>,
}

/// What a model was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// The version of Fathom that made it.
    pub version: String,
    /// When the measuring began: RFC 3339.
    pub started: String,
    /// How long the measuring took, in ns.
    pub duration_ns: u64,
    /// Bytes that the measuring wrote.
    pub bytes_written: u64,
    /// Bytes that the kernel reclaimed from any process while jobs ran; none where the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaimed_bytes: Option<u64>,
    /// The machine that was measured.
    pub machine: MachineFacts,
    /// The mount that was measured.
    pub mount: MountFacts,
}

/// A number as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The size that a point of a curve belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u32>,
    /// The value, in the unit.
    value: f64,
    /// `bytes`, `ns`, `ns_per_byte`, `count` or `share`: the parameter's own.
    unit: String,
    /// Where the value lies with 95 % confidence, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    /// Where it comes from: `measured`, `declared`, `assumed` or `set`.
    #[schemars(with = "String", extend("enum" = Origin::WORDS))]
    origin: Origin,
}

/// The factor of models that do not tell one.
fn unchanged() -> f64 {
    1.0
}

/// How far a model was off on jobs of one class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Residual {
    /// The number of jobs.
    pub jobs: u32,
    /// The mean size of the errors, as a share of the measured rates.
    pub mean_error: f64,
    /// The measured rate divided by the simulated one; predictions are multiplied by this.
    #[serde(default = "unchanged")]
    pub factor: f64,
    /// The spread of single runs around the corrected prediction: the root of their mean square, as a share.
    pub spread: f64,
    /// The degrees of freedom of the spreads; 0 in models that do not record them, which means as many as jobs.
    #[serde(default)]
    pub freedom: u32,
    /// The share of the free memory which a run took that the host had taken back, in the median of the runs and drawn towards that of
    /// all classes; none where it makes no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<f64>,
    /// The two states that single runs of each job fell into, the slower one first; empty where there is one state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<State>,
    /// How far latencies were off: no parameter stands for what the machine does besides the I/O path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Tail>,
    /// The simulated latency in ns from which on it is a wait for what the device is held to. That is declared, and not corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_from_ns: Option<f64>,
}

/// One of two states that single runs fell into.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// The measured rate in this state divided by the simulated rate.
    pub factor: f64,
    /// The share of the runs that were in this state.
    pub share: f64,
}

/// How far a model was off on one latency of jobs of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Which latency: the one that this share of the calls does not exceed.
    pub share: f64,
    /// The measured latency divided by the simulated one: the median over the jobs, for cached jobs.
    pub factor: f64,
    /// How much longer than simulated the latency was, in ns, for jobs that wait for the device.
    #[serde(default)]
    pub added_ns: f64,
    /// The spread of the jobs around the corrected latency, as a share.
    pub spread: f64,
}

impl Model {
    /// A model of no particular machine: every value is assumed.
    pub fn assumed() -> Self {
        Self {
            made: None,
            parameters: Parameters::assumed(),
            residuals: BTreeMap::new(),
            checks: BTreeMap::new(),
        }
    }

    /// Reads a written model.
    ///
    /// # Errors
    /// One sentence that says what is wrong and where.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("not a model: {error}"))?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(SCHEMA | BEFORE) => {}
            Some(other) => {
                return Err(format!("its schema is '{other}'; this version reads '{SCHEMA}' and '{BEFORE}'"));
            }
            None => return Err(format!("not a model: its key 'schema' must be '{SCHEMA}'")),
        }
        let mut model: Self =
            serde_json::from_value(value).map_err(|error| format!("not a model: {error}"))?;
        // Models of before say how many CPUs there were among the facts of their machine alone.
        let cpus = model.parameters.number(Scalar::Cpus);
        if let (Origin::Assumed, Some(made)) = (cpus.origin, &model.made) {
            let value = made.machine.cpus as f64;
            let parameter = Parameter { value, interval: None, origin: Origin::Declared };
            model.parameters.put(Scalar::Cpus, parameter);
        }
        Ok(model)
    }

    /// Sets a number, points of a curve, a part or a preset from what a user typed: `readahead=1M`, `far_of=4M:0.2,8M:0.4`,
    /// `device=plain_queue`, `preset=paper`.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn set(&mut self, typed: &str) -> Result<(), String> {
        let (name, value) =
            typed.split_once('=').ok_or_else(|| format!("'{typed}' sets nothing: write NAME=VALUE"))?;
        if name == "preset" {
            self.parameters = preset(value)?.on(&self.parameters);
            return Ok(());
        }
        self.parameters.set(name, value)?;
        // As on Linux: of a share and a number of bytes the one that was set last is in force.
        if let Named::Number(Number::Scalar(scalar)) = named(name)? {
            match scalar {
                Scalar::DirtyRatio => self.parameters.put_value(Scalar::DirtyBytes, 0.0),
                Scalar::DirtyBackgroundRatio => self.parameters.put_value(Scalar::DirtyBackgroundBytes, 0.0),
                _ => {}
            }
        }
        Ok(())
    }

    /// The program whose runs of jobs the model predicts best: fio, if fio's own work was measured.
    pub fn runner(&self) -> Runner {
        if self.parameters[Scalar::FioCall] > 0.0 { Runner::Fio } else { Runner::Fathom }
    }

    /// The net of the model, with all its parts.
    pub fn path(&self) -> Path {
        Path::new(&self.parameters)
    }
}

/// Puts a number as it is read in its place.
fn put(model: &mut Model, name: &str, number: Number, entry: Entry) -> Result<(), String> {
    let Entry { value, unit, interval, origin, .. } = entry;
    let own = number.row().unit.word();
    if unit != own {
        return Err(format!("'{name}' is in {unit}, and its unit is {own}"));
    }
    model.parameters.put(number, Parameter { value, interval, origin }.checked(name)?);
    Ok(())
}

impl TryFrom<Written> for Model {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let mut model = Self::assumed();
        let has_queued_wake = written.scalars.contains_key(Scalar::QueuedWake.row().name);
        for (name, entry) in written.scalars {
            let Named::Number(number) = named(&name)? else {
                return Err(format!("'{name}' is no scalar: it belongs under 'choices' or 'curves'"));
            };
            put(&mut model, &name, number, entry)?;
        }
        // Older models have one cost for both.
        if !has_queued_wake {
            let both = model.parameters.number(Scalar::Wake);
            model.parameters.put(Scalar::QueuedWake, Parameter { interval: None, ..both });
        }
        for (name, points) in written.curves {
            let curve = Curve::named(&name).ok_or_else(|| format!("there is no curve '{name}'"))?;
            for point in points {
                put(&mut model, &name, curve.at(f64::from(point.bytes.unwrap_or(0)))?, point)?;
            }
        }
        for (name, word) in written.choices {
            let Named::Choice(_) = named(&name)? else {
                return Err(format!("'{name}' is a number: it belongs under 'scalars' or 'curves'"));
            };
            model.set(&format!("{name}={word}"))?;
        }
        Ok(Self { made: written.made, residuals: written.residuals, checks: written.checks, ..model })
    }
}

impl From<Model> for Written {
    /// Leaves out what is assumed as in every model. A model without `queued_wake` is read as one of before, whose `wake` is both.
    fn from(model: Model) -> Self {
        let (mut scalars, mut curves) = (BTreeMap::new(), BTreeMap::new());
        let differs = model.parameters[Scalar::QueuedWake] != model.parameters[Scalar::Wake];
        let is_written = |(number, one): &(Number, Parameter)| {
            *one != number.assumed() || (differs && *number == Number::Scalar(Scalar::QueuedWake))
        };
        for (number, parameter) in model.parameters.iter().filter(is_written) {
            let (Parameter { value, interval, origin }, unit) =
                (parameter, number.row().unit.word().to_owned());
            let entry = |bytes| Entry { bytes, value, unit, interval, origin };
            match number {
                Number::Scalar(scalar) => {
                    scalars.insert(scalar.row().name.to_owned(), entry(None));
                }
                Number::Point(curve, _) => {
                    let points: &mut Vec<_> = curves.entry(curve.row().name.to_owned()).or_default();
                    points.push(entry(Some(number.bytes())));
                }
            }
        }
        let choice =
            |row: &ChoiceRow| (row.name.to_owned(), (row.word)(&model.parameters.choices).to_owned());
        Self {
            schema: SCHEMA.to_owned(),
            choices: CHOICES.iter().map(choice).collect(),
            scalars,
            curves,
            made: model.made,
            residuals: model.residuals,
            checks: model.checks,
        }
    }
}

/// The JSON Schema of a model.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Written).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_wakes_its_caller_at_once_is_read_as_it_was_written() {
        let mut model = Model::assumed();
        model.parameters.put_value(Scalar::Wake, 5_000.0);
        let again = Model::read(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!([Scalar::Wake, Scalar::QueuedWake].map(|one| again.parameters[one]), [5_000.0, 0.0]);
    }

    #[test]
    fn what_is_wrong_with_a_model_is_said() {
        let of = |parameters: &str| {
            let choices = "\"choices\": {\"device\": \"queue_and_bus\"}";
            Model::read(&format!("{{\"schema\": \"{SCHEMA}\", {choices}, \"scalars\": {{{parameters}}}}}"))
        };
        assert_eq!(of("").unwrap(), Model::assumed());
        for (parameters, said) in [
            (r#""cal": {"value": 1, "unit": "ns", "origin": "assumed"}"#, "did you mean 'call'"),
            (r#""call": {"value": 1, "unit": "bytes", "origin": "assumed"}"#, "its unit is ns"),
            (r#""call": {"value": -1, "unit": "ns", "origin": "assumed"}"#, "zero or more"),
            (r#""call": {"value": 1, "unit": "ns", "origin": "guessed"}"#, "guessed"),
            (r#""device": {"value": 1, "unit": "count", "origin": "set"}"#, "it belongs under 'choices'"),
        ] {
            let error = of(parameters).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(Model::read("{\"schema\": \"other/1\"}").unwrap_err().contains("other/1"));
        assert!(Model::read("[").unwrap_err().starts_with("not a model"));
    }

    #[test]
    fn a_model_of_version_1_is_read_and_written_as_version_2() {
        let model = Model::read(
            r#"{"schema": "fathom.model/1", "components": {"device": "plain_queue"}, "parameters": {
                "far_of_4m": {"value": 0.2, "unit": "share", "interval": [0.1, 0.3], "origin": "measured"},
                "jump": {"value": 170, "unit": "ns", "origin": "measured"},
                "call": {"value": 310, "unit": "ns", "origin": "measured"},
                "new_page": {"value": 1300, "unit": "ns", "origin": "assumed"}}}"#,
        )
        .unwrap();
        let share = model.parameters.number(Number::Point(Curve::FarOf, 3));
        assert_eq!((share.value, share.interval), (0.2, Some([0.1, 0.3])));
        assert_eq!(model.parameters.curve(Curve::Jump)[0], (512.0, 170.0));
        let written = serde_json::to_value(&model).unwrap();
        assert_eq!(written["schema"], SCHEMA);
        assert_eq!(written["choices"]["device"], "plain_queue");
        let point = serde_json::json!({"bytes": 4_194_304, "value": 0.2, "unit": "share", "interval": [0.1, 0.3],
            "origin": "measured"});
        assert_eq!(written["curves"]["far_of"], serde_json::json!([point]));
        assert!(written["curves"].get("new").is_none(), "what is assumed of every model is left out");
        assert_eq!(Model::read(&written.to_string()).unwrap(), model);
    }

    #[test]
    fn settings_are_typed_as_names_and_values() {
        let mut model = Model::assumed();
        model.set("device=plain_queue").unwrap();
        model.set("read_ahead=64K").unwrap();
        assert_eq!(model.parameters.choices.device, Device::PlainQueue);
        model.set("preset=paper").unwrap();
        assert_eq!(model.parameters[Scalar::Readahead], 65_536.0);
        assert!(model.set("device=tape").is_err());
        assert!(model.set("readahead").unwrap_err().contains("NAME=VALUE"));
    }
}
