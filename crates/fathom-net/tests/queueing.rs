//! The engine against queueing theory: means, and how often a 95 % interval covers the truth.
//!
//! `cargo test -p fathom-net --test queueing -- --nocapture` prints the table.
//!
//! Each seed is one run: the initial transient is deleted, then one interval by batch means. At 500
//! seeds the observed coverage of a perfect 95 % interval has a standard deviation of 1 %, so the
//! bounds of 93 and 97 % would fail by chance once in twenty tries; 2000 seeds halve that to four
//! standard deviations. Seeds are 0 to 1999, chosen once.

#![allow(clippy::print_stdout, reason = "the table is what a reader wants of this test")]

use fathom_net::{Distribution, Net, NetBuilder, NetError, Place, Series, Simulation, Span, Time};

const SEEDS: u64 = 2_000;
/// Mean service time, in ticks; long, so that rounding to ticks does not matter.
const SERVICE: f64 = 10_000.0;
const UTILISATION: f64 = 0.5;

/// Runs a net at every seed; checks the mean to 1 % and the coverage to 93-97 %.
fn check(model: &str, net: &Net, series: Series, truth: f64, length: f64) {
    let (warm_up, end) = (0.05 * length, 1.05 * length);
    let run = |seed| {
        let mut sim = Simulation::new(net, seed);
        sim.run_until(Time::ticks(warm_up as u64));
        sim.restart_monitors();
        sim.run_until(Time::ticks(end as u64));
        sim.observed(series).estimate()
    };
    let estimates: Vec<_> = (0..SEEDS).map(run).collect();
    let mean = estimates.iter().map(|estimate| estimate.mean()).sum::<f64>() / SEEDS as f64;
    let covered = estimates.iter().filter(|estimate| estimate.contains(truth)).count();
    let (error, coverage) = (100.0 * (mean / truth - 1.0), 100.0 * covered as f64 / SEEDS as f64);
    println!("{model:<34} theory {truth:>12.4}  mean off by {error:>6.3} %  coverage {coverage:>5.2} %");
    assert!(error.abs() < 1.0, "{model}: mean {mean}, theory {truth}");
    assert!((93.0..=97.0).contains(&coverage), "{model}: coverage {coverage} %");
}

/// Poisson arrivals to one queue with some servers; the series is the time from arrival to end of
/// service.
fn queue(servers: u32, service: Distribution) -> Result<(Net, Series), NetError> {
    let between = SERVICE / (UTILISATION * f64::from(servers));
    let mut net = NetBuilder::new("queue");
    let (next, queue, idle) = (net.place("next"), net.place::<Time>("queue"), net.place("idle"));
    let sojourn = net.series("sojourn");
    net.initial(next, [()]);
    net.initial(idle, (0..servers).map(|_| ()));
    net.transition("arrive")
        .consume(next, 1)
        .output(queue, |_, firing| firing.now())
        .output_after(next, Distribution::exponential(between), |_, _| ())
        .add();
    net.transition("serve")
        .input(queue)
        .consume(idle, 1)
        .delay(service)
        .record(sojourn, |(born,), firing| (firing.done() - *born).as_ticks() as f64)
        .produce(idle, 1)
        .add();
    Ok((net.build()?, sojourn))
}

/// Pollaczek-Khinchine: mean time in M/G/1 for a squared coefficient of variation of service.
fn pollaczek_khinchine(variation: f64) -> f64 {
    SERVICE * (1.0 + UTILISATION / (1.0 - UTILISATION) * (1.0 + variation) / 2.0)
}

#[test]
fn m_m_1() -> Result<(), NetError> {
    let (net, sojourn) = queue(1, Distribution::exponential(SERVICE))?;
    check("M/M/1 time in system", &net, sojourn, SERVICE / (1.0 - UTILISATION), 2e8);
    Ok(())
}

