//! The only place that prints. A closed pipe is an error like any other, not a panic.
#![allow(clippy::print_stderr, reason = "this module is where printing happens")]

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom::report::Colours;
use fathom::speed::rounds;
use fathom::watch::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// Whether nothing is to be shown but results and what went wrong.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on shows no progress and no advice.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether somebody looks on, and wants to.
fn is_watched() -> bool {
    io::stderr().is_terminal() && !QUIET.load(Ordering::Relaxed)
}

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

/// Writes text for people: to standard output, or to standard error where standard output carries JSON.
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

/// Whether what [`tell`] writes may have colours: it goes to a terminal, and the user has not switched them off
/// (<https://no-color.org>).
pub(crate) fn colours(stdout_is_taken: bool) -> Colours {
    let is_terminal = if stdout_is_taken { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has =
        is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb");
    if has { Colours::On } else { Colours::Off }
}

/// Standard output without the buffer that holds back the end of what is no line.
///
/// # Errors
/// Where it is closed.
pub(crate) fn unbuffered() -> Result<File, Failure> {
    let copy = io::stdout().as_fd().try_clone_to_owned();
    copy.map(File::from).map_err(|error| Failure::Failed(format!("can't write to standard output: {error}")))
}

/// Writes a line to standard error if a person watches the terminal.
pub(crate) fn hint(line: &str) {
    if is_watched() {
        // The program does not depend on it.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Where a result is kept and what may come next, on standard error.
pub(crate) fn advise(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Writes a line that the user should know.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {line}");
}

/// Writes a line about what went wrong.
pub(crate) fn complain(line: &str) {
    // With standard error closed it can't be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "fathom: {line}");
}

const STEPS: &str = "{bar:30} {percent:>3} %  {msg}  (about {eta} left)";

const SPINNER: &str = "{spinner} {msg}  ({elapsed})";

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// A bar over steps of known weight, on a terminal alone. Dropping it removes it.
pub(crate) struct Progress {
    bar: ProgressBar,
    weights: Vec<u64>,
}

impl Progress {
    /// A bar whose steps take about so many seconds each.
    pub(crate) fn over(weights: Vec<u64>) -> Self {
        let target = if is_watched() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(weights.iter().sum()), target);
        style(&bar, STEPS);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, weights }
    }

    /// So many steps are done, and `next` is under way.
    pub(crate) fn at(&self, done: usize, next: &str) {
        self.bar.set_position(self.weights.iter().take(done).sum());
        self.bar.set_message(next.to_owned());
    }

    /// So far the rounds are that may take as many milliseconds as the bar's steps weigh.
    pub(crate) fn rounds(&self, progress: rounds::Progress) {
        self.bar.set_position(self.bar.elapsed().as_millis() as u64);
        let rounds::Progress { rounds, open, settings } = progress;
        self.bar.set_message(format!("round {}, {open} of {settings} not yet settled", rounds + 1));
    }

    /// Prints something where the bar is, which then goes on below it.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar that shows from the second second on, on a terminal alone. Dropping it removes it.
pub(crate) struct Late(Option<(Sender<()>, JoinHandle<()>)>);

/// Shows how far `watch` is on the way to `total` bytes.
pub(crate) fn meter(total: u64, watch: Watch) -> Late {
    let template = match total {
        0 => "{binary_bytes}  {binary_bytes_per_sec}",
        _ => "{bar:30} {percent:>3} %  {binary_bytes_per_sec}  (about {eta} left)",
    };
    Late::show((total > 0).then_some(total), template, "", move |bar| bar.set_position(watch.done()))
}

/// Shows how many of the runs that `watch` expects are done; as long as it expects none, what is going on.
pub(crate) fn runs(what: &'static str, watch: Watch) -> Late {
    Late::show(None, SPINNER, what, move |bar| {
        let expected = watch.expected();
        if expected > 0 && bar.length() != Some(expected) {
            bar.set_length(expected);
            bar.reset_elapsed();
            style(bar, STEPS);
        }
        bar.set_position(watch.done());
        bar.tick();
    })
}

/// Shows how much of a time that is known has passed.
pub(crate) fn timer(what: &'static str, time: Duration) -> Late {
    let began = Instant::now();
    let at = move |bar: &ProgressBar| bar.set_position(began.elapsed().as_millis() as u64);
    Late::show(Some(time.as_millis() as u64), "{bar:30} {percent:>3} %  {msg}  ({elapsed})", what, at)
}

/// Says what is going on and how long it has taken: for work whose length is not known.
pub(crate) fn spinner(what: &'static str) -> Late {
    Late::show(None, SPINNER, what, ProgressBar::tick)
}

impl Late {
    /// Shows it as long as `work` goes on.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }

    /// Draws a bar on a thread of its own once a second has passed, unless it is dropped before.
    fn show(
        total: Option<u64>,
        template: &'static str,
        what: &'static str,
        draw: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Self {
        if !is_watched() {
            return Self(None);
        }
        let (stop, stopped) = mpsc::channel();
        let goes_on = move |wait| {
            stopped.recv_timeout(Duration::from_millis(wait)) == Err(mpsc::RecvTimeoutError::Timeout)
        };
        let show = move || {
            if !goes_on(1000) {
                return;
            }
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            style(&bar, template);
            bar.set_message(what);
            while goes_on(100) {
                draw(&bar);
            }
            bar.finish_and_clear();
        };
        Self(Some((stop, std::thread::spawn(show))))
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            // Where the thread is gone there is no bar either.
            let _ = stop.send(());
            // It draws and nothing else: a panic there is no reason for another.
            let _ = thread.join();
        }
    }
}
