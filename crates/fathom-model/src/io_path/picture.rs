//! Pictures of the net: of a module or of all, with the tokens of a run or without.

use fathom_program::program::repeated;
use std::sync::Arc;

use fathom_net::{Drawing, Net, Simulation};

use super::{Call, CallKind, Load, Path, State};
use crate::parameters::Parameters;

/// What of the net is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'a> {
    /// Everything at once, modules as frames.
    Flat,
    /// One module, those inside it as boxes; the top has the empty name.
    Module(&'a str),
}

impl Path {
    /// The names of the modules; the top, which has the empty name, is left out.
    #[must_use]
    pub fn modules(&self) -> Vec<String> {
        self.net(Arc::new(Load::new(repeated(Vec::new(), 1)))).modules().skip(1).map(str::to_owned).collect()
    }

    /// A drawing; with the marking after some firings of a cold file of 1 MiB being read in order, where they
    /// are given. None where there is no such module.
    #[must_use]
    pub fn picture(&self, view: View<'_>, parameters: &Parameters, firings: Option<u64>) -> Option<Drawing> {
        let mut state = State::new(parameters);
        let file = state.create();
        state.fill(file, 1 << 20);
        state.evict(file);
        let read = |at: u64| Call::new(CallKind::Read, file).at(at << 14, 1 << 14);
        let net = self.net(Arc::new(Load::new(repeated((0..64).map(read).collect(), 1))));
        let drawing = match view {
            View::Flat => Drawing::flat(&net),
            View::Module(name) => Drawing::page(&net, name)?,
        };
        Some(match firings {
            None => drawing,
            Some(firings) => drawing.with_marking(&after(&net, state, firings)),
        })
    }
}

fn after(net: &Net, mut state: State, firings: u64) -> Simulation<'_> {
    let kernel = net.place::<State>("kernel").expect("the path has one");
    let mut simulation = Simulation::new(net, 1);
    state.begin_run(1);
    simulation.change(kernel, |token| std::mem::swap(token, &mut state));
    for _ in 0..firings {
        if simulation.step().is_none() {
            break;
        }
    }
    simulation
}
