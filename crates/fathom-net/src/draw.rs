//! Drawings of a net: flat or page by page, with the marking of a simulation.

mod dot;
mod svg;

use crate::net::Net;
use crate::simulation::Simulation;
use crate::structure::{Arc, ArcKind, Structure, TransitionNode};
use crate::time::Time;

/// Tokens of a place that are written out; the rest are counted.
const TOKENS_SHOWN: usize = 3;

/// A drawing of a net, as DOT for Graphviz or as SVG by itself.
///
/// Places are ellipses with their colour, transitions boxes with delay, guard and priority, and
/// modules doubled boxes: substitution transitions. Test arcs have a head at both ends, inhibitor
/// arcs are dashed.
///
/// ```
/// use fathom_net::{Drawing, NetBuilder, Simulation, Span};
/// let mut net = NetBuilder::new("kettle");
/// let (cold, hot) = (net.place("cold"), net.place("hot"));
/// net.initial(cold, [()]);
/// net.transition("boil").consume(cold, 1).delay_by(|_, _| Span::ticks(180)).produce(hot, 1).add();
/// let net = net.build()?;
/// let sim = Simulation::new(&net, 1);
/// let drawing = Drawing::flat(&net).with_marking(&sim);
/// assert!(drawing.to_svg().starts_with("<?xml") && drawing.to_dot().starts_with("digraph"));
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Drawing {
    title: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Paths of the modules drawn as frames around their nodes.
    frames: Vec<String>,
}

#[derive(Clone, Debug)]
struct Node {
    shape: Shape,
    /// The module in whose frame it stands; empty for the top.
    frame: String,
    lines: Vec<String>,
    marking: Option<String>,
    /// The store of a place.
    store: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Place,
    Transition,
    Module,
}

#[derive(Clone, Debug)]
struct Edge {
    from: usize,
    to: usize,
    label: String,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A token moves.
    Arrow,
    /// A token is looked at.
    Both,
    /// Tokens prevent.
    Inhibitor,
}

impl Drawing {
    /// The whole net, its modules as frames.
    pub fn flat(net: &Net) -> Self {
        let structure = &net.structure;
        let mut drawing = Self::empty(net.name());
        drawing.frames = structure.pages[1..].iter().map(|page| page.path.clone()).collect();
        let places: Vec<usize> = (0..structure.places.len() as u32)
            .map(|place| {
                drawing.place(structure, place, &structure.pages[structure.places[place as usize].page].path)
            })
            .collect();
        for transition in &structure.transitions {
            let frame = &structure.pages[transition.page].path;
            let node = drawing.transition(transition, frame);
            for arc in &transition.arcs {
                drawing.arc(places[arc.place as usize], node, arc);
            }
        }
        drawing
    }

