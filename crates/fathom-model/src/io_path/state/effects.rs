//! What a transition of one layer sets off in others.

use crate::io_path::request::Request;

/// The tokens that a transition puts into the places of other layers.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Requests to the device.
    pub(crate) requests: Vec<Request>,
    /// The flusher is to run.
    pub(crate) wake: Option<()>,
    /// Jobs whose sync has no write left to wait for.
    pub(crate) synced: Vec<u32>,
    /// The next step of the journal's commit; true for the record that closes it.
    pub(crate) step: Option<bool>,
    /// Jobs whose transaction is committed.
    pub(crate) committed: Vec<u32>,
}
