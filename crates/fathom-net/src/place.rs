//! Places as the builder hands them out: typed handles, ports and indexes.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

/// A place of a net being built, holding tokens of colour `C`.
///
/// The handle is a small copyable value; the tokens live in the [`Simulation`](crate::Simulation).
/// A place of black tokens has the colour `()`.
///
/// Arcs to a place of another colour do not compile:
/// ```compile_fail
/// let mut net = fathom_net::NetBuilder::new("wrong");
/// let names = net.place::<String>("names");
/// let ages = net.place::<u32>("ages");
/// net.transition("copy").input(names).output(ages, |(name,), _| name.clone()).add();
/// ```
///
/// ```
/// use fathom_net::{NetBuilder, Place};
/// let mut net = NetBuilder::new("shop");
/// let customers: Place<u32> = net.place("customers");
/// let till: Place = net.place("till");
/// # let _ = (customers, till);
/// ```
pub struct Place<C = ()> {
    pub(crate) at: Address,
    colour: PhantomData<fn() -> C>,
}

/// A place that a module may only take tokens from, read, or be inhibited by.
///
/// Made by [`NetBuilder::port_in`](crate::NetBuilder::port_in).
/// ```compile_fail
/// use fathom_net::{In, NetBuilder};
/// fn wrong(module: &mut NetBuilder, requests: In<u32>) {
///     module.transition("make").output(requests, |_, _| 1).add();
/// }
/// ```
///
/// ```
/// use fathom_net::{In, NetBuilder, Out};
/// fn double(module: &mut NetBuilder, numbers: In<u32>, doubled: Out<u32>) {
///     module.transition("double").input(numbers).output(doubled, |(n,), _| 2 * n).add();
/// }
/// ```
pub struct In<C = ()>(pub(crate) Place<C>);

/// A place that a module may only put tokens into.
///
/// Made by [`NetBuilder::port_out`](crate::NetBuilder::port_out); see [`In`] for a module with both.
/// ```
/// use fathom_net::{NetBuilder, Out, Span};
/// fn ticker(module: &mut NetBuilder, ticks: Out) {
///     let due = module.place("due");
///     module.initial(due, [()]);
///     module.transition("tick").consume(due, 1).delay_by(|_, _| Span::ticks(10))
///         .produce(due, 1).produce(ticks, 1).add();
/// }
/// ```
pub struct Out<C = ()>(pub(crate) Place<C>);

/// An index of a place's tokens by a key, for arcs that ask for a token by key.
///
/// Made by [`NetBuilder::index`](crate::NetBuilder::index).
/// ```
/// use fathom_net::{Index, NetBuilder};
/// let mut net = NetBuilder::new("cache");
/// let pages = net.place::<(u64, bool)>("pages");
/// let by_number: Index<(u64, bool), u64> = net.index(pages, |page| page.0);
/// # let _ = by_number;
/// ```
pub struct Index<C, K> {
    pub(crate) place: Place<C>,
    pub(crate) number: usize,
    key: PhantomData<fn() -> K>,
}

/// Where input, read and inhibitor arcs may come from: a [`Place`] or an [`In`] port.
///
/// ```
/// use fathom_net::{NetBuilder, Source};
/// fn drain(net: &mut NetBuilder, from: impl Source<Colour = u32>) {
///     net.transition("drain").input(from).add();
/// }
/// # let mut net = NetBuilder::new("sink");
/// # let place = net.place("place");
/// # drain(&mut net, place);
/// ```
pub trait Source {
    /// The colour of the tokens.
    type Colour;

    /// The place itself.
    fn place(&self) -> Place<Self::Colour>;
}

/// Where output arcs may go: a [`Place`] or an [`Out`] port.
///
/// ```
/// use fathom_net::{NetBuilder, Sink, Source};
/// fn pass(net: &mut NetBuilder, from: impl Source<Colour = u32>, to: impl Sink<Colour = u32>) {
///     net.transition("pass").input(from).output(to, |(n,), _| *n).add();
/// }
/// # let mut net = NetBuilder::new("pipe");
/// # let (from, to) = (net.place("from"), net.place("to"));
/// # pass(&mut net, from, to);
/// ```
pub trait Sink {
    /// The colour of the tokens.
    type Colour;

    /// The place itself.
    fn place(&self) -> Place<Self::Colour>;
}

/// Where a place is: which net, which node of its drawing, and which store. The places of a fusion
/// set are several nodes with one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) net: u64,
    pub(crate) node: u32,
    pub(crate) store: u32,
}

impl<C> Place<C> {
    pub(crate) fn new(at: Address) -> Self {
        Self { at, colour: PhantomData }
    }
}

impl<C, K> Index<C, K> {
    pub(crate) fn new(place: Place<C>, number: usize) -> Self {
        Self { place, number, key: PhantomData }
    }
}

impl<C> Source for Place<C> {
    type Colour = C;
    fn place(&self) -> Place<C> {
        *self
    }
}

impl<C> Source for In<C> {
    type Colour = C;
    fn place(&self) -> Place<C> {
        self.0
    }
}

impl<C> Sink for Place<C> {
    type Colour = C;
    fn place(&self) -> Place<C> {
        *self
    }
}

impl<C> Sink for Out<C> {
    type Colour = C;
    fn place(&self) -> Place<C> {
        self.0
    }
}

/// Implements `Copy` and `Debug` for handles whatever their colour; derives would ask it of `C`.
macro_rules! handle {
    ($handle:ident<$($colour:ident),+>, $node:expr) => {
        impl<$($colour),+> Clone for $handle<$($colour),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($colour),+> Copy for $handle<$($colour),+> {}

        impl<$($colour),+> fmt::Debug for $handle<$($colour),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let node: fn(&Self) -> u32 = $node;
                write!(f, "{}(#{})", short_name(type_name::<Self>()), node(self))
            }
        }
    };
}

handle!(Place<C>, |place| place.at.node);
handle!(In<C>, |port| port.0.at.node);
handle!(Out<C>, |port| port.0.at.node);
handle!(Index<C, K>, |index| index.place.at.node);

/// A type's name without the paths: `Vec<Page>`, not `alloc::vec::Vec<disk::Page>`.
pub(crate) fn short_name(full: &str) -> String {
    let mut short = String::new();
    for piece in full.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        short.push_str(piece.rsplit("::").next().unwrap_or(piece));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_colours_lose_their_paths() {
        assert_eq!(short_name("alloc::vec::Vec<(a::b::Page, u32)>"), "Vec<(Page, u32)>");
        assert_eq!(short_name("()"), "()");
    }
}
