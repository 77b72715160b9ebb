//! Calls that never return: the command ends in their place, and says which one hangs.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use fathom::intrusion;
use fathom::machine::linux::{self, Surrender};
use fathom::watchdog::{self, Hang};

use crate::console;
use crate::failure::Failure;
use crate::interrupt;

static SURRENDER: OnceLock<Surrender> = OnceLock::new();

/// Goes on in a process that may be left behind. Must be called before there are threads.
pub(crate) fn supervise() {
    // A child that is killed can't put back what it has changed; its parent can.
    let _ = SURRENDER.set(linux::supervise(|| drop(intrusion::restore_leftovers())));
}

/// A flag that an interrupt sets, past which no call hangs for long.
///
/// # Errors
/// Where the kernel refuses the handlers.
pub(crate) fn interruptible() -> Result<Arc<AtomicBool>, Failure> {
    let interrupt = interrupt::flag()?;
    watchdog::watch(None, Arc::clone(&interrupt), give_up);
    Ok(interrupt)
}

/// The same for reading `path`. Where it is no file the flag is never set: a pipe may keep its reader waiting, who made
/// nothing, so that a signal may simply end it.
///
/// # Errors
/// As [`interruptible`].
pub(crate) fn over_reading(path: &Path) -> Result<Arc<AtomicBool>, Failure> {
    match path.metadata().is_ok_and(|about| about.is_file()) {
        true => interruptible(),
        false => Ok(Arc::default()),
    }
}

/// Ends the command though one of its calls never does.
pub(crate) fn give_up(hang: &Hang) -> ! {
    let Hang { call, is_interrupted, left } = hang;
    let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    let left = match left.is_empty() {
        true => "all scratch files were removed; the next run there removes what the call may still create"
            .to_owned(),
        false => format!("the next run there removes {}, which is left", left.join(" and ")),
    };
    let at = call.offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
    let why = if *is_interrupted { "the command was interrupted" } else { "the time allowed ran out" };
    console::complain(&format!(
        "{} {}{at}: the call does not return, the file system hangs; gave up because {why}; {left}",
        call.operation,
        call.path.display()
    ));
    let code = if *is_interrupted { u8::try_from(128 + interrupt::signal()).unwrap_or(1) } else { 1 };
    match SURRENDER.get() {
        Some(surrender) => surrender.give_up(code),
        None => std::process::exit(code.into()),
    }
}
