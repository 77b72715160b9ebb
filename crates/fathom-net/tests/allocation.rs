//! On the steady path a firing allocates nothing.

use fathom_net::{NetBuilder, NetError, Simulation, Span, Time};

#[test]
fn firing_does_not_allocate() -> Result<(), NetError> {
    let mut net = NetBuilder::new("closed loop");
    let (thinking, queue) = (net.place::<u64>("thinking"), net.place::<(u64, Time)>("queue"));
    let (replies, pending) = (net.place::<u64>("replies"), net.place::<u64>("pending"));
    let (idle, sojourn) = (net.place("idle"), net.state("sojourn", Span::ZERO));
    net.initial(thinking, 0..50);
    net.initial(idle, [(), ()]);
    let by_customer = net.index(pending, |customer| *customer);
    net.transition("ask")
        .input(thinking)
        .delay_by(|_, rng| Span::round(rng.exponential(900.0)))
        .output(queue, |(customer,), firing| (*customer, firing.now()))
        .output(pending, |(customer,), _| *customer)
        .add();
    net.transition("serve")
        .input(queue)
        .guard(|(job,)| job.0 < 1_000)
        .consume(idle, 1)
        .delay_by(|_, rng| Span::round(rng.exponential(20.0)))
        .update(sojourn, |(job,), sojourn, firing| *sojourn += firing.done() - job.1)
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
    let mut run = |firings: u64| (0..firings).for_each(|_| _ = sim.step());
    run(200_000);
    let counted = allocation_counter::measure(|| run(200_000));
    assert_eq!(counted.count_total, 0, "allocations in 200000 firings");
    Ok(())
}
