//! What a built net calls its transitions and its series of observations.

/// A transition of a built net.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span, Time};
/// let mut net = NetBuilder::new("clock");
/// let due = net.place("due");
/// net.initial(due, [()]);
/// let tick = net.transition("tick").consume(due, 1).delay(Span::ticks(10)).produce(due, 1).add();
/// let net = net.build()?;
/// let mut sim = Simulation::new(&net, 1);
/// sim.run_until(Time::ticks(95));
/// assert_eq!(sim.firings(tick), 10);
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition(pub(crate) u32);

/// A series of observations collected by [`record`](crate::TransitionBuilder::record).
///
/// ```
/// let mut net = fathom_net::NetBuilder::new("queue");
/// let sojourn: fathom_net::Series = net.series("sojourn");
/// # let _ = sojourn;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series(pub(crate) u32);
