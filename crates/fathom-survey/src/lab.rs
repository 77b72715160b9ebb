//! The lab: file systems whose parameters are known because they were made so, to score the
//! instrument on the kernel at hand.
//!
//! Each case is a fresh image on a loop device, with a block size from mkfs and a read-ahead window
//! set by sysfs. The survey that is run in it is an ordinary one and knows nothing of the case; its
//! answers are compared with the truth afterwards. Images have no name and mounts are private to the
//! process, so that the kernel removes both whatever ends it.

mod build;
mod cases;
mod exercise;
mod fuse;
mod holes;
pub mod report;
mod results;
mod score;
mod served;
mod throttle;
mod unbuilt;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fathom_sys::{facts, mount};

pub use self::exercise::Examined;
pub use self::fuse::serve;
pub use self::results::{CaseReport, LabReport, OutcomeName, SCHEMA, Total};
pub use self::score::{ParameterScore, Score, score};
pub use crate::case::{Basis, Case, Conditions, Kernel, Layout, Truth};

use self::build::Testbed;
use self::fuse::Host;
use self::unbuilt::Unbuilt;
use crate::finding::Kind;
use crate::survey::{self, Answer, Plan};
use fathom_run::instrument::Instrument;
use fathom_run::intrusion;
use fathom_run::machine::Fault;
use fathom_run::machine::linux::{Limits, Linux};

/// Every case, in the order in which they are run.
pub fn cases() -> Vec<Case> {
    [cases::plain_cases(), served::served_cases()].concat()
}

/// A place to build file systems in: a mount name space of this process alone.
#[derive(Debug)]
pub struct Lab {
    base: PathBuf,
    images: PathBuf,
    host: Host,
}

/// How every case is surveyed.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// The calibrated clock.
    pub instrument: &'a Instrument,
    /// The questions to ask, and the kinds of evidence.
    pub plan: &'a Plan,
    /// What one case may use.
    pub limits: Limits,
    /// A flag that ends the survey once it is set.
    pub interrupt: Arc<AtomicBool>,
}

/// The findings with their samples, in the order of the plan, the score of each, and how long all took.
type Surveyed = (Vec<Answer>, Vec<ParameterScore>, Duration);

/// Directories that the private mounts may cover, in order of preference.
const COVERABLE: [&str; 4] = ["/mnt", "/media", "/srv", "/tmp"];
/// What an image takes besides the scratch files: journals, inode tables, checksums.
const METADATA_BYTES: u64 = 192 << 20;

/// Moves this process into a mount name space of its own and makes a place for mount points there.
///
/// Must be called while the process has one thread: threads that exist already would keep seeing the
/// old mounts. One of `/mnt`, `/media`, `/srv` and `/tmp` is covered for this process alone: the
/// first that holds none of `images`, `keep` and the working directory, which stay visible. `images`
/// is where the images of file systems are; it must allow O_TMPFILE, as `/dev/shm` does. Read-ahead
/// settings of loop devices that a killed run has left behind are put back.
///
/// # Errors
/// One sentence: not root, no CAP_SYS_ADMIN, more than one thread, or no directory to mount on.
pub fn enter(images: &Path, keep: &[&Path]) -> Result<Lab, String> {
    if facts::user_id() != 0 {
        return Err("the lab makes and mounts file systems, which needs root: run it with sudo".to_owned());
    }
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(format!("the lab must be entered before threads are started, and there are {threads}"));
    }
    let images = images.canonicalize().map_err(|error| {
        format!("no images can be kept in {}: {}", images.display(), fathom_run::fault::plain(&error))
    })?;
    let here = std::env::current_dir().ok();
    let visible: Vec<PathBuf> =
        keep.iter().copied().chain([images.as_path()]).chain(here.as_deref()).map(resolved).collect();
    let base = COVERABLE
        .iter()
        .map(Path::new)
        .find(|base| base.is_dir() && !visible.iter().any(|path| path.starts_with(base)))
        .ok_or_else(|| format!("there is nothing to mount on: none of {} is free", COVERABLE.join(", ")))?;
    mount::enter_private_namespace()
        .and_then(|()| mount::mount("fathom-lab", base, "tmpfs", "size=1m,mode=700"))
        .map_err(|error| match error.is_permission() {
            true => format!("the lab needs CAP_SYS_ADMIN, which this container's root lacks: {error}"),
            false => error.to_string(),
        })?;
    intrusion::restore_leftovers();
    Ok(Lab { base: base.to_owned(), images, host: Host::start()? })
}

