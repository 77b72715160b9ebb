//! SVG, laid out in layers by `layout-rs`.

use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::geometry::Point;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

use super::{Drawing, Edge, End, Node, Shape};

/// One size for all text of ours.
const FONT_SIZE: usize = 14;
/// Width of a character and height of a line, about what the font takes.
const CHARACTER: (f64, f64) = (8.5, 19.0);

impl Drawing {
    /// As an SVG picture.
    ///
    /// ```
    /// let net = fathom_net::NetBuilder::new("empty").build()?;
    /// assert!(fathom_net::Drawing::flat(&net).to_svg().ends_with("</svg>"));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn to_svg(&self) -> String {
        let mut graph = VisualGraph::new(Orientation::LeftToRight);
        let nodes: Vec<_> = self.nodes.iter().map(|node| graph.add_node(element(node))).collect();
        for edge in &self.edges {
            graph.add_edge(arrow(edge), nodes[edge.from], nodes[edge.to]);
        }
        let mut svg = SVGWriter::new();
        if !nodes.is_empty() {
            graph.do_it(false, false, false, &mut svg);
        }
        in_order(&svg.finalize())
    }
}

/// The same picture with its styles in order: `layout-rs` writes them as a hash map has them.
fn in_order(svg: &str) -> String {
    let Some((before, rest)) = svg.split_once("<style>\n") else { return svg.to_owned() };
    let Some((styles, after)) = rest.split_once("</style>") else { return svg.to_owned() };
    let mut styles: Vec<&str> = styles.lines().collect();
    styles.sort_unstable();
    format!("{before}<style>\n{}\n</style>{after}", styles.join("\n"))
}

fn element(node: &Node) -> Element {
    let mut lines: Vec<&str> = node.lines.iter().chain(&node.marking).map(String::as_str).collect();
    let framed;
    if node.shape == Shape::Module {
        // The layout knows no doubled box, so the name says what it is.
        framed = format!("⟦ {} ⟧", node.lines[0]);
        lines[0] = &framed;
    }
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let (width, height) = (longest as f64 * CHARACTER.0, lines.len() as f64 * CHARACTER.1);
    let text = lines.join("\n");
    let (shape, room) = match node.shape {
        Shape::Place => (ShapeKind::Circle(text), 1.4),
        Shape::Transition | Shape::Module => (ShapeKind::Box(text), 1.1),
    };
    let fill = match (node.shape, &node.marking) {
        (Shape::Place, Some(_)) => "lightyellow",
        (Shape::Module, _) => "lightgray",
        _ => "white",
    };
    let size = Point::new(width * room + 16.0, height * room + 12.0);
    let look = StyleAttr::new(Color::fast("black"), 1, Some(Color::fast(fill)), 0, FONT_SIZE);
    Element::create(shape, look, Orientation::LeftToRight, size)
}

fn arrow(edge: &Edge) -> Arrow {
    let start = if edge.end == End::Both { LineEndKind::Arrow } else { LineEndKind::None };
    let line = match edge.end {
        End::Inhibitor => LineStyleKind::Dashed,
        End::Arrow | End::Both => LineStyleKind::Normal,
    };
    let look = StyleAttr::new(Color::fast("black"), 1, None, 0, FONT_SIZE);
    Arrow::new(start, LineEndKind::Arrow, line, &edge.label, &look, &None, &None)
}
