//! Parameters that need no fit: those that a survey finds, and those that the kernel declares.

use std::path::Path;
use std::time::Duration;

use fathom_sys::cgroup::{self, Held};
use fathom_sys::facts::{Device, Mount};
use fathom_sys::{affinity, dirty, facts};

use crate::model::{
    Device as DeviceKind, Journal, LIMITS, Limited, Model, Opening, Origin, PAGE, Parameter, Reclaim, Scalar,
    Syncs, Works,
};
use fathom_model::kernel::Kernel;
use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};
use fathom_run::fault::Fault;
use fathom_run::machine::Machine;
use fathom_stats::quantile;
use fathom_survey::experiment::{BlockSize, DeviceLatency, Effort, Experiment, ReadaheadWindow, WritePath};
use fathom_survey::finding::{Finding, Kind, Status, Value};
use fathom_survey::survey::{self, Plan};

/// Parameters by the questions of a survey that find them.
const SURVEYED: [(Scalar, &dyn Experiment); 2] =
    [(Scalar::Block, &BlockSize), (Scalar::Readahead, &ReadaheadWindow)];
/// The same, with those that a calibration finds by runs of its own.
const FOUND: [(Scalar, &dyn Experiment); 3] =
    [SURVEYED[0], SURVEYED[1], (Scalar::DeviceLatency, &DeviceLatency)];
/// How long the survey may take: on a server's mount the block may need all of it, and then the declared one is taken.
const SURVEY: Duration = Duration::from_secs(20);

/// Finds the block and the read-ahead window by their experiments, and asks the kernel for what only the kernel knows.
///
/// # Errors
/// As [`survey::ask`].
pub fn found_by_other_means(
    model: &mut Model,
    machine: &mut dyn Machine,
    path: &Path,
    seed: u64,
) -> Result<Vec<Finding>, Fault> {
    let mount = facts::mount_of(path)?;
    let device = facts::device_of(&mount);
    // Only a server can have a write wait.
    let if_remote: &[&dyn Experiment] = if device.is_none() { &[&WritePath] } else { &[] };
    let plan = Plan {
        experiments: [&SURVEYED.map(|(_, experiment)| experiment), if_remote].concat(),
        evidence: vec![Kind::Timing, Kind::Witness, Kind::Declared],
        effort: Effort::Quick,
        seed,
        max_time: SURVEY,
        intrusive: false,
    };
    let answers = survey::ask(machine, &plan, &mut |_, _| ())?;
    let findings: Vec<Finding> = answers.into_iter().map(|answer| answer.finding).collect();
    for (scalar, experiment) in SURVEYED {
        let finding = findings.iter().find(|finding| finding.parameter == experiment.about().parameter);
        if let Some(parameter) = finding.and_then(of_finding) {
            model.parameters.put(scalar, parameter);
        }
    }
    declare(model, Scalar::Cpus, Some(affinity::allowed_cpus().len() as u64));
    model.parameters.choices.kernel = Kernel::of_release(&facts::kernel());
    model.parameters.choices.reclaim =
        if facts::keeps_generations() { Reclaim::Generations } else { Reclaim::TwoLists };
    match device {
        None => of_server(model, machine, &findings)?,
        Some(device) => {
            declare(model, Scalar::LargestIo, device.largest_request_bytes);
            if device.name.starts_with("loop") {
                model.parameters.choices.works = Works::OnCpu;
            }
            model.parameters.choices.journal = journal(&mount, &device);
            if mount.options.split(',').any(|option| option == "sync") {
                model.parameters.choices.syncs = Syncs::Always;
            }
            limits(model, &device);
        }
    }
    for (scalar, setting) in [
        (Scalar::DirtyBytes, "dirty_bytes"),
        (Scalar::DirtyBackgroundBytes, "dirty_background_bytes"),
        (Scalar::DirtyRatio, "dirty_ratio"),
        (Scalar::DirtyBackgroundRatio, "dirty_background_ratio"),
    ] {
        declare(model, scalar, dirty::setting(setting));
    }
    let witness = machine.witness().map(|it| it.declared().clone());
    if let Some([_, limit]) = witness.as_ref().and_then(|it| it.dirty_thresholds) {
        let ratio = model.parameters[Scalar::DirtyRatio];
        declare(model, Scalar::Dirtyable, (ratio > 0.0).then_some((limit as f64 / ratio * 100.0) as u64));
    }
    if let Some(times) = witness.as_ref().and_then(|it| it.flusher) {
        let [expire, period] = times.map(|time| Some(time.as_nanos() as u64));
        declare(model, Scalar::DirtyExpire, expire);
        declare(model, Scalar::DirtyWriteback, period);
    }
    let caches = witness.map(|it| it.cpu_caches).unwrap_or_default();
    let size = |cache: Option<&(u32, u64)>| cache.map(|&(_, bytes)| bytes);
    declare(model, Scalar::FirstCache, size(caches.first()));
    // The largest cache that a CPU has for itself: the one before the last, which all share.
    declare(model, Scalar::NearCache, size(caches.iter().rev().nth(1)));
    // No job tells what a new block costs from what its page does; nor a commit from the flush that it waits for, where it writes a log.
    super::assume(model, Scalar::NewBlock, 0.0);
    super::assume(model, Scalar::JournalCommit, 0.0);
    // No call tells which folios a file system makes: those that are known to make large ones, ext4's driver since 6.16.
    let large = match mount.fs_type.as_str() {
        "xfs" | "erofs" => true,
        "ext2" | "ext3" | "ext4" => model.parameters.choices.kernel >= Kernel::V6_18,
        _ => false,
    };
    super::assume(model, Scalar::LargestFolio, if large { 2_097_152.0 } else { 4_096.0 });
    Ok(findings)
}

