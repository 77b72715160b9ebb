//! `fathom versus`: the same reading or writing by Fathom, dd and fio.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fathom::instrument::Instrument;
use fathom::load::{Limits, Site};
use fathom::provenance::Provenance;
use fathom::report;
use fathom::run_folder::Kept;
use fathom::speed::curve::Refusal;
use fathom::speed::measurement::Measurement;
use fathom::speed::versus::{self, Entry, SCHEMA, Settings, Versus};

use crate::args::format::Format;
use crate::args::measuring::MeasuringOptions;
use crate::args::versus::VersusOptions;
use crate::command::survey::directory;
use crate::console::Rounds;
use crate::failure::{Failure, INCONCLUSIVE};
use crate::{console, guard, interrupt, keep, print};

const NEXT: &str = "Next: 'fathom curve' measures every size of a call, and says where the curve bends.\n";

pub(crate) fn run(options: &VersusOptions) -> Result<ExitCode, Failure> {
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
    let (tasks, missing) = versus::programs(&options.block_sizes, &options.works());
    let (tasks, refused) = versus::affordable(tasks, options.file_size, max_write);
    let limits = Limits { max_write, deadline: None };
    let mut site = Site::at(&path, options.file_size, &instrument, limits, interrupt)?;
    let settings = Settings { file_bytes: options.file_size, deadline: started + max_time, width, seed };
    let bar = Rounds::new(max_time);
    let entries = versus::measure(&mut site, &tasks, settings, &mut |progress| bar.at(progress))?;
    bar.finish();
    let absent = |name: &&str| Refusal { what: (*name).to_owned(), reason: "it is not installed".to_owned() };
    result.refused = missing.iter().map(absent).chain(refused).collect();
    for (entry, reason) in entries {
        let what = entry.command.clone();
        // A budget that ends after some rounds leaves what they gave, with the interval that it has.
        let reason = reason.filter(|_| entry.samples.is_empty());
        result.refused.extend(reason.map(|reason| Refusal { what, reason }));
        result.entries.push(entry);
    }
    result.bytes_written = site.bytes_written();
    drop(site);
    result.duration_ns = started.elapsed().as_nanos() as u64;
    let measurements: Vec<Measurement> = result.entries.iter().filter_map(Entry::measurement).collect();
    let text = || report::versus(&result, console::colours(false));
    print::result(format, text, &result, &measurements, &result.provenance)?;
    let is_complete = result.entries.iter().all(|entry| entry.bytes_per_second_interval.is_some());
    keep::result(place, "versus", NEXT, || Kept::Versus(Box::new(result)))?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(INCONCLUSIVE) })
}

fn preamble(options: &VersusOptions, path: &Path, instrument: &Instrument) -> Result<Versus, Failure> {
    Ok(Versus {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::of(path, &instrument.certificate, options.measuring.seed)?,
        file_bytes: options.file_size,
        entries: Vec::new(),
        refused: Vec::new(),
        duration_ns: 0,
        bytes_written: 0,
    })
}
