//! Mounts drawn at random, each served with numbers that are known: no answer is wrong, and nothing is left behind.
//!
//! `FATHOM_PLANTED=200` asks for so many instead of a few; `FATHOM_PLANTED=40+7` for the seeds from 40 on, seven of
//! them. The harness is our own, because the lab must be entered while the process has one thread. What is timed must
//! not run alongside anything else.
#![allow(clippy::print_stdout, reason = "a harness talks to the one who runs it")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fathom_fuse::{Layout, Stripes, Writes};
use fathom_run::instrument::Instrument;
use fathom_run::machine::linux::Limits;
use fathom_scripted::support::{is_everything_required, require};
use fathom_survey::case::{Case, Served};
use fathom_survey::experiment::{Effort, REGISTRY};
use fathom_survey::finding::{Evidence, Kind, Status};
use fathom_survey::lab::{self, CaseReport, LabReport, OutcomeName, Score, Setup};
use fathom_survey::survey::Plan;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const NAME: &str = "no_answer_about_a_drawn_mount_is_wrong";
/// Without a wish: enough to notice what is broken; more where everything is required. Each takes 17 to 41 s.
const FEW: [u64; 2] = [1, 3];
/// A kernel reads no more at once than this and than one request may write: its own read-ahead before the first request.
const USUAL_READ_KIB: u64 = 128;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        println!("{NAME}: test");
        return ExitCode::SUCCESS;
    }
    check_draws();
    let lab = match lab::enter(Path::new("/dev/shm"), &[]) {
        Ok(lab) => lab,
        Err(reason) => {
            require(NAME, false, &reason);
            return ExitCode::SUCCESS;
        }
    };
    let instrument = Instrument::calibrate().unwrap();
    let wish = std::env::var("FATHOM_PLANTED")
        .unwrap_or_else(|_| FEW[usize::from(is_everything_required())].to_string());
    let (from, count) = wish.split_once('+').unwrap_or(("0", &wish));
    let (from, count): (u64, u64) = (from.parse().unwrap(), count.parse().unwrap());
    let plan = Plan {
        experiments: REGISTRY.to_vec(),
        evidence: vec![Kind::Timing, Kind::Witness, Kind::Declared],
        effort: Effort::Full,
        seed: 1,
        max_time: Duration::from_secs(60),
        intrusive: false,
    };
    let survey = |seed| {
        let limits =
            Limits { max_write: 256 << 20, deadline: Some(Instant::now() + Duration::from_secs(60)) };
        let interrupt = Arc::new(AtomicBool::new(false));
        let setup = Setup { instrument: &instrument, plan: &plan, limits, interrupt };
        let case = drawn(seed);
        let report = lab.run_case(&case, &setup, &mut |_, _| {});
        tell(&case.mount_options, &report);
        report
    };
    let cases: Vec<CaseReport> = (from..from + count).map(survey).collect();
    for case in &cases {
        let reason = case.reason.as_deref().unwrap_or_default();
        match case.outcome {
            OutcomeName::Surveyed => {}
            OutcomeName::Skipped | OutcomeName::Unsupported => drop(require(NAME, false, reason)),
            OutcomeName::Failed => panic!("{}: {reason}", case.name),
        }
    }
    let report = LabReport::new(String::new(), "this kernel".to_owned(), &plan.evidence, cases);
    println!("{}", lab::report::table(&report));
    let all = || report.cases.iter().flat_map(|case| &case.parameters);
    let timed = all().filter_map(|scored| scored.timing.as_ref()).map(|timed| &timed.score);
    let (answers, timed): (Vec<_>, Vec<_>) =
        (all().map(|scored| &scored.finding.score).collect(), timed.collect());
    let of = |scores: &[&Score], wanted: &Score| scores.iter().filter(|score| **score == wanted).count();
    for (what, scores) in [("answers", &answers), ("by timing alone", &timed)] {
        let [right, wrong, silent] =
            [Score::Right, Score::Wrong, Score::Silent].map(|score| of(scores, &score));
        println!("{what}: {right} right, {wrong} wrong, {silent} silent of {}", scores.len());
        assert_eq!(wrong, 0, "{what}");
    }
    println!("test {NAME} ... ok");
    ExitCode::SUCCESS
}

