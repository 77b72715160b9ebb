//! `fathom run` of a trace: its operations, for real, on scratch files.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fathom::replay::{self, Bounds, Moved, Replayed};
use fathom::units::{Bytes, Nanos};

use crate::args::run::{JobFormat, RunOptions};
use crate::command::survey::directory;
use crate::console::{self, Spinner};
use crate::failure::Failure;
use crate::{guard, interrupt};

/// Whether a file is a trace of ours, by what every Parquet file begins with.
pub(crate) fn is_trace(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PAR1"
}

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    if options.format != JobFormat::Text {
        return Err(Failure::Usage("--format: a trace's replay is shown as text alone".to_owned()));
    }
    let path = directory(&options.path)?;
    let interrupt = interrupt::flag()?;
    let deadline = Instant::now() + options.max_time;
    guard::watch(deadline, interrupt.clone());
    let bounds = Bounds { max_write: options.max_write, deadline: Some(deadline), interrupt };
    let bar = Spinner::new("replaying");
    let replayed = replay::replay(&options.job, &path, options.pace.into(), &bounds);
    drop(bar);
    console::print(&told(&replayed?))?;
    Ok(ExitCode::SUCCESS)
}

fn told(replayed: &Replayed) -> String {
    let elapsed = replayed.elapsed.as_secs_f64();
    let way = |name: &str, moved: &Moved| {
        let per_second = Bytes((moved.bytes as f64 / elapsed.max(1e-9)) as u64);
        let inside = Nanos(moved.time.as_nanos() as f64 / moved.operations.max(1) as f64);
        let Moved { operations, bytes, different, .. } = *moved;
        let bytes = Bytes(bytes);
        format!(
            "{name}: {operations}, {bytes}, {per_second}/s, {inside} each; {different} moved other than in the trace\n"
        )
    };
    format!(
        "{} threads in {}; {} laid out, {} operations left out; nothing was left behind.\n{}{}",
        replayed.threads,
        Nanos(elapsed * 1e9),
        Bytes(replayed.laid_out_bytes),
        replayed.left_out,
        way("reads", &replayed.reads),
        way("writes", &replayed.writes)
    )
}
