//! A model as a page: its parameters with where they come from, what it was fitted to, and its nets.

use super::figure::{Axis, Figure, Mark, Origin as Drawn, Quantity, Rounded, Series, Shape, Style};
use super::page::{self, Page, definitions, escaped, quoted, table};
use super::validation::{self, percent};
use fathom_predict::calibration::Account;
use fathom_predict::model::{Model, Origin, View};
use fathom_program::units::{Bytes, Nanos};

/// A calibration as one HTML file that needs no network.
pub(crate) fn calibration_page(model: &Model, accounts: &[Account]) -> String {
    let title = match &model.made {
        Some(made) => format!("model: {} on {}", made.mount.fs_type, made.mount.path),
        None => "model of no machine".to_owned(),
    };
    let mut page = Page::new(&format!("Fathom: {title}"), &title);
    page.push(&made(model));
    page.push("<h2>Parameters</h2>\n");
    parameters(&mut page, model);
    page.push("<h2>Jobs that the model was fitted to</h2>\n");
    for (at, account) in accounts.iter().enumerate() {
        page.push(&format!("<h3>{}</h3>\n", escaped(&account.name)));
        page.figure(fit(at, account));
        for reason in &account.refused {
            page.push(&format!("<p>not run: {}</p>\n", escaped(reason)));
        }
    }
    residuals(&mut page, model);
    nets(&mut page, model);
    if let Some(made) = &model.made {
        let path = quoted(&made.mount.path);
        page.push("<h2>Commands that use this model</h2>\n");
        page.repeat(&[
            format!("fathom calibrate {path} --out MODEL.json"),
            format!("fathom validate {path} --on MODEL.json"),
            "fathom predict JOB.fio --on MODEL.json".to_owned(),
            "fathom survey --on MODEL.json --set readahead=1M".to_owned(),
        ]);
    }
    page.html()
}

/// What a model was made from.
pub(super) fn made(model: &Model) -> String {
    let Some(made) = &model.made else {
        return "<p>No machine was measured for it: every parameter that is not set is assumed.</p>\n"
            .to_owned();
    };
    definitions(&[
        ("mounted from", made.mount.source.clone()),
        ("options", made.mount.options.clone()),
        ("machine", page::machine(&made.machine)),
        ("calibrated", format!("{}, Fathom {}", made.started, made.version)),
        ("took", format!("{}, {} written", Nanos(made.duration_ns as f64), Bytes(made.bytes_written))),
        (
            "reclaimed",
            made.reclaimed_bytes.map_or_else(
                || "not counted".to_owned(),
                |bytes| format!("{} by the kernel while jobs ran", Bytes(bytes)),
            ),
        ),
    ])
}

/// The numbers, in a figure for each unit, and in a table with what they are.
fn parameters(page: &mut Page, model: &Model) {
    for (unit, label, quantity) in [
        ("ns", "time", Quantity::Nanoseconds),
        ("ns_per_byte", "time per byte", Quantity::NanosecondsPerByte),
        ("bytes", "bytes", Quantity::Bytes),
        ("count", "count", Quantity::Count),
        ("share", "share", Quantity::Share),
    ] {
        if let Some(figure) = of_unit(model, unit, Axis::new(label, quantity).log()) {
            page.figure(figure);
        }
    }
    let lines = validation::parameters(model);
    let table = table(&validation::PARAMETERS, &lines);
    page.push(&format!(
        "<details><summary>{} parameters as a table</summary>{table}</details>\n",
        lines.len()
    ));
}

