//! The only place that prints. A closed pipe is an error like any other, not a panic.
#![allow(clippy::print_stderr, reason = "this module is where printing happens")]

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// Writes a whole text to standard output.
///
/// # Errors
/// Where the reader has gone or the disk behind a redirection is full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => {
            Failure::Failed("standard output was closed before all was written".to_owned())
        }
        _ => Failure::Failed(format!("can't write to standard output: {error}")),
    })
}

/// Writes people's text: to standard output, or beside it where that carries JSON.
///
/// # Errors
/// As [`print`].
pub(crate) fn tell(text: &str, stdout_is_taken: bool) -> Result<(), Failure> {
    if stdout_is_taken {
        let _ = io::stderr().lock().write_all(text.as_bytes());
        return Ok(());
    }
    print(text)
}

/// One line about what went wrong.
pub(crate) fn complain(line: &str) {
    // With standard error closed there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "fathom: {line}");
}

/// A bar over steps of known weight, on a terminal alone.
pub(crate) struct Progress {
    bar: ProgressBar,
    weights: Vec<u64>,
}

impl Progress {
    /// A bar whose steps take about so many seconds each.
    pub(crate) fn over(weights: Vec<u64>) -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(weights.iter().sum()), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  (about {eta} left)")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, weights }
    }

    /// So many steps are done, and `next` is under way.
    pub(crate) fn at(&self, done: usize, next: &str) {
        self.bar.set_position(self.weights.iter().take(done).sum());
        self.bar.set_message(next.to_owned());
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
