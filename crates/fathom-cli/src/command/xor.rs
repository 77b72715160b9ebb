//! `fathom xor`: a file's words folded into one, as fast as the machine can.

use std::process::ExitCode;

use fathom::results::Report;
use fathom::speed::xor::{self, Request};

use super::reading;
use crate::args::xor::XorOptions;
use crate::failure::Failure;
use crate::keep::{self, Destination};

pub(crate) fn run(options: &XorOptions) -> Result<ExitCode, Failure> {
    let destination = Destination::of(options.out.as_deref(), false);
    keep::check(destination)?;
    let json = options.json.open()?;
    let request = Request { method: options.method(), threads: options.threads };
    let answer = reading(&options.file, |path, watch| xor::xor(path, request, watch))?;
    json.show(|colours| answer.text(colours), &answer)?;
    keep::result(destination, "xor", "", &answer)?;
    Ok(ExitCode::SUCCESS)
}
