//! The same seed gives the same run on every machine and in every build: the digest of its firings is written down here.

use std::collections::BTreeMap;

use fathom_net::{Net, NetBuilder, NetError, Simulation, Span, Transition};

/// Every kind of draw: by delays, in an arc expression, a tie between transitions. With what it calls them.
fn lottery() -> Result<(Net, BTreeMap<Transition, &'static str>), NetError> {
    let mut net = NetBuilder::new("lottery");
    let (waiting, drawn) = (net.place::<u64>("waiting"), net.place::<u64>("drawn"));
    net.initial(waiting, 0..20);
    let exponential = net
        .transition("exponential")
        .input(waiting)
        .delay_by(|_, rng| Span::round(rng.exponential(700.0)))
        .output(drawn, |(ball,), firing| ball ^ firing.rng().below(64))
        .add();
    let uniform = net
        .transition("uniform")
        .input(waiting)
        .delay_by(|_, rng| Span::round(10.0 + 890.0 * rng.uniform()))
        .output(drawn, |(ball,), firing| ball ^ firing.rng().below(64))
        .add();
    let back =
        net.transition("back").input(drawn).guard(|(n,)| n % 7 != 0).output(waiting, |(n,), _| *n).add();
    let zero = net.transition("zero").input(drawn).guard(|(n,)| n % 7 == 0).output(waiting, |_, _| 1).add();
    let names = [(exponential, "exponential"), (uniform, "uniform"), (back, "back"), (zero, "zero")];
    Ok((net.build()?, names.into()))
}

#[test]
fn the_run_is_the_same_everywhere() -> Result<(), NetError> {
    let (net, names) = lottery()?;
    let waiting = net.place::<u64>("waiting").expect("the lottery has one");
    let mut sim = Simulation::new(&net, 2026);
    // FNV-1a, 64 bits.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..20_000 {
        let fired = sim.step().expect("the lottery goes on");
        let balls: u64 = sim.tokens(waiting).map(|(ball, _)| *ball).sum();
        let line = format!("{} {} {balls}\n", sim.now(), names[&fired]);
        digest =
            line.bytes().fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    assert_eq!(format!("{digest:016x}"), "46e2f320ee4d4923");
    Ok(())
}
