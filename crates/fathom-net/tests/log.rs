//! The same seed gives the same event log on every machine and in every build: the log's digest is
//! written down here.

use fathom_net::{Distribution, Net, NetBuilder, NetError, Selection, Simulation};

/// Every kind of draw: distributions, random selection, a tie between transitions, an arc
/// expression.
fn lottery() -> Result<Net, NetError> {
    let mut net = NetBuilder::new("lottery");
    let (waiting, drawn) = (net.place::<u64>("waiting"), net.place::<u64>("drawn"));
    net.selection(waiting, Selection::Random);
    net.initial(waiting, 0..20);
    for (name, delay) in [
        ("exponential", Distribution::exponential(700.0)),
        ("uniform", Distribution::uniform(10.0, 900.0)),
        ("erlang", Distribution::erlang(3, 500.0)),
        ("mixed", Distribution::hyperexponential(0.2, 3_000.0, 50.0)),
        ("measured", Distribution::empirical([120.0, 340.5, 77.7])),
    ] {
        let draw = net.transition(name).input(waiting);
        draw.delay(delay).output(drawn, |(ball,), firing| ball ^ firing.rng().below(64)).add();
    }
    net.transition("back").input(drawn).guard(|(n,)| n % 7 != 0).output(waiting, |(n,), _| *n).add();
    net.transition("zero").input(drawn).guard(|(n,)| n % 7 == 0).output(waiting, |_, _| 1).add();
    net.build()
}

#[test]
fn the_log_is_the_same_everywhere() -> Result<(), NetError> {
    let net = lottery()?;
    let mut sim = Simulation::new(&net, 2026);
    sim.log();
    sim.run_while(|sim| sim.total_firings() < 20_000);
    let lines = sim
        .events()
        .iter()
        .map(|event| format!("{} {} {}\n", event.time, net.transition_name(event.transition), event.binding));
    // FNV-1a, 64 bits.
    let digest = lines.flat_map(String::into_bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(format!("{digest:016x}"), "812a5efb7d12b04e");
    Ok(())
}
