//! Pictures of the net: of a module or of all, with the tokens of a run or without.

use fathom_program::program::repeated;
use std::sync::Arc;

use fathom_net::{Drawing, Net, Simulation};

use super::{Call, CallKind, Load, Path, State};
use crate::parameters::Parameters;

/// The part of the net to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'a> {
    /// The whole net, with modules as frames.
    Flat,
    /// One module, with those inside it as boxes; the top has the empty name.
    Module(&'a str),
}

impl Path {
    /// The names of the modules, without the top, which has the empty name.
    #[must_use]
    pub fn modules(&self) -> Vec<String> {
        self.net(Arc::new(Load::new(repeated(Vec::new(), 1)))).modules().skip(1).map(str::to_owned).collect()
    }

    /// A drawing of the net. With `firings` it shows the marking after that many firings of a sequential read of a cold file of 1
    /// MiB. None where there is no such module.
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
            Some(firings) => drawing.with_marking(&self.after(&net, state, firings)),
        })
    }

    fn after<'a>(&self, net: &'a Net, mut state: State, firings: u64) -> Simulation<'a> {
        let kernel = net.place::<State>("kernel").expect("the path has one");
        let mut simulation = Simulation::new(net, 1);
        state.begin_run(1, &self.costs);
        simulation.change(kernel, |token| std::mem::swap(token, &mut state));
        for _ in 0..firings {
            if simulation.step().is_none() {
                break;
            }
        }
        simulation
    }
}
