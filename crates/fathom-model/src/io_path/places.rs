//! The places of the net that several layers use.

use fathom_net::Place;

use super::request::Request;
use super::state::State;
use super::work::Work;

/// The places that the layers share.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    /// The kernel's state.
    pub(crate) state: Place<State>,
    /// Idle CPUs; `None` where each thread has a CPU of its own.
    pub(crate) cpus: Option<Place<()>>,
    /// The server, while it does nothing; `None` where it serves several at the same time, or there is none.
    pub(crate) server: Option<Place<()>>,
    /// Calls that have returned.
    pub(crate) returned: Place<Work>,
    /// Requests on their way to the device.
    pub(crate) requests: Place<Request>,
    /// Each has the flusher run once.
    pub(crate) wakes: Place<()>,
    /// Each sets the flusher's timer, in ns from now.
    pub(crate) dirtied: Place<u64>,
}
