//! Measurements in the format that was asked for.

use fathom::provenance::Provenance;
use fathom::report::{comma_separated, fio_json, google_benchmark, hyperfine};
use fathom::speed::measurement::Measurement;
use serde::Serialize;

use crate::args::format::Format;
use crate::console;
use crate::failure::Failure;

/// Prints one result: `text` for people, `whole` as JSON, or its `measurements` for other people's tools.
pub(crate) fn result(
    format: Format,
    text: impl FnOnce() -> String,
    whole: &impl Serialize,
    measurements: &[Measurement],
    provenance: &Provenance,
) -> Result<(), Failure> {
    console::print(&match format {
        Format::Text => text(),
        Format::Json => json(whole)?,
        Format::Csv => comma_separated::of(measurements),
        Format::FioJson => json(&fio_json::measured(measurements, jiff::Timestamp::now()))?,
        Format::GoogleBenchmark => {
            json(&google_benchmark::of(measurements, &provenance.machine, &provenance.started))?
        }
        Format::Hyperfine => json(&hyperfine::of(measurements))?,
    })
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(text + "\n")
}
