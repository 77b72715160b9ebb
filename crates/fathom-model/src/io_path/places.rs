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
    /// CPUs that nobody works on; none where each thread has one.
    pub(crate) cpus: Option<Place<()>>,
    /// Calls that have returned.
    pub(crate) returned: Place<Work>,
    /// Requests on their way to the device.
    pub(crate) requests: Place<Request>,
    /// The flusher is to run.
    pub(crate) wakes: Place<()>,
    /// The flusher's timer is to be set, to this many ns.
    pub(crate) dirtied: Place<u64>,
}
