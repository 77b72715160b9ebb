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
use fathom_model::parameters::{KNOWN, Known, known_as};
use fathom_model::presets::preset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fathom_model::file_read::PAGE;
pub use fathom_model::io_path::View;
pub use fathom_model::parameters::{ALIASES, Origin, Parameter, Parameters};

use fathom_run::provenance::{MachineFacts, MountFacts};

/// The name of the schema that [`Model`] is published under.
pub const SCHEMA: &str = "fathom.model/1";

/// A model of a machine's I/O path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Model {
    /// What it was made from; none of a model that nobody measured.
    pub made: Option<Made>,
    /// Its numbers, and the device.
    pub parameters: Parameters,
    /// How far it was off on the jobs that it was fitted to, by class of job.
    pub residuals: BTreeMap<String, Residual>,
    /// Bytes per second of jobs that nothing was fitted to, by name: who runs them again sees what has changed since.
    pub checks: BTreeMap<String, f64>,
}

/// A model as it is written to `MODEL.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.model/1")]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Always `fathom.model/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: String,
    /// What it was made from; nothing of a model that nobody measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
    /// Which parts the path has, by name: `device`, `kernel`, `journal`; those that are missing are assumed.
    components: BTreeMap<String, String>,
    /// Its numbers by name; those that are missing are assumed.
    parameters: BTreeMap<String, Entry>,
    /// How far it was off on the jobs that it was fitted to, by class of job.
    #[serde(default)]
    residuals: BTreeMap<String, Residual>,
    /// Bytes per second of jobs that nothing was fitted to, by name: who runs them again sees what has changed since.
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
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Bytes written for it.
    pub bytes_written: u64,
    /// Bytes that the kernel took out of memory while jobs ran, whose ever they were; none where it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaimed_bytes: Option<u64>,
    /// The machine.
    pub machine: MachineFacts,
    /// The mount.
    pub mount: MountFacts,
}

/// A device whose times are drawn from lists, which this file does not hold.
const LISTED: &str = "empirical";

/// A parameter as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The value, in the unit.
    value: f64,
    /// `bytes`, `ns`, `ns_per_byte`, `count` or `share`: the parameter's own.
    unit: String,
    /// Where the value lies with 95 % confidence, where somebody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    /// Where it comes from: `measured`, `declared`, `assumed` or `set`.
    #[schemars(with = "OriginWord")]
    origin: Origin,
}

/// Where a value comes from, for the schema: samples of the machine, the kernel's word, nobody, a what-if.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "the schema alone is derived from it")]
enum OriginWord {
    Measured,
    Declared,
    Assumed,
    Set,
}

/// How far a model was off on jobs of one class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Residual {
    /// How many jobs.
    pub jobs: u32,
    /// The mean of the errors' sizes, as a share of what was measured.
    pub mean_error: f64,
    /// The spread of the errors around zero: the root of their mean square, as a share.
    pub spread: f64,
    /// How far latencies were off: what the machine does beside the path is in none of its prices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Tail>,
}

/// How far a model was off on one latency of jobs of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Which latency: the one that this share of the calls does not exceed.
    pub share: f64,
    /// How many times as long it was as simulated: the median of the jobs, where memory serves them.
    pub factor: f64,
    /// By how many ns it was longer, where they wait for the device.
    #[serde(default)]
    pub added_ns: f64,
    /// The spread of the jobs around that, as a share.
    pub spread: f64,
}

impl Model {
    /// A model of no machine: everything is assumed.
    pub fn assumed() -> Self {
        Self {
            made: None,
            parameters: Parameters::assumed(),
            residuals: BTreeMap::new(),
            checks: BTreeMap::new(),
        }
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// One sentence that says what is wrong and where.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("not a model: {error}"))?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => return Err(format!("its schema is '{other}', and '{SCHEMA}' is understood")),
            None => return Err(format!("not a model: the key 'schema' is missing, which says '{SCHEMA}'")),
        }
        serde_json::from_value(value).map_err(|error| format!("not a model: {error}"))
    }

    /// Sets a parameter, a part or a set of them to what somebody typed: `readahead=1M`, `device=plain_queue`,
    /// `preset=paper`.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn set(&mut self, typed: &str) -> Result<(), String> {
        let (name, value) =
            typed.split_once('=').ok_or_else(|| format!("'{typed}' sets nothing: say NAME=VALUE"))?;
        if name == "preset" {
            self.parameters = preset(value)?.on(&self.parameters);
            return Ok(());
        }
        if name == "device" && value == LISTED {
            return Err(format!(
                "device={LISTED} needs the times of a device, and a model's file holds none"
            ));
        }
        self.parameters.set(name, value)?;
        // As on Linux: of a share and a number of bytes the one that was set last is in force.
        if let Some(other) = name.strip_suffix("_ratio").filter(|_| name.starts_with("dirty")) {
            self.parameters.set(&format!("{other}_bytes"), "0")?;
        }
        Ok(())
    }

    /// The net, with all its parts.
    pub fn path(&self) -> Path {
        Path::new(&self.parameters)
    }

    /// How many CPUs the machine has; none where nobody knows.
    pub fn cpus(&self) -> Option<u32> {
        self.made.as_ref().map(|made| made.machine.cpus as u32)
    }

    /// The word of a choice.
    fn word(&self, known: &Known) -> &'static str {
        known.words[self.parameters.value(known.name) as usize]
    }

    /// Every number with what is known of it, in the order in which they are documented.
    pub fn entries(&self) -> impl Iterator<Item = (&'static Known, Parameter)> + '_ {
        let numbers = KNOWN.iter().filter(|known| known.words.is_empty());
        numbers.map(|known| (known, self.parameters.parameter(known.name)))
    }
}

