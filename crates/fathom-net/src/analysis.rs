//! What can be found out about a net as a whole: state space, invariants, replications, and exchange with other
//! tools. The feature `analysis`; running and drawing a net needs none of it.

mod components;
mod invariant;
mod pnml;
mod replicate;
mod shelf;
mod space;

pub use self::invariant::{PlaceInvariant, TooManyInvariants, TransitionInvariant};
pub use self::pnml::PnmlError;
pub use self::replicate::replicate;
pub use self::space::{State, StateSpace, StateSpaceError, Step};
