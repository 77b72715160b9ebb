//! Timed coloured Petri nets: a typed builder, an exact simulator and drawing.
//!
//! Nets are those of Jensen & Kristensen, *Coloured Petri Nets* (Springer, 2009), with time stamps,
//! guards, priorities, test and inhibitor arcs, fusion places and hierarchy. This crate
//! knows no files, no kernels and no wall time.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

mod time;
mod ziggurat;
mod rng;
mod handle;
mod structure;
mod binding;
mod chain;
mod calendar;
mod enabled;
mod index;
mod place;
mod store;
mod marking;
mod sinks;
mod pattern;
mod logic;
mod check;
mod net;
mod draft;
mod transition;
mod output;
mod builder;
mod simulation;
mod draw;

pub use binding::{Append, Binding, Colour, Token};
pub use builder::NetBuilder;
pub use check::NetError;
pub use draw::Drawing;
pub use handle::Transition;
pub use index::Key;
pub use logic::Firing;
pub use net::Net;
pub use pattern::{Bind, Guard, Guarded, Pattern, Refs, Start};
pub use place::{In, Index, Out, Place, Sink, Source};
pub use rng::Rng;
pub use simulation::Simulation;
pub use sinks::Sinks;
pub use time::{Span, Time};
pub use transition::{Inputs, Outputs, TransitionBuilder};

/// The guide, whose every example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/net.md")]
struct Guide;

/// The guide's page on nets.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/writing-a-net.md")]
struct WritingANet;
