//! Agreement with SNAKES on random untimed coloured nets: the same states, in every state the same
//! enabled bindings, and for every firing the same successor.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::{Net, NetBuilder, Pattern, Place, Refs, Rng, Simulation, TransitionBuilder};

const NETS: usize = 600;
/// Larger state spaces say no more and take SNAKES long.
const STATES: usize = 120;

/// A random net, in words that both engines understand. Colours are small numbers.
#[derive(Debug)]
struct Spec {
    places: Vec<Vec<u8>>,
    transitions: Vec<TransitionSpec>,
}

#[derive(Debug)]
struct TransitionSpec {
    inputs: Vec<usize>,
    /// The second input is looked up by key, which must agree with a guard of equality.
    keyed: bool,
    read: Option<usize>,
    /// A place that must be empty, or must lack a colour.
    inhibit: Option<(usize, Option<u8>)>,
    guard: Guard,
    outputs: Vec<(usize, Output)>,
}

#[derive(Clone, Copy, Debug)]
enum Guard {
    All,
    Equal(usize, usize),
    Sum { modulus: u8, remainder: u8 },
    Less(usize, u8),
}

#[derive(Clone, Copy, Debug)]
enum Output {
    Same(usize),
    Sum { modulus: u8 },
    Constant(u8),
}

#[test]
fn agrees_with_snakes() {
    let mut rng = Rng::new(2009);
    let mut nets = Vec::new();
    while nets.len() < NETS {
        let spec = random_net(&mut rng);
        nets.extend(edges(&spec).map(|edges| (spec, edges)));
    }
    let json: Vec<String> = nets.iter().map(|(spec, _)| json(spec)).collect();
    let input = format!("[{}]", json.join(",\n"));
    let Some(output) = super::oracle::run("agrees_with_snakes", "snakes", "snakes_graph.py", &input) else {
        return;
    };
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), NETS);
    for ((spec, ours), theirs) in nets.iter().zip(lines) {
        assert_eq!(ours.join(";"), theirs, "SNAKES disagrees on {spec:#?}");
    }
}

fn random_net(rng: &mut Rng) -> Spec {
    let mut below = |bound: usize| rng.below(bound as u64) as usize;
    let places = 2 + below(4);
    let tokens = |below: &mut dyn FnMut(usize) -> usize| (0..below(4)).map(|_| below(3) as u8).collect();
    Spec {
        places: (0..places).map(|_| tokens(&mut below)).collect(),
        transitions: (0..1 + below(4)).map(|_| random_transition(&mut below, places)).collect(),
    }
}

fn random_transition(below: &mut impl FnMut(usize) -> usize, places: usize) -> TransitionSpec {
    let inputs: Vec<usize> = (0..1 + below(2)).map(|_| below(places)).collect();
    // A test arc to a place that is also taken from needs a second token here, but not in SNAKES.
    let elsewhere = |place: &usize| !inputs.contains(place);
    let read = Some(below(places)).filter(|_| below(3) == 0).filter(elsewhere);
    let inhibited = Some(below(places)).filter(|_| below(3) == 0).filter(elsewhere);
    // SNAKES knows one arc between a place and a transition.
    let inhibited = inhibited.filter(|&place| read != Some(place));
    let variables = inputs.len() + usize::from(read.is_some());
    let keyed = inputs.len() == 2 && below(3) == 0;
    let guard = match below(4) {
        _ if keyed => Guard::Equal(0, 1),
        0 => Guard::All,
        1 => Guard::Equal(below(variables), below(variables)),
        2 => Guard::Sum { modulus: 2 + below(2) as u8, remainder: below(2) as u8 },
        _ => Guard::Less(below(variables), 1 + below(3) as u8),
    };
    let output = |below: &mut dyn FnMut(usize) -> usize| match below(3) {
        0 => Output::Constant(below(3) as u8),
        1 => Output::Sum { modulus: 2 + below(2) as u8 },
        _ => Output::Same(below(variables)),
    };
    // No more out than in, so that the net is bounded.
    let outputs = (0..below(inputs.len() + 1)).map(|_| (below(places), output(below))).collect();
    let key = Some(below(3) as u8).filter(|_| below(2) == 0);
    TransitionSpec { keyed, read, inhibit: inhibited.map(|place| (place, key)), guard, outputs, inputs }
}

