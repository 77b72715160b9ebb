//! What a long job and the one who waits for it share: how far it is, and whether to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::fault::Fault;

/// Progress, shared between the threads that work and the one that shows it.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    done: Arc<AtomicU64>,
    expected: Arc<AtomicU64>,
    interrupt: Arc<AtomicBool>,
}

impl From<Arc<AtomicBool>> for Watch {
    /// Nothing is done yet; once `interrupt` is set the job ends with [`Fault::Interrupted`].
    fn from(interrupt: Arc<AtomicBool>) -> Self {
        Self { interrupt, ..Self::default() }
    }
}

impl Watch {
    /// Bytes or runs done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The expected number of bytes or runs; 0 where it is not known.
    pub fn expected(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// Begins a new task of this many bytes or runs.
    pub fn expect(&self, whole: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.expected.store(whole, Ordering::Relaxed);
    }

    /// The flag that ends the job.
    pub fn interrupt(&self) -> &Arc<AtomicBool> {
        &self.interrupt
    }

    /// Adds to the bytes or runs that are done.
    ///
    /// # Errors
    /// [`Fault::Interrupted`].
    pub fn advance(&self, by: u64) -> Result<(), Fault> {
        self.done.fetch_add(by, Ordering::Relaxed);
        if self.interrupt.load(Ordering::Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
    }
}
