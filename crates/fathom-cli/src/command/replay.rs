//! `fathom run` of a trace: its operations, for real, on scratch files.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fathom::instrument::Instrument;
use fathom::replay::{self, Bounds};
use fathom::report;
use fathom::run_folder::Kept;

use crate::args::run::{JobFormat, RunOptions};
use crate::command::survey::directory;
use crate::console::{self, Spinner};
use crate::failure::Failure;
use crate::{guard, interrupt, keep};

/// Whether a file is a trace of ours, by what every Parquet file begins with.
pub(crate) fn is_trace(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PAR1"
}

const NEXT: &str =
    "Next: 'fathom trace show' says what the trace does; '--pace' says when its operations begin.\n";

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    if options.format != JobFormat::Text {
        return Err(Failure::Usage("--format: a trace's replay is shown as text alone".to_owned()));
    }
    let path = directory(&options.path)?;
    let place = options.keep.place(true);
    keep::check(place)?;
    let interrupt = interrupt::flag()?;
    let deadline = Instant::now() + options.max_time;
    guard::watch(deadline, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let bounds = Bounds { max_write: options.max_write, instrument, deadline: Some(deadline), interrupt };
    let bar = Spinner::new("replaying");
    let how = options.replaying.how();
    let replayed =
        replay::plan(&options.job).and_then(|plan| replay::replay(&plan, &path, how, &bounds, &mut || ()));
    drop(bar);
    let replayed = replayed?;
    console::print(&report::replay(&replayed))?;
    keep::result(place, "run", NEXT, || Kept::Replay(Box::new(replayed)))?;
    Ok(ExitCode::SUCCESS)
}