/// The state graph as this crate finds it; `None` if it is too large, or the net is not sound.
fn edges(spec: &Spec) -> Option<Vec<String>> {
    let mut net = NetBuilder::new("random");
    let places: Vec<Place<u8>> = (0..spec.places.len()).map(|i| net.place(&format!("p{i}"))).collect();
    for (&place, tokens) in places.iter().zip(&spec.places) {
        net.initial(place, tokens.iter().copied());
    }
    for (number, transition) in spec.transitions.iter().enumerate() {
        add(&mut net, &places, number, transition);
    }
    let net = net.build().ok()?;
    let edges = explore(&net, &places)?;
    walk_stays_inside(&net, &places);
    Some(edges)
}

/// Every firing from every marking that the net can reach, in order; `None` if there are too many markings.
fn explore(net: &Net, places: &[Place<u8>]) -> Option<Vec<String>> {
    let initial = Simulation::new(net, 0);
    let (mut edges, mut seen) = (Vec::new(), BTreeSet::from([state(&initial, places)]));
    let mut left = vec![initial];
    while let Some(mut sim) = left.pop() {
        for enabled in sim.enabled() {
            let mut next = sim.clone();
            next.fire(&enabled);
            let name = &net.structure.transitions[enabled.transition.0 as usize].name;
            let to = state(&next, places);
            edges.push(edge(&state(&sim, places), name, &enabled.binding, &to));
            if seen.insert(to) {
                left.push(next);
            }
        }
        if seen.len() > STATES {
            return None;
        }
    }
    edges.sort();
    Some(edges)
}

/// The marking: the tokens of each place in order.
fn state(sim: &Simulation<'_>, places: &[Place<u8>]) -> String {
    let tokens = places.iter().map(|&place| {
        let mut tokens: Vec<u8> = sim.tokens(place).map(|(token, _)| *token).collect();
        tokens.sort_unstable();
        tokens.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
    });
    tokens.collect::<Vec<_>>().join("/")
}

fn edge(from: &str, transition: &str, binding: &str, to: &str) -> String {
    let binding = binding.replace(['(', ')', ' '], "");
    format!("{from}>{transition}({})>{to}", binding.trim_end_matches(','))
}

/// What the simulator fires is among what is enabled, whatever the seed.
fn walk_stays_inside(net: &Net, places: &[Place<u8>]) {
    for seed in 0..3 {
        let mut sim = Simulation::new(net, seed);
        for _ in 0..30 {
            let enabled = sim.enabled();
            let follows = |enabled: &super::Enabled| {
                let mut next = sim.clone();
                next.fire(enabled);
                (enabled.transition, state(&next, places))
            };
            let allowed: Vec<_> = enabled.iter().map(follows).collect();
            let Some(fired) = sim.step() else { break };
            let reached = (fired, state(&sim, places));
            assert!(allowed.contains(&reached), "{reached:?} is not among {allowed:?}");
        }
    }
}

fn add(net: &mut NetBuilder, places: &[Place<u8>], number: usize, spec: &TransitionSpec) {
    let index = spec.keyed.then(|| net.index(places[spec.inputs[1]], |token| *token));
    let lacking = spec.inhibit.and_then(|(place, key)| Some((net.index(places[place], |t| *t), key?)));
    let mut builder = net.transition(&format!("t{number}"));
    if let Some((place, None)) = spec.inhibit {
        builder = builder.inhibit(places[place], 1);
    }
    let first = builder.input(places[spec.inputs[0]]);
    let read = spec.read.map(|place| places[place]);
    match (spec.inputs.get(1), index, read) {
        (None, _, None) => finish(first, places, spec, lacking),
        (None, _, Some(read)) => finish(first.read(read), places, spec, lacking),
        (Some(_), Some(index), None) => {
            finish(first.input_by(index, |(x,)| *x), places, spec, lacking);
        }
        (Some(_), Some(index), Some(read)) => {
            finish(first.input_by(index, |(x,)| *x).read(read), places, spec, lacking);
        }
        (Some(&second), None, None) => finish(first.input(places[second]), places, spec, lacking),
        (Some(&second), None, Some(read)) => {
            finish(first.input(places[second]).read(read), places, spec, lacking);
        }
    }
}

