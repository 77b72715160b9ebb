//! Agreement with simpn on the distributions of a timed net: orders fork into two tasks for two
//! kinds of servers, and are joined by their number.

#![allow(clippy::print_stdout, reason = "says what was compared, or why nothing was")]

mod oracle;

use fathom_net::{Distribution, Net, NetBuilder, NetError, Series, Simulation, Transition};

const ORDERS: u64 = 20;
/// Ticks in simpn's unit of time.
const UNIT: f64 = 1_000.0;

fn fork_join() -> Result<(Net, Transition, Series), NetError> {
    let mut net = NetBuilder::new("fork and join");
    let (arriving, time) = (net.place::<u64>("arriving"), net.series("time"));
    let [written, fetched] = ["written", "fetched"].map(|name| net.place::<(u64, u64)>(name));
    let [to_write, to_fetch] = ["to write", "to fetch"].map(|name| net.place::<(u64, u64)>(name));
    let (clerks, robot) = (net.place("clerks"), net.place("robot"));
    net.initial(arriving, [0]);
    net.initial(clerks, [(), ()]);
    net.initial(robot, [()]);
    let between = Distribution::exponential(100.0 * UNIT);
    net.transition("arrive")
        .input(arriving)
        .guard(|(order,)| *order < ORDERS)
        .output(to_write, |(order,), firing| (*order, firing.now().as_ticks()))
        .output(to_fetch, |(order,), firing| (*order, firing.now().as_ticks()))
        .output_after(arriving, between, |(order,), _| order + 1)
        .add();
    net.transition("write")
        .input(to_write)
        .consume(clerks, 1)
        .delay(Distribution::exponential(120.0 * UNIT))
        .output(written, |(order,), _| *order)
        .produce(clerks, 1)
        .add();
    net.transition("fetch")
        .input(to_fetch)
        .consume(robot, 1)
        .delay(Distribution::uniform(20.0 * UNIT, 140.0 * UNIT))
        .output(fetched, |(order,), _| *order)
        .produce(robot, 1)
        .add();
    let by_order = net.index(fetched, |order| order.0);
    let join = net
        .transition("join")
        .input(written)
        .input_by(by_order, |(written,)| written.0)
        .record(time, |(order, _), firing| (firing.now().as_ticks() - order.1) as f64)
        .add();
    Ok((net.build()?, join, time))
}

#[test]
fn agrees_with_simpn() -> Result<(), NetError> {
    let (net, join, time) = fork_join()?;
    let measure = |seed| {
        let mut sim = Simulation::new(&net, seed);
        sim.run_while(|sim| sim.firings(join) < ORDERS);
        (sim.now().as_ticks() as f64 / UNIT, sim.observed(time).mean() / UNIT)
    };
    let ours: Vec<(f64, f64)> = (1..=20_000).map(measure).collect();
    let input = format!("1000 {ORDERS}");
    let Some(output) = oracle::run("agrees_with_simpn", "simpn", "simpn_fork_join.py", &input) else {
        return Ok(());
    };
    let number = |word: &str| word.parse::<f64>().expect("simpn_fork_join.py prints numbers");
    let theirs: Vec<(f64, f64)> = output
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(makespan, time)| (number(makespan), number(time)))
        .collect();
    let column = |runs: &[(f64, f64)], first: bool| -> Vec<f64> {
        runs.iter().map(|run| if first { run.0 } else { run.1 }).collect()
    };
    for (name, first) in [("makespan", true), ("mean time", false)] {
        let p = kolmogorov_smirnov(column(&ours, first), column(&theirs, first));
        println!("{name}: Kolmogorov-Smirnov p = {p:.3} over {} and {} runs", ours.len(), theirs.len());
        assert!(p > 0.001, "simpn's {name} has another distribution: p = {p}");
    }
    Ok(())
}

/// The probability that two samples of one distribution differ at least as much as these, by the
/// asymptotic series of the two-sample test (Smirnov, 1948).
fn kolmogorov_smirnov(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let share = |sample: &[f64], x: f64| sample.partition_point(|&y| y <= x) as f64 / sample.len() as f64;
    let gap = |&x: &f64| (share(&a, x) - share(&b, x)).abs();
    let largest = a.iter().chain(&b).map(gap).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let scaled = largest * (n * m / (n + m)).sqrt();
    let term = |k: i32| f64::from(1 - 2 * ((k + 1) % 2)) * (-2.0 * f64::from(k * k) * scaled * scaled).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}
