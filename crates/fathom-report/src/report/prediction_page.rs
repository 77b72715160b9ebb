//! What jobs will do, as a page.

use super::figure::{Axis, Figure, Quantity, Series, Style};
use super::model_page;
use super::page::{Page, escaped, table};
use super::prediction::{HEADER, caveats, lines};
use fathom_predict::model::Model;
use fathom_predict::prediction::{Latencies, Predicted};

/// A prediction as one HTML file that needs no network; `model` is what it was made on, with what was set.
///
/// `remarks` stand above its figures, a sentence each without the full stop.
pub(crate) fn prediction_page(predicted: &Predicted, model: &Model, remarks: &[String]) -> String {
    let mut page = Page::new("Fathom: what jobs will do", "What jobs will do");
    page.push("<p>Simulated: nothing was run.</p>\n");
    page.push(&model_page::made(model));
    if !predicted.settings.is_empty() {
        let settings = escaped(&predicted.settings.join(", "));
        page.push(&format!("<p>What if: <strong>{settings}</strong></p>\n"));
    }
    for remark in remarks {
        page.push(&format!("<p>{}.</p>\n", escaped(remark)));
    }
    for caveat in caveats(predicted) {
        page.push(&format!("<p class=\"disagreement\">{}.</p>\n", escaped(&caveat)));
    }
    page.push(&table(&HEADER, &lines(predicted)));
    page.figure(rates(predicted));
    page.figure(latencies(predicted));
    model_page::nets(&mut page, model);
    page.html()
}

fn drawn(predicted: &Predicted) -> String {
    format!(
        "Bars reach over the interval of 90 %, from {} draws of the parameters and from how far the model was off on jobs \
         like these.",
        predicted.draws
    )
}

fn rates(predicted: &Predicted) -> Figure {
    let mut figure = Figure::throughput(predicted.jobs.iter().map(|job| job.name.clone()).collect());
    for direction in ["read", "write"] {
        let mut series = Series::new(direction, Style::Points);
        for (at, job) in predicted.jobs.iter().enumerate() {
            for side in job.sides.iter().filter(|side| side.direction == direction) {
                let rate = side.bytes_per_second;
                series.push_within(rate.value, at as f64, [rate.low, rate.high]);
            }
        }
        figure.draw(series);
    }
    figure.shown = drawn(predicted);
    figure
}

fn latencies(predicted: &Predicted) -> Figure {
    let names = ["mean", "median", "p90", "p99", "p99.9"].map(str::to_owned).to_vec();
    let mut figure = Figure::new(
        "latencies".to_owned(),
        "Time of a call",
        Axis::of_names(names),
        Axis::new("time of a call", Quantity::Nanoseconds).log(),
    );
    let mut add = |name: String, latency: &Latencies| {
        let of = [latency.mean_ns, latency.median_ns, latency.p90_ns, latency.p99_ns, latency.p999_ns];
        let points = (0..).zip(of).map(|(at, one)| (f64::from(at), one.value, [one.low, one.high]));
        figure.series.push(Series::within(name, Style::Points, points));
    };
    for job in &predicted.jobs {
        job.sides.iter().for_each(|side| add(format!("{}, {}", job.name, side.direction), &side.latency));
        job.syncs.iter().for_each(|syncs| add(format!("{}, sync", job.name), syncs));
    }
    figure.shown =
        format!("The mean, and percentiles: 99 of 100 calls do not exceed p99. {}", drawn(predicted));
    figure
}
