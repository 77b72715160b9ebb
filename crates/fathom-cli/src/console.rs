//! The only place that prints. A closed pipe is an error like any other, not a panic.
#![allow(clippy::print_stderr, reason = "this module is where printing happens")]

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use fathom::report::{self, Colours};
use fathom::speed::rounds;
use fathom::speed::watch::Watch;
use fathom::survey::Survey;
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

/// Whether what [`tell`] writes may have colours: it goes to a terminal, and nobody asked for none
/// (<https://no-color.org>).
pub(crate) fn colours(stdout_is_taken: bool) -> Colours {
    let is_terminal = if stdout_is_taken { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has =
        is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb");
    if has { Colours::On } else { Colours::Off }
}

/// A survey's table and remarks, in [`colours`].
///
/// # Errors
/// As [`print`].
pub(crate) fn tell_survey(survey: &Survey, stdout_is_taken: bool) -> Result<(), Failure> {
    let text = match colours(stdout_is_taken) {
        Colours::On => report::survey_in_colour(survey),
        Colours::Off => report::survey(survey),
    };
    tell(&text, stdout_is_taken)
}

/// Standard output without the buffer that holds back the end of what is no line.
///
/// # Errors
/// Where it is closed.
pub(crate) fn unbuffered() -> Result<File, Failure> {
    let copy = io::stdout().as_fd().try_clone_to_owned();
    copy.map(File::from).map_err(|error| Failure::Failed(format!("can't write to standard output: {error}")))
}

/// A line beside standard output for whoever looks on, and for nobody else.
pub(crate) fn hint(line: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        // Nobody misses it.
        let _ = writeln!(err, "{line}");
    }
}

/// One line that whoever runs this should know.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {line}");
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

/// A bar over bytes that shows from the second second on, on a terminal alone. Dropping it removes it.
pub(crate) struct Meter(Option<(Sender<()>, JoinHandle<()>)>);

impl Meter {
    /// Shows how far `watch` is on the way to `total` bytes.
    pub(crate) fn over(total: u64, watch: Watch) -> Self {
        let show = move |stopped: &mpsc::Receiver<()>| {
            let bar = byte_bar(total);
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
                bar.set_position(watch.done());
            }
            bar.finish_and_clear();
        };
        Self(after_a_second(show))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        end(self.0.take());
    }
}

/// A sign of life, with the time that has passed, from the second second on and on a terminal alone: for work whose
/// length nobody knows. Dropping it removes it.
pub(crate) struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    /// Says what is going on.
    pub(crate) fn new(what: &'static str) -> Self {
        let show = move |stopped: &mpsc::Receiver<()>| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(what);
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        };
        Self(after_a_second(show))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        end(self.0.take());
    }
}

/// Calls `show` on a thread of its own once a second has passed, unless it is told to stop before.
fn after_a_second(
    show: impl FnOnce(&mpsc::Receiver<()>) + Send + 'static,
) -> Option<(Sender<()>, JoinHandle<()>)> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let (stop, stopped) = mpsc::channel();
    let wait = move || {
        if stopped.recv_timeout(Duration::from_secs(1)).is_err() {
            show(&stopped);
        }
    };
    Some((stop, std::thread::spawn(wait)))
}

fn end(shown: Option<(Sender<()>, JoinHandle<()>)>) {
    if let Some((stop, thread)) = shown {
        // Where the thread is gone there is no bar either.
        let _ = stop.send(());
        // It draws and nothing else: a panic there is no reason for another.
        let _ = thread.join();
    }
}

fn byte_bar(total: u64) -> ProgressBar {
    let template = match total {
        0 => "{binary_bytes}  {binary_bytes_per_sec}",
        _ => "{bar:30} {percent:>3} %  {binary_bytes_per_sec}  (about {eta} left)",
    };
    let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A bar over the time that rounds may take, on a terminal alone.
pub(crate) struct Rounds {
    bar: ProgressBar,
}

impl Rounds {
    /// A bar that is full after so long.
    pub(crate) fn new(time: Duration) -> Self {
        let Progress { bar, .. } = Progress::over(vec![time.as_millis() as u64]);
        Self { bar }
    }

    /// So far the rounds are.
    pub(crate) fn at(&self, progress: rounds::Progress) {
        self.bar.set_position(self.bar.elapsed().as_millis() as u64);
        let rounds::Progress { rounds, open, settings } = progress;
        self.bar.set_message(format!("round {}, {open} of {settings} not yet settled", rounds + 1));
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
