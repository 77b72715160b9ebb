//! The Petri Net Markup Language (ISO/IEC 15909-2): out for every net, in for place/transition nets.

use std::collections::HashMap;
use std::fmt::{self, Write};

use roxmltree::{Document, Node};

use crate::builder::NetBuilder;
use crate::net::Net;
use crate::place::Place;
use crate::structure::{ArcKind, Structure, TransitionNode};

const GRAMMAR: &str = "http://www.pnml.org/version-2009/grammar/pnml";
const PLACE_TRANSITION: &str = "http://www.pnml.org/version-2009/grammar/ptnet";

/// Why a PNML text cannot be read as a place/transition net.
///
/// ```
/// let error = fathom_net::NetBuilder::from_pnml("<pnml/>").unwrap_err();
/// assert_eq!(error.to_string(), "PNML: there is no <net>; give a document with one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PnmlError(String);

impl fmt::Display for PnmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PNML: {}", self.0)
    }
}

impl std::error::Error for PnmlError {}

impl Net {
    /// The net as PNML: its uncoloured skeleton with the initial marking, which any tool for
    /// place/transition nets reads. Colours, delays, guards, priorities, capacities and inhibitor
    /// arcs stand in `toolspecific` elements; a test arc is an arc in each direction. Fusion sets
    /// are one place.
    ///
    /// ```
    /// let mut net = fathom_net::NetBuilder::new("pair");
    /// let jobs = net.place::<u8>("jobs");
    /// net.initial(jobs, [7, 9]);
    /// net.transition("drop").input(jobs).add();
    /// let pnml = net.build()?.to_pnml();
    /// assert!(pnml.contains("<initialMarking><text>2</text></initialMarking>"));
    /// assert!(pnml.contains("<colour>u8</colour>"));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    #[must_use]
    pub fn to_pnml(&self) -> String {
        let net = &self.structure;
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = write!(
            xml,
            "<pnml xmlns=\"{GRAMMAR}\">\n<net id=\"net\" type=\"{PLACE_TRANSITION}\">\n\
             {}\n<page id=\"page\">\n",
            name(&net.name)
        );
        for store in 0..net.stores.len() {
            self.write_place(store, &mut xml);
        }
        for (number, transition) in net.transitions.iter().enumerate() {
            write_transition(net, number, transition, &mut xml);
        }
        xml.push_str("</page>\n</net>\n</pnml>\n");
        xml
    }

    fn write_place(&self, store: usize, xml: &mut String) {
        let node = &self.structure.stores[store];
        let tokens = self.initial.stores[store].printed();
        let mut own = element("colour", &node.colour);
        if let Some(capacity) = node.capacity {
            own.push_str(&element("capacity", &capacity.to_string()));
        }
        for (token, stamp) in &tokens {
            let _ = write!(own, "<token time=\"{stamp}\">{}</token>", escaped(token));
        }
        let _ = writeln!(
            xml,
            "<place id=\"p{store}\">{}<initialMarking><text>{}</text></initialMarking>{}</place>",
            name(self.structure.store_name(store as u32)),
            tokens.len(),
            tool_specific(&own)
        );
    }
}

fn write_transition(net: &Structure, number: usize, transition: &TransitionNode, xml: &mut String) {
    let mut own = element("priority", &transition.priority.to_string());
    if let Some(delay) = &transition.delay {
        own.push_str(&element("delay", delay));
    }
    if transition.guarded {
        own.push_str("<guard/>");
    }
    let mut arcs = String::new();
    for (i, arc) in transition.arcs.iter().enumerate() {
        let place = format!("p{}", net.store_of(arc));
        let node = format!("t{number}");
        let delay = arc.delay.as_ref().map_or(String::new(), |d| element("delay", &d.to_string()));
        let mut add = |way: &str, source: &str, target: &str, weight: u32, own: &str| {
            let _ = writeln!(
                arcs,
                "<arc id=\"a{number}.{i}{way}\" source=\"{source}\" target=\"{target}\">\
                 <inscription><text>{weight}</text></inscription>{}</arc>",
                tool_specific(own)
            );
        };
        match arc.kind {
            ArcKind::Input(weight) => add("", &place, &node, weight, &delay),
            ArcKind::Output(Some(weight)) => add("", &node, &place, weight, &delay),
            ArcKind::Output(None) => add("", &node, &place, 1, "<variable/>"),
            ArcKind::Read => {
                add("r", &place, &node, 1, "<read/>");
                add("w", &node, &place, 1, "<read/>");
            }
            ArcKind::Inhibitor(limit) => {
                let _ = write!(own, "<inhibitor place=\"{place}\" limit=\"{limit}\"/>");
            }
        }
    }
    let name = name(&transition.name);
    let _ = write!(xml, "<transition id=\"t{number}\">{name}{}</transition>\n{arcs}", tool_specific(&own));
}

