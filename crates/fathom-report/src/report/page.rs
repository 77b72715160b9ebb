//! A page of one file that needs no network: text, figures, and the script that draws them.
//!
//! What comes from outside (paths, mount options, names) reaches the page as text alone: through
//! [`escaped`] where it stands in the markup, and with `<` written as an escape in the data of the
//! figures, so that nothing in it can end the script it stands in.

use std::fmt::Write;

use super::figure::Figure;
use super::table::spent;
use fathom_program::units::{Bytes, Nanos, WithinPpm};
use fathom_run::provenance::{MachineFacts, Provenance};
use fathom_speed::curve::Refusal;

/// A page that is being written.
pub(super) struct Page {
    title: String,
    body: String,
    figures: Vec<Figure>,
}

/// What the browser may do: run and show what is in the file, and nothing else.
const POLICY: &str = include_str!("page/policy.txt");

impl Page {
    /// A page of this title, with a heading and nothing else.
    pub(super) fn new(title: &str, heading: &str) -> Self {
        let body = format!("<h1>{}</h1>\n", escaped(heading));
        Self { title: title.to_owned(), body, figures: Vec::new() }
    }

    /// A page of what was measured, with where, when and by which clock.
    pub(super) fn measured(what: &str, from: &Provenance) -> Self {
        let (mount, clock) = (&from.mount, &from.instrument);
        let place = format!("{} on {}", mount.fs_type, mount.path);
        let mut page = Self::new(&format!("Fathom: {what}, {place}"), &format!("{what}: {place}"));
        page.push(&definitions(&[
            ("mounted from", mount.source.clone()),
            ("options", mount.options.clone()),
            ("machine", machine(&from.machine)),
            (
                "clock",
                format!(
                    "{}, resolution {}, own cost {} taken out of every call, linear within {}",
                    clock.clock,
                    Nanos(clock.resolution_ns),
                    Nanos(clock.overhead_ns),
                    WithinPpm(clock.linearity_ppm)
                ),
            ),
            ("measured", format!("{}, Fathom {}, seed {}", from.started, from.version, from.seed)),
        ]));
        page
    }

    /// Adds what was asked for and not measured; nothing where there is none.
    pub(super) fn refused(&mut self, refused: &[Refusal]) {
        if !refused.is_empty() {
            let lines: Vec<Vec<String>> =
                refused.iter().map(|one| vec![one.what.clone(), one.reason.clone()]).collect();
            self.push("<h2>Not measured</h2>\n");
            self.push(&table(&["what", "why"], &lines));
        }
    }

    /// Adds what it took to find out.
    pub(super) fn spent(&mut self, bytes_written: u64, duration_ns: u64) {
        self.push(&format!("<p class=\"soft\">{}</p>\n", spent(bytes_written, duration_ns)));
    }

    /// Adds how to do it again.
    pub(super) fn repeat(&mut self, commands: &[String]) {
        let commands = escaped(&commands.join("\n"));
        self.push(&format!("<details><summary>Repeat it</summary><pre>{commands}</pre></details>\n"));
    }

