//! The cells of a sweep, as a table.

use std::collections::{BTreeMap, BTreeSet};

use super::colours::Colours;
use super::prediction::{between, simulated};
use super::table::{self, rate};
use fathom_predict::prediction::{Estimate, Forecast, Side};
use fathom_predict::sweep::{Axis, Cell, Sweep};
use fathom_program::units::Nanos;

/// The sweep as text: one line per cell, job and direction, each figure with its interval of 90 % confidence.
pub fn sweep(sweep: &Sweep, colours: Colours) -> String {
    let fixed = sweep.axes.iter().filter(|axis| axis.values.len() == 1);
    let fixed: Vec<String> = fixed.map(|axis| format!("{}={}", axis.name, axis.values[0])).collect();
    let set = if fixed.is_empty() { String::new() } else { format!(", with {}", fixed.join(", ")) };
    let mut text = table::wrap(&format!("{}{set}.", simulated(sweep.made.as_ref()))) + "\n";
    let titles: Vec<String> = header(sweep).into_iter().map(|title| colours.strong(title)).collect();
    text += &table::rows(&titles, &lines(sweep));
    text += "\n";
    for remark in remarks(sweep) {
        text += &table::wrap(&format!("{remark}."));
    }
    text + "Nothing was run.\n"
}

/// The sweep as comma-separated values: one line per cell, job and direction under a header with the units. A refused cell has the
/// reason in place of figures.
pub fn comma_separated(sweep: &Sweep) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let figures = ["bytes_per_second", "calls_per_second", "p99_ns"];
    let figures =
        figures.into_iter().flat_map(|name| ["", "_low", "_high"].map(|end| format!("{name}{end}")));
    let names = sweep.axes.iter().map(|axis| axis.name.clone());
    let header =
        names.chain(["job".to_owned(), "what".to_owned()]).chain(figures).chain(["refused".to_owned()]);
    // Memory takes everything, so writing to it can't fail.
    let _ = writer.write_record(header);
    for cell in &sweep.cells {
        let settings: Vec<String> = sweep.axes.iter().map(|axis| cell.settings[&axis.name].clone()).collect();
        let mut write = |rest: Vec<String>| {
            let _ = writer.write_record(settings.iter().cloned().chain(rest));
        };
        if let Some(reason) = &cell.refused {
            write([vec![String::new(); 11], vec![reason.clone()]].concat());
        }
        for (job, side) in sides(cell) {
            let figures = [side.bytes_per_second, side.calls_per_second, side.latency.p99_ns];
            let figures = figures.into_iter().flat_map(|Estimate { value, low, high }| [value, low, high]);
            let named = [job.name.clone(), side.direction.clone()].into_iter();
            let figures = figures.map(|figure| figure.to_string());
            write(named.chain(figures).chain([String::new()]).collect());
        }
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The axes that have more than one value.
pub(super) fn open(sweep: &Sweep) -> impl Iterator<Item = &Axis> {
    sweep.axes.iter().filter(|axis| axis.values.len() > 1)
}

/// A cell's jobs, each direction by itself.
pub(super) fn sides(cell: &Cell) -> impl Iterator<Item = (&Forecast, &Side)> {
    cell.jobs.iter().flat_map(|job| job.sides.iter().map(move |side| (job, side)))
}

pub(super) fn header(sweep: &Sweep) -> Vec<&str> {
    let figures = ["job", "what", "bandwidth", "90 % interval", "IOPS", "p99", "90 % interval"];
    open(sweep).map(|axis| axis.name.as_str()).chain(figures).collect()
}

/// A line per cell, job and direction.
pub(super) fn lines(sweep: &Sweep) -> Vec<Vec<String>> {
    let shown = |value: f64| Nanos(value).to_string();
    let of = |cell: &Cell| {
        let settings: Vec<String> = open(sweep).map(|axis| cell.settings[&axis.name].clone()).collect();
        let line = |(job, side): (&Forecast, &Side)| {
            let (bytes, p99) = (side.bytes_per_second, side.latency.p99_ns);
            let figures = [
                job.name.clone(),
                side.direction.clone(),
                rate(bytes.value),
                between(bytes, rate),
                format!("{:.0}", side.calls_per_second.value),
                shown(p99.value),
                between(p99, shown),
            ];
            [settings.clone(), figures.to_vec()].concat()
        };
        let refused =
            cell.refused.is_some().then(|| [settings.clone(), vec!["(refused)".to_owned()]].concat());
        sides(cell).map(line).chain(refused).collect::<Vec<_>>()
    };
    sweep.cells.iter().flat_map(of).collect()
}

/// What to say of all cells together, one sentence each, without the full stop.
pub(super) fn remarks(sweep: &Sweep) -> Vec<String> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in sweep.cells.iter().filter_map(|cell| cell.refused.as_deref()) {
        *counted.entry(reason).or_default() += 1;
    }
    let all = sweep.missing + sweep.cells.len();
    let refused = |(reason, n)| format!("refused, {n} of {all} combinations: {reason}");
    let mut remarks: Vec<String> = counted.into_iter().map(refused).collect();
    let of =
        |cell: &Cell| [cell.notes.clone(), cell.jobs.iter().flat_map(|job| job.caveats.clone()).collect()];
    remarks.extend(sweep.cells.iter().flat_map(of).flatten().collect::<BTreeSet<String>>());
    if sweep.missing > 0 {
        remarks.push(format!(
            "{} of {all} combinations are missing: other parts of the sweep have them",
            sweep.missing
        ));
    }
    remarks
}