impl TryFrom<Written> for Model {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let mut parameters = Parameters::assumed();
        for (name, Entry { value, unit, interval, origin }) in written.parameters {
            let known = known_as(&name)?;
            if !known.words.is_empty() {
                return Err(format!("'{name}' is no number: it belongs under 'components'"));
            }
            if unit != known.unit.word() {
                return Err(format!("'{name}' is in {unit}, and its unit is {}", known.unit.word()));
            }
            parameters.put(&name, Parameter { value, interval, origin })?;
        }
        let mut model =
            Self { made: written.made, parameters, residuals: written.residuals, checks: written.checks };
        for (name, word) in written.components {
            let known = known_as(&name)?;
            if known.words.is_empty() {
                return Err(format!("'{name}' is a number: it belongs under 'parameters'"));
            }
            if model.word(known) != word {
                model.set(&format!("{name}={word}"))?;
            }
        }
        Ok(model)
    }
}

impl From<Model> for Written {
    fn from(model: Model) -> Self {
        let entry = |(known, parameter): (&Known, Parameter)| {
            let Parameter { value, interval, origin } = parameter;
            (known.name.to_owned(), Entry { value, unit: known.unit.word().to_owned(), interval, origin })
        };
        Self {
            schema: SCHEMA.to_owned(),
            parameters: model.entries().map(entry).collect(),
            components: choices()
                .map(|known| (known.name.to_owned(), model.word(known).to_owned()))
                .collect(),
            made: model.made,
            residuals: model.residuals,
            checks: model.checks,
        }
    }
}

/// Parameters that are words and no numbers.
fn choices() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().filter(|known| !known.words.is_empty())
}

/// The JSON Schema of a model.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Written).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_model_is_said() {
        let of = |parameters: &str| {
            let components = "\"components\": {\"device\": \"queue_and_bus\"}";
            Model::read(&format!(
                "{{\"schema\": \"{SCHEMA}\", {components}, \"parameters\": {{{parameters}}}}}"
            ))
        };
        assert_eq!(of("").unwrap().parameters.value("call"), Model::assumed().parameters.value("call"));
        for (parameters, said) in [
            (r#""cal": {"value": 1, "unit": "ns", "origin": "assumed"}"#, "did you mean 'call'"),
            (r#""call": {"value": 1, "unit": "bytes", "origin": "assumed"}"#, "its unit is ns"),
            (r#""call": {"value": -1, "unit": "ns", "origin": "assumed"}"#, "zero or more"),
            (r#""call": {"value": 1, "unit": "ns", "origin": "guessed"}"#, "guessed"),
        ] {
            let error = of(parameters).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(Model::read("{\"schema\": \"other/1\"}").unwrap_err().contains("other/1"));
        assert!(Model::read("[").unwrap_err().starts_with("not a model"));
    }

    #[test]
    fn settings_are_typed_as_names_and_values() {
        let mut model = Model::assumed();
        model.set("device=plain_queue").unwrap();
        model.set("read_ahead=64K").unwrap();
        assert_eq!(model.word(known_as("device").unwrap()), "plain_queue");
        model.set("preset=paper").unwrap();
        assert!(model.set("device=empirical").unwrap_err().contains("times"));
        assert_eq!(model.parameters.value("readahead"), 65_536.0);
        assert!(model.set("device=tape").is_err());
        assert!(model.set("readahead").unwrap_err().contains("NAME=VALUE"));
    }
}
