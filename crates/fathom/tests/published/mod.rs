//! The published schemas, and a check that a JSON keeps to one of them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// Where the schema of a report is published: `survey`, `lab`, `curve` or `versus`.
pub(crate) fn path(report: &str) -> PathBuf {
    let version = if report == "model" { 2 } else { 1 };
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../schema/fathom.{report}-{version}.schema.json"))
}

/// The schema as it is published.
pub(crate) fn schema(report: &str) -> Value {
    let path = path(report);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with every place where `json` breaks the published schema.
pub(crate) fn check(report: &str, json: &Value) {
    let validator = jsonschema::validator_for(&schema(report)).expect("the published schema is one");
    let faults: Vec<String> =
        validator.iter_errors(json).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "against the schema of {report}:\n{}", faults.join("\n"));
}