    /// Adds markup, in which everything from outside is [`escaped`].
    pub(super) fn push(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds the place of a figure, its buttons and what it shows.
    pub(super) fn figure(&mut self, figure: Figure) {
        let (id, title) = (escaped(&figure.id), escaped(&figure.title));
        let mut buttons = String::new();
        for (axis, act, name) in [(&figure.y, "log-y", "vertical"), (&figure.x, "log-x", "horizontal")] {
            if axis.switch {
                buttons += &format!(
                    "<button type=\"button\" data-act=\"{act}\" aria-pressed=\"{}\" \
                     title=\"Switch the {name} axis between linear and logarithmic\">log {}</button>",
                    axis.log,
                    &act[4..]
                );
            }
        }
        buttons += &self::buttons(&[
            ("in", "+", "Zoom in (key +)"),
            ("out", "\u{2212}", "Zoom out (key -)"),
            ("reset", "reset", "Show all again (key 0)"),
            ("svg", "SVG", "Save as SVG"),
            ("png", "PNG", "Save as PNG"),
        ]);
        // Things that have names take a line each.
        let height = match figure.y.names.len() {
            0 => String::new(),
            names => format!(" style=\"min-height:{}px\"", 160 + 24 * names),
        };
        let _ = writeln!(
            self.body,
            "<figure id=\"figure-{id}\" data-figure=\"{}\"><h4>{title}</h4>\
             <div class=\"buttons\" role=\"toolbar\" aria-label=\"{title}\">{buttons}</div>\
             <div class=\"chart\"{height} tabindex=\"0\" role=\"img\" aria-label=\"{title}. Arrow keys move, plus and \
             minus zoom, 0 shows all.\"></div>\
             <figcaption>{}</figcaption>\
             <details class=\"numbers\"><summary>The numbers drawn</summary><div></div></details></figure>",
            self.figures.len(),
            escaped(&figure.shown),
        );
        self.figures.push(figure);
    }

    /// Adds a drawing: an SVG that this program made.
    pub(super) fn drawing(&mut self, id: &str, title: &str, svg: &str) {
        let (id, title) = (escaped(id), escaped(title));
        // Names within the drawing are those of this page, where each may stand once.
        let svg = svg.split_once("?>").map_or(svg, |(_, svg)| svg);
        let svg = svg.replace("id=\"", &format!("id=\"{id}-")).replace("#arrow", &format!("#{id}-arrow"));
        let svg = svg.replace("url(#", &format!("url(#{id}-"));
        let buttons = buttons(&[
            ("wider", "+", "Larger"),
            ("narrower", "\u{2212}", "Smaller"),
            ("natural", "reset", "As it was"),
            ("save", "SVG", "Save as SVG"),
        ]);
        let _ = writeln!(
            self.body,
            "<figure class=\"drawing\" id=\"{id}\"><h4>{title}</h4>\
             <div class=\"buttons\" role=\"toolbar\" aria-label=\"{title}\">{buttons}</div>\
             <div class=\"wide\" tabindex=\"0\" role=\"img\" aria-label=\"{title}\">{svg}</div></figure>"
        );
    }

    /// The whole file.
    pub(super) fn html(self) -> String {
        let data = serde_json::to_string(&self.figures).unwrap_or_else(|_| "[]".to_owned());
        // Inside a script the parser looks for `<` alone; the escape is the same character to JSON.
        let data = data.replace('<', "\\u003c");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <link rel=\"icon\" href=\"data:,\">\
             <title>{}</title><style>{}</style></head>\n<body>\n<main>\n{}</main>\n\
             <script type=\"application/json\" id=\"figures\">{data}</script>\n\
             <script>'use strict';\n{{\n{}{}{}}}</script>\n</body></html>\n",
            POLICY.trim_end(),
            escaped(&self.title),
            include_str!("page/style.css"),
            self.body,
            include_str!("page/axis.js"),
            include_str!("page/chart.js"),
            include_str!("page/draw.js"),
        )
    }
}

/// Buttons: what each does, its label and its help.
fn buttons(all: &[(&str, &str, &str)]) -> String {
    let one = |(act, label, help): &(&str, &str, &str)| {
        format!("<button type=\"button\" data-act=\"{act}\" title=\"{help}\">{label}</button>")
    };
    all.iter().map(one).collect()
}

/// Text as it must be written inside of an element or of a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // What would turn the direction of the text around it, or can't be seen, is shown as what it is.
            c if (c.is_control() && c != '\n') || is_unseen(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A table: the header's cells and the lines', all of them text.
pub(super) fn table(header: &[&str], lines: &[Vec<String>]) -> String {
    let mut markup = String::from("<div class=\"wide\"><table><thead><tr>");
    for cell in header {
        let _ = write!(markup, "<th scope=\"col\">{}</th>", escaped(cell));
    }
    markup.push_str("</tr></thead><tbody>");
    for line in lines {
        markup.push_str("<tr>");
        for cell in line {
            let _ = write!(markup, "<td>{}</td>", escaped(cell));
        }
        markup.push_str("</tr>");
    }
    markup.push_str("</tbody></table></div>\n");
    markup
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(plain) && !path.is_empty() {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Facts as a list of terms.
pub(super) fn definitions(facts: &[(&str, String)]) -> String {
    let items: String = facts
        .iter()
        .filter(|(_, fact)| !fact.is_empty())
        .map(|(name, fact)| format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(fact)))
        .collect();
    format!("<dl>{items}</dl>\n")
}

/// What a machine is, in a line.
pub(super) fn machine(facts: &MachineFacts) -> String {
    format!("{}, {}, {} CPUs, {}", facts.kernel, facts.arch, facts.cpus, Bytes(facts.memory_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::{Axis, Quantity, Series, Style};

    #[test]
    fn nothing_from_outside_becomes_markup_or_ends_a_script() {
        let hostile = "</script><script>alert('\"1\"')</script>\u{202e}&amp;<!--";
        assert_eq!(
            escaped(hostile),
            "&lt;/script&gt;&lt;script&gt;alert(&#39;&quot;1&quot;&#39;)&lt;/script&gt;\\u{202e}&amp;amp;&lt;!--"
        );
        let axis = || Axis::new(hostile, Quantity::Bytes);
        let mut figure = Figure::new("a\"b".to_owned(), hostile, axis(), axis());
        figure.series.push(Series::new(hostile, Style::Line));
        let mut page = Page::new(hostile, hostile);
        page.figure(figure);
        let html = page.html();
        assert!(!html.contains("<script>alert") && !html.contains("<!--"));
        // The data and the drawing: each begun and ended once.
        assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (2, 2));
    }

    #[test]
    fn a_path_reaches_the_shell_as_one_word() {
        assert_eq!(quoted("/tmp/a-b"), "/tmp/a-b");
        assert_eq!(quoted("/tmp/$(rm) 'x'"), "'/tmp/$(rm) '\\''x'\\'''");
    }
}
