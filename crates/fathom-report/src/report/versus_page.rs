//! Fathom, dd and fio side by side, as a page.

use super::figure::{Axis, Figure, Mark, Origin, Quantity, Series, Style};
use super::page::{Page, escaped, quoted, table};
use super::versus::{HEADER, JOBS_HEADER, job_line, line, work};
use fathom_program::units::Bytes;
use fathom_speed::curve::{Operation, State};
use fathom_speed::versus::jobs::{Contest, JobsVersus};
use fathom_speed::versus::{Entry, Sample, Versus};

/// The comparison as one HTML file that needs no network.
pub(crate) fn versus_page(versus: &Versus) -> String {
    let mut page = Page::measured("Fathom, dd and fio", &versus.provenance);
    page.push(&format!(
        "<p>Each reads or writes one file of {} from its beginning to its end, alternating with the others. Times are those \
         inside: what a program says that its pass took, without starting and ending.</p>\n",
        Bytes(versus.file_bytes)
    ));
    let mut works: Vec<(Operation, State)> =
        versus.entries.iter().map(|entry| (entry.operation, entry.state)).collect();
    works.sort_unstable();
    works.dedup();
    for (number, work) in works.into_iter().enumerate() {
        let entries: Vec<&Entry> =
            versus.entries.iter().filter(|entry| (entry.operation, entry.state) == work).collect();
        let words = self::work(entries[0]);
        page.push(&format!("<h2>{}</h2>\n", escaped(words)));
        for sentence in sentences(&entries) {
            page.push(&format!("<p>{}</p>\n", escaped(&sentence)));
        }
        page.figure(rates(number, words, &entries));
        match ratios(number, words, &entries) {
            figure if figure.series.is_empty() => {
                page.push("<p>There were too few rounds to tell how fast one is against the other.</p>\n");
            }
            figure => page.figure(figure),
        }
        let lines: Vec<Vec<String>> = entries.into_iter().map(line).collect();
        page.push(&table(&HEADER, &lines));
    }
    page.refused(&versus.refused);
    page.spent(versus.bytes_written, versus.duration_ns);
    page.push("<h2>What was run</h2>\n");
    let own = format!(
        "fathom versus {} --file-size {} --seed {}",
        quoted(&versus.provenance.mount.path),
        versus.file_bytes,
        versus.provenance.seed
    );
    let commands = versus.entries.iter().map(|entry| entry.command.clone());
    page.repeat(&[own].into_iter().chain(commands).collect::<Vec<_>>());
    page.html()
}

/// Whether another program differs from Fathom beyond its interval, one sentence per program.
fn sentences(entries: &[&Entry]) -> Vec<String> {
    let mut programs: Vec<(&str, [Vec<String>; 3])> = Vec::new();
    for entry in entries {
        let Some([_, low, high]) = entry.rate_over_fathoms else { continue };
        let name = name(entry);
        let which = if low > 1.0 { 0 } else { 1 + usize::from(high < 1.0) };
        let at = programs.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            programs.push((name, Default::default()));
            programs.len() - 1
        });
        programs[at].1[which].push(Bytes(entry.block_bytes).to_string());
    }
    let said = |(name, sizes): (&str, [Vec<String>; 3])| {
        let parts: Vec<String> = ["faster", "no clear difference", "slower"]
            .iter()
            .zip(sizes)
            .filter(|(_, sizes)| !sizes.is_empty())
            .map(|(word, sizes)| format!("{word} at {}", sizes.join(", ")))
            .collect();
        format!("{name} compared with Fathom's own loop: {}.", parts.join("; "))
    };
    programs.into_iter().map(said).collect()
}

fn name(entry: &Entry) -> &str {
    entry.program.split(' ').next().unwrap_or_default()
}

/// A series for each program, in the order in which they come first.
fn by_program<'a>(entries: &[&'a Entry]) -> Vec<(&'a str, Vec<&'a Entry>)> {
    let mut programs: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for &entry in entries {
        match programs.iter_mut().find(|(program, _)| *program == entry.program) {
            Some((_, known)) => known.push(entry),
            None => programs.push((&entry.program, vec![entry])),
        }
    }
    programs.iter_mut().for_each(|(_, entries)| entries.sort_by_key(|entry| entry.block_bytes));
    programs
}