fn name(name: &str) -> String {
    format!("<name><text>{}</text></name>", escaped(name))
}

fn element(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>", escaped(text))
}

fn tool_specific(own: &str) -> String {
    if own.is_empty() {
        return String::new();
    }
    format!("<toolspecific tool=\"fathom-net\" version=\"1\">{own}</toolspecific>")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

impl NetBuilder {
    /// Reads the first net of a PNML document as a place/transition net: every place holds black
    /// tokens, time and colours are left out. Places are found again by
    /// [`Net::place`](crate::Net::place).
    ///
    /// ```
    /// use fathom_net::{NetBuilder, StateSpace};
    /// let mut ring = NetBuilder::new("ring");
    /// let (a, b) = (ring.place("a"), ring.place("b"));
    /// ring.initial(a, [(); 3]);
    /// ring.transition("ab").consume(a, 1).produce(b, 1).add();
    /// ring.transition("ba").consume(b, 1).produce(a, 1).add();
    /// let again = NetBuilder::from_pnml(&ring.build()?.to_pnml())?.build()?;
    /// assert_eq!(StateSpace::explore(&again, 100)?.states().count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not XML, holds no place/transition net, or has inhibitor arcs.
    pub fn from_pnml(text: &str) -> Result<Self, PnmlError> {
        let document = Document::parse(text)
            .map_err(|error| PnmlError(format!("not well-formed XML: {error}; mend the file")))?;
        let net = document
            .descendants()
            .find(|node| node.has_tag_name_of("net"))
            .ok_or_else(|| PnmlError("there is no <net>; give a document with one".into()))?;
        let kind = net.attribute("type").unwrap_or_default();
        if !kind.ends_with("ptnet") {
            return Err(PnmlError(format!(
                "the net is of type `{kind}`; only place/transition nets ({PLACE_TRANSITION}) can \
                 be read"
            )));
        }
        if net.descendants().any(|node| node.has_tag_name_of("inhibitor")) {
            return Err(PnmlError(
                "the net has inhibitor arcs, which place/transition nets lack; remove them".into(),
            ));
        }
        Reader::new(net).read()
    }
}

/// Elements by their local name: files differ in the namespaces they declare.
trait Tag {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Tag for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// The reading of one `<net>`.
struct Reader<'a, 'd> {
    net: Node<'a, 'd>,
    builder: NetBuilder,
    places: HashMap<&'a str, Place>,
    /// Which node each reference node stands for.
    references: HashMap<&'a str, &'a str>,
}

impl<'a, 'd> Reader<'a, 'd> {
    fn new(net: Node<'a, 'd>) -> Self {
        let builder = NetBuilder::new(&text_of(net, "name").unwrap_or_default());
        Self { net, builder, places: HashMap::new(), references: HashMap::new() }
    }

    fn read(mut self) -> Result<NetBuilder, PnmlError> {
        for node in self.elements("referencePlace").chain(self.elements("referenceTransition")) {
            self.references.insert(required(node, "id")?, required(node, "ref")?);
        }
        for node in self.elements("place") {
            self.read_place(node)?;
        }
        for node in self.elements("transition") {
            self.read_transition(node)?;
        }
        Ok(self.builder)
    }

    fn read_place(&mut self, node: Node<'a, 'd>) -> Result<(), PnmlError> {
        let id = required(node, "id")?;
        let place = self.builder.place(&text_of(node, "name").unwrap_or_else(|| id.into()));
        let tokens = number_in(node, "initialMarking", 0)?;
        self.builder.initial(place, (0..tokens).map(|_| ()));
        self.places.insert(id, place);
        Ok(())
    }

    fn read_transition(&mut self, node: Node<'a, 'd>) -> Result<(), PnmlError> {
        let id = required(node, "id")?;
        let name = text_of(node, "name").unwrap_or_else(|| id.into());
        let (mut taken, mut given) = (Vec::new(), Vec::new());
        for arc in self.elements("arc") {
            let source = self.resolved(required(arc, "source")?);
            let target = self.resolved(required(arc, "target")?);
            let weight = number_in(arc, "inscription", 1)?;
            if target == id {
                taken.push((self.place_at(source, arc)?, weight));
            } else if source == id {
                given.push((self.place_at(target, arc)?, weight));
            }
        }
        let takes = self.builder.transition(&name);
        let takes = taken.into_iter().fold(takes, |t, (place, weight)| t.consume(place, weight));
        let gives = given.into_iter().fold(takes.outputs(), |t, (place, n)| t.produce(place, n));
        gives.add();
        Ok(())
    }

    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Node<'a, 'd>> + use<'a, 'd> {
        self.net.descendants().filter(move |node| node.has_tag_name_of(tag))
    }

    /// The node that an id means, through any references.
    fn resolved(&self, id: &'a str) -> &'a str {
        let mut id = id;
        // A chain longer than the table would be a circle.
        for _ in 0..self.references.len() {
            match self.references.get(id) {
                Some(&meant) => id = meant,
                None => break,
            }
        }
        id
    }

    fn place_at(&self, id: &str, arc: Node<'_, '_>) -> Result<Place, PnmlError> {
        self.places.get(id).copied().ok_or_else(|| {
            let arc = arc.attribute("id").unwrap_or("?");
            PnmlError(format!("arc `{arc}` ends at `{id}`, which is no place; mend the arc"))
        })
    }
}

fn required<'a>(node: Node<'a, '_>, attribute: &str) -> Result<&'a str, PnmlError> {
    node.attribute(attribute).ok_or_else(|| {
        let tag = node.tag_name().name();
        PnmlError(format!("a <{tag}> has no `{attribute}`; give it one"))
    })
}

/// The text of `<tag><text>...</text></tag>` right inside a node.
fn text_of(node: Node<'_, '_>, tag: &str) -> Option<String> {
    let label = node.children().find(|child| child.has_tag_name_of(tag))?;
    let text = label.children().find(|child| child.has_tag_name_of("text"))?;
    Some(text.text()?.trim().to_string())
}

fn number_in(node: Node<'_, '_>, tag: &str, default: u32) -> Result<u32, PnmlError> {
    let Some(text) = text_of(node, tag) else {
        return Ok(default);
    };
    text.parse().map_err(|_| {
        let id = node.attribute("id").unwrap_or("?");
        PnmlError(format!("the <{tag}> of `{id}` is `{text}`; give a whole number of tokens"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(net: &str) -> String {
        let text = format!("<pnml><net type='ptnet'>{net}</net></pnml>");
        NetBuilder::from_pnml(&text).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_what_and_where() {
        assert!(error("<place/>").contains("a <place> has no `id`"));
        let marking = "<place id='p'><initialMarking><text>x</text></initialMarking></place>";
        assert!(error(marking).contains("the <initialMarking> of `p` is `x`"));
        let arc = "<transition id='t'/><arc id='a' source='q' target='t'/>";
        assert!(error(arc).contains("arc `a` ends at `q`"));
        assert!(NetBuilder::from_pnml("<pnml><net type='hlpn'/></pnml>").is_err());
        assert!(NetBuilder::from_pnml("<pnml>").unwrap_err().to_string().contains("not well-formed"));
    }

    #[test]
    fn references_are_followed_and_weights_kept() {
        let text = "<pnml><net type='ptnet'><page><place id='p'><initialMarking><text>4</text>\
            </initialMarking></place><transition id='t'/></page><page><referencePlace id='r' ref='p'/>\
            <arc id='a' source='r' target='t'><inscription><text>2</text></inscription></arc></page>\
            </net></pnml>";
        let net = NetBuilder::from_pnml(text).unwrap().build().unwrap();
        let place = net.place::<()>("p").unwrap();
        let mut sim = crate::Simulation::new(&net, 1);
        sim.step();
        assert_eq!(sim.count(place), 2);
    }
}
