//! `fathom versus`: the same reading or writing by Fathom, dd and fio, or the same jobs by Fathom and fio.

use std::path::Path;
use std::process::ExitCode;

use fathom::session::{VersusSettings, Work};
use fathom::speed::measurement::Measurement;
use fathom::speed::versus::Entry;
use fathom::speed::versus::jobs::Contest;

use super::{in_rounds, publish};
use crate::args::run::Jobs;
use crate::args::versus::VersusOptions;
use crate::failure::{self, Failure};

const NEXT: &str = "Next: 'fathom curve' measures calls of every size, and says where the curve bends.\n";

const AFTER_JOBS: &str = "Next: 'fathom run' runs the jobs, and shows all their latencies.\n";

pub(crate) fn run(options: &VersusOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let width = options.precision.width().map_err(Failure::Usage)?;
    if let Some(file) = &options.jobs {
        return jobs(options, file, width);
    }
    let settings = VersusSettings {
        block_bytes: options.block_sizes.clone(),
        works: options.works(),
        file_bytes: options.file_size,
        width,
    };
    let versus = in_rounds(&options.measuring, |session, progress| session.versus(&settings, progress))?;
    let measurements: Vec<Measurement> = versus.entries.iter().filter_map(Entry::measurement).collect();
    publish(&options.measuring, ("versus", NEXT), &versus, &measurements, &versus.provenance)?;
    let is_complete = versus.entries.iter().all(|entry| entry.bytes_per_second_interval.is_some());
    Ok(failure::done(is_complete))
}

fn jobs(options: &VersusOptions, path: &Path, width: f64) -> Result<ExitCode, Failure> {
    let (Work::Jobs(file), _) = super::run::read(&Jobs::File(path), None)? else {
        return Err(Failure::Usage(format!("--jobs: {} is a trace; give a job file of fio", path.display())));
    };
    let versus =
        in_rounds(&options.measuring, |session, progress| session.versus_jobs(&file, width, progress))?;
    let measurements: Vec<Measurement> = versus.jobs.iter().flat_map(Contest::measurements).collect();
    publish(&options.measuring, ("versus", AFTER_JOBS), &versus, &measurements, &versus.provenance)?;
    let is_complete = versus.refused.is_empty() && versus.jobs.iter().all(|job| job.rate_over_fios.is_some());
    Ok(failure::done(is_complete))
}
