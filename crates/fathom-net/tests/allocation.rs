//! On the steady path a firing allocates nothing.

use fathom_net::{Distribution, NetBuilder, NetError, Selection, Simulation, Time};

#[test]
fn firing_does_not_allocate() -> Result<(), NetError> {
    let mut net = NetBuilder::new("closed loop");
    let (thinking, queue) = (net.place::<u64>("thinking"), net.place::<(u64, Time)>("queue"));
    let (replies, pending) = (net.place::<u64>("replies"), net.place::<u64>("pending"));
    let (idle, sojourn) = (net.place("idle"), net.series("sojourn"));
    net.selection(thinking, Selection::Random);
    net.initial(thinking, 0..50);
    net.initial(idle, [(), ()]);
    let by_customer = net.index(pending, |customer| *customer);
    net.transition("ask")
        .input(thinking)
        .delay(Distribution::exponential(900.0))
        .output(queue, |(customer,), firing| (*customer, firing.now()))
        .output(pending, |(customer,), _| *customer)
        .add();
    net.transition("serve")
        .input(queue)
        .guard(|(job,)| job.0 < 1_000)
        .consume(idle, 1)
        .delay(Distribution::exponential(20.0))
        .record(sojourn, |(job,), firing| (firing.done() - job.1).as_ticks() as f64)
        .output(replies, |(job,), _| job.0)
        .produce(idle, 1)
        .add();
    net.transition("receive")
        .input(replies)
        .input_by(by_customer, |(customer,)| *customer)
        .output(thinking, |(customer, _), _| *customer)
        .add();
    let net = net.build()?;
    let mut sim = Simulation::new(&net, 1);
    sim.watch(queue);
    let mut run = |firings: u64| {
        let end = sim.total_firings() + firings;
        sim.run_while(|sim| sim.total_firings() < end);
    };
    run(200_000);
    let counted = allocation_counter::measure(|| run(200_000));
    assert_eq!(counted.count_total, 0, "allocations in 200000 firings");
    Ok(())
}
