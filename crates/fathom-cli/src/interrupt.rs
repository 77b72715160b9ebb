//! SIGINT, SIGTERM and SIGHUP set a flag; the code that works looks at it and cleans up after itself.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static LAST: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// A flag that is set by SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// Where the kernel refuses the handlers.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let last = LAST.get_or_init(|| Arc::new(AtomicUsize::new(SIGINT as usize)));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Actions run in this order: code that sees the flag, perhaps on another thread, finds the signal.
        signal_hook::flag::register_usize(signal, Arc::clone(last), signal as usize)
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| io::Error::other(format!("can't watch for signals: {error}")))?;
    }
    Ok(flag)
}

/// The last signal that came.
pub(crate) fn signal() -> i32 {
    LAST.get().map_or(SIGINT, |last| last.load(Ordering::Relaxed) as i32)
}