/// The values of a binding of any length.
trait Values: Copy {
    fn values(self) -> Vec<u8>;
}

impl Values for (&u8,) {
    fn values(self) -> Vec<u8> {
        vec![*self.0]
    }
}

impl Values for (&u8, &u8) {
    fn values(self) -> Vec<u8> {
        vec![*self.0, *self.1]
    }
}

impl Values for (&u8, &u8, &u8) {
    fn values(self) -> Vec<u8> {
        vec![*self.0, *self.1, *self.2]
    }
}

type Lacking = Option<(crate::Index<u8, u8>, u8)>;

fn finish<P>(builder: TransitionBuilder<'_, P>, places: &[Place<u8>], spec: &TransitionSpec, lacking: Lacking)
where
    P: Pattern,
    for<'a> Refs<'a, P>: Values,
{
    let guard = spec.guard;
    let builder = builder.guard(move |binding| passes(guard, &binding.values()));
    match lacking {
        None => outputs(builder, places, spec),
        Some((index, key)) => outputs(builder.inhibit_by(index, move |_| key), places, spec),
    }
}

fn outputs<P>(builder: TransitionBuilder<'_, P>, places: &[Place<u8>], spec: &TransitionSpec)
where
    P: Pattern,
    for<'a> Refs<'a, P>: Values,
{
    let mut builder = builder.outputs();
    for &(place, output) in &spec.outputs {
        builder = builder.output(places[place], move |binding, _| token(output, &binding.values()));
    }
    builder.add();
}

fn passes(guard: Guard, values: &[u8]) -> bool {
    match guard {
        Guard::All => true,
        Guard::Equal(a, b) => values[a] == values[b],
        Guard::Sum { modulus, remainder } => values.iter().sum::<u8>() % modulus == remainder,
        Guard::Less(variable, bound) => values[variable] < bound,
    }
}

fn token(output: Output, values: &[u8]) -> u8 {
    match output {
        Output::Same(variable) => values[variable],
        Output::Sum { modulus } => values.iter().sum::<u8>() % modulus,
        Output::Constant(colour) => colour,
    }
}

fn json(spec: &Spec) -> String {
    let transitions: Vec<String> = spec.transitions.iter().map(transition_json).collect();
    format!("{{\"places\": {:?}, \"transitions\": [{}]}}", spec.places, transitions.join(", "))
}

fn transition_json(spec: &TransitionSpec) -> String {
    let variables = spec.inputs.len() + usize::from(spec.read.is_some());
    let guard = match spec.guard {
        Guard::All => "[\"all\"]".into(),
        Guard::Equal(a, b) => format!("[\"equal\", {a}, {b}]"),
        Guard::Sum { modulus, remainder } => {
            format!("[\"sum\", {variables}, {modulus}, {remainder}]")
        }
        Guard::Less(variable, bound) => format!("[\"less\", {variable}, {bound}]"),
    };
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".into());
    let read = or_null(spec.read.map(|place| place.to_string()));
    let inhibit = or_null(
        spec.inhibit.map(|(place, key)| format!("[{place}, {}]", or_null(key.map(|key| key.to_string())))),
    );
    let mut outputs = String::new();
    for (number, &(place, output)) in spec.outputs.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let output = match output {
            Output::Same(variable) => format!("[\"same\", {variable}]"),
            Output::Sum { modulus } => format!("[\"sum\", {variables}, {modulus}]"),
            Output::Constant(colour) => format!("[\"constant\", {colour}]"),
        };
        let _ = write!(outputs, "{comma}[{place}, {output}]");
    }
    format!(
        "{{\"inputs\": {:?}, \"read\": {read}, \"inhibit\": {inhibit}, \"guard\": {guard}, \
         \"outputs\": [{outputs}]}}",
        spec.inputs
    )
}
