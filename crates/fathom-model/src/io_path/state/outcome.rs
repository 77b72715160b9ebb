//! What a look of the read path makes of its call, until the arcs take it.

use super::State;
use crate::io_path::Work;
use crate::page_cache::FetchId;

/// What a call can do next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Copy(Work),
    Wait(Work, FetchId),
    Again(Work),
    Return(Work),
}

impl State {
    pub(in crate::io_path) fn take_copy(&mut self) -> Option<Work> {
        self.take_if(|outcome| if let Outcome::Copy(work) = outcome { Some(work) } else { None })
    }

    pub(in crate::io_path) fn take_wait(&mut self) -> Option<(FetchId, Work)> {
        self.take_if(|outcome| if let Outcome::Wait(work, id) = outcome { Some((id, work)) } else { None })
    }

    pub(in crate::io_path) fn take_again(&mut self) -> Option<Work> {
        self.take_if(|outcome| if let Outcome::Again(work) = outcome { Some(work) } else { None })
    }

    pub(in crate::io_path) fn take_return(&mut self) -> Option<Work> {
        self.take_if(|outcome| if let Outcome::Return(work) = outcome { Some(work) } else { None })
    }

    fn take_if<T>(&mut self, matches: impl Fn(Outcome) -> Option<T>) -> Option<T> {
        let taken = self.0.outcome.and_then(matches);
        if taken.is_some() {
            self.0.outcome = None;
        }
        taken
    }
}
