//! What a built net calls its transitions.

/// A transition of a built net.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span};
/// let mut net = NetBuilder::new("clock");
/// let due = net.place("due");
/// net.initial(due, [()]);
/// let tick = net.transition("tick").consume(due, 1).delay_by(|_, _| Span::ticks(10)).produce(due, 1).add();
/// let net = net.build()?;
/// let mut sim = Simulation::new(&net, 1);
/// assert_eq!(sim.step(), Some(tick));
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition(pub(crate) u32);