/// What a server has to do with the page cache: whether writes wait for it, whether there are cached pages, and whether they stay
/// when their file is opened again.
fn of_server(model: &mut Model, machine: &mut dyn Machine, findings: &[Finding]) -> Result<(), Fault> {
    const FILE: &str = "opened";
    const SIZE: u64 = 1 << 18;
    let written = findings.iter().find(|finding| finding.parameter == WritePath.about().parameter);
    let written = written.and_then(|finding| finding.value.as_ref());
    let Some(witness) = machine.witness() else { return Ok(()) };
    let file = ScratchFile::filled(FILE, SIZE);
    let open = Workload::new(vec![file.clone()]).pass(Pass::untimed(0, &[CallKind::Open]));
    witness.provide(&file)?;
    witness.perform(&open, 0)?;
    witness.read(FILE, 0..SIZE)?;
    let before = witness.cached(FILE, Duration::ZERO)?;
    // Where no call stands out, a page that is not dirty once it was written tells it, if the file's pages are seen.
    let is_through = match written {
        Some(word) => *word == WritePath::through(),
        None => {
            witness.write(FILE, 0..PAGE)?;
            before > Some(0) && witness.is_dirty(FILE)? == Some(false)
        }
    };
    if is_through {
        // How much goes in one request is fitted.
        super::put_measured(model, Scalar::WriteThrough, PAGE as f64);
    }
    witness.perform(&open, 0)?;
    let after = witness.cached(FILE, Duration::ZERO)?;
    witness.remove(FILE);
    match before.zip(after) {
        Some((before, after)) if after < before / 2 => model.parameters.choices.opening = Opening::Drops,
        None if bypasses_cache(machine)? => model.parameters.choices.opening = Opening::Bypasses,
        _ => {}
    }
    Ok(())
}

