//! Agreement with simpn on the distributions of a timed net: orders fork into two tasks for two
//! kinds of servers, and are joined by their number.

use fathom_net::{Net, NetBuilder, NetError, Place, Simulation, Span};

const ORDERS: u64 = 20;
/// Ticks in simpn's unit of time.
const UNIT: f64 = 1_000.0;

/// The net, and the time that each joined order took.
fn fork_join() -> Result<(Net, Place<Vec<Span>>), NetError> {
    let mut net = NetBuilder::new("fork and join");
    let (arriving, coming) = (net.place::<u64>("arriving"), net.place::<u64>("coming"));
    let times = net.state("times", Vec::new());
    let [written, fetched] = ["written", "fetched"].map(|name| net.place::<(u64, u64)>(name));
    let [to_write, to_fetch] = ["to write", "to fetch"].map(|name| net.place::<(u64, u64)>(name));
    let (clerks, robot) = (net.place("clerks"), net.place("robot"));
    net.initial(arriving, [0]);
    net.initial(clerks, [(), ()]);
    net.initial(robot, [()]);
    net.transition("arrive")
        .input(arriving)
        .guard(|(order,)| *order < ORDERS)
        .output(to_write, |(order,), firing| (*order, firing.now().as_ticks()))
        .output(to_fetch, |(order,), firing| (*order, firing.now().as_ticks()))
        .output(coming, |(order,), _| order + 1)
        .add();
    net.transition("wait")
        .input(coming)
        .delay_by(|_, rng| Span::round(rng.exponential(100.0 * UNIT)))
        .output(arriving, |(order,), _| *order)
        .add();
    net.transition("write")
        .input(to_write)
        .consume(clerks, 1)
        .delay_by(|_, rng| Span::round(rng.exponential(120.0 * UNIT)))
        .output(written, |(order,), _| *order)
        .produce(clerks, 1)
        .add();
    net.transition("fetch")
        .input(to_fetch)
        .consume(robot, 1)
        .delay_by(|_, rng| Span::round((20.0 + 120.0 * rng.uniform()) * UNIT))
        .output(fetched, |(order,), _| *order)
        .produce(robot, 1)
        .add();
    let by_order = net.index(fetched, |order| order.0);
    net.transition("join")
        .input(written)
        .input_by(by_order, |(written,)| written.0)
        .update(times, |(order, _), times: &mut Vec<Span>, firing| {
            times.push(Span::ticks(firing.now().as_ticks() - order.1));
        })
        .add();
    Ok((net.build()?, times))
}

#[test]
fn agrees_with_simpn() -> Result<(), NetError> {
    let (net, times) = fork_join()?;
    let measure = |seed| {
        let mut sim = Simulation::new(&net, seed);
        let joined = |sim: &Simulation<'_>| -> Vec<u64> {
            sim.tokens(times).flat_map(|(times, _)| times).map(|time| time.as_ticks()).collect()
        };
        sim.run_while(|sim| joined(sim).len() < ORDERS as usize);
        let times = joined(&sim);
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        (sim.now().as_ticks() as f64 / UNIT, mean / UNIT)
    };
    let ours: Vec<(f64, f64)> = (1..=20_000).map(measure).collect();
    let input = format!("1000 {ORDERS}");
    let Some(output) = crate::oracle::run("agrees_with_simpn", "simpn", "simpn_fork_join.py", &input) else {
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
