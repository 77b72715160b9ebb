//! `fathom curve`: throughput and latency against the size of a call.

use std::process::ExitCode;

use fathom::session::CurveSettings;
use fathom::speed::curve::Point;
use fathom::speed::measurement::Measurement;

use super::{begin, print};
use crate::args::curve::CurveOptions;
use crate::console::Rounds;
use crate::failure::{self, Failure};
use crate::keep;

const NEXT: &str = "Next: 'fathom versus' compares the speed with dd and fio; 'fathom compare' says what differs from another run.\n";

pub(crate) fn run(options: &CurveOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let settings = CurveSettings {
        width: options.precision.width().map_err(Failure::Usage)?,
        intrusive: options.intrusive,
        may_leave_out: options.block_sizes.is_empty(),
    };
    let (mut session, place) = begin(&options.path, &options.measuring, &options.keep)?;
    let bar = Rounds::new(options.measuring.max_time);
    let measured = session.curve(&options.choice(), settings, &mut |progress| bar.at(progress));
    drop(bar);
    let (curve, is_complete) = measured?;
    let measurements: Vec<Measurement> = curve.points.iter().filter_map(Point::measurement).collect();
    print(options.measuring.format, &curve, &measurements, &curve.provenance)?;
    keep::result(place, "curve", NEXT, &curve)?;
    Ok(failure::done(is_complete))
}