#[test]
fn m_m_c() -> Result<(), NetError> {
    let servers = 3;
    let load = UTILISATION * f64::from(servers);
    // Erlang's C formula by the recursion of his B formula.
    let lost = (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
    let waits = lost / (1.0 - UTILISATION * (1.0 - lost));
    let truth = SERVICE * (1.0 + waits / (f64::from(servers) - load));
    let (net, sojourn) = queue(servers, Distribution::exponential(SERVICE))?;
    check("M/M/3 time in system (Erlang C)", &net, sojourn, truth, 7e7);
    Ok(())
}

#[test]
fn m_d_1() -> Result<(), NetError> {
    let (net, sojourn) = queue(1, Span::round(SERVICE).into())?;
    check("M/D/1 time in system", &net, sojourn, pollaczek_khinchine(0.0), 2e8);
    Ok(())
}

#[test]
fn m_g_1_less_variable() -> Result<(), NetError> {
    let (net, sojourn) = queue(1, Distribution::erlang(4, SERVICE))?;
    check("M/G/1 time, Erlang-4 service", &net, sojourn, pollaczek_khinchine(0.25), 2e8);
    Ok(())
}

#[test]
fn m_g_1_more_variable() -> Result<(), NetError> {
    // Second moment of a mixture of exponentials: 2 (p a² + (1 - p) b²), in units of the mean.
    let (chance, first, second): (f64, f64, f64) = (0.25, 2.0, 2.0 / 3.0);
    let moment = 2.0 * (chance * first.powi(2) + (1.0 - chance) * second.powi(2));
    let service = Distribution::hyperexponential(chance, first * SERVICE, second * SERVICE);
    let (net, sojourn) = queue(1, service)?;
    check("M/G/1 time, hyperexponential", &net, sojourn, pollaczek_khinchine(moment - 1.0), 3e8);
    Ok(())
}

#[test]
fn m_m_1_k() -> Result<(), NetError> {
    let (places, load) = (4, 0.8_f64);
    let mut net = NetBuilder::new("M/M/1/K");
    let (next, queue, idle) = (net.place("next"), net.place("queue"), net.place("idle"));
    let lost = net.series("lost");
    net.initial(next, [()]);
    net.initial(idle, [()]);
    net.capacity(queue, places - 1); // and one in service
    let between = Distribution::exponential(SERVICE / load);
    net.transition("arrive")
        .consume(next, 1)
        .produce(queue, 1)
        .output_after(next, between.clone(), |_, _| ())
        .record(lost, |_, _| 0.0)
        .priority(1)
        .add();
    net.transition("lose")
        .consume(next, 1)
        .output_after(next, between, |_, _| ())
        .record(lost, |_, _| 1.0)
        .add();
    net.transition("serve")
        .consume(queue, 1)
        .consume(idle, 1)
        .priority(2)
        .delay(Distribution::exponential(SERVICE))
        .produce(idle, 1)
        .add();
    let full = load.powi(4) * (1.0 - load) / (1.0 - load.powi(5));
    check("M/M/1/4 share of arrivals lost", &net.build()?, lost, full, 2e8);
    Ok(())
}

/// When a job's clock started, and a lottery number from 0 to 99 drawn at each service.
type Job = (Time, u64);

/// One exponential server: a module that any network here is made of.
fn station(net: &mut NetBuilder, name: &str, mean: f64, queue: Place<Job>, served: Place<Job>) {
    net.module(name, |net| {
        let (queue, served) = (net.port_in(queue), net.port_out(served));
        let idle = net.place("idle");
        net.initial(idle, [()]);
        net.transition("serve")
            .input(queue)
            .consume(idle, 1)
            .delay(Distribution::exponential(mean))
            .output(served, |(job,), firing| (job.0, firing.rng().below(100)))
            .produce(idle, 1)
            .add();
    });
}

/// Two stations: 60 % of the jobs leaving `a` go on to `b`, half of those leaving `b` back to `a`.
#[test]
fn jackson_network() -> Result<(), NetError> {
    let between = 20_000.0;
    let (visits_a, visits_b) = (1.0 / 0.7, 0.6 / 0.7);
    let (load_a, load_b) = (0.5, 0.4);
    let mut net = NetBuilder::new("Jackson");
    let (next, time) = (net.place("next"), net.series("time"));
    net.initial(next, [()]);
    let [a, a_done, b, b_done] = ["to a", "from a", "to b", "from b"].map(|name| net.place(name));
    net.transition("arrive")
        .consume(next, 1)
        .output(a, |_, firing| (firing.now(), 0))
        .output_after(next, Distribution::exponential(between), |_, _| ())
        .add();
    station(&mut net, "a", load_a * between / visits_a, a, a_done);
    station(&mut net, "b", load_b * between / visits_b, b, b_done);
    let elapsed = |job: &Job, now: Time| (now - job.0).as_ticks() as f64;
    for (name, from, to, limit) in [("a", a_done, b, 60), ("b", b_done, a, 50)] {
        let pass = net.transition(&format!("{name} passes on")).input(from);
        pass.guard(move |(job,)| job.1 < limit).output(to, |(job,), _| *job).add();
        let leave = net.transition(&format!("{name} lets go")).input(from);
        leave
            .guard(move |(job,)| job.1 >= limit)
            .record(time, move |(job,), firing| elapsed(job, firing.now()))
            .add();
    }
    let jobs = load_a / (1.0 - load_a) + load_b / (1.0 - load_b);
    check("Jackson network, time in system", &net.build()?, time, jobs * between, 2e8);
    Ok(())
}

/// Exact mean value analysis (Reiser & Lavenberg, 1980): the time of a cycle through all stations
/// of given service demands.
fn mean_value_analysis(demands: &[f64], customers: u32) -> f64 {
    let mut waiting = vec![0.0; demands.len()];
    let mut cycle = 0.0;
    for n in 1..=customers {
        let response = |(demand, queue): (&f64, &f64)| demand * (1.0 + queue);
        let responses: Vec<f64> = demands.iter().zip(&waiting).map(response).collect();
        cycle = responses.iter().sum();
        waiting = responses.iter().map(|r| f64::from(n) * r / cycle).collect();
    }
    cycle
}

/// A processor and two disks, of which 70 % of the requests go to the first.
#[test]
fn closed_network() -> Result<(), NetError> {
    let (customers, means) = (5, [10_000.0, 12_000.0, 20_000.0]);
    let mut net = NetBuilder::new("central server");
    let cycle = net.series("cycle");
    let [cpu, computed] = ["to cpu", "from cpu"].map(|name| net.place::<Job>(name));
    net.initial(cpu, (0..customers).map(|n| (Time::ZERO, n)));
    station(&mut net, "cpu", means[0], cpu, computed);
    for (disk, low, high) in [(1, 0, 70), (2, 70, 100)] {
        let name = format!("disk {disk}");
        let to = net.place(&format!("to {name}"));
        let from = net.place(&format!("from {name}"));
        let ask = net.transition(&format!("ask {name}")).input(computed);
        ask.guard(move |(job,)| (low..high).contains(&job.1)).output(to, |(job,), _| *job).add();
        station(&mut net, &name, means[disk], to, from);
        net.transition(&format!("return from {name}"))
            .input(from)
            .record(cycle, |(job,), firing| (firing.now() - job.0).as_ticks() as f64)
            .output(cpu, |_, firing| (firing.now(), 0))
            .add();
    }
    let truth = mean_value_analysis(&[means[0], 0.7 * means[1], 0.3 * means[2]], customers as u32);
    check("closed network, cycle time (MVA)", &net.build()?, cycle, truth, 1e8);
    Ok(())
}
