//! A survey is written, read back and inferred again, and what is damaged is told with its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom::experiment::{Effort, REGISTRY};
use fathom::finding::{Evidence, Finding, Kind, Status, Value};
use fathom::run_folder::{self, Error};
use fathom::survey::{self, Answer, Plan, SCHEMA, Survey};
use fathom_scripted::support::{TestDirectory, provenance};
use fathom_scripted::{Noise, Script, Scripted};

use crate::published;

/// A folder that is not there yet.
fn run(place: &TestDirectory) -> PathBuf {
    place.join("deep").join("run")
}

fn plan(parameters: &[&str], effort: Effort) -> Plan {
    let wanted = |parameter: &str| parameters.is_empty() || parameters.contains(&parameter);
    Plan {
        experiments: REGISTRY.iter().copied().filter(|asked| wanted(asked.about().parameter)).collect(),
        evidence: vec![Kind::Timing, Kind::Declared],
        effort,
        seed: 11,
        max_time: Duration::from_secs(300),
        intrusive: false,
    }
}

/// A survey of a scripted machine, with a declaration next to the timings.
fn surveyed(script: Script, plan: &Plan) -> (Survey, Vec<Answer>) {
    let mut answers = survey::ask(&mut Scripted::new(script), plan, &mut |_, _| ()).unwrap();
    for answer in &mut answers {
        let mut evidence = answer.finding.evidence.clone();
        evidence.push(Evidence::measured(Kind::Declared, "a_file", Value::Whole(4096)));
        let finding = Finding::from_evidence(&answer.finding.parameter, &answer.finding.unit, evidence);
        let experiment = fathom::experiment::by_name(&finding.parameter).unwrap();
        answer.finding = Finding { explanation: experiment.explanation(&finding), ..finding };
    }
    (survey_of(&answers, plan.seed), answers)
}

fn survey_of(answers: &[Answer], seed: u64) -> Survey {
    Survey {
        schema: SCHEMA.to_owned(),
        provenance: provenance(seed),
        findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
        effects: Vec::new(),
        duration_ns: 1,
        bytes_written: 0,
        bytes_read: 0,
    }
}

fn write(directory: &Path, script: Script, plan: &Plan) -> (Survey, Vec<Answer>) {
    let (survey, answers) = surveyed(script, plan);
    run_folder::create(directory).unwrap().write(&survey, plan.effort, &answers).unwrap();
    let written = fs::read_to_string(directory.join("survey.json")).unwrap();
    published::check("survey", &serde_json::from_str(&written).unwrap());
    (survey, answers)
}

fn noisy(seed: u64) -> Script {
    Script { block: 1024, noise: Noise::usual(0.2), ..Script::new(seed) }
}

fn infer_again(directory: &Path) -> Result<Survey, Error> {
    let (survey, recordings) = run_folder::read(directory)?;
    run_folder::infer_again(&survey, recordings)
}

#[test]
fn a_survey_read_back_is_the_same_and_its_samples_give_the_same_findings() {
    let place = TestDirectory::new("run-folder-again");
    for (index, effort) in [Effort::Full, Effort::Quick].into_iter().enumerate() {
        let directory = run(&place).join(index.to_string());
        let (survey, answers) = write(&directory, noisy(1), &plan(&[], effort));
        assert!(survey.findings.iter().all(|finding| finding.status == Status::Measured));
        let (read, recordings) = run_folder::read(&directory).unwrap();
        assert_eq!(read, survey);
        for (recording, answer) in recordings.iter().zip(&answers) {
            assert_eq!(recording.runs, answer.runs, "{}", recording.parameter);
        }
        assert_eq!(infer_again(&directory).unwrap(), survey);
    }
}

#[test]
fn any_part_of_a_survey_can_be_inferred_again() {
    let place = TestDirectory::new("run-folder-subsets");
    let subsets: [&[&str]; 4] = [
        &["readahead_ramp"],
        &["readahead_window", "readahead_ramp"],
        &["block_size"],
        &["readahead_first", "readahead_random", "readahead_ramp"],
    ];
    for (index, subset) in subsets.into_iter().enumerate() {
        let directory = run(&place).join(index.to_string());
        let (survey, _) = write(&directory, noisy(2), &plan(subset, Effort::Full));
        assert_eq!(infer_again(&directory).unwrap(), survey, "{subset:?}");
    }
}