/// Whether what was just read is read again as slowly as with O_DIRECT.
fn bypasses_cache(machine: &mut dyn Machine) -> Result<bool, Fault> {
    // The same request takes up to five times as long where the server sleeps on another CPU, and a copy from the cache is tens of times as
    // fast as any.
    const FASTER: f64 = 8.0;
    const LABELS: [&str; 2] = ["again", "direct"];
    let pages = Region { offset: 0, size: PAGE, step: PAGE, count: 64 };
    let read = |label| Pass::timed(0, &[CallKind::Pread], pages).label(label);
    let workload = Workload::new(vec![ScratchFile::filled("again", 64 * PAGE)])
        .pass(Pass::priming(0, &[CallKind::Pread], pages))
        .pass(read(LABELS[0]))
        .pass(Pass::untimed(0, &[CallKind::OpenDirect]))
        .pass(read(LABELS[1]))
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .rounds(8);
    match machine.run(&workload) {
        Ok(samples) => {
            let [again, direct] = LABELS.map(|label| quantile::median(&samples.latencies(label, 0)));
            Ok(again.zip(direct).is_some_and(|(again, direct)| again * FASTER > direct))
        }
        // O_DIRECT was refused.
        Err(Fault::System(_) | Fault::Short { .. }) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Puts what the kernel declares, if it does.
fn declare(model: &mut Model, scalar: Scalar, declared: Option<u64>) {
    if let Some(value) = declared {
        let parameter = Parameter { value: value as f64, interval: None, origin: Origin::Declared };
        model.parameters.put(scalar, parameter);
    }
}

/// Which of the model's journals a mount has. Source: `ext4(5)`, `data=`.
fn journal(mount: &Mount, device: &Device) -> Journal {
    if !facts::has_journal(&device.name) {
        return Journal::Price;
    }
    match facts::option_value(&mount.options, "data") {
        Some("journal") => Journal::Data,
        Some("writeback") => Journal::Writeback,
        _ => Journal::Ordered,
    }
}

/// A model with the values that a survey found, and the findings that no parameter stands for.
pub fn as_surveyed<'a>(model: &Model, findings: &'a [Finding]) -> (Model, Vec<&'a Finding>) {
    let (mut model, mut others) = (model.clone(), Vec::new());
    for finding in findings {
        let row = FOUND.iter().find(|(_, experiment)| experiment.about().parameter == finding.parameter);
        match row.zip(of_finding(finding)) {
            Some(((scalar, _), parameter)) => model.parameters.put(*scalar, parameter),
            None => others.push(finding),
        }
    }
    (model, others)
}

/// Declares the limits of a device that a control group holds to a rate.
fn limits(model: &mut Model, device: &Device) {
    // Not those of the mount: btrfs has numbers of its own.
    let limits = facts::device_numbers(&device.name).map(cgroup::device_limits).unwrap_or_default();
    if !limits.is_limited() {
        return;
    }
    model.parameters.choices.device = DeviceKind::TokenBucket;
    model.parameters.choices.limited = match limits.hold {
        Held::All => Limited::All,
        Held::Files => Limited::Files,
        Held::Callers => Limited::Callers,
    };
    // The kernel's slice: DFL_THROTL_SLICE, a tenth of a second.
    declare(model, Scalar::LimitSlice, Some(100_000_000));
    let values = limits.bytes.into_iter().chain(limits.requests);
    for (scalar, value) in LIMITS.into_iter().zip(values) {
        declare(model, scalar, Some(value.unwrap_or_default()));
    }
}

/// A finding as a parameter: measured where timing or a witness says so, or what the kernel declares.
fn of_finding(finding: &Finding) -> Option<Parameter> {
    let value =
        finding.value.as_ref().and_then(Value::as_number).filter(|_| finding.status == Status::Measured);
    let seen =
        finding.evidence.iter().any(|one| one.kind != Kind::Declared && one.status == Status::Measured);
    match value {
        Some(value) if seen => Some(Parameter { value, interval: None, origin: Origin::Measured }),
        Some(value) => Some(Parameter { value, interval: None, origin: Origin::Declared }),
        None => {
            let said = finding.evidence.iter().find(|one| one.kind == Kind::Declared)?;
            let value = said.value.as_ref().and_then(Value::as_number)?;
            Some(Parameter { value, interval: None, origin: Origin::Declared })
        }
    }
}
