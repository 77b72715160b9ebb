//! A model held to runs, as a page: predicted against measured, next to the noise and two simpler models.

use super::figure::{Axis, Figure, Mark, Origin, Quantity, Rounded, Series, Shape, Style};
use super::model_page;
use super::page::{Page, escaped, quoted, table};
use super::validation::{CLASSES, by_class, by_job, job_titles, missed, over_fathom, percent, remarks};
use fathom_predict::model::Model;
use fathom_predict::validation::{Class, Held, Validation};

/// A validation as one HTML file that needs no network; `model` is what predicted.
pub(crate) fn validation_page(validation: &Validation, model: &Model) -> String {
    let mut page = Page::measured("predicted against measured", &validation.provenance);
    page.push("<h2>What the predictions are worth</h2>\n<ul class=\"cards\">");
    for class in &validation.classes {
        page.push(&card(class));
    }
    page.push("</ul>\n");
    page.push(&table(&CLASSES, &by_class(validation)));
    for line in missed(validation).iter().chain(&remarks(validation)) {
        page.push(&format!("<p>{}</p>\n", escaped(line)));
    }
    page.push("<h2>Predicted against measured</h2>\n");
    if validation.jobs.is_empty() {
        page.push("<p>No job was predicted and run.</p>\n");
    } else {
        page.figure(against(&validation.jobs));
        page.figure(classes(&validation.classes));
        page.figure(errors(&validation.jobs));
        let table = table(&job_titles(validation), &by_job(validation));
        page.push(&format!("<details><summary>Each job as a table</summary>{table}</details>\n"));
    }
    if !validation.refused.is_empty() {
        let lines: Vec<Vec<String>> = validation.refused.iter().map(|one| vec![one.clone()]).collect();
        page.push("<h2>Left out</h2>\n");
        page.push(&table(&["what, and why"], &lines));
    }
    page.push("<h2>The model</h2>\n");
    page.push(&model_page::made(model));
    model_page::nets(&mut page, model);
    let path = quoted(&validation.provenance.mount.path);
    page.repeat(&[format!("fathom validate {path} --seed {}", validation.provenance.seed)]);
    page.spent(validation.bytes_written, validation.duration_ns);
    page.html()
}

/// What a class came to, in words: an error like the noise can't be distinguished from none.
fn card(class: &Class) -> String {
    let (verdict, kind) = match class.verdict.as_str() {
        _ if class.class == "all" => ("all classes together".to_owned(), "single"),
        "kept" => (format!("within its limit of {}", percent(class.bar)), "agree"),
        "noise" => {
            (format!("above its limit of {}, perhaps because of noise", percent(class.bar)), "inconclusive")
        }
        "drift" => (
            format!(
                "above its limit of {}, perhaps because of what changed since the calibration",
                percent(class.bar)
            ),
            "inconclusive",
        ),
        _ => (format!("above its limit of {}", percent(class.bar)), "disagree"),
    };
    let simpler = match class.mean_error < class.paper_error.min(class.plain_error) {
        true => "Both simpler models are further off.",
        false => "A simpler model is no worse.",
    };
    format!(
        "<li class=\"card {kind}\"><h3>{}</h3><div class=\"value\">{}</div><div class=\"soft\">mean error of {} jobs, {} \
         at worst; two runs differ by {}</div><div class=\"verdict\">{verdict}</div><p>{simpler} {} of {} measured \
         values lie in the predicted interval of 90 %.</p></li>",
        escaped(&class.class),
        percent(class.mean_error),
        class.jobs,
        percent(class.worst_error),
        percent(class.noise_floor),
        class.covered,
        class.jobs
    )
}

/// Every job: what it was to reach, and what it reached.
fn against(jobs: &[Held]) -> Figure {
    let rate = |what: &str| Axis::new(format!("bytes per second, {what}"), Quantity::BytesPerSecond).log();
    let mut figure =
        Figure::new("against".to_owned(), "Predicted against measured", rate("measured"), rate("predicted"));
    let mut names: Vec<&str> = jobs.iter().map(|job| job.class.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for class in names {
        let of = jobs.iter().filter(|job| job.class == class);
        let points =
            of.map(|job| (job.measured, job.predicted.value, [job.predicted.low, job.predicted.high]));
        figure.series.push(Series::within(class, Style::Estimates, points));
    }
    let ends = |pick: fn(f64, f64) -> f64, from| jobs.iter().map(|job| job.measured).fold(from, pick);
    let line = vec![Rounded(ends(f64::min, f64::INFINITY)), Rounded(ends(f64::max, 0.0))];
    let curve = Shape::Curve { x: line.clone(), y: line };
    figure.marks.push(Mark::new("as measured", Origin::Reference, curve));
    figure.shown =
        "A point per job, at the median of its runs; bars reach over the predicted interval of 90 %. A bar \
         that crosses the line holds what was measured."
            .to_owned();
    figure
}

/// The mean errors of each class next to the noise floor and the simpler models.
fn classes(classes: &[Class]) -> Figure {
    let mut figure = Figure::new(
        "classes".to_owned(),
        "Mean error by class of job",
        Axis::new("share of what was measured", Quantity::Share).log(),
        Axis::of_names(classes.iter().map(|class| class.class.clone()).collect()),
    );
    for (name, of) in [
        ("this model", (|class| class.mean_error) as fn(&Class) -> f64),
        ("noise floor: two halves of the runs", |class| class.noise_floor),
        ("paper E's model", |class| class.paper_error),
        ("a latency and a bandwidth", |class| class.plain_error),
    ] {
        let errors = (0..).zip(classes).map(|(at, class)| (of(class), f64::from(at)));
        figure.series.push(Series::of(name, Style::Points, errors));
    }
    figure.shown =
        "Means of the errors' sizes, of throughput. An error at or below the noise floor can't be distinguished from \
         none."
            .to_owned();
    figure
}

/// How far each job is off, with its interval, its noise, and the simpler models.
fn errors(jobs: &[Held]) -> Figure {
    let mut figure = Figure::new(
        "errors".to_owned(),
        "Predicted over measured, job by job",
        Axis::new("predicted over measured", Quantity::Times).log(),
        Axis::of_names(jobs.iter().map(|job| job.name.clone()).collect()),
    );
    let mut own = Series::new("this model", Style::Points);
    let mut runs = Series::new("what the runs differ by", Style::Points);
    let mut paper = Series::new("paper E's model", Style::Markers);
    let mut plain = Series::new("a latency and a bandwidth", Style::Markers);
    let mut fio = Series::new(over_fathom(jobs), Style::Markers);
    for (at, job) in jobs.iter().enumerate() {
        let (at, over) = (at as f64, |rate: f64| rate / job.measured);
        own.push_within(over(job.predicted.value), at, [over(job.predicted.low), over(job.predicted.high)]);
        let range = job
            .runs
            .iter()
            .fold([1.0, 1.0], |[low, high]: [f64; 2], &rate| [low.min(over(rate)), high.max(over(rate))]);
        runs.push_within(1.0, at, range);
        paper.push(1.0 + job.paper_error, at);
        plain.push(1.0 + job.plain_error, at);
        if let Some(by_fio) = &job.fio {
            fio.push(1.0 + by_fio.faster(), at);
        }
    }
    figure.series = vec![own, runs, paper, plain];
    figure.series.extend(jobs.iter().any(|job| job.fio.is_some()).then_some(fio));
    figure.marks.push(Mark::at("as measured", Origin::Reference, [1.0]));
    figure.shown =
        "Bars of this model reach over its interval of 90 %, those of the runs from the slowest to the \
         fastest over their median."
            .to_owned();
    figure
}