impl Lab {
    /// Builds one case, surveys it, scores the answers and removes the file system. `progress` is called with the number of
    /// answered questions and the next question.
    ///
    /// `progress` is told how many questions have been answered and which one is next.
    pub fn run_case(
        &self,
        case: &Case,
        setup: &Setup<'_>,
        progress: &mut dyn FnMut(usize, &str),
    ) -> CaseReport {
        CaseReport::of(case, self.surveyed(case, setup, progress))
    }

    fn surveyed(
        &self,
        case: &Case,
        setup: &Setup<'_>,
        progress: &mut dyn FnMut(usize, &str),
    ) -> Result<Surveyed, Unbuilt> {
        let started = Instant::now();
        let max_write = setup.limits.max_write.max(case.write_bytes());
        let deadline = setup.limits.deadline.map(|deadline| deadline.max(started + case.time()));
        let limits = Limits { max_write, deadline };
        let asked = setup.plan.experiments.iter().filter(|one| one.is_asked_in(case));
        let max_time = setup.plan.max_time.max(case.time());
        let plan = Plan { experiments: asked.copied().collect(), max_time, ..setup.plan.clone() };
        let setup = &Setup { plan: &plan, limits, ..setup.clone() };
        let needed = max_write + METADATA_BYTES;
        if case.mkfs.is_some()
            && let Ok(space) = facts::space(&self.images)
            && space.free_bytes < needed
        {
            let (free, needed) =
                (fathom_program::units::Bytes(space.free_bytes), fathom_program::units::Bytes(needed));
            return Err(Unbuilt::Skipped(format!(
                "{} has {free} free and an image may take {needed}: keep images elsewhere",
                self.images.display()
            )));
        }
        let testbed = Testbed::build(case, &self.base, &self.images, &self.host)?;
        let before = names_in(testbed.point());
        let surveyed = survey_in(testbed.point(), case, setup, progress);
        let left: Vec<OsString> = names_in(testbed.point()).difference(&before).cloned().collect();
        drop(testbed);
        match surveyed {
            Err(fault) => Err(Unbuilt::Failed(fault.to_string())),
            Ok(_) if !left.is_empty() => {
                Err(Unbuilt::Failed(format!("the survey has left {} behind", left[0].display())))
            }
            Ok((answers, scores)) => Ok((answers, scores, started.elapsed())),
        }
    }
}

fn names_in(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

fn survey_in(
    point: &Path,
    case: &Case,
    setup: &Setup<'_>,
    progress: &mut dyn FnMut(usize, &str),
) -> Result<(Vec<Answer>, Vec<ParameterScore>), Fault> {
    let mut machine = Linux::at(point, setup.instrument, setup.limits, Arc::clone(&setup.interrupt))?;
    let answers = survey::ask(&mut machine, setup.plan, progress)?;
    let kernel = kernel();
    let truths: Vec<Truth> =
        setup.plan.experiments.iter().map(|experiment| experiment.truth(case, &kernel)).collect();
    let witnesses = witnesses(&mut machine, setup.plan, &answers, &truths)?;
    let scores = answers.iter().zip(truths).map(|(answer, truth)| {
        let seen = witnesses.iter().chain(&answers).find_map(|other| {
            let same = other.finding.parameter == answer.finding.parameter;
            same.then(|| other.finding.sole_answer(Kind::Witness)).flatten()
        });
        ParameterScore::of(&answer.finding, truth.judged_by(seen), answer.took)
    });
    let scores = scores.collect();
    Ok((answers, scores))
}

/// The kernel at hand.
fn kernel() -> Kernel {
    Kernel { name: facts::kernel(), page_size: facts::page_size(), generations: facts::keeps_generations() }
}

/// Where only a witness knows the truth and the plan asks none, it is asked after everything else,
/// so that the survey under test can't have seen it.
fn witnesses(
    machine: &mut Linux,
    plan: &Plan,
    answers: &[Answer],
    truths: &[Truth],
) -> Result<Vec<Answer>, Fault> {
    if plan.evidence.contains(&Kind::Witness) {
        return Ok(Vec::new());
    }
    let open: Vec<&str> = answers
        .iter()
        .zip(truths)
        .filter(|(_, truth)| **truth == Truth::Unknown)
        .map(|(answer, _)| answer.finding.parameter.as_str())
        .collect();
    let experiments = plan.experiments.iter().copied();
    let experiments = experiments.filter(|experiment| open.contains(&experiment.about().parameter));
    let plan = Plan { experiments: experiments.collect(), evidence: vec![Kind::Witness], ..plan.clone() };
    survey::ask(machine, &plan, &mut |_, _| {})
}

/// The path without links, or of one that does not exist yet, that of its nearest ancestor that does.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok()).unwrap_or(absolute)
}
