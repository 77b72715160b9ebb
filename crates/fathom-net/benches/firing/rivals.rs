//! Other engines on the same nets.

use std::process::Command;
use std::time::{Duration, Instant};

use libpetri::{
    CompiledNet, Marking, NoopEventStore, PetriNet, Place, PrecompiledNet, PrecompiledNetExecutor, Token,
    Transition, fork, one, out_place,
};

/// libpetri's program for a line of transitions.
pub(crate) struct Line {
    program: PrecompiledNet,
    first: Place<u64>,
}

impl Line {
    pub(crate) fn new(length: usize) -> Self {
        let places: Vec<_> = (0..=length).map(|i| Place::<u64>::new(format!("p{i}"))).collect();
        let mut net = PetriNet::builder("line");
        for (i, pair) in places.windows(2).enumerate() {
            let transition = Transition::builder(format!("t{i}"));
            let arcs = transition.input(one(&pair[0])).output(out_place(&pair[1]));
            net = net.transition(arcs.action(fork()).build());
        }
        let program = PrecompiledNet::from_compiled(CompiledNet::compile(&net.build()));
        Self { program, first: places[0].clone() }
    }

    /// How long it takes some tokens to go down the line.
    pub(crate) fn run(&self, tokens: u64) -> Duration {
        let mut marking = Marking::new();
        for token in 0..tokens {
            marking.add(&self.first, Token::at(token, 0));
        }
        let builder = PrecompiledNetExecutor::<NoopEventStore>::builder(&self.program, marking);
        let mut executor = builder.skip_output_validation(true).build();
        let start = Instant::now();
        executor.run_sync();
        start.elapsed()
    }
}

/// simpn's nanoseconds per firing of M/M/1, or why they cannot be had.
pub(crate) fn simpn_mm1() -> Result<f64, String> {
    let python = std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/firing/simpn_mm1.py");
    let output = Command::new(&python).arg(script).output();
    let output = output.map_err(|error| format!("`{python}` does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{python}` has no package `simpn`; install it with pip"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("simpn_mm1.py printed `{text}`, not a number"))
}
