//! The log of a run.

use crate::handle::Transition;
use crate::time::Time;

/// A firing, as logged.
///
/// ```
/// # let mut net = fathom_net::NetBuilder::new("doc");
/// # let jobs = net.place::<u8>("jobs");
/// # net.initial(jobs, [7]);
/// # net.transition("drop").input(jobs).add();
/// # let net = net.build()?;
/// let mut sim = fathom_net::Simulation::new(&net, 1);
/// sim.log();
/// sim.step();
/// let event = &sim.events()[0];
/// assert_eq!((event.time.as_ticks(), event.binding.as_str()), (0, "(7,)"));
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it fired.
    pub time: Time,
    /// What fired.
    pub transition: Transition,
    /// The tokens bound, in the order of the arcs.
    pub binding: String,
}
