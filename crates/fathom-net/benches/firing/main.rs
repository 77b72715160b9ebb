//! Cost per firing, printed with the ratios that the project promises. Everything in one run:
//!
//! `cargo bench -p fathom-net --bench firing`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod nets;
mod rivals;

use std::time::{Duration, Instant};

use fathom_net::{Net, NetError, Simulation};
use nets::{chain, delay_station, join, line, mm1, queue};

fn main() -> Result<(), NetError> {
    let mm1 = mm1()?;
    let mm1_cost = speed("M/M/1", &mm1);
    speed("chain of 100 transitions", &chain(100)?);
    growth("tokens in a queue", [queue(100)?, queue(100_000)?]);
    growth("tokens in delay", [delay_station(100)?, delay_station(100_000)?]);
    growth("tokens asked by key", [join(100)?, join(100_000)?]);
    growth("transitions", [chain(10)?, chain(1_000)?]);
    against_libpetri(1)?;
    against_libpetri(1_000)?;
    against_simpn(mm1_cost);
    Ok(())
}

/// Nanoseconds per firing: the best of several runs, for the machine may be shared.
fn cost(net: &Net) -> f64 {
    let firings = 1_000_000;
    let mut sim = Simulation::new(net, 1);
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..firings {
            sim.step();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(firings));
    }
    best
}

fn speed(name: &str, net: &Net) -> f64 {
    let cost = cost(net);
    let rate = 1e3 / cost;
    println!("{name}: {cost:.1} ns per firing, {rate:.1} million firings/s (at least 5)");
    cost
}

fn growth(name: &str, [small, large]: [Net; 2]) {
    let (small, large) = (cost(&small), cost(&large));
    let ratio = large / small;
    println!("growth with {name}: {small:.1} to {large:.1} ns, x {ratio:.2} (less than 2)");
}

/// Some tokens go down a line of 100 transitions, over and over, in both engines. Building the
/// executor or the simulation is not timed.
fn against_libpetri(tokens: u64) -> Result<(), NetError> {
    let (length, repeats) = (100, 10_000 / tokens);
    let (net, program) = (line(length, tokens)?, rivals::Line::new(length));
    let ours = || {
        let mut sim = Simulation::new(&net, 1);
        let start = Instant::now();
        sim.run();
        start.elapsed()
    };
    let theirs = || program.run(tokens);
    let per_firing = |run: &dyn Fn() -> Duration| {
        let total: Duration = (0..repeats).map(|_| run()).sum();
        total.as_nanos() as f64 / (length as u64 * tokens * repeats) as f64
    };
    let (mut least, mut their_least) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        least = least.min(per_firing(&ours));
        their_least = their_least.min(per_firing(&theirs));
    }
    let ratio = their_least / least;
    println!(
        "line of {length}, tokens {tokens}: {least:.1} ns per firing, libpetri's precompiled \
         executor {their_least:.1} ns: x {ratio:.1} (at least 2)"
    );
    Ok(())
}

fn against_simpn(ours: f64) {
    match rivals::simpn_mm1() {
        Ok(theirs) => {
            let ratio = theirs / ours;
            println!("M/M/1: {ours:.1} ns per firing, simpn {theirs:.0} ns: x {ratio:.0} (at least 100)");
        }
        Err(reason) => println!("skipped simpn: {reason}"),
    }
}
