//! Properties that hold of every net: random timed nets with weights, priorities and inhibitor arcs, watched firing by
//! firing.

use crate::{Net, NetBuilder, Place, Simulation, Span, Time, Transition};
use proptest::prelude::*;
use proptest::sample::select;

const FIRINGS: usize = 200;

#[derive(Clone, Debug)]
struct Spec {
    tokens: Vec<u32>,
    transitions: Vec<TransitionSpec>,
}

#[derive(Clone, Debug)]
struct TransitionSpec {
    takes: Vec<(usize, u32)>,
    gives: Vec<(usize, u32)>,
    inhibited_by: Option<(usize, u32)>,
    priority: i32,
    delay: Option<u16>,
}

struct Built {
    net: Net,
    places: Vec<Place>,
    transitions: Vec<Transition>,
}

fn spec() -> impl Strategy<Value = Spec> {
    (2_usize..6).prop_flat_map(|places| {
        let arcs = |most| prop::collection::vec((0..places, 1_u32..3), 1..most);
        let inhibitor = prop::option::weighted(0.2, (0..places, 1_u32..5));
        let delay = prop::option::of(select(vec![0_u16, 1, 7, 1_000]));
        let transition = (arcs(3), arcs(3), inhibitor, -1..2, delay).prop_map(
            |(takes, gives, inhibited_by, priority, delay)| TransitionSpec {
                takes,
                gives,
                inhibited_by,
                priority,
                delay,
            },
        );
        (prop::collection::vec(0_u32..6, places), prop::collection::vec(transition, 1..6))
            .prop_map(|(tokens, transitions)| Spec { tokens, transitions })
    })
}

/// The net of a specification; `None` if it is not sound.
fn build(spec: &Spec) -> Option<Built> {
    let mut net = NetBuilder::new("random");
    let places: Vec<Place> = (0..spec.tokens.len()).map(|i| net.place(&format!("p{i}"))).collect();
    for (i, &place) in places.iter().enumerate() {
        net.initial(place, (0..spec.tokens[i]).map(|_| ()));
    }
    let transitions = (0..).zip(&spec.transitions).map(|(i, t)| {
        let mut builder = net.transition(&format!("t{i}")).priority(t.priority);
        for &(place, weight) in &t.takes {
            builder = builder.consume(places[place], weight);
        }
        if let Some((place, limit)) = t.inhibited_by {
            builder = builder.inhibit(places[place], limit);
        }
        let mut builder = builder.outputs();
        builder = match t.delay {
            None => builder,
            Some(0) => builder.delay_by(|_, rng| Span::round(rng.exponential(50.0))),
            Some(ticks) => builder.delay_by(move |_, _| Span::ticks(ticks.into())),
        };
        for &(place, weight) in &t.gives {
            builder = builder.produce(places[place], weight);
        }
        builder.add()
    });
    let transitions = transitions.collect();
    Some(Built { net: net.build().ok()?, places, transitions })
}

/// The tokens that a transition's arcs move from or to a place.
fn weight(arcs: &[(usize, u32)], place: usize) -> usize {
    arcs.iter().filter(|arc| arc.0 == place).map(|arc| arc.1 as usize).sum()
}

/// Whether a transition is enabled, worked out from its arcs and the marking alone.
fn is_enabled(spec: &Spec, built: &Built, sim: &Simulation<'_>, transition: &TransitionSpec) -> bool {
    (0..spec.tokens.len()).all(|i| {
        let place = built.places[i];
        let inhibits = |(by, limit): (usize, u32)| by == i && sim.count(place) >= limit as usize;
        sim.available(place) >= weight(&transition.takes, i) && !transition.inhibited_by.is_some_and(inhibits)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_firing_keeps_the_rule(spec in spec(), seed: u64) {
        let Some(built) = build(&spec) else { return Ok(()) };
        let mut sim = Simulation::new(&built.net, seed);
        let mut before = Time::ZERO;
        for _ in 0..FIRINGS {
            let choices: Vec<Transition> = sim.enabled().iter().map(|enabled| enabled.transition).collect();
            if choices.is_empty() {
                break;
            }
            prop_assert!(sim.now() >= before, "time went back from {before} to {}", sim.now());
            before = sim.now();
            let enabled = |t: &&TransitionSpec| is_enabled(&spec, &built, &sim, t);
            let highest = spec.transitions.iter().filter(enabled).map(|t| t.priority).max();
            let expected: Vec<Transition> = (0..spec.transitions.len())
                .filter(|&i| enabled(&&spec.transitions[i]) && Some(spec.transitions[i].priority) == highest)
                .map(|i| built.transitions[i])
                .collect();
            prop_assert_eq!(&choices, &expected, "enabled and of the highest priority");
            let counts = built.places.iter().map(|&place| sim.count(place)).collect::<Vec<_>>();
            let fired = sim.step();
            prop_assert!(fired.is_some_and(|fired| choices.contains(&fired)));
            let fired = built.transitions.iter().position(|&t| Some(t) == fired).expect("one of the net's");
            let transition = &spec.transitions[fired];
            for (i, before) in counts.into_iter().enumerate() {
                let moved = before - weight(&transition.takes, i) + weight(&transition.gives, i);
                prop_assert_eq!(sim.count(built.places[i]), moved, "tokens of p{}", i);
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_run(spec in spec(), seed: u64) {
        let Some(built) = build(&spec) else { return Ok(()) };
        let run = || {
            let mut sim = Simulation::new(&built.net, seed);
            (0..FIRINGS).map(|_| (sim.step(), sim.now())).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}
