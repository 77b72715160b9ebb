//! `fathom xor`: a file's words folded into one, as fast as the machine can.

use std::path::Path;
use std::process::ExitCode;

use fathom::results::Report;
use fathom::speed::xor::{self, Request};
use fathom::watch::Watch;

use crate::args::xor::XorOptions;
use crate::console::meter;
use crate::failure::Failure;
use crate::guard;
use crate::keep::{self, Place};

pub(crate) fn run(options: &XorOptions) -> Result<ExitCode, Failure> {
    let place = options.out.as_deref().map_or(Place::Nowhere, Place::Folder);
    keep::check(place)?;
    let json = options.json.open()?;
    let path = if options.file == Path::new("-") { Path::new("/dev/stdin") } else { &options.file };
    let watch = Watch::from(guard::over_reading(path)?);
    let bar = meter(path.metadata().map_or(0, |about| about.len()), watch.clone());
    let answer = xor::xor(path, Request { method: options.method(), threads: options.threads }, &watch);
    drop(bar);
    let answer = answer?;
    json.tell(&answer.text(json.colours()))?;
    json.write(&answer)?;
    keep::result(place, "xor", "", &answer)?;
    Ok(ExitCode::SUCCESS)
}
