//! The lab on the real kernel: no answer is wrong, and a killed run leaves nothing behind.
//!
//! The harness is our own, because the lab must be entered while the process has one thread, and
//! because what is timed must not run alongside anything else. Where a case can't be built, a line
//! "skipped: NAME: reason" says so; with `FATHOM_REQUIRE=all` in the environment it fails instead.
#![allow(clippy::print_stdout, reason = "a harness talks to the one who runs it")]

mod published;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fathom::experiment::{Effort, REGISTRY};
use fathom::finding::Kind;
use fathom::instrument::Instrument;
use fathom::lab::{self, Case, CaseReport, Lab, LabReport, OutcomeName, Score, Setup};
use fathom::machine::linux::Limits;
use fathom::survey::Plan;
use fathom_scripted::support::require;

/// Asks a child of this binary to survey one case below the given directory of images.
const CHILD: &str = "FATHOM_LAB_TEST_IMAGES";
const REPRESENTATIVE: [&str; 5] =
    ["ext2-1k-ra128", "ext4-4k-ra128", "xfs-64k-ra1024", "btrfs-4k-ra128", "tmpfs"];
/// Its window is not the usual one, so that a setting that stays behind would show.
const KILLED: &str = "ext4-4k-ra512";
const TESTS: [(&str, fn()); 2] = [
    ("a_killed_run_leaves_nothing", a_killed_run_leaves_nothing),
    ("no_answer_is_wrong", no_answer_is_wrong),
];

