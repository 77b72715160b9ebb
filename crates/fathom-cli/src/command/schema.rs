//! `fathom schema`: the JSON Schemas that reports keep to.

use std::process::ExitCode;

use fathom::speed::{curve, file_size, jobs, syscalls, transfer, versus, xor};
use fathom::{comparison, lab, model, prediction, survey, validation};
use fathom_trace::show;

use crate::args::{SchemaName, SchemaOptions};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(options: &SchemaOptions) -> Result<ExitCode, Failure> {
    let schema = match options.report {
        SchemaName::Survey => survey::schema(),
        SchemaName::Lab => lab::schema(),
        SchemaName::Xor => xor::schema(),
        SchemaName::Curve => curve::schema(),
        SchemaName::Comparison => comparison::schema(),
        SchemaName::Versus => versus::schema(),
        SchemaName::Io => transfer::schema(),
        SchemaName::IoSize => file_size::schema(),
        SchemaName::Run => jobs::schema(),
        SchemaName::Syscalls => syscalls::schema(),
        SchemaName::Model => model::schema(),
        SchemaName::Prediction => prediction::schema(),
        SchemaName::Validation => validation::schema(),
        SchemaName::TraceShow => show::schema(),
    };
    Output::Stdout.write(&schema)?;
    Ok(ExitCode::SUCCESS)
}
