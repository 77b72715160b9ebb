//! How the samples of a recipe are looked at, and what is said of them.

use crate::inference::combs::{self, NoAnswer, Taller, Wanted};
use crate::inference::primed;
use crate::inference::stalls::{self, Regularity, Waits};
use fathom_program::units::{Bytes, Nanos};
use fathom_program::workload::CallKind;
use fathom_run::samples::Samples;

/// The most places that are named.
const MOST_NAMED: usize = 16;
/// Working sets of which a part comes from a device take at least so many times as long.
const LEAST_MISS: f64 = 3.0;
/// A finer comb that makes operations slower by less than this share may go unseen.
const NEGLIGIBLE: f64 = 0.1;

/// The period of slower operations.
pub(super) fn comb(samples: &Samples, pass: usize, step: u64) -> String {
    let writes = samples.workload.passes[pass].ops.contains(&CallKind::Write);
    let any = Wanted { smallest: 2 * step, negligible: NEGLIGIBLE };
    match combs::find(&samples.matrix(pass, 0), positions(samples, pass), step, any) {
        Ok(found) => {
            let taller = match found.taller {
                Taller::Comb(comb) => format!(", and most every {}", Bytes(comb.period)),
                Taller::Absent(_) | Taller::Unclear => String::new(),
            };
            let meaning = match writes {
                true => "the smallest period of writes is the block",
                false => "cached reads show the page of the cache, whatever the block is",
            };
            format!("an operation is slower every {}{}: {meaning}", Bytes(found.fundamental.period), taller)
        }
        Err(NoAnswer::Absent(largest)) => format!("nothing recurs at distances of up to {}", Bytes(largest)),
        Err(NoAnswer::Unclear(why) | NoAnswer::TooLow(why)) => format!("no answer: {why}"),
    }
}

fn positions(samples: &Samples, pass: usize) -> usize {
    samples.workload.passes[pass].region.count as usize
}

/// Where a sequential reader waited.
pub(super) fn waits(samples: &Samples, pass: usize, step: u64) -> String {
    let latencies = samples.matrix(pass, 0);
    let waits = match stalls::find(&latencies, positions(samples, pass), &latencies, &latencies) {
        Ok(waits) => waits,
        Err(reason) => return format!("no answer: {reason}"),
    };
    let seen = named(&clearest(&waits), step);
    let settled = match stalls::regularity(&waits) {
        Regularity::Steady(found) => found.first().map(|steady| {
            format!(
                "they settle to one each {} from {} on",
                Bytes(steady.period as u64 * step),
                Bytes(steady.onset as u64 * step)
            )
        }),
        Regularity::EveryRead => Some("every read waits".to_owned()),
        Regularity::TooShort { .. } => Some("the sequence ends before they settle".to_owned()),
        Regularity::Unclear(why) => Some(why),
    };
    format!("the reader waits at {seen}; {}", settled.unwrap_or_default())
}

/// The waits at the threshold that most of the others agree with: the one in the middle.
fn clearest(waits: &Waits) -> Vec<usize> {
    waits.levels.get(waits.levels.len() / 2).cloned().unwrap_or_default()
}

/// Positions that take clearly longer than their neighbours, round after round.
pub(super) fn peaks(samples: &Samples, pass: usize, step: usize, size: u64) -> String {
    let peaks = primed::peaks(&samples.matrix(pass, step), positions(samples, pass));
    match peaks.is_empty() {
        true => "no operation takes clearly longer than its neighbours".to_owned(),
        false => {
            let numbers: Vec<String> = peaks.iter().take(MOST_NAMED).map(|at| (at + 1).to_string()).collect();
            format!(
                "slower than their neighbours are, counted from 1, operations {} of {} each",
                numbers.join(", "),
                Bytes(size)
            )
        }
    }
}

/// How far behind each primed part the cache held data.
pub(super) fn behind(samples: &Samples) -> String {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (pass, plan) in samples.workload.passes.iter().enumerate().filter(|(_, plan)| plan.timed) {
        let priming = &samples.workload.passes[pass - 2].region;
        let end = priming.step * priming.count;
        let found = primed::cached_behind(&samples.matrix(pass, 0), &plan.region, end);
        lines.push((end, found.map_or_else(|| "unclear".to_owned(), |bytes| Bytes(bytes).to_string())));
    }
    match lines.as_slice() {
        [(end, reach)] => format!("behind the first {} the cache held {reach} more", Bytes(*end)),
        _ => {
            let runs = lines.chunk_by(|one, next| one.1 == next.1);
            let words = runs.map(|run| format!("{} KiB: {}", run[0].0 / 1024, run[0].1));
            format!(
                "what the cache held behind a first part of\n  {}",
                words.collect::<Vec<_>>().join("\n  ")
            )
        }
    }
}

/// What one read of each working set took.
pub(super) fn growing(samples: &Samples) -> String {
    let each: Vec<(u64, f64)> = timed(samples)
        .map(|(pass, bytes)| {
            (bytes, samples.nanoseconds(samples.matrix(pass, 0).iter().sum::<f64>()) / bytes as f64)
        })
        .collect();
    let costs: Vec<f64> = each.iter().map(|one| one.1).collect();
    let largest = Bytes(each.last().map_or(0, |one| one.0));
    let Some(at) = primed::step_up(&costs) else {
        return format!("no working set up to {largest} is too large for a cache");
    };
    let times = primed::typical(&costs[at..]) / primed::typical(&costs[..at]);
    let whose = match times < LEAST_MISS {
        true => "too little for reads that go to a device: a cache of the processor, not the page cache",
        false => "there the cache of files ends",
    };
    format!("from a working set of {} on a byte takes {times:.1} times as long; {whose}", Bytes(each[at].0))
}

/// Bytes a second with each block size.
pub(super) fn rates(samples: &Samples) -> String {
    let line = |(pass, bytes): (usize, u64)| {
        let seconds = samples.nanoseconds(samples.matrix(pass, 0).iter().sum::<f64>()) / 1e9;
        let size = samples.workload.passes[pass].region.size;
        format!("{} {:.0} MiB/s", Bytes(size), bytes as f64 / seconds / f64::from(1 << 20))
    };
    format!("in calls alone: {}", timed(samples).map(line).collect::<Vec<_>>().join(", "))
}

/// The typical read and the typical seek.
pub(super) fn calls(samples: &Samples) -> String {
    let typical = |pass: usize| samples.nanoseconds(primed::typical(&samples.matrix(pass, 0)));
    let (read, seek) = (typical(1), typical(2));
    format!(
        "a read of one byte takes {} ({:.2} million a second), a seek {} ({:.2} million), with the clock's own cost in both",
        Nanos(read),
        1e3 / read,
        Nanos(seek),
        1e3 / seek
    )
}

/// The timed passes with the bytes that each moves.
fn timed(samples: &Samples) -> impl Iterator<Item = (usize, u64)> + '_ {
    let passes = samples.workload.passes.iter().enumerate().filter(|(_, pass)| pass.timed);
    passes.map(|(index, pass)| (index, pass.region.size * pass.region.count))
}

fn named(positions: &[usize], step: u64) -> String {
    let places: Vec<String> =
        positions.iter().take(MOST_NAMED).map(|&at| Bytes(at as u64 * step).to_string()).collect();
    match positions.len() {
        0 => "no place".to_owned(),
        all if all > MOST_NAMED => format!("{} and {} more", places.join(", "), all - MOST_NAMED),
        _ => places.join(", "),
    }
}