/// The numbers of one unit that are not zero, which has no place on a logarithmic axis.
fn of_unit(model: &Model, unit: &str, x: Axis) -> Option<Figure> {
    let of_unit = model.parameters.iter().filter(|(number, _)| number.row().unit.word() == unit);
    let (drawn, zero): (Vec<_>, Vec<_>) = of_unit.partition(|(_, one)| one.value > 0.0);
    drawn.first()?;
    let names = drawn.iter().map(|(number, _)| number.name()).collect();
    let title = format!("Parameters in {}", unit.replace('_', " "));
    let mut figure = Figure::new(format!("parameters-{unit}"), title, x, Axis::of_names(names));
    for from in [Origin::Measured, Origin::Declared, Origin::Set, Origin::Assumed] {
        let of = (0..).zip(&drawn).filter(|(_, (_, one))| one.origin == from);
        let points =
            of.map(|(at, (_, one))| (one.value, f64::from(at), one.interval.unwrap_or([one.value; 2])));
        figure.draw(Series::within(from.word(), Style::Points, points));
    }
    let zero: Vec<String> = zero.iter().map(|(number, _)| number.name()).collect();
    figure.shown = match zero.is_empty() {
        true => "Bars reach over the interval of 95 %, where one is known.".to_owned(),
        false => format!(
            "Bars reach over the interval of 95 %, where one is known. Zero, and not drawn: {}.",
            zero.join(", ")
        ),
    };
    Some(figure)
}

/// The times of a stage's jobs, measured and simulated.
fn fit(number: usize, account: &Account) -> Figure {
    let mut figure = Figure::new(
        format!("stage-{number}"),
        "Measured, and simulated with what was found",
        Axis::new("time of a call", Quantity::Nanoseconds).log(),
        Axis::of_names(account.jobs.iter().map(|(name, ..)| name.clone()).collect()),
    );
    let jobs = (0..).map(f64::from).zip(&account.jobs);
    let measured = jobs.clone().map(|(at, (_, measured, _))| (*measured, at));
    let simulated = jobs.map(|(at, (.., simulated))| (*simulated, at));
    figure.series = vec![
        Series::of("measured", Style::Points, measured),
        Series::of("simulated", Style::Points, simulated),
    ];
    let off = account.jobs.iter().map(|(_, measured, simulated)| (measured / simulated - 1.0).abs());
    let worst = off.fold(0.0, f64::max);
    figure.shown =
        format!("The median over the runs of each job. The worst rate is off by {}.", percent(worst));
    figure
}

/// How far the model is off by class of job, which is what its predictions are widened by.
fn residuals(page: &mut Page, model: &Model) {
    if model.residuals.is_empty() {
        return;
    }
    let mut figure = Figure::new(
        "residuals".to_owned(),
        "Errors on jobs that nothing was fitted to",
        Axis::new("share of what was measured", Quantity::Share).fixed(),
        Axis::of_names(model.residuals.keys().cloned().collect()),
    );
    let residuals = (0..).map(f64::from).zip(model.residuals.values());
    let means = residuals.clone().map(|(at, residual)| (residual.mean_error, at));
    let spreads = residuals.map(|(at, residual)| (residual.spread, at));
    figure.series = vec![
        Series::of("mean error", Style::Points, means),
        Series::of("added to the intervals of predictions", Style::Points, spreads),
    ];
    let x = [Rounded(0.0), Rounded(0.05)];
    figure.marks.push(Mark::new("within 5 %", Drawn::Reference, Shape::Between { x }));
    figure.shown =
        "A class of jobs that is not here was never compared with the model, and predictions of it say so."
            .to_owned();
    page.figure(figure);
}

/// The nets that the model is made of: the top level, and each module folded away below it.
pub(super) fn nets(page: &mut Page, model: &Model) {
    let path = model.path();
    page.push(
        "<h2>The nets</h2>\n<p class=\"soft\">Ellipses are places with the colour of their tokens, boxes are \
         transitions with their delay, and boxes in double brackets are modules. Arrows at both ends look at a token \
         without taking it; dashed ones forbid.</p>\n",
    );
    if let Some(top) = path.picture(View::Module(""), &model.parameters, None) {
        page.drawing("net", "The top level", &top.to_svg());
    }
    page.push("<details><summary>Its modules</summary>\n");
    for (at, module) in path.modules().iter().enumerate() {
        if let Some(drawing) = path.picture(View::Module(module), &model.parameters, None) {
            page.drawing(&format!("net-{at}"), module, &drawing.to_svg());
        }
    }
    page.push("</details>\n");
}
