//! Why a question has no answer.

use super::prelude::*;
use fathom_run::witness::Unseen;

/// An answer, or what keeps a question from one.
pub(super) type Answer<T> = Result<T, Unanswered>;

/// What keeps a question from an answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// What was seen holds none, which is evidence as well.
    Silent(Silence),
    /// The machine failed.
    Failed(Fault),
}

/// Why what was seen holds no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Silence {
    pub(super) status: Status,
    pub(super) reason: String,
}

impl Silence {
    pub(super) fn inconclusive(reason: impl Into<String>) -> Self {
        Self { status: Status::Inconclusive, reason: reason.into() }
    }

    /// The question makes no sense here.
    pub(super) fn not_applicable(reason: impl Into<String>) -> Self {
        Self { status: Status::NotApplicable, reason: reason.into() }
    }

    pub(super) fn evidence(&self, kind: Kind, method: &str) -> Evidence {
        Evidence::silent(kind, method, self.status, self.reason.clone())
    }
}

/// No answer, for a reason that holds this time and may not the next.
pub(super) fn inconclusive<T>(reason: impl Into<String>) -> Answer<T> {
    Err(Silence::inconclusive(reason).into())
}

/// Separates answers and silences from the fault of a machine that failed.
pub(super) fn answer_or_silence<T>(answer: Answer<T>) -> Result<Result<T, Silence>, Fault> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(Unanswered::Silent(silence)) => Ok(Err(silence)),
        Err(Unanswered::Failed(fault)) => Err(fault),
    }
}

/// An answer as evidence, as silence is.
pub(super) fn evidence(kind: Kind, method: &str, answer: Answer<Evidence>) -> Result<Evidence, Fault> {
    Ok(answer_or_silence(answer)?.unwrap_or_else(|silence| silence.evidence(kind, method)))
}

/// What `find` gives, or what it gave when an earlier experiment of this survey asked: an answer or silence.
pub(super) fn recalled<T: Clone + 'static>(
    session: &mut Session<'_>,
    find: impl FnOnce(&mut Session<'_>) -> Answer<T>,
) -> Answer<T> {
    Ok(session.recall(|session| answer_or_silence(find(session)))??)
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<Silence> for Unanswered {
    fn from(silence: Silence) -> Self {
        Self::Silent(silence)
    }
}

/// Reasons of inference are all inconclusive.
impl From<String> for Unanswered {
    fn from(reason: String) -> Self {
        Self::Silent(Silence::inconclusive(reason))
    }
}

impl From<Unseen> for Unanswered {
    fn from(unseen: Unseen) -> Self {
        let (status, reason) = match unseen {
            Unseen::Impossible(reason) => (Status::NotApplicable, reason),
            Unseen::Forbidden(reason) => (Status::Refused, reason),
            Unseen::Lost(reason) => (Status::Inconclusive, reason),
        };
        Self::Silent(Silence { status, reason })
    }
}
