//! SIGINT and SIGTERM set a flag; whoever works looks at it and cleans up after itself.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

static LAST: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// A flag that is set by SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// Where the kernel refuses the handlers.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let last = LAST.get_or_init(|| Arc::new(AtomicUsize::new(SIGINT as usize)));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Actions run in this order: whoever sees the flag, perhaps on another thread, finds the signal.
        signal_hook::flag::register_usize(signal, Arc::clone(last), signal as usize)
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Failure::Failed(format!("can't watch for signals: {error}")))?;
    }
    Ok(flag)
}

/// The last signal that came.
pub(crate) fn signal() -> i32 {
    LAST.get().map_or(SIGINT, |last| last.load(Ordering::Relaxed) as i32)
}
