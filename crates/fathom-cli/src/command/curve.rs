//! `fathom curve`: throughput and latency against the size of a call.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fathom::instrument::Instrument;
use fathom::intrusion;
use fathom::load::{Limits, Site};
use fathom::provenance::Provenance;
use fathom::report;
use fathom::run_folder::Kept;
use fathom::speed::curve::limits::{self, Plan};
use fathom::speed::curve::{self, Curve, Declared, Point, SCHEMA, Settings};
use fathom::speed::measurement::Measurement;

use crate::args::curve::CurveOptions;
use crate::args::format::Format;
use crate::args::measuring::MeasuringOptions;
use crate::command::survey::directory;
use crate::console::Rounds;
use crate::failure::{Failure, INCONCLUSIVE};
use crate::{console, guard, interrupt, keep, print};

const NEXT: &str =
    "Next: 'fathom versus' lets dd and fio do the same; 'fathom compare' tells this run from another.\n";

/// The part of the time that what lies past the limits may take: one in so many.
const PAST_LIMITS: u32 = 3;

pub(crate) fn run(options: &CurveOptions) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    options.check().map_err(Failure::Usage)?;
    let width = options.precision.width().map_err(Failure::Usage)?;
    let MeasuringOptions { format, max_write, max_time, seed } = options.measuring;
    let path = directory(&options.path)?;
    let place = options.keep.place(format == Format::Text);
    keep::check(place)?;
    let interrupt = interrupt::flag()?;
    guard::watch(started + max_time, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let mut result = preamble(options, &path, &instrument)?;
    result.effects = intrusion::restore_leftovers();
    let choice = options.choice();
    let past = options.intrusive.then(|| Plan::of(&choice, max_write));
    let grid = choice.grid(max_write.saturating_sub(past.map_or(0, |plan| plan.writes_bytes())));
    let deadline = started + max_time;
    // Rounds end at the deadline by themselves, so that no sample is cut short.
    let limits = Limits { max_write, deadline: None };
    let mut site = Site::at(&path, max_write, &instrument, limits, interrupt)?;
    if let Some(plan) = past {
        // First, so that what it needs is not written away by more rounds of other points.
        let past = limits::measure(&mut site, &path, &plan, seed, max_time / PAST_LIMITS)?;
        (result.past_memory, result.past_dirty) = (past.memory, past.dirty);
        result.effects.extend(past.effects);
        result.refused = past.refused;
    }
    let settings = Settings { certificate: &instrument.certificate, deadline, width, seed };
    let bar = Rounds::new(max_time);
    let run = curve::measure(&mut site, &grid.points, settings, &mut |progress| bar.at(progress))?;
    bar.finish();
    let declared = Declared::of(&path, &instrument.certificate);
    result.families = curve::families(&run.points, &declared, seed);
    result.read_ahead = curve::worth_of_read_ahead(&run.points);
    result.points = run.points;
    let is_complete = result.refused.is_empty()
        && run.refused.is_empty()
        && result.points.iter().all(|point| point.bytes_per_second.is_some())
        && (grid.refused.is_empty() || options.block_sizes.is_empty());
    result.refused.extend(grid.refused.into_iter().chain(run.refused));
    result.bytes_written = site.bytes_written();
    drop(site);
    result.duration_ns = started.elapsed().as_nanos() as u64;
    let measurements: Vec<Measurement> = result.points.iter().filter_map(Point::measurement).collect();
    let text = || report::curve(&result, console::colours(false));
    print::result(format, text, &result, &measurements, &result.provenance)?;
    keep::result(place, "curve", NEXT, || Kept::Curve(Box::new(result)))?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(INCONCLUSIVE) })
}

fn preamble(options: &CurveOptions, path: &Path, instrument: &Instrument) -> Result<Curve, Failure> {
    Ok(Curve {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::of(path, &instrument.certificate, options.measuring.seed)?,
        points: Vec::new(),
        families: Vec::new(),
        read_ahead: Vec::new(),
        past_memory: None,
        past_dirty: None,
        effects: Vec::new(),
        refused: Vec::new(),
        duration_ns: 0,
        bytes_written: 0,
    })
}
