//! The cells of a sweep, as a page.

use super::figure::{Axis, Figure, Quantity, Series, Style};
use super::model_page;
use super::page::{Page, escaped, table};
use super::sweep::{header, lines, open, remarks, sides};
use fathom_predict::model::Model;
use fathom_predict::prediction::{Estimate, Side};
use fathom_predict::sweep::Sweep;

/// More lines in one figure than that are no figure.
const MOST_SERIES: usize = 24;

/// A sweep as one HTML file that needs no network; `model` is what nothing is set on yet.
pub(crate) fn sweep_page(sweep: &Sweep, model: &Model) -> String {
    let mut page = Page::new("Fathom: a sweep", "What jobs will do, by settings");
    page.push("<p>Simulated: nothing was run.</p>\n");
    page.push(&model_page::made(model));
    for axis in sweep.axes.iter().filter(|axis| axis.values.len() == 1) {
        let set = escaped(&format!("{}={}", axis.name, axis.values[0]));
        page.push(&format!("<p>What if: <strong>{set}</strong></p>\n"));
    }
    for remark in remarks(sweep) {
        page.push(&format!("<p class=\"disagreement\">{}.</p>\n", escaped(&remark)));
    }
    let rate = Axis::new("bytes per second", Quantity::BytesPerSecond).log();
    page.figure(figure(sweep, "rates", "Bandwidth", rate, |side| side.bytes_per_second));
    let time = Axis::new("99 % of calls take at most", Quantity::Nanoseconds).log();
    page.figure(figure(sweep, "latencies", "Latency", time, |side| side.latency.p99_ns));
    page.push(&table(&header(sweep), &lines(sweep)));
    page.html()
}

/// A figure along the axis with the most values, with a line for each combination of the others.
fn figure(sweep: &Sweep, id: &str, title: &str, y: Axis, of: impl Fn(&Side) -> Estimate) -> Figure {
    let along = open(sweep).max_by_key(|axis| axis.values.len());
    let names = along.map_or_else(|| vec!["all".to_owned()], |axis| axis.values.clone());
    let x = Axis { label: along.map_or_else(String::new, |axis| axis.name.clone()), ..Axis::of_names(names) };
    let mut figure = Figure::new(id.to_owned(), title, x, y);
    let mut left_out = 0;
    for cell in &sweep.cells {
        let value = along.map(|axis| (axis, &cell.settings[&axis.name]));
        let at = value.and_then(|(axis, value)| axis.values.iter().position(|one| one == value)).unwrap_or(0);
        let others = open(sweep).filter(|axis| along.is_none_or(|along| along.name != axis.name));
        let others: String =
            others.map(|axis| format!(", {}={}", axis.name, cell.settings[&axis.name])).collect();
        for (job, side) in sides(cell) {
            let name = format!("{}, {}{others}", job.name, side.direction);
            let known = figure.series.iter().position(|series| series.name == name);
            let index = match known {
                Some(index) => index,
                None if figure.series.len() == MOST_SERIES => {
                    left_out += 1;
                    continue;
                }
                None => {
                    figure.series.push(Series::new(name, Style::Points));
                    figure.series.len() - 1
                }
            };
            let Estimate { value, low, high } = of(side);
            figure.series[index].push_within(at as f64, value, [low, high]);
        }
    }
    figure.shown = "Bars reach over the interval of 90 %.".to_owned();
    if left_out > 0 {
        figure.shown += &format!(" {left_out} more points are in the table only.");
    }
    figure
}
