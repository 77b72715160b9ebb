//! An XOR and the trials behind it, as a page.

use super::figure::{Axis, Figure, Mark, Origin, Quantity, Series, Style};
use super::page::{Page, definitions, escaped, quoted};
use super::table::rate;
use fathom_program::units::{Bytes, Nanos};
use fathom_speed::xor::Xor;

/// The XOR as one HTML file that needs no network.
pub(crate) fn xor_page(xor: &Xor) -> String {
    let mut page = Page::new(&format!("Fathom: XOR of {}", xor.path), &xor.xor);
    page.push(&format!("<p>XOR of the words of {}</p>\n", escaped(&xor.path)));
    page.push(&definitions(&[
        ("bytes", Bytes(xor.bytes).to_string()),
        ("took", format!("{}: {}", Nanos(xor.duration_ns as f64), rate(xor.bytes_per_second))),
        ("read by", format!("{}, threads: {}", xor.method, xor.threads)),
        ("because", xor.reason.clone()),
        (
            "in the page cache before",
            xor.cached_share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
        ),
    ]));
    page.figure(rates(xor));
    page.repeat(&[format!("fathom xor {}", quoted(&xor.path))]);
    page.html()
}

/// The trials, each on a part of the file, and the whole.
fn rates(xor: &Xor) -> Figure {
    let threads = |method: String, threads: usize| match threads {
        1 => format!("{method}, 1 thread"),
        threads => format!("{method}, {threads} threads"),
    };
    let trials = xor.trials.iter().map(|trial| threads(trial.method.to_string(), trial.threads));
    let names =
        trials.chain([format!("the file: {}", threads(xor.method.to_string(), xor.threads))]).collect();
    let mut figure = Figure::new(
        "trials".to_owned(),
        "How fast each way reads",
        Axis::new("bytes per second", Quantity::BytesPerSecond).fixed(),
        Axis::of_names(names),
    );
    let trials = (0..).zip(&xor.trials).map(|(at, trial)| (trial.bytes_per_second, f64::from(at)));
    figure.draw(Series::of("trials, each on a part of the file", Style::Bars, trials));
    let whole = (xor.bytes_per_second, xor.trials.len() as f64);
    figure.draw(Series::of("the file", Style::Bars, [whole]));
    figure.marks.push(Mark::at("the file as a whole", Origin::Timing, [xor.bytes_per_second]));
    figure.shown = match xor.trials.is_empty() {
        true => "No other way was tried: --method named this one, or there was no choice.".to_owned(),
        false => "A trial reads a part of the file once; the fastest way took the rest.".to_owned(),
    };
    figure
}