#[test]
fn what_a_budget_cut_short_stays_as_it_was() {
    let place = TestDirectory::new("run-folder-budget");
    let mut window = noisy(3);
    window.read_ahead.window = 4 << 20;
    for (index, write_budget) in [0, 1 << 20, 5 << 20, 20 << 20, 60 << 20].into_iter().enumerate() {
        for (other, seconds) in [1, 5, 300].into_iter().enumerate() {
            let directory = run(&place).join(format!("{index}-{other}"));
            let script = Script { write_budget, ..window.clone() };
            let short = Plan { max_time: Duration::from_secs(seconds), ..plan(&[], Effort::Full) };
            let (survey, _) = write(&directory, script, &short);
            assert_eq!(infer_again(&directory).unwrap(), survey, "{write_budget} B, {seconds} s");
        }
    }
}

#[test]
fn other_settings_than_the_recorded_are_refused() {
    let place = TestDirectory::new("run-folder-mismatch");
    let directory = run(&place);
    let (survey, _) = write(&directory, noisy(4), &plan(&["block_size", "page_size"], Effort::Full));
    let changed = Survey { provenance: provenance(12), ..survey };
    fs::write(directory.join("survey.json"), serde_json::to_string(&changed).unwrap()).unwrap();
    let error = infer_again(&directory).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }));
    let text = error.to_string();
    assert!(text.starts_with("page_size can't be inferred again: run 0 of page_size"), "{text}");
    assert!(text.contains("another seed"), "{text}");
}

#[test]
fn a_damaged_line_is_named_with_its_number() {
    let place = TestDirectory::new("run-folder-damage");
    let directory = run(&place);
    write(&directory, noisy(5), &plan(&["page_size"], Effort::Full));
    let table = directory.join("samples/page_size.csv");
    let good = fs::read_to_string(&table).unwrap();
    let complaint = |line: usize, text: &str| {
        let mut lines: Vec<&str> = good.lines().collect();
        lines[line - 1] = text;
        fs::write(&table, lines.join("\n")).unwrap();
        run_folder::read(&directory).unwrap_err().to_string()
    };
    let name = table.display().to_string();
    let expected = |line: usize| format!("{name}, line {line}: ");
    let number = complaint(1234, "0,0,twelve,0,,pread,1,0,5,77");
    assert!(number.starts_with(&(expected(1234) + "column latency_ticks")), "{number}");
    let short = complaint(77, "0,0,12,0,,pread,1");
    assert!(short.starts_with(&expected(77)), "{short}");
    let run = complaint(78, "9,0,12,0,,pread,1,0,5,77");
    assert_eq!(run, expected(78) + "there is no run 9, only 1");
    let position = complaint(79, "0,0,12,0,,pread,1,0,5000,77");
    assert_eq!(position, expected(79) + "pass 1 has no position 5000");
    let header = complaint(1, "offset,latency");
    assert!(header.starts_with(&(expected(1) + "the columns should be run,offset_bytes,")), "{header}");
    let missing: Vec<&str> = good.lines().take(5000).collect();
    fs::write(&table, missing.join("\n")).unwrap();
    let cut = run_folder::read(&directory).unwrap_err().to_string();
    assert!(cut.ends_with("run 0 has 4999 readings and should have 61440"), "{cut}");
    fs::remove_file(&table).unwrap();
    let gone = run_folder::read(&directory).unwrap_err().to_string();
    assert_eq!(gone, format!("read {name}: No such file or directory"));
}

#[test]
fn a_damaged_survey_is_named_with_its_line() {
    let place = TestDirectory::new("run-folder-json");
    fs::write(place.join("survey.json"), "{\n  \"schema\": 5\n}\n").unwrap();
    let text = run_folder::read(place.path()).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{}, line 2: ", place.join("survey.json").display())), "{text}");
}

#[test]
fn an_earlier_survey_is_never_overwritten() {
    let place = TestDirectory::new("run-folder-taken");
    let directory = run(&place);
    write(&directory, noisy(6), &plan(&["page_size"], Effort::Full));
    let error = run_folder::create(&directory).unwrap_err();
    assert_eq!(error, Error::Taken(directory.clone()));
    assert!(error.to_string().contains("choose another folder"), "{error}");
}

#[test]
fn a_place_that_can_not_be_written_is_told_before_anything_is_measured() {
    let place = TestDirectory::new("run-folder-unwritable");
    let file = place.join("file");
    fs::write(&file, "").unwrap();
    let error = run_folder::create(&file.join("run")).unwrap_err().to_string();
    assert!(error.starts_with(&format!("make {}", file.display())), "{error}");
    assert!(error.ends_with(": Not a directory"), "{error}");
    // Not even root can make a folder there.
    let error = run_folder::create(Path::new("/proc/fathom")).unwrap_err().to_string();
    assert!(error.starts_with("make /proc/fathom"), "{error}");
}
