//! What it costs to make a file, to ask about it, to open, rename and list it, and to remove it.
//!
//! A few files are made in a directory that holds few, and in one that holds many; each kind of call is a pass over all
//! of them, as in mdtest. The answer is one figure of many, that of making a file in the small directory; the
//! others stand next to it as distributions, and what the larger directory makes slower is said in words.

use std::time::Duration;

use super::prelude::*;
use fathom_stats::interval::Estimate;
use fathom_stats::quantile;

use super::batches::Batches;
use super::remembered::BARE_NS;
use super::sync_latency::spread;
use crate::inference::latency;
use fathom_program::workload::RENAMED;

pub(super) struct MetadataCost;

const METHOD: &str = "calls_on_entries";
/// Files in the two directories.
const SIZES: [u64; 2] = [10, 1000];
/// Files that are made in each, one round after the other, and removed again: few, since rounds count, and on a far server each call takes
/// some ms.
const NEW: u64 = 4;
/// Listings in a row, of which the first one warms up.
const LISTINGS: u64 = 4;
/// A call that takes less than this many times a reading of the clock can't be measured.
const FEWEST_TIMES: f64 = 2.0;
/// What is slower by less than this share in the large directory is not mentioned.
const LEAST_GROWTH: f64 = 0.1;
/// Making and removing all files of the large directory may take so long, in ns. The samples alone decide, so that a
/// recording decides the same.
const LONGEST_NS: f64 = 4e9;
/// The pass that times the clock alone.
const CLOCK: &str = "clock";

/// A kind of call: what it is called, which is also the label of its pass, and its place in the pass.
struct Calls {
    name: &'static str,
    label: &'static str,
    step: usize,
}

const CREATE: usize = 0;
const KINDS: [Calls; 7] = [
    Calls { name: "create", label: "create", step: 0 },
    Calls { name: "close", label: "create", step: 1 },
    Calls { name: "stat", label: "stat", step: 0 },
    Calls { name: "open", label: "open", step: 0 },
    Calls { name: "rename", label: "rename", step: 0 },
    Calls { name: "unlink", label: "unlink", step: 0 },
    Calls { name: "readdir", label: "readdir", step: 0 },
];

impl Experiment for MetadataCost {
    fn about(&self) -> &'static About {
        &About {
            parameter: "metadata_cost",
            unit: "ns",
            question: "How long does it take to create a file, and to stat, open, rename, list and remove one?",
            method: "Empty files are created, looked up and removed in directories of 10 and of 1,000 files, one kind of call after the other. The answer is the median time to create one, less the time to read the clock.",
            source: "mdtest (create, stat and remove per second)",
            cost: Cost { seconds: 3, write_bytes: 0, read_bytes: 0 },
            figure: Figure::Spread,
            asks_server: true,
            inconclusive: "How long calls on names take could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let mut seen = [Seen::default(), Seen::default()];
        let batches =
            Batches { fewest: 12, most: session.rounds(72, 24), enough: Duration::from_millis(300) };
        // With one directory first, to know whether there is time to fill the other.
        batches.run(session, |_| workload(&SIZES[..1]), |samples| seen[0].add(samples, 0))?;
        let made: f64 = [0, 1, 5].iter().filter_map(|&kind| quantile::median(&seen[0].rounds[kind])).sum();
        let mut left_out = None;
        if made * SIZES[1] as f64 <= LONGEST_NS {
            seen[0] = Seen::default();
            batches.run(
                session,
                |_| workload(&SIZES),
                |samples| seen.iter_mut().enumerate().for_each(|(at, seen)| seen.add(samples, at)),
            )?;
        } else {
            let files = SIZES[1];
            left_out =
                Some(format!("a directory of {files} files was not tried: making it would take too long"));
        }
        let evidence = judged(&seen);
        Ok(match left_out {
            Some(caveat) => evidence.caveat(caveat),
            None => evidence,
        })
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.is_usual() || case.conditions.served.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        // The name is looked up and the file is made, in one request or in two, and opened. The attributes of the directory
        // are asked for once, where none are believed before each of the three. What is done besides is not planted.
        match case.conditions.served {
            Some(served) if !served.round_trip.is_zero() => {
                let round_trip = served.round_trip.as_nanos() as f64;
                let most = if served.attributes.is_zero() { 7.5 } else { 5.5 };
                Truth::within([1.8 * round_trip, most * (round_trip + BARE_NS)])
            }
            _ => Truth::Unknown,
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let created = finding.number()?;
        let spreads = finding.by(METHOD).map_or(&[][..], |timed| &timed.distributions);
        let median = |kind: &Calls, size: u64| {
            spreads.iter().find(|one| one.case == case(kind, size)).map(|one| one.median_ns)
        };
        let others: Vec<String> = KINDS[1..]
            .iter()
            .filter_map(|kind| Some(format!("{} {}", kind.name, Nanos(median(kind, SIZES[0])?))))
            .collect();
        let grown: Vec<String> = KINDS
            .iter()
            .filter_map(|kind| {
                let [few, many] = SIZES.map(|size| spreads.iter().find(|one| one.case == case(kind, size)));
                let (few, many) = (few?, many?);
                let apart = many.median_interval_ns?[0] > few.median_interval_ns?[1];
                let times = many.median_ns / few.median_ns;
                (apart && times > 1.0 + LEAST_GROWTH).then(|| format!("{} {times:.1}", kind.name))
            })
            .collect();
        let grown = match grown.is_empty() {
            true => String::new(),
            false => format!(" With {} files times: {}.", SIZES[1], grown.join(", ")),
        };
        Some(format!(
            "Creating a file takes {} in a directory of {} files; {}.{grown}",
            Nanos(created),
            SIZES[0],
            others.join(", ")
        ))
    }
}

/// What the calls in one directory took, in ns without the clock's own cost: of each kind all, and the median of each
/// round; and readings of the clock alone, one for each creation.
#[derive(Default)]
struct Seen {
    all: [Vec<f64>; KINDS.len()],
    rounds: [Vec<f64>; KINDS.len()],
    clock: Vec<f64>,
}

impl Seen {
    fn add(&mut self, samples: &Samples, directory: usize) {
        let pass_of = |label: &'static str| {
            samples.labelled(label).find(|&pass| samples.workload.passes[pass].file == directory)
        };
        let ns = |label, step| -> Vec<f64> {
            let ticks = pass_of(label).map_or_else(Vec::new, |pass| samples.matrix(pass, step));
            ticks.into_iter().map(|ticks| samples.nanoseconds(ticks)).collect()
        };
        let clock = ns(CLOCK, 0);
        let own = quantile::median(&clock).unwrap_or(0.0);
        self.clock.extend(clock);
        for (at, kind) in KINDS.iter().enumerate() {
            let taken: Vec<f64> = ns(kind.label, kind.step).iter().map(|ns| (ns - own).max(0.0)).collect();
            self.rounds[at].extend(quantile::median(&taken));
            self.all[at].extend(taken);
        }
    }

