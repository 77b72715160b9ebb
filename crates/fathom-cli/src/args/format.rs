//! The formats that measurements are printed in.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people.
    Text,
    /// All figures; 'fathom schema' prints the JSON Schema.
    Json,
    /// One line per sample under a header with the units.
    Csv,
    /// As fio's --output-format=json, one job per measurement.
    FioJson,
    /// As Google Benchmark's --benchmark_out_format=json.
    GoogleBenchmark,
    /// As hyperfine's --export-json; times are seconds per call.
    Hyperfine,
}
