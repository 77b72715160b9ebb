//! The guard over calls that never return: it says which one hangs, and ends the command in its place.
//!
//! Whoever measures looks at the time between calls. A call that hangs in the kernel can't be ended
//! from here, so the guard removes what it can and leaves the process behind.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fathom::intrusion;
use fathom::machine::linux::blocked_calls;
use fathom::scratch;

use crate::failure::Failure;
use crate::{console, interrupt};

/// How a call that should have ended is told from one that hangs: it is looked at again after this long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the guard's own cleaning may take.
const CLEANING: Duration = Duration::from_millis(500);
/// How often the guard wakes up while all is well: seldom, because others are being timed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

static SURRENDER: OnceLock<fathom::machine::linux::Surrender> = OnceLock::new();

/// Goes on in a process that may be left behind. Must be called before there are threads.
pub(crate) fn supervise() {
    // A child that is killed can't put back what it has changed; its parent can.
    let _ = SURRENDER.set(fathom::machine::linux::supervise(|| drop(intrusion::restore_leftovers())));
}

/// From now on, nothing hangs for long past `deadline`, or past an interrupt.
pub(crate) fn watch(deadline: Instant, interrupt: Arc<AtomicBool>) {
    watch_until(Some(deadline), interrupt);
}

/// A flag that an interrupt sets, past which reading `path` does not hang for long. Where it is no file the flag is
/// never set: a pipe may keep its reader waiting, who made nothing, so that a signal may simply end it.
///
/// # Errors
/// Where the kernel refuses the handlers.
pub(crate) fn over_reading(path: &Path) -> Result<Arc<AtomicBool>, Failure> {
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(Arc::default());
    }
    let interrupt = interrupt::flag()?;
    watch_until(None, interrupt.clone());
    Ok(interrupt)
}

/// From now on, nothing hangs for long past an interrupt.
pub(crate) fn watch_for_interrupts(interrupt: Arc<AtomicBool>) {
    watch_until(None, interrupt);
}

fn watch_until(deadline: Option<Instant>, interrupt: Arc<AtomicBool>) {
    let left = move || deadline.map_or(LOOK_EVERY, |end| end.saturating_duration_since(Instant::now()));
    let watched = move || {
        while !left().is_zero() && !interrupt.load(Ordering::Relaxed) {
            thread::sleep(LOOK_EVERY.min(left()));
        }
        loop {
            let before = blocked_calls();
            thread::sleep(PATIENCE);
            let after = blocked_calls();
            if let Some(call) = before.into_iter().find(|call| after.contains(call)) {
                give_up(&call, interrupt.load(Ordering::Relaxed));
            }
        }
    };
    // Without a guard everything works that does not hang.
    let _ = thread::Builder::new().name("guard".to_owned()).spawn(watched);
}

fn give_up(call: &fathom::machine::linux::Blocked, is_interrupted: bool) -> ! {
    let (done, cleaned) = mpsc::channel();
    // What hangs once may hang again.
    thread::spawn(move || {
        intrusion::abandon();
        scratch::abandon();
        let _ = done.send(());
    });
    let _ = cleaned.recv_timeout(CLEANING);
    let left: Vec<String> = scratch::left().iter().map(|path| path.display().to_string()).collect();
    let left = match left.is_empty() {
        true => {
            "what was made is removed, and what the call still makes the next run there removes".to_owned()
        }
        false => format!("{} stays behind until the next run there removes it", left.join(" and ")),
    };
    let at = call.offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
    let why = if is_interrupted { "interrupted" } else { "the time allowed ran out" };
    console::complain(&format!(
        "{} {}{at}: does not return, the file system hangs; gave up because {why}; {left}",
        call.operation,
        call.path.display()
    ));
    let code = if is_interrupted { u8::try_from(128 + interrupt::signal()).unwrap_or(1) } else { 1 };
    match SURRENDER.get() {
        Some(surrender) => surrender.give_up(code),
        None => std::process::exit(code.into()),
    }
}
