//! What can be wrong with a net, and how it is told.

use std::collections::BTreeMap;
use std::fmt;

use crate::marking::Count;
use crate::structure::{ArcKind, Page, Port, Structure};

/// Everything that is wrong with a net: what, where, and what to do.
///
/// ```
/// let mut net = fathom_net::NetBuilder::new("twice");
/// let idle = net.place::<()>("idle");
/// net.initial(idle, [()]);
/// net.transition("serve").consume(idle, 1).add();
/// net.transition("serve").consume(idle, 1).add();
/// assert_eq!(
///     net.build().unwrap_err().to_string(),
///     "net `twice`: the name `serve` is used 2 times; give each place and transition its own"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetError {
    net: String,
    problems: Vec<String>,
}

impl NetError {
    pub(crate) fn new(net: String, problems: Vec<String>) -> Self {
        Self { net, problems }
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "net `{}`: {only}", self.net),
            several => {
                write!(f, "net `{}` has {} problems:", self.net, several.len())?;
                several.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

impl std::error::Error for NetError {}

/// Checks the whole of a net whose handles are its own.
pub(crate) fn problems(net: &Structure, initial: &[Count]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(names_used_twice(net));
    found.extend(places_out_of_reach(net, initial));
    found.extend(unused_ports(net));
    found.extend(impossible_inhibitors(net));
    found
}

fn names_used_twice(net: &Structure) -> Vec<String> {
    let mut uses = BTreeMap::<&str, u32>::new();
    let places = net.places.iter().map(|place| place.name.as_str());
    let transitions = net.transitions.iter().map(|transition| transition.name.as_str());
    let modules = net.pages[1..].iter().map(|page| page.path.as_str());
    for name in places.chain(transitions).chain(modules) {
        *uses.entry(name).or_insert(0) += 1;
    }
    let twice = uses.into_iter().filter(|&(_, uses)| uses > 1);
    twice
        .map(|(name, uses)| {
            format!("the name `{name}` is used {uses} times; give each place and transition its own")
        })
        .collect()
}

/// Places that no arc touches, and places that are taken from but never get a token.
fn places_out_of_reach(net: &Structure, initial: &[Count]) -> Vec<String> {
    let arcs = || net.transitions.iter().flat_map(|t| t.arcs.iter().map(move |arc| (t, arc)));
    let mut found = Vec::new();
    for store in 0..net.colours.len() as u32 {
        let name = net.store_name(store);
        let mut touching = arcs().filter(|(_, arc)| net.store_of(arc) == store).peekable();
        if touching.peek().is_none() {
            found.push(format!("place `{name}` has no arcs; draw one or remove the place"));
            continue;
        }
        let touching: Vec<_> = touching.collect();
        let filled = initial[store as usize].total > 0
            || touching.iter().any(|(_, arc)| matches!(arc.kind, ArcKind::Output(_)));
        let asks = |kind| matches!(kind, ArcKind::Input(_) | ArcKind::Read);
        if let (false, Some((asking, _))) = (filled, touching.iter().find(|(_, arc)| asks(arc.kind))) {
            found.push(format!(
                "place `{name}` is unreachable: transition `{}` asks it for tokens, but it starts \
                 empty and no transition puts any; give it initial tokens or an arc in",
                asking.name
            ));
        }
    }
    found
}

/// Ports that neither a transition of the module nor a module inside it uses.
fn unused_ports(net: &Structure) -> Vec<String> {
    let mut found = Vec::new();
    for (number, page) in net.pages.iter().enumerate() {
        for port in &page.ports {
            if !is_used(net, number, port) {
                let (kind, verb) =
                    if port.gives { ("out", "puts a token into") } else { ("in", "takes from") };
                found.push(format!(
                    "port_{kind} `{}` of module `{}` dangles: nothing in the module {verb} it; \
                     use it or do not declare it",
                    net.places[port.place as usize].name, page.path
                ));
            }
        }
    }
    found
}

fn is_used(net: &Structure, page: usize, port: &Port) -> bool {
    let store = net.places[port.place as usize].store;
    let by_transition = net.transitions.iter().filter(|t| t.page == page).any(|transition| {
        transition
            .arcs
            .iter()
            .any(|arc| net.store_of(arc) == store && matches!(arc.kind, ArcKind::Output(_)) == port.gives)
    });
    let passed_on = |inner: &Page| {
        inner.parent == Some(page)
            && inner.ports.iter().any(|p| (p.place, p.gives) == (port.place, port.gives))
    };
    by_transition || net.pages.iter().any(passed_on)
}

fn impossible_inhibitors(net: &Structure) -> Vec<String> {
    let impossible = net
        .transitions
        .iter()
        .filter(|transition| transition.arcs.iter().any(|arc| arc.kind == ArcKind::Inhibitor(0)));
    impossible
        .map(|transition| {
            format!(
                "transition `{}` can never fire: an inhibitor arc asks for fewer than 0 tokens; \
                 give it a limit of at least 1",
                transition.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{NetBuilder, Span};

    /// What `build` says of a net.
    fn error(draw: impl FnOnce(&mut NetBuilder)) -> String {
        let mut net = NetBuilder::new("wrong");
        draw(&mut net);
        net.build().map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_place_without_arcs_or_tokens_is_told() {
        assert!(error(|net| _ = net.place::<u8>("alone")).contains("`alone` has no arcs"));
        let waits = |net: &mut NetBuilder| {
            let never = net.place::<u8>("never");
            net.transition("wait").input(never).add();
        };
        assert!(error(waits).contains("place `never` is unreachable: transition `wait`"));
    }

    #[test]
    fn a_dangling_port_is_told() {
        let dangles = |net: &mut NetBuilder| {
            let jobs = net.place::<u8>("jobs");
            net.initial(jobs, [1]);
            net.transition("drop").input(jobs).add();
            net.module("disk", |module| {
                module.port_out(jobs);
            });
        };
        assert!(error(dangles).contains("port_out `jobs` of module `disk` dangles"));
        let outside = |net: &mut NetBuilder| {
            let jobs = net.place::<u8>("jobs");
            net.port_in(jobs);
        };
        assert!(error(outside).contains("outside any module"));
    }

    #[test]
    fn impossible_inhibitors_and_foreign_places_are_told() {
        let inhibited = |net: &mut NetBuilder| {
            let jobs = net.place("jobs");
            net.initial(jobs, [()]);
            net.transition("never").inhibit(jobs, 0).add();
        };
        assert!(error(inhibited).contains("fewer than 0"));
        let foreign = |net: &mut NetBuilder| {
            let mut other = NetBuilder::new("other");
            let place = other.place::<u8>("place");
            let index = other.index(place, |token| *token);
            net.transition("take").input(place).delay_by(|_, _| Span::ticks(1)).add();
            net.transition("look").input_by(index, |()| 3).add();
        };
        assert!(error(foreign).contains("take uses a place of another net"));
    }
}
