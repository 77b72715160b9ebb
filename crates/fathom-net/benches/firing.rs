//! Cost per firing, printed with the ratios that the project promises. Everything in one run:
//!
//! `cargo bench -p fathom-net --bench firing`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Instant;

use fathom_net::{Distribution, Net, NetBuilder, NetError, Simulation, Time, replicate};

fn main() -> Result<(), NetError> {
    let mm1 = mm1()?;
    let chain = chain(100)?;
    speed("M/M/1", &mm1);
    speed("chain of 100 transitions", &chain);
    growth("tokens in a queue", [queue(100)?, queue(100_000)?]);
    growth(
        "tokens in delay",
        [delay_station(100)?, delay_station(100_000)?],
    );
    growth("tokens asked by key", [join(100)?, join(100_000)?]);
    growth("transitions", [self::chain(10)?, self::chain(1_000)?]);
    replications(&mm1);
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

fn speed(name: &str, net: &Net) {
    let cost = cost(net);
    println!(
        "{name}: {cost:.1} ns per firing, {:.2} million firings/s (at least 5)",
        1e3 / cost
    );
}

fn growth(name: &str, [small, large]: [Net; 2]) {
    let (small, large) = (cost(&small), cost(&large));
    println!(
        "growth with {name}: {small:.1} to {large:.1} ns, x {:.2} (less than 2)",
        large / small
    );
}

fn replications(net: &Net) {
    let time = |threads: usize| {
        let start = Instant::now();
        let threads = threads.try_into().expect("at least one thread");
        let served = replicate(net, 64, 1, threads, |sim| {
            sim.run_until(Time::ticks(100_000_000));
            sim.total_firings()
        });
        (start.elapsed().as_secs_f64(), served)
    };
    let best = |threads| {
        (0..3)
            .map(|_| time(threads))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    };
    if let (Some((one, served)), Some((two, again))) = (best(1), best(2)) {
        assert_eq!(
            served, again,
            "the number of threads must not change the answer"
        );
        println!(
            "replications on two threads: x {:.2} (at least 1.8), same answers",
            one / two
        );
    }
}

fn mm1() -> Result<Net, NetError> {
    let mut net = NetBuilder::new("M/M/1");
    let (next, queue, idle) = (
        net.place("next"),
        net.place::<Time>("queue"),
        net.place("idle"),
    );
    net.initial(next, [()]);
    net.initial(idle, [()]);
    let sojourn = net.series("sojourn");
    net.transition("arrive")
        .consume(next, 1)
        .output(queue, |_, firing| firing.now())
        .output_after(next, Distribution::exponential(1_000.0), |_, _| ())
        .add();
    net.transition("serve")
        .input(queue)
        .consume(idle, 1)
        .delay(Distribution::exponential(500.0))
        .record(sojourn, |(born,), firing| {
            (firing.done() - *born).as_ticks() as f64
        })
        .produce(idle, 1)
        .add();
    net.build()
}

/// A token going round a ring of transitions.
fn chain(length: usize) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("chain");
    let places: Vec<_> = (0..length)
        .map(|i| net.place::<u64>(&format!("p{i}")))
        .collect();
    net.initial(places[0], [7]);
    for (i, &place) in places.iter().enumerate() {
        let next = places[(i + 1) % length];
        net.transition(&format!("t{i}"))
            .input(place)
            .output(next, |(token,), _| *token)
            .add();
    }
    net.build()
}

/// Jobs going round through one queue, at zero delay.
fn queue(jobs: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("queue");
    let (queue, served) = (net.place::<u64>("queue"), net.place::<u64>("served"));
    net.initial(queue, 0..jobs);
    net.transition("serve")
        .input(queue)
        .output(served, |(job,), _| *job)
        .add();
    net.transition("return")
        .input(served)
        .output(queue, |(job,), _| *job)
        .add();
    net.build()
}

/// Customers thinking at a delay station.
fn delay_station(customers: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("delay");
    let (thinking, asking) = (net.place::<u64>("thinking"), net.place::<u64>("asking"));
    net.initial(asking, 0..customers);
    net.transition("think")
        .input(asking)
        .delay(Distribution::exponential(1_000_000.0))
        .output(thinking, |(customer,), _| *customer)
        .add();
    net.transition("ask")
        .input(thinking)
        .output(asking, |(customer,), _| *customer)
        .add();
    net.build()
}

/// Replies joined with the one request of many that has their tag.
fn join(requests: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("join");
    let (tags, pending) = (net.place::<u64>("tags"), net.place::<(u64, u64)>("pending"));
    let by_tag = net.index(pending, |request| request.0);
    net.initial(tags, [0]);
    net.initial(pending, (0..requests).map(|tag| (tag, 0)));
    net.transition("complete")
        .input(tags)
        .input_by(by_tag, |(tag,)| *tag)
        .output(pending, |(tag, request), _| (*tag, request.1 + 1))
        .output(tags, move |(tag, _), _| (*tag * 7_919 + 1) % requests)
        .add();
    net.build()
}
