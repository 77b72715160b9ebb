//! `fathom curve`: throughput and latency against the size of a call.

use std::process::ExitCode;

use fathom::session::CurveSettings;
use fathom::speed::curve::Point;
use fathom::speed::measurement::Measurement;

use super::{in_rounds, publish};
use crate::args::curve::CurveOptions;
use crate::failure::{self, Failure};

const NEXT: &str = "Next: 'fathom versus' compares the speed with dd and fio; 'fathom compare' says what differs from another run.\n";

pub(crate) fn run(options: &CurveOptions) -> Result<ExitCode, Failure> {
    options.check().map_err(Failure::Usage)?;
    let settings = CurveSettings {
        width: options.precision.width().map_err(Failure::Usage)?,
        intrusive: options.intrusive,
        may_leave_out: options.block_sizes.is_empty(),
    };
    let (curve, is_complete) = in_rounds(&options.measuring, |session, progress| {
        session.curve(&options.choice(), settings, progress)
    })?;
    let measurements: Vec<Measurement> = curve.points.iter().filter_map(Point::measurement).collect();
    publish(&options.measuring, ("curve", NEXT), &curve, &measurements, &curve.provenance)?;
    Ok(failure::done(is_complete))
}