fn main() -> ExitCode {
    if let Some(images) = std::env::var_os(CHILD) {
        survey_until_killed(Path::new(&images));
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    for (name, test) in TESTS {
        if filter.is_none_or(|filter| name.contains(filter.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
    ExitCode::SUCCESS
}

/// Says that something was not tried; fails where everything is required.
fn skip(name: &str, reason: &str) {
    require(name, false, reason);
}

fn case(name: &str) -> Case {
    lab::cases().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

fn plan() -> Plan {
    Plan {
        experiments: REGISTRY.to_vec(),
        evidence: vec![Kind::Timing, Kind::Witness, Kind::Declared],
        effort: Effort::Quick,
        seed: 1,
        max_time: Duration::from_secs(60),
        intrusive: true,
    }
}

fn survey(lab: &Lab, name: &str, progress: &mut dyn FnMut(usize, &str)) -> CaseReport {
    let instrument = Instrument::calibrate().unwrap();
    let setup = Setup {
        instrument: &instrument,
        plan: &plan(),
        limits: Limits { max_write: 256 << 20, deadline: None },
        interrupt: Arc::new(AtomicBool::new(false)),
    };
    lab.run_case(&case(name), &setup, progress)
}

fn no_answer_is_wrong() {
    let lab = match lab::enter(Path::new("/dev/shm"), &[]) {
        Ok(lab) => lab,
        Err(reason) => return skip("no_answer_is_wrong", &reason),
    };
    let cases: Vec<CaseReport> =
        REPRESENTATIVE.iter().map(|name| survey(&lab, name, &mut |_, _| {})).collect();
    for case in &cases {
        let reason = case.reason.as_deref().unwrap_or_default();
        match case.outcome {
            OutcomeName::Surveyed => {}
            OutcomeName::Unsupported => println!("unsupported by this kernel: {}: {reason}", case.name),
            OutcomeName::Skipped => skip(&case.name, reason),
            OutcomeName::Failed => panic!("{}: {reason}", case.name),
        }
    }
    let report = LabReport::new(String::new(), "this kernel".to_owned(), &plan().evidence, cases);
    published::check("lab", &serde_json::to_value(&report).unwrap());
    let table = lab::report::table(&report);
    println!("{table}");
    let scores = || report.cases.iter().flat_map(|case| &case.parameters).map(|scored| &scored.finding.score);
    assert!(!scores().any(|score| *score == Score::Wrong), "a wrong answer\n{table}");
    let (answered, all) = (scores().filter(|score| **score == Score::Right).count(), scores().count());
    assert!(answered * 2 >= all, "{answered} of {all} answered\n{table}");
}

/// Runs in a child: tells when the lab is entered, waits to be told to go on, and tells when the survey has begun.
fn survey_until_killed(images: &Path) {
    let tell = |word: &str| {
        println!("{word}");
        std::io::stdout().flush().unwrap();
    };
    match lab::enter(images, &[]) {
        Ok(lab) => {
            tell("entered");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            let mut begun = false;
            let case = survey(&lab, KILLED, &mut |_, _| {
                if !begun {
                    tell("surveying");
                }
                begun = true;
            });
            tell(case.reason.as_deref().unwrap_or("the survey was over before the kill"));
        }
        Err(reason) => tell(&reason),
    }
}

fn a_killed_run_leaves_nothing() {
    let images = PathBuf::from(format!("/dev/shm/fathom-lab-test-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir(&images) {
        return skip("a_killed_run_leaves_nothing", &format!("{}: {error}", images.display()));
    }
    let enter = || {
        let (mut child, ..) = start_child(&images, "entered", false);
        child.kill().unwrap();
        child.wait().unwrap();
        read_ahead_settings()
    };
    // What an earlier run has left is put back before anything is compared.
    let before = enter();
    // While the image is made and formatted, and while it is surveyed.
    for (word, milliseconds) in [("entered", 400), ("entered", 430), ("surveying", 0), ("surveying", 1500)] {
        let (mut child, said, _open) = start_child(&images, word, true);
        if said != word {
            child.wait().unwrap();
            std::fs::remove_dir(&images).unwrap();
            return skip("a_killed_run_leaves_nothing", &said);
        }
        std::thread::sleep(Duration::from_millis(milliseconds));
        if word == "surveying" {
            assert_eq!(loops_over(&images).len(), 1, "the case should be there before the kill");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // mkfs may outlive its parent by the time that it needs to notice.
        let patience = Instant::now() + Duration::from_secs(5);
        while !loops_over(&images).is_empty() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(loops_over(&images), Vec::<String>::new(), "killed {milliseconds} ms after {word}");
        assert_eq!(std::fs::read_dir(&images).unwrap().count(), 0);
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains("fathom-lab") && !mounts.contains(KILLED), "{mounts}");
    }
    let after = enter();
    // Somebody else may have taken or freed a device meanwhile.
    let kept = before.iter().filter(|(device, _)| after.contains_key(*device));
    for (device, setting) in kept {
        assert_eq!(&after[device], setting, "the next run puts back {}", device.display());
    }
    std::fs::remove_dir(&images).unwrap();
}

/// The read-ahead setting of each loop device that stands over nothing.
fn read_ahead_settings() -> BTreeMap<PathBuf, String> {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten().map(|device| device.path());
    let idle = devices.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("loop"))
            && !path.join("loop").exists()
    });
    let setting = |path: PathBuf| {
        let setting = std::fs::read_to_string(path.join("queue/read_ahead_kb")).unwrap();
        (path, setting)
    };
    idle.map(setting).collect()
}

/// A child of this binary, once it has said `word` or something unexpected, and the pipe that it
/// says more to.
fn start_child(images: &Path, word: &str, goes_on: bool) -> (Child, String, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, images)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    if goes_on {
        child.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
    }
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while said.is_empty() || said == "entered" && said != word {
        said.clear();
        output.read_line(&mut said).unwrap();
        said.truncate(said.trim_end().len());
        if said.is_empty() {
            said = "the child ended without a word".to_owned();
        }
    }
    (child, said, output)
}

/// The files in `images` that loop devices stand over, named or not. Once the mounts of the process that opened them are
/// gone, such a path begins somewhere in its middle: the directory's own name identifies it.
fn loops_over(images: &Path) -> Vec<String> {
    let name = images.file_name().unwrap().to_str().unwrap();
    let Ok(devices) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let image =
        |device: std::fs::DirEntry| std::fs::read_to_string(device.path().join("loop/backing_file")).ok();
    devices.flatten().filter_map(image).filter(|file| file.contains(name)).collect()
}
