//! The nets that are timed.

use fathom_net::{Net, NetBuilder, NetError, Span, Time};

/// One queue, one server, Poisson arrivals, exponential service.
pub(crate) fn mm1() -> Result<Net, NetError> {
    let mut net = NetBuilder::new("M/M/1");
    let (next, queue, idle) = (net.place("next"), net.place::<Time>("queue"), net.place("idle"));
    net.initial(next, [()]);
    net.initial(idle, [()]);
    let sojourn = net.state("sojourn", Span::ZERO);
    net.transition("arrive")
        .consume(next, 1)
        .delay_by(|_, rng| Span::round(rng.exponential(1_000.0)))
        .output(queue, |_, firing| firing.done())
        .produce(next, 1)
        .add();
    net.transition("serve")
        .input(queue)
        .consume(idle, 1)
        .delay_by(|_, rng| Span::round(rng.exponential(500.0)))
        .update(sojourn, |(born,), sojourn, firing| *sojourn += firing.done() - *born)
        .produce(idle, 1)
        .add();
    net.build()
}

/// A token going round a ring of transitions.
pub(crate) fn chain(length: usize) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("chain");
    let places: Vec<_> = (0..length).map(|i| net.place::<u64>(&format!("p{i}"))).collect();
    net.initial(places[0], [7]);
    for (i, &place) in places.iter().enumerate() {
        let next = places[(i + 1) % length];
        net.transition(&format!("t{i}")).input(place).output(next, |(token,), _| *token).add();
    }
    net.build()
}

/// Jobs going round through one queue, at zero delay.
pub(crate) fn queue(jobs: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("queue");
    let (queue, served) = (net.place::<u64>("queue"), net.place::<u64>("served"));
    net.initial(queue, 0..jobs);
    net.transition("serve").input(queue).output(served, |(job,), _| *job).add();
    net.transition("return").input(served).output(queue, |(job,), _| *job).add();
    net.build()
}

/// Customers thinking at a delay station.
pub(crate) fn delay_station(customers: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("delay");
    let (thinking, asking) = (net.place::<u64>("thinking"), net.place::<u64>("asking"));
    net.initial(asking, 0..customers);
    net.transition("think")
        .input(asking)
        .delay_by(|_, rng| Span::round(rng.exponential(1_000_000.0)))
        .output(thinking, |(customer,), _| *customer)
        .add();
    net.transition("ask").input(thinking).output(asking, |(customer,), _| *customer).add();
    net.build()
}

/// Replies joined with the one request of many that has their tag.
pub(crate) fn join(requests: u64) -> Result<Net, NetError> {
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

/// As [`chain`], but a line that the tokens of the first place go down once.
pub(crate) fn line(length: usize, tokens: u64) -> Result<Net, NetError> {
    let mut net = NetBuilder::new("line");
    let places: Vec<_> = (0..=length).map(|i| net.place::<u64>(&format!("p{i}"))).collect();
    net.initial(places[0], 0..tokens);
    for (i, pair) in places.windows(2).enumerate() {
        net.transition(&format!("t{i}")).input(pair[0]).output(pair[1], |(n,), _| *n).add();
    }
    net.build()
}
