//! Two simpler models of the same machine: what a better one must beat.

use crate::calibration;
use crate::model::{Curve, Model, Number, Scalar};
use crate::prediction::{class, device_byte, simulate};
use crate::trial::bytes_per_second;
use fathom_program::job::{Direction, Job};
use fathom_run::load::Outcome;

/// Paper E's model, as far as its parts are named: pages and no larger folios, a fixed cost of each page, a fixed
/// read-ahead and one queue with one server, whose bytes take as long as its limits ask for. In bytes per second.
///
/// # Errors
/// A job that has no sense.
pub(super) fn paper(job: &Job, model: &Model) -> Result<f64, String> {
    let simple = as_in_paper(model)?;
    let alone = std::slice::from_ref(job);
    let outcomes = simulate(alone, &simple.parameters, 1)?;
    let sum = outcomes.first().and_then(|threads| Outcome::together(threads));
    Ok(sum.map_or(0.0, |outcome| bytes_per_second(&outcome)))
}

/// Paper E's model of the same machine.
///
/// # Errors
/// None: there is a preset of that name.
pub(super) fn as_in_paper(model: &Model) -> Result<Model, String> {
    use Scalar::{AddedFolio, AddedPage, Caller, CallerWrittenByte, Folio, QueuedWake, Wake};
    let mut simple = model.clone();
    simple.set("preset=paper")?;
    let parameters = &mut simple.parameters;
    for zero in [Folio, AddedFolio, AddedPage, Wake, QueuedWake, Caller, CallerWrittenByte] {
        parameters.put_value(zero, 0.0);
    }
    // Copies cost what their bytes do.
    parameters.put_value(Number::Point(Curve::Near, 0), 0.0);
    parameters.put_value(Scalar::DeviceByte, device_byte(model, Direction::Read));
    parameters.put_value(Scalar::DeviceWriteByte, device_byte(model, Direction::Write));
    Ok(simple)
}

/// The rate of the job that the calibration ran and that is most like this one, as if one had looked it up: of its class where
/// there is one, of the nearest block size, depth, number of threads and writes between syncs. In bytes per second.
pub(super) fn nearest(job: &Job, model: &Model) -> Option<f64> {
    const OTHER_CLASS: f64 = 100.0;
    let block = |job: &Job| job.blocks[usize::from(!job.does(Direction::Read))].most as f64;
    let kind = |job: &Job| class(job, &model.parameters);
    let distance = |other: &Job| {
        let numbers =
            |job: &Job| [block(job), f64::from(job.depth.most), f64::from(job.numjobs), f64::from(job.fsync)];
        let apart = numbers(job).into_iter().zip(numbers(other));
        let apart: f64 = apart.map(|(a, b)| (a.max(1.0) / b.max(1.0)).ln().abs()).sum();
        apart + if kind(job) == kind(other) { 0.0 } else { OTHER_CLASS }
    };
    let ran = calibration::jobs()
        .into_iter()
        .filter_map(|job| Some((distance(&job), *model.checks.get(&job.name)?)));
    ran.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate)
}

/// A latency and a bandwidth: those of memory where the file is cached or written, those of the device where it is read
/// from there, synced, or more than may be dirty. In bytes per second.
///
/// # Errors
/// A job that has no sense.
pub(super) fn plain(job: &Job, model: &Model) -> Result<f64, String> {
    let parameters = &model.parameters;
    let bytes = job.blocks[usize::from(!job.does(Direction::Read))].most as f64;
    let memory = parameters[Scalar::Call] + bytes * parameters[Scalar::CopiedByte];
    let class = class(job, parameters);
    let time = if !job.does(Direction::Read) {
        let written = bytes * device_byte(model, Direction::Write);
        match job.fsync {
            0 if class.starts_with("throttled") => written,
            0 => memory,
            every => memory + written + parameters[Scalar::DeviceWriteLatency] / f64::from(every),
        }
    } else if class.starts_with("cached") {
        memory
    } else {
        parameters[Scalar::DeviceLatency] + bytes * device_byte(model, Direction::Read)
    };
    Ok(bytes / time * 1e9 * f64::from(job.numjobs))
}
