//! What a look of the read path makes of its call.

use crate::page_cache::FetchId;

/// What a call does next.
#[derive(Clone, Copy, Debug)]
pub(in crate::io_path) enum Outcome {
    Copy,
    Wait(FetchId),
    Again,
    Return,
}
