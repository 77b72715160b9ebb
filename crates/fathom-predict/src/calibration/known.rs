//! Parameters that need no fit: those that a survey finds, and those that the kernel declares.

use std::path::Path;
use std::time::Duration;

use fathom_sys::facts::{Device, Mount};
use fathom_sys::{cgroup, dirty, facts};

use crate::model::{Model, Origin, Parameter};
use fathom_run::fault::Fault;
use fathom_run::machine::Machine;
use fathom_survey::experiment::{BlockSize, Effort, Experiment, ReadaheadWindow};
use fathom_survey::finding::{Finding, Kind, Status, Value};
use fathom_survey::survey::{self, Plan};

/// Parameters by the questions of a survey that find them.
const SURVEYED: [(&str, &dyn Experiment); 2] = [("block", &BlockSize), ("readahead", &ReadaheadWindow)];
/// The device that is held to rates, among [`DEVICES`](fathom_model::parameters::DEVICES).
const TOKEN_BUCKET: u64 = 2;
/// How long the survey may take.
const SURVEY: Duration = Duration::from_secs(45);

/// Finds the block and the read-ahead window by their experiments, and takes what only the kernel can say from it.
///
/// # Errors
/// As [`survey::ask`].
pub fn found_by_other_means(
    model: &mut Model,
    machine: &mut dyn Machine,
    path: &Path,
    seed: u64,
) -> Result<Vec<Finding>, Fault> {
    let plan = Plan {
        experiments: SURVEYED.map(|(_, experiment)| experiment).to_vec(),
        evidence: vec![Kind::Timing, Kind::Witness, Kind::Declared],
        effort: Effort::Quick,
        seed,
        max_time: SURVEY,
        intrusive: false,
    };
    let answers = survey::ask(machine, &plan, &mut |_, _| ())?;
    let findings: Vec<Finding> = answers.into_iter().map(|answer| answer.finding).collect();
    for (name, experiment) in SURVEYED {
        let finding = findings.iter().find(|finding| finding.parameter == experiment.about().parameter);
        if let Some(parameter) = finding.and_then(of_finding) {
            super::put(model, name, parameter);
        }
    }
    let declared = |value: u64| Parameter { value: value as f64, interval: None, origin: Origin::Declared };
    let mount = facts::mount_of(path)?;
    if let Some(device) = facts::device_of(&mount) {
        if let Some(bytes) = device.largest_request_bytes {
            super::put(model, "largest_io", declared(bytes));
        }
        super::put(model, "journal", declared(journal(&mount, &device)));
        for (name, value) in limits(&device) {
            super::put(model, name, declared(value));
        }
    }
    for name in ["dirty_bytes", "dirty_background_bytes", "dirty_ratio", "dirty_background_ratio"] {
        if let Some(value) = dirty::setting(name) {
            super::put(model, name, declared(value));
        }
    }
    let witness = machine.witness().map(|it| it.declared().clone());
    if let Some([_, limit]) = witness.as_ref().and_then(|it| it.dirty_thresholds) {
        let ratio = model.parameters.value("dirty_ratio");
        if ratio > 0.0 {
            super::put(model, "dirtyable", declared((limit as f64 / ratio * 100.0) as u64));
        }
    }
    if let Some([expire, period]) = witness.as_ref().and_then(|it| it.flusher) {
        super::put(model, "dirty_expire", declared(expire.as_nanos() as u64));
        super::put(model, "dirty_writeback", declared(period.as_nanos() as u64));
    }
    let caches = witness.map(|it| it.cpu_caches).unwrap_or_default();
    // The largest cache that a CPU has for itself: the one before the last, which all share.
    let own = [("first_cache", caches.first()), ("near_cache", caches.iter().rev().nth(1))];
    for (name, (_, bytes)) in own.into_iter().filter_map(|(name, cache)| Some((name, cache?))) {
        super::put(model, name, declared(*bytes));
    }
    // No job tells what a new block costs from what its page does, nor a commit from the flush that it waits for.
    super::price(model, "new_block", 0.0);
    super::price(model, "journal_commit", 0.0);
    // No call tells which folios a file system makes: those that are known to make large ones.
    let large = ["ext2", "ext3", "ext4", "xfs", "erofs"].contains(&mount.fs_type.as_str());
    let largest = if large { 2 << 20 } else { 4096 };
    super::put(
        model,
        "largest_folio",
        Parameter { value: f64::from(largest), interval: None, origin: Origin::Assumed },
    );
    Ok(findings)
}

/// Which of the model's journals a mount has. Source: `ext4(5)`, `data=`.
fn journal(mount: &Mount, device: &Device) -> u64 {
    if !facts::has_journal(&device.name) {
        return 0;
    }
    match facts::option_value(&mount.options, "data") {
        Some("journal") => 3,
        Some("writeback") => 2,
        _ => 1,
    }
}

/// The parameters of a device that a control group holds to a rate; nothing where none does.
fn limits(device: &Device) -> Vec<(&'static str, u64)> {
    // Not those of the mount: btrfs has numbers of its own.
    let limits = facts::device_numbers(&device.name).map(cgroup::device_limits).unwrap_or_default();
    if !limits.is_limited() {
        return Vec::new();
    }
    let rates = ["limit_read_rate", "limit_write_rate", "limit_read_iops", "limit_write_iops"];
    let values = limits.bytes.into_iter().chain(limits.requests).map(Option::unwrap_or_default);
    // The kernel's slice: DFL_THROTL_SLICE, a tenth of a second.
    let parts = [("device", TOKEN_BUCKET), ("limit_slice", 100_000_000)];
    parts.into_iter().chain(rates.into_iter().zip(values)).collect()
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
