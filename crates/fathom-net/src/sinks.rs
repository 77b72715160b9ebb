//! Arcs from one transition to several places at once.

use crate::binding::Colour;
use crate::marking::Marking;
use crate::place::{Address, Sink};
use crate::time::Span;

/// Several [`Sink`]s as a tuple, and the tuple of the tokens that go into each.
///
/// Implemented for tuples of two to eight sinks and of as many iterators; it cannot be implemented elsewhere.
///
/// ```
/// # let mut net = fathom_net::NetBuilder::new("doc");
/// # let (numbers, seen) = (net.place::<u32>("numbers"), net.place::<u32>("seen"));
/// # let (odd, even) = (net.place::<u32>("odd"), net.place::<u32>("even"));
/// net.transition("sort")
///     .input(numbers)
///     .update_into(seen, (odd, even), |(number,), seen, _| {
///         *seen += 1;
///         ((number % 2 == 1).then_some(*number), (number % 2 == 0).then_some(*number))
///     })
///     .add();
/// ```
pub trait Sinks<Tokens>: Copy + Send + Sync + 'static {
    /// The places.
    #[doc(hidden)]
    fn addresses(self) -> Vec<Address>;

    /// Puts the tokens into the places, the first place first.
    #[doc(hidden)]
    fn put(self, tokens: Tokens, marking: &mut Marking, delay: Span);
}

/// Implements [`Sinks`] for one tuple of type parameters.
macro_rules! sinks {
    ($($sink:ident $tokens:ident $value:ident),+) => {
        #[allow(non_snake_case)]
        impl<$($sink, $tokens),+> Sinks<($($tokens,)+)> for ($($sink,)+)
        where
            $($sink: Sink + Copy + Send + Sync + 'static, $sink::Colour: Colour,
              $tokens: IntoIterator<Item = $sink::Colour>),+
        {
            fn addresses(self) -> Vec<Address> {
                let ($($sink,)+) = self;
                vec![$($sink.place().at),+]
            }

            #[inline]
            fn put(self, tokens: ($($tokens,)+), marking: &mut Marking, delay: Span) {
                let ($($sink,)+) = self;
                let ($($value,)+) = tokens;
                $(for token in $value {
                    marking.put($sink.place().at.store, token, delay);
                })+
            }
        }
    };
}

sinks!(A I i, B J j);
sinks!(A I i, B J j, C K k);
sinks!(A I i, B J j, C K k, D L l);
sinks!(A I i, B J j, C K k, D L l, E M m);
sinks!(A I i, B J j, C K k, D L l, E M m, F N n);
sinks!(A I i, B J j, C K k, D L l, E M m, F N n, G O o);
sinks!(A I i, B J j, C K k, D L l, E M m, F N n, G O o, H P p);
