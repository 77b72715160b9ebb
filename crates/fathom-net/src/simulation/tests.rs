//! The rule, held against SNAKES and against what arcs and markings say: for that every binding that may fire is listed,
//! and one of them is chosen to fire.

#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
#[path = "../../tests/net/oracle.rs"]
mod oracle;
mod properties;
mod snakes;

use super::*;
use crate::pattern::Slots;

/// A binding that may fire now.
#[derive(Clone, Debug)]
struct Enabled {
    transition: Transition,
    /// The tokens bound, printed in the order of the arcs.
    binding: String,
    slots: Slots,
}

impl Simulation<'_> {
    /// Every binding that may fire next, after advancing time to it if need be: all those enabled, of the highest
    /// priority that has any, by transition and in the order of the colours. Empty if the net is dead.
    fn enabled(&mut self) -> Vec<Enabled> {
        while self.enabled.eligible().is_empty() && self.advance() {}
        let mut eligible = self.enabled.eligible().to_vec();
        eligible.sort_unstable();
        let bindings = |number: u32| {
            let transition = Transition(number);
            let found = self.net.logic[number as usize].bindings(&self.marking);
            found.into_iter().map(move |(slots, binding)| Enabled { transition, binding, slots })
        };
        eligible.into_iter().flat_map(bindings).collect()
    }

    /// Fires a binding that [`enabled`](Self::enabled) has just given.
    fn fire(&mut self, enabled: &Enabled) {
        let number = enabled.transition.0;
        let mut firing = Firing::new(self.marking.now, &mut self.rng);
        self.net.logic[number as usize].fire(&enabled.slots, &mut self.marking, &mut firing);
        self.look_again(number);
    }
}

#[test]
fn two_tokens_of_one_colour_make_one_binding() {
    let mut net = crate::NetBuilder::new("colours");
    let jobs = net.place::<u8>("jobs");
    net.initial(jobs, [7, 7, 9]);
    net.transition("drop").input(jobs).add();
    let net = net.build().unwrap();
    let mut sim = Simulation::new(&net, 1);
    let enabled = sim.enabled();
    assert_eq!((enabled.len(), enabled[1].binding.as_str()), (2, "(9,)"));
    sim.fire(&enabled[1]);
    assert_eq!(sim.enabled().len(), 1);
}
