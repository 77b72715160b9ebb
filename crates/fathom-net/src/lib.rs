//! Timed coloured Petri nets: a typed builder, an exact simulator, analysis and drawing.
//!
//! Nets are those of Jensen & Kristensen, *Coloured Petri Nets* (Springer, 2009), with time stamps,
//! guards, priorities, test and inhibitor arcs, capacities, fusion places and hierarchy. This crate
//! knows no files, no kernels and no wall time.

mod binding;
mod builder;
mod calendar;
mod chain;
mod check;
mod components;
mod distribution;
mod draw;
mod enabled;
mod estimate;
mod index;
mod invariant;
mod logic;
mod marking;
mod monitor;
mod net;
mod output;
mod pattern;
mod place;
mod pnml;
mod replicate;
mod rng;
mod shelf;
mod simulation;
mod space;
mod store;
mod structure;
mod tally;
mod time;
mod transition;
mod ziggurat;

pub use binding::{Append, Binding, Colour};
pub use builder::NetBuilder;
pub use check::NetError;
pub use distribution::Distribution;
pub use draw::Drawing;
pub use estimate::Estimate;
pub use index::Key;
pub use invariant::{PlaceInvariant, TooManyInvariants, TransitionInvariant};
pub use logic::Firing;
pub use monitor::Event;
pub use net::Net;
pub use output::OutputBuilder;
pub use pattern::{Bind, Guarded, Lacking, Pattern, Refs, Start};
pub use place::{In, Index, Out, Place, Selection, Sink, Sinks, Source};
pub use pnml::PnmlError;
pub use replicate::replicate;
pub use rng::Rng;
pub use simulation::{Enabled, Simulation, Stop};
pub use space::{State, StateSpace, StateSpaceError, Step};
pub use tally::Tally;
pub use time::{Span, Time};
pub use transition::{Series, Transition, TransitionBuilder};

/// The guide, whose every example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/net.md")]
struct Guide;

/// The guide's page on nets.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/writing-a-net.md")]
struct WritingANet;
