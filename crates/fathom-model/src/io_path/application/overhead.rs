//! What a program itself does between its calls.

use fathom_program::call::Call;

/// The work of a thread itself between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Time for each call, in ns.
    pub call_ns: f64,
    /// Time for each byte that is written, in ns; not counted where several requests are under way.
    pub written_byte_ns: f64,
    /// Time for each byte that is prepared for a check before a write, or is checked after a read, in ns.
    pub checked_byte_ns: f64,
    /// Time for each byte that is read, in ns.
    pub read_byte_ns: f64,
    /// Time for each byte of the first calls, whose buffers the thread has not touched before, in ns; and how many these are.
    pub fresh: (f64, u64),
    /// Whether the work is done while the thread waits for a moment, and not after the wait.
    pub is_within_waits: bool,
    /// Whether transfers consist of this work alone, without calls: fio's `ioengine=null`.
    pub is_all: bool,
    /// The bytes after which the thread maps its files anew, if transfers are copies of mapped memory: fio's `ioengine=mmap`.
    pub maps_for: Option<u64>,
}

impl Overhead {
    /// What the thread's call of this number takes because of its bytes, whether or not several are under way, in ns.
    pub(super) fn of_bytes(&self, call: &Call, number: u64) -> f64 {
        let fresh = if number < self.fresh.1 { self.fresh.0 } else { 0.0 };
        let read = if call.kind.is_write() { 0.0 } else { self.read_byte_ns };
        call.bytes as f64 * (self.checked_byte_ns + fresh + read)
    }
}