    fn distributions(&self, size: u64) -> Vec<Distribution> {
        let of = |(at, kind): (usize, &Calls)| {
            let spread = spread(&case(kind, size), &self.all[at])?;
            let settled = latency::settled(&self.rounds[at]).ok();
            let interval = settled.map(|Estimate { interval, .. }| [interval.low, interval.high]);
            Some(Distribution { median_interval_ns: interval, ..spread })
        };
        KINDS.iter().enumerate().filter_map(of).collect()
    }
}

fn case(kind: &Calls, size: u64) -> String {
    format!("{}, {size} files", kind.name)
}

fn judged(seen: &[Seen; SIZES.len()]) -> Evidence {
    let silent = |reason: String| Evidence::inconclusive(Kind::Timing, METHOD, reason);
    let [few, _] = seen;
    let median = match latency::settled(&few.rounds[CREATE]) {
        Ok(median) => median,
        Err(reason) => return silent(reason),
    };
    let clocked: Vec<f64> =
        few.all[CREATE].iter().zip(&few.clock).map(|(create, clock)| create + clock).collect();
    if !latency::is_slower(&clocked, &few.clock, FEWEST_TIMES) {
        return silent("creating a file takes hardly longer than a reading of the clock".to_owned());
    }
    Evidence::measured(Kind::Timing, METHOD, Value::Real(median.value))
        .within_real([median.interval.low, median.interval.high])
        .resting_on(median.level, few.all[CREATE].len())
        .spread(seen.iter().zip(SIZES).flat_map(|(seen, size)| seen.distributions(size)).collect())
}

/// One round in directories of these sizes.
fn workload(sizes: &[u64]) -> Workload {
    let files = sizes.iter().map(|&size| ScratchFile::directory(&format!("entries-{size}"), size)).collect();
    sizes.iter().enumerate().fold(Workload::new(files), |workload, (directory, &size)| {
        let new = Region { offset: size, size: 0, step: 1, count: NEW };
        let renamed = Region { offset: size + RENAMED, ..new };
        let timed = |ops: &[CallKind], region, label| Pass::timed(directory, ops, region).label(label);
        workload
            .pass(timed(&[CallKind::Pause], new, CLOCK))
            .pass(timed(&[CallKind::Create, CallKind::Close], new, "create"))
            .pass(timed(&[CallKind::Stat], new, "stat"))
            .pass(timed(&[CallKind::Open, CallKind::Close], new, "open"))
            .pass(timed(&[CallKind::Rename], new, "rename"))
            .pass(timed(&[CallKind::Unlink], renamed, "unlink"))
            .pass(timed(&[CallKind::List], Region { count: LISTINGS, ..new }, "readdir"))
    })
}
