//! The DOT language of Graphviz.

use std::fmt::Write;

use super::{Drawing, End, Node, Shape};

impl Drawing {
    /// As a DOT graph.
    pub fn to_dot(&self) -> String {
        let mut dot = format!("digraph {} {{\n  rankdir=LR;\n", quoted(&self.title));
        self.write_frame("", &mut dot);
        for edge in &self.edges {
            let style = match edge.end {
                End::Arrow => "",
                End::Both => ", dir=both",
                End::Inhibitor => ", arrowhead=odot, style=dashed",
            };
            let label = quoted(&edge.label);
            // Writing to a string cannot fail.
            let _ = writeln!(dot, "  n{} -> n{} [label={label}{style}];", edge.from, edge.to);
        }
        dot.push_str("}\n");
        dot
    }

    /// Writes the nodes of a frame, and the frames inside it as clusters.
    fn write_frame(&self, frame: &str, dot: &mut String) {
        for (number, node) in self.nodes.iter().enumerate().filter(|(_, n)| n.frame == frame) {
            let _ = writeln!(dot, "  n{number} [{}];", attributes(node));
        }
        for (number, inner) in self.frames.iter().enumerate() {
            let parent = inner.rsplit_once('/').map_or("", |(parent, _)| parent);
            if parent == frame {
                let label = quoted(inner);
                let _ = writeln!(dot, "  subgraph cluster{number} {{\n  label={label};");
                self.write_frame(inner, dot);
                dot.push_str("  }\n");
            }
        }
    }
}

fn attributes(node: &Node) -> String {
    let shape = match node.shape {
        Shape::Place => "ellipse",
        Shape::Transition => "box",
        Shape::Module => "box, peripheries=2",
    };
    let lines: Vec<&str> = node.lines.iter().chain(&node.marking).map(String::as_str).collect();
    let filled = if node.marking.is_some() { ", style=filled, fillcolor=lightyellow" } else { "" };
    format!("shape={shape}, label={}{filled}", quoted(&lines.join("\n")))
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