/// One whose every number is drawn at random.
fn drawn(seed: u64) -> Case {
    let dice = &mut Pcg64Mcg::seed_from_u64(seed);
    let believed = [0; 3].map(|_| match dice.random_range(0..4) {
        0 => 0,
        _ => between(dice, 100.0, 1900.0),
    });
    let round_trip = if dice.random_range(0..10) == 0 { 0 } else { between(dice, 50.0, 5000.0) };
    let pages = |dice: &mut Pcg64Mcg, most: u64| match dice.random_range(0..3) {
        0 => dice.random_range(1..=most),
        _ => 1 << dice.random_range(0..=most.ilog2()),
    };
    let write = 4 * pages(dice, 256);
    let read = 4 * pages(dice, write.max(USUAL_READ_KIB) / 4);
    let writes = [Writes::Through, Writes::Cached, Writes::Late][dice.random_range(0..3)];
    let requests = [0; 2].map(|_| dice.random_range(2..=24));
    let layout = [None, Some(Layout::Ceph), Some(Layout::Lustre)][dice.random_range(0..3)];
    let bytes = 65536 * pages(dice, 256) as u32;
    let count = pages(dice, 64) as u16;
    let stripes = layout.map(|layout| Stripes { bytes, count, layout });
    let [cold, ahead] = elsewhere(seed);
    let served = Served::planted(believed, round_trip, [read, write], requests, writes, stripes)
        .reading_ahead(cold, ahead);
    served.case(format!("fuse-drawn{seed}"))
}

/// Microseconds that a read takes longer of what is not in the server's memory, and KiB that it reads ahead: half of the
/// servers have everything in memory, and a fourth of the others reads nothing ahead. Drawn apart, so that all else of a
/// seed stays what it was.
fn elsewhere(seed: u64) -> [u64; 2] {
    let dice = &mut Pcg64Mcg::seed_from_u64(!seed);
    let cold = between(dice, 200.0, 5000.0);
    let ahead = if dice.random_range(0..4) == 0 { 0 } else { 4 * between(dice, 1.0, 700.0) };
    if dice.random_range(0..2) == 0 { [cold, ahead] } else { [0, 0] }
}

/// A whole number, each factor as likely as any other.
fn between(dice: &mut Pcg64Mcg, low: f64, high: f64) -> u64 {
    (low * (high / low).powf(dice.random::<f64>())) as u64
}

/// What is drawn can be planted.
fn check_draws() {
    for seed in 0..200 {
        let case = drawn(seed);
        let plan: fathom_fuse::Plan = case.mount_options.parse().unwrap();
        let served = case.conditions.served.unwrap();
        assert_eq!((plan.round_trip, plan.writes), (served.round_trip, served.writes));
        assert_eq!(plan.stripes, served.stripes);
        assert!((2..=24).contains(&plan.threads) && served.read_request >= 4096);
        assert!(served.attributes < Duration::from_secs(2));
        assert_eq!((plan.cold, plan.ahead), (served.cold, served.ahead));
        assert_eq!(case, drawn(seed));
    }
}

/// What was planted, and each answer that is wrong or missing.
fn tell(planted: &str, report: &CaseReport) {
    println!("{} in {:.1} s: {planted}", report.name, report.duration_ns as f64 / 1e9);
    for (scored, finding) in report.parameters.iter().zip(&report.findings) {
        let timing = scored.timing.as_ref();
        let is_wrong =
            scored.finding.score == Score::Wrong || timing.is_some_and(|timed| timed.score == Score::Wrong);
        if is_wrong {
            println!("  WRONG {}: {:?} {:?}", scored.parameter, scored.truth, finding.evidence);
        } else if scored.finding.score == Score::Silent
            || timing.is_some_and(|timed| timed.score == Score::Silent)
        {
            let of = |piece: &Evidence| format!("{}: {}", piece.kind, piece.caveats.join("; "));
            let silent = finding.evidence.iter().filter(|piece| piece.status == Status::Inconclusive);
            let caveats = silent.map(of).collect::<Vec<_>>().join("; ");
            let seconds = scored.duration_ns as f64 / 1e9;
            println!("  silent {} ({:?}, {seconds:.1} s): {caveats}", scored.parameter, scored.finding.score);
        }
    }
}
