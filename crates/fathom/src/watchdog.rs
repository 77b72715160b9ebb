//! The watchdog over system calls that never return.
//!
//! Code that measures looks at its budget between calls. A call that hangs in the kernel can't be ended from
//! user space, so the watchdog cleans up what it can and tells its owner, who gives the process up.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fathom_run::machine::linux::{Blocked, blocked_calls};
use fathom_run::{intrusion, scratch};

/// A call that is under way before and after this long, past the deadline, hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the watchdog's own cleaning may take.
const CLEANING: Duration = Duration::from_millis(500);
/// How often the watchdog wakes up while all is well: seldom, because calls are being timed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A system call that does not return.
#[derive(Debug)]
pub struct Hang {
    /// The call, with its path and offset.
    pub call: Blocked,
    /// Whether an interrupt was the reason to stop waiting; otherwise the time allowed ran out.
    pub is_interrupted: bool,
    /// The scratch directories that could not be removed; the next run there removes them.
    pub left: Vec<PathBuf>,
}

/// Watches this process's calls from now on. Once `deadline` has passed or `interrupt` is set, the first call that does
/// not return ends in `give_up`, after changed settings were put back and scratch files removed as far as possible.
pub fn watch(deadline: Option<Instant>, interrupt: Arc<AtomicBool>, give_up: fn(&Hang) -> !) {
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
                let is_interrupted = interrupt.load(Ordering::Relaxed);
                give_up(&Hang { call, is_interrupted, left: cleaned() });
            }
        }
    };
    // Without a watchdog everything works that does not hang.
    let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(watched);
}

/// Puts back and removes what it can in [`CLEANING`]; gives the scratch directories that stay.
fn cleaned() -> Vec<PathBuf> {
    let (done, cleaned) = mpsc::channel();
    // What hangs once may hang again.
    thread::spawn(move || {
        intrusion::abandon();
        scratch::abandon();
        let _ = done.send(());
    });
    let _ = cleaned.recv_timeout(CLEANING);
    scratch::left()
}