fn rates(number: usize, work: &str, entries: &[&Entry]) -> Figure {
    let mut figure = Figure::new(
        format!("rates-{number}"),
        format!("Throughput against the size of a call: {work}"),
        Axis::new("bytes per call", Quantity::Bytes).log(),
        Axis::new("bytes per second", Quantity::BytesPerSecond).log(),
    );
    let mut passes = Series::new("each pass", Style::Dots);
    for (program, entries) in by_program(entries) {
        let mut series = Series::new(program, Style::Points);
        for entry in entries {
            let size = entry.block_bytes as f64;
            if let Some(rate) = entry.bytes_per_second {
                series.push_within(size, rate, entry.bytes_per_second_interval.unwrap_or([rate, rate]));
            }
            entry.samples.iter().for_each(|sample| passes.push(size, rate(sample)));
        }
        figure.series.push(series);
    }
    figure.series.push(passes);
    figure.shown =
        "Medians with their 95 % intervals, where there were rounds enough, and each pass over the file as a small cross.".to_owned();
    figure
}

fn rate(sample: &Sample) -> f64 {
    sample.bytes as f64 / sample.inside_ns * 1e9
}

fn ratios(number: usize, work: &str, entries: &[&Entry]) -> Figure {
    let mut figure = Figure::new(
        format!("ratios-{number}"),
        format!("How fast against Fathom: {work}"),
        Axis::new("bytes per call", Quantity::Bytes).log(),
        Axis::new("rate over Fathom's in the same round", Quantity::Times),
    );
    type Ratio = fn(&Entry) -> Option<[f64; 3]>;
    for (words, of) in [
        ("", (|entry| entry.rate_over_fathoms) as Ratio),
        (", within its calls", |entry| entry.call_rate_over_fathoms),
    ] {
        for (program, entries) in by_program(entries) {
            let ratios = entries.iter().filter_map(|entry| {
                of(entry).map(|[ratio, low, high]| (entry.block_bytes as f64, ratio, [low, high]))
            });
            figure.draw(Series::within(format!("{program}{words}"), Style::Points, ratios));
        }
    }
    figure.marks.push(Mark::level("as fast as Fathom", Origin::Reference, 1.0));
    figure.shown = "Medians over the rounds with their 95 % intervals; above one a program is faster. Where an interval \
         contains 1, there is no clear difference."
        .to_owned();
    figure
}

/// A comparison of jobs as one HTML file that needs no network.
pub(crate) fn versus_jobs_page(versus: &JobsVersus) -> String {
    let mut page = Page::measured("Fathom and fio", &versus.provenance);
    page.push(&format!(
        "<p>Each job ran by itself, by Fathom and by {}, alternating and in random order. Rates are those that the programs \
         print; 99 % is the time within which 99 of 100 transfers were done.</p>\n",
        escaped(&versus.fio)
    ));
    let mut figure = Figure::new(
        "jobs".to_owned(),
        "Transfers per second of Fathom over those of fio".to_owned(),
        Axis::of_names(versus.jobs.iter().map(|contest| contest.job.clone()).collect()),
        Axis::new("Fathom over fio in the same round", Quantity::Times),
    );
    type Ratio = fn(&Contest) -> Option<[f64; 3]>;
    for (words, of) in [
        ("transfers per second", (|one| one.rate_over_fios) as Ratio),
        ("99th percentile of latencies", |one| one.p99_over_fios),
    ] {
        let ratios = (0..).zip(&versus.jobs).filter_map(|(at, contest)| {
            of(contest).map(|[ratio, low, high]| (f64::from(at), ratio, [low, high]))
        });
        figure.draw(Series::within(words, Style::Points, ratios));
    }
    figure.shown = "Medians over the rounds with their 95 % intervals; where an interval contains 1, there is no clear difference."
        .to_owned();
    page.figure(figure);
    page.push(&table(&JOBS_HEADER, &versus.jobs.iter().map(job_line).collect::<Vec<_>>()));
    page.refused(&versus.refused);
    page.spent(versus.bytes_written, versus.duration_ns);
    page.repeat(&versus.jobs.iter().map(|one| format!("fio {}", one.words.join(" "))).collect::<Vec<_>>());
    page.html()
}
