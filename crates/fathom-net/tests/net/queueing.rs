//! The engine against queueing theory: means.
//!
//! `cargo test -p fathom-net --test queueing -- --nocapture` prints the table.
//!
//! Each seed is one run, of which the initial transient is deleted. Seeds are 0 to 499, chosen once: the means then differ from theory
//! by up to 0.3 %.

use fathom_net::{Net, NetBuilder, NetError, Place, Rng, Simulation, Span, Time};

const SEEDS: u64 = 500;
/// Mean service time, in ticks; long, so that rounding to ticks does not matter.
const SERVICE: f64 = 10_000.0;
const UTILISATION: f64 = 0.5;

/// What was observed: a state of the nets here.
#[derive(Clone, Debug, Default)]
struct Observed {
    sum: f64,
    count: f64,
}

impl Observed {
    fn note(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }
}

fn exponential(mean: f64, rng: &mut Rng) -> Span {
    Span::round(rng.exponential(mean))
}

/// Runs a net at every seed and checks the mean to 1 %.
fn check(model: &str, net: &Net, observed: Place<Observed>, truth: f64, length: f64) {
    let run = |seed| {
        let mut sim = Simulation::new(net, seed);
        sim.run_while(|sim| sim.now() < Time::ticks((0.05 * length) as u64));
        sim.change(observed, std::mem::take);
        sim.run_while(|sim| sim.now() < Time::ticks((1.05 * length) as u64));
        let seen = sim.change(observed, std::mem::take).expect("a state is always there");
        seen.sum / seen.count
    };
    let mean = (0..SEEDS).map(run).sum::<f64>() / SEEDS as f64;
    let error = 100.0 * (mean / truth - 1.0);
    println!("{model:<34} theory {truth:>12.4}  mean off by {error:>6.3} %");
    assert!(error.abs() < 1.0, "{model}: mean {mean}, theory {truth}");
}

/// Poisson arrivals to one queue with some servers; observed is the time from arrival to end of service.
fn queue(servers: u32, service: fn(&mut Rng) -> Span) -> Result<(Net, Place<Observed>), NetError> {
    let between = SERVICE / (UTILISATION * f64::from(servers));
    let mut net = NetBuilder::new("queue");
    let (next, queue, idle) = (net.place("next"), net.place::<Time>("queue"), net.place("idle"));
    let sojourn = net.state("sojourn", Observed::default());
    net.initial(next, [()]);
    net.initial(idle, (0..servers).map(|_| ()));
    net.transition("arrive")
        .consume(next, 1)
        .delay_by(move |_, rng| exponential(between, rng))
        .output(queue, |_, firing| firing.done())
        .produce(next, 1)
        .add();
    net.transition("serve")
        .input(queue)
        .consume(idle, 1)
        .delay_by(move |_, rng| service(rng))
        .update(sojourn, |(born,), sojourn, firing| sojourn.note((firing.done() - *born).as_ticks() as f64))
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
    let (net, sojourn) = queue(1, |rng| exponential(SERVICE, rng))?;
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
    let (net, sojourn) = queue(servers, |rng| exponential(SERVICE, rng))?;
    check("M/M/3 time in system (Erlang C)", &net, sojourn, truth, 7e7);
    Ok(())
}

#[test]
fn m_d_1() -> Result<(), NetError> {
    let (net, sojourn) = queue(1, |_| Span::round(SERVICE))?;
    check("M/D/1 time in system", &net, sojourn, pollaczek_khinchine(0.0), 2e8);
    Ok(())
}

#[test]
fn m_g_1_less_variable() -> Result<(), NetError> {
    let (net, sojourn) = queue(1, |rng| Span::round((0..4).map(|_| rng.exponential(SERVICE / 4.0)).sum()))?;
    check("M/G/1 time, Erlang-4 service", &net, sojourn, pollaczek_khinchine(0.25), 2e8);
    Ok(())
}

#[test]
fn m_g_1_more_variable() -> Result<(), NetError> {
    // Second moment of a mixture of exponentials: 2 (p a² + (1 - p) b²), in units of the mean.
    const CHANCE: f64 = 0.25;
    const MEANS: [f64; 2] = [2.0, 2.0 / 3.0];
    let moment = 2.0 * (CHANCE * MEANS[0].powi(2) + (1.0 - CHANCE) * MEANS[1].powi(2));
    let service = |rng: &mut Rng| {
        let mean = if rng.uniform() < CHANCE { MEANS[0] } else { MEANS[1] };
        exponential(mean * SERVICE, rng)
    };
    let (net, sojourn) = queue(1, service)?;
    check("M/G/1 time, hyperexponential", &net, sojourn, pollaczek_khinchine(moment - 1.0), 3e8);
    Ok(())
}

#[test]
fn m_m_1_k() -> Result<(), NetError> {
    let (places, load) = (4, 0.8_f64);
    let mut net = NetBuilder::new("M/M/1/K");
    let [next, arrived, queue, idle] = ["next", "arrived", "queue", "idle"].map(|name| net.place(name));
    let lost = net.state("lost", Observed::default());
    net.initial(next, [()]);
    net.initial(idle, [()]);
    net.transition("arrive")
        .consume(next, 1)
        .delay_by(move |_, rng| exponential(SERVICE / load, rng))
        .produce(arrived, 1)
        .produce(next, 1)
        .add();
    net.transition("enter")
        .consume(arrived, 1)
        .inhibit(queue, places - 1) // and one in service
        .update(lost, |_, lost: &mut Observed, _| lost.note(0.0))
        .produce(queue, 1)
        .priority(1)
        .add();
    net.transition("lose").consume(arrived, 1).update(lost, |_, lost: &mut Observed, _| lost.note(1.0)).add();
    net.transition("serve")
        .consume(queue, 1)
        .consume(idle, 1)
        .priority(2)
        .delay_by(|_, rng| exponential(SERVICE, rng))
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
            .delay_by(move |_, rng| exponential(mean, rng))
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
    let (next, time) = (net.place("next"), net.state("time", Observed::default()));
    net.initial(next, [()]);
    let [a, a_done, b, b_done] = ["to a", "from a", "to b", "from b"].map(|name| net.place(name));
    net.transition("arrive")
        .consume(next, 1)
        .delay_by(move |_, rng| exponential(between, rng))
        .output(a, |_, firing| (firing.done(), 0))
        .produce(next, 1)
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
            .update(time, move |(job,), time: &mut Observed, firing| time.note(elapsed(job, firing.now())))
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
    let cycle = net.state("cycle", Observed::default());
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
            .update(cycle, |(job,), cycle: &mut Observed, firing| {
                cycle.note((firing.now() - job.0).as_ticks() as f64);
            })
            .output(cpu, |_, firing| (firing.now(), 0))
            .add();
    }
    let truth = mean_value_analysis(&[means[0], 0.7 * means[1], 0.3 * means[2]], customers as u32);
    check("closed network, cycle time (MVA)", &net.build()?, cycle, truth, 1e8);
    Ok(())
}