    /// One page: the places and transitions of a module, `""` for the net itself, the modules
    /// inside it as substitution transitions, and the places it was given. `None` if there is no
    /// such module.
    ///
    /// ```
    /// # use fathom_net::{Drawing, NetBuilder};
    /// let mut net = NetBuilder::new("storage");
    /// let requests = net.place::<u64>("requests");
    /// net.initial(requests, [7]);
    /// net.module("disk", |module| {
    ///     let requests = module.port_in(requests);
    ///     module.transition("seek").input(requests).add();
    /// });
    /// let net = net.build()?;
    /// let top = Drawing::page(&net, "").expect("every net has a top page").to_dot();
    /// assert!(top.contains("disk") && !top.contains("seek"));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn page(net: &Net, module: &str) -> Option<Self> {
        let structure = &net.structure;
        let page = structure.pages.iter().position(|page| page.path == module)?;
        let mut drawing = Self::empty(if module.is_empty() { net.name() } else { module });
        let mut nodes = vec![None; structure.places.len()];
        for transition in structure.transitions.iter().filter(|t| t.page == page) {
            let node = drawing.transition(transition, "");
            for arc in &transition.arcs {
                let place = drawing.place_once(structure, arc.place, &mut nodes);
                drawing.arc(place, node, arc);
            }
        }
        for inner in structure.pages.iter().filter(|inner| inner.parent == Some(page)) {
            let node = drawing.add(Shape::Module, vec![last_name(&inner.path).into()], "");
            for port in &inner.ports {
                let place = drawing.place_once(structure, port.place, &mut nodes);
                let (from, to) = if port.gives { (node, place) } else { (place, node) };
                drawing.edges.push(Edge { from, to, label: String::new(), end: End::Arrow });
            }
        }
        Some(drawing)
    }

    /// The same drawing with the tokens that a simulation has now.
    ///
    /// ```
    /// # use fathom_net::{Drawing, NetBuilder, Simulation};
    /// # let mut net = NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7, 9]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let sim = Simulation::new(&net, 1);
    /// assert!(Drawing::flat(&net).with_marking(&sim).to_dot().contains("2: 7, 9"));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    #[must_use]
    pub fn with_marking(mut self, sim: &Simulation<'_>) -> Self {
        for node in &mut self.nodes {
            node.marking = node
                .store
                .and_then(|store| marking_text(&sim.marking.stores[store as usize].printed(), sim.now()));
        }
        self
    }

    fn empty(title: &str) -> Self {
        Self { title: title.into(), nodes: Vec::new(), edges: Vec::new(), frames: Vec::new() }
    }

    fn add(&mut self, shape: Shape, lines: Vec<String>, frame: &str) -> usize {
        let frame = frame.to_string();
        self.nodes.push(Node { shape, frame, lines, marking: None, store: None });
        self.nodes.len() - 1
    }

    fn place(&mut self, net: &Structure, place: u32, frame: &str) -> usize {
        let node = &net.places[place as usize];
        let colour = net.colours[node.store as usize].clone();
        let mut lines = vec![last_name(&node.name).to_string(), colour];
        if net.places.iter().filter(|other| other.store == node.store).count() > 1 {
            lines.push(format!("fusion {}", net.store_name(node.store)));
        }
        let added = self.add(Shape::Place, lines, frame);
        self.nodes[added].store = Some(node.store);
        added
    }

    fn place_once(&mut self, net: &Structure, place: u32, nodes: &mut [Option<usize>]) -> usize {
        *nodes[place as usize].get_or_insert_with(|| self.place(net, place, ""))
    }

    fn transition(&mut self, transition: &TransitionNode, frame: &str) -> usize {
        let mut lines = vec![last_name(&transition.name).to_string()];
        if transition.guarded {
            lines.push("[guard]".into());
        }
        if transition.is_delayed {
            lines.push("@+f(binding)".into());
        }
        if transition.priority != 0 {
            lines.push(format!("priority {}", transition.priority));
        }
        self.add(Shape::Transition, lines, frame)
    }

    fn arc(&mut self, place: usize, transition: usize, arc: &Arc) {
        let (from, to) = match arc.kind {
            ArcKind::Output(_) => (transition, place),
            _ => (place, transition),
        };
        let end = match arc.kind {
            ArcKind::Input(_) | ArcKind::Output(_) => End::Arrow,
            ArcKind::Read => End::Both,
            ArcKind::Inhibitor(_) => End::Inhibitor,
        };
        let label = arc_label(arc);
        let is_back = |edge: &&mut Edge| {
            end == End::Arrow && edge.end == End::Arrow && [edge.from, edge.to] == [to, from]
        };
        match self.edges.iter_mut().find(is_back) {
            // What a transition takes and gives back is one line.
            Some(edge) => {
                edge.end = End::Both;
                let labels = [std::mem::take(&mut edge.label), label];
                edge.label =
                    labels.into_iter().filter(|label| !label.is_empty()).collect::<Vec<_>>().join(" / ");
            }
            None => self.edges.push(Edge { from, to, label, end }),
        }
    }
}

/// How many tokens a place holds and the first few of them, black ones only if they are not
/// available yet; nothing for an empty place.
fn marking_text(tokens: &[(String, Time)], now: Time) -> Option<String> {
    let text = |(token, stamp): &(String, Time)| match (token.as_str(), *stamp > now) {
        ("()", false) => None,
        ("()", true) => Some(format!("@{stamp}")),
        (token, false) => Some(token.to_string()),
        (token, true) => Some(format!("{token}@{stamp}")),
    };
    let mut shown: Vec<String> = tokens.iter().filter_map(text).take(TOKENS_SHOWN + 1).collect();
    if shown.len() > TOKENS_SHOWN {
        shown[TOKENS_SHOWN] = "…".into();
    }
    let count = tokens.len();
    match (count, shown.is_empty()) {
        (0, _) => None,
        (_, true) => Some(count.to_string()),
        (_, false) => Some(format!("{count}: {}", shown.join(", "))),
    }
}

/// The label of an arc: empty for one token at once.
fn arc_label(arc: &Arc) -> String {
    let mut label = match arc.kind {
        ArcKind::Input(1) | ArcKind::Output(Some(1)) | ArcKind::Read => String::new(),
        ArcKind::Input(weight) | ArcKind::Output(Some(weight)) => weight.to_string(),
        ArcKind::Output(None) => "*".into(),
        ArcKind::Inhibitor(1) => "none".into(),
        ArcKind::Inhibitor(limit) => format!("< {limit}"),
    };
    if arc.keyed {
        label.push_str(" by key");
    }
    label.trim_start().into()
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
