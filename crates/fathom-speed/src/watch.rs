//! What a long job and the one who waits for it share: how far it is, and whether to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fathom_run::fault::Fault;

/// Shared between the threads that work and the one that shows progress.
#[derive(Debug, Clone)]
pub struct Watch {
    done: Arc<AtomicU64>,
    interrupt: Arc<AtomicBool>,
}

impl Watch {
    /// Nothing is done yet; once `interrupt` is set the job ends with [`Fault::Interrupted`].
    pub fn new(interrupt: Arc<AtomicBool>) -> Self {
        Self { done: Arc::default(), interrupt }
    }

    /// Bytes done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// So many more bytes are done.
    ///
    /// # Errors
    /// [`Fault::Interrupted`].
    pub fn advance(&self, bytes: u64) -> Result<(), Fault> {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if self.interrupt.load(Ordering::Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
    }
}
