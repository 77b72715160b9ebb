//! Colours, and the tuples of colours that a transition's variables are bound to.

use std::fmt::Debug;

/// What a token may be: any type that can be cloned, printed and sent to another thread.
///
/// That is enough for a [state](crate::NetBuilder::state), of which there is one in its place. All other tokens
/// have a [`Colour`].
///
/// ```
/// fn is_token<T: fathom_net::Token>() {}
/// is_token::<std::collections::HashMap<u64, f64>>();
/// ```
pub trait Token: Clone + Debug + Send + Sync + 'static {}

impl<T: Clone + Debug + Send + Sync + 'static> Token for T {}

/// A colour set: the type of the tokens in a place.
///
/// Any type qualifies that can be cloned, ordered and printed, as every colour set of CPN ML is an
/// equality type (Jensen & Kristensen, *Coloured Petri Nets*, 2009, ch. 3). The order is what makes
/// two markings comparable and enumeration the same on every run. Wrap floating-point numbers in a
/// type that orders them, or use whole units.
///
/// ```
/// #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// enum Request {
///     Read { page: u64 },
///     Write { page: u64 },
/// }
/// let mut net = fathom_net::NetBuilder::new("disk");
/// let _queue = net.place::<Request>("queue");
/// ```
pub trait Colour: Token + Ord {}

impl<T: Token + Ord> Colour for T {}

/// A tuple of the colours that a transition's input arcs bind, in the order of the arcs.
///
/// Guards and arc expressions take the tuple by reference: with arcs from a `Place<Job>` and a
/// `Place<Server>` they are written `|(job, server)| ...`. Implemented for tuples of up to eight
/// colours; it cannot be implemented elsewhere.
///
/// ```
/// use fathom_net::Binding;
/// let bound = (4_u32, "a".to_string());
/// let (number, text): (&u32, &String) = bound.refs();
/// assert_eq!((*number, text.as_str()), (4, "a"));
/// ```
pub trait Binding: Send + Sync + 'static + sealed::Sealed {
    /// The same tuple by reference.
    type Refs<'a>: Copy + Debug + Ord;

    /// Borrows each component.
    fn refs(&self) -> Self::Refs<'_>;
}

/// A binding that one more input arc can extend by a colour.
pub trait Append<C: Colour>: Binding {
    /// The binding with the colour at its end.
    type Extended: Binding;

    /// Adds the colour.
    fn append(self, colour: C) -> Self::Extended;

    /// Adds the colour by reference.
    fn append_ref<'a>(refs: Self::Refs<'a>, colour: &'a C) -> <Self::Extended as Binding>::Refs<'a>;
}

mod sealed {
    pub trait Sealed {}
}

/// Implements [`Binding`] for one tuple of type parameters.
macro_rules! binding {
    ($($colour:ident),*) => {
        impl<$($colour: Colour),*> sealed::Sealed for ($($colour,)*) {}

        #[allow(non_snake_case, clippy::unused_unit)]
        impl<$($colour: Colour),*> Binding for ($($colour,)*) {
            type Refs<'a> = ($(&'a $colour,)*);

            #[inline]
            fn refs(&self) -> Self::Refs<'_> {
                let ($($colour,)*) = self;
                ($($colour,)*)
            }
        }
    };
}

/// Implements [`Append`] for one tuple of type parameters that has room for another.
macro_rules! append {
    ($($colour:ident),*) => {
        #[allow(non_snake_case)]
        impl<Last: Colour, $($colour: Colour),*> Append<Last> for ($($colour,)*) {
            type Extended = ($($colour,)* Last,);

            #[inline]
            fn append(self, last: Last) -> Self::Extended {
                let ($($colour,)*) = self;
                ($($colour,)* last,)
            }

            #[inline]
            fn append_ref<'a>(
                refs: Self::Refs<'a>,
                last: &'a Last,
            ) -> <Self::Extended as Binding>::Refs<'a> {
                let ($($colour,)*) = refs;
                ($($colour,)* last,)
            }
        }
    };
}

binding!();
binding!(A);
binding!(A, B);
binding!(A, B, C);
binding!(A, B, C, D);
binding!(A, B, C, D, E);
binding!(A, B, C, D, E, F);
binding!(A, B, C, D, E, F, G);
binding!(A, B, C, D, E, F, G, H);
append!();
append!(A);
append!(A, B);
append!(A, B, C);
append!(A, B, C, D);
append!(A, B, C, D, E);
append!(A, B, C, D, E, F);
append!(A, B, C, D, E, F, G);
