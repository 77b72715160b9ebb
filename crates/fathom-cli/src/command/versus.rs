//! `fathom versus`: the same reading or writing by Fathom, dd and fio.

use std::process::ExitCode;

use fathom::session::VersusSettings;
use fathom::speed::measurement::Measurement;
use fathom::speed::versus::Entry;

use super::{begin, print};
use crate::args::versus::VersusOptions;
use crate::console::Rounds;
use crate::failure::{self, Failure};
use crate::keep;

const NEXT: &str = "Next: 'fathom curve' measures calls of every size, and says where the curve bends.\n";

pub(crate) fn run(options: &VersusOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let settings = VersusSettings {
        block_bytes: options.block_sizes.clone(),
        works: options.works(),
        file_bytes: options.file_size,
        width: options.precision.width().map_err(Failure::Usage)?,
    };
    let (mut session, place) = begin(&options.path, &options.measuring, &options.keep)?;
    let bar = Rounds::new(options.measuring.max_time);
    let measured = session.versus(&settings, &mut |progress| bar.at(progress));
    drop(bar);
    let versus = measured?;
    let measurements: Vec<Measurement> = versus.entries.iter().filter_map(Entry::measurement).collect();
    print(options.measuring.format, &versus, &measurements, &versus.provenance)?;
    keep::result(place, "versus", NEXT, &versus)?;
    let is_complete = versus.entries.iter().all(|entry| entry.bytes_per_second_interval.is_some());
    Ok(failure::done(is_complete))
}
