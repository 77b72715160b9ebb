//! Results of every command that keeps a page, with hostile words wherever words come from outside.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use fathom::calibration::Account;
use fathom::comparison::{self, Outcome, Rules};
use fathom::experiment::REGISTRY;
use fathom::model::{Made, Model, Origin, Parameter, Residual};
use fathom::prediction::{self, Predicted, Settings};
use fathom::replay::{self, Cache, How, Moved, Pace, Replayed};
use fathom::results::{NamedTrace, Report, WithModel};
use fathom::speed::curve::{Operation, Proof, Refusal, State};
use fathom::speed::jobs::{self, Ran, RanJob, RanSide};
use fathom::speed::measurement::Measurement;
use fathom::speed::syscalls::{self, Syscalls};
use fathom::speed::versus::jobs::{self as contests, Contest, JobsVersus, Side};
use fathom::speed::versus::{self, Entry, Sample, Versus};
use fathom::speed::xor::{self, Method, Trial, Xor};
use fathom::sweep::{Axis, Of, Plan, Sweep};
use fathom::validation::{self, Again, Held, Validation};
use fathom::{job, prediction::Estimate, report};
use fathom_trace::show::{Histogram, Shown};
use fathom_trace::{CallKind, Clock, Direction as Access, FileId, Files, Level};
use fathom_trace::{Operation as Traced, Origin as Source, format, show};

use crate::surveyed::{HOSTILE, provenance};
use fathom_scripted::support::TestDirectory;

/// What each command keeps, by its name.
pub(crate) fn all(place: &TestDirectory) -> Vec<(&'static str, Box<dyn Report>)> {
    let trace = NamedTrace { name: HOSTILE.to_owned(), shown: trace(place, 60_000) };
    vec![
        ("curve", Box::new(crate::surveyed::curve(1.0))),
        ("syscalls", Box::new(costs())),
        ("versus", Box::new(versus())),
        ("versus-jobs", Box::new(versus_jobs())),
        ("run", Box::new(ran())),
        ("xor", Box::new(xor())),
        ("validation", Box::new(WithModel { result: validated(), model: model() })),
        ("calibration", Box::new(WithModel { result: accounts(), model: model() })),
        ("prediction", Box::new(WithModel { result: predicted(&model()), model: model() })),
        ("sweep", Box::new(WithModel { result: swept(), model: model() })),
        ("trace", Box::new(trace)),
        ("replay", Box::new(replayed())),
    ]
}

/// Every page by the name of its command. They are made once: what they show is predicted for real.
pub(crate) fn pages() -> &'static [(&'static str, String)] {
    static PAGES: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let place = TestDirectory::new("pages-results");
        let made = all(&place);
        let pages = made.iter().map(|(name, result)| (*name, result.page()));
        pages.chain([("comparison", compared())]).collect()
    })
}

/// Some numbers around one that are the same each time.
fn around(value: f64, count: u32) -> Vec<f64> {
    (0..count).map(|at| value * (1.0 + 0.05 * f64::from(at * 7919 % 13) / 13.0)).collect()
}

/// What calls cost on files of several sizes.
fn costs() -> Syscalls {
    let one = |(call, ns): (&str, f64)| {
        [10_240_u64, 1 << 20, 64 << 20].map(|file_bytes| {
            let whole = Measurement::new(call, 1000, 1000, around(ns * 1000.0, 12)).unwrap();
            whole.with("file_bytes", file_bytes)
        })
    };
    Syscalls {
        schema: syscalls::SCHEMA.to_owned(),
        provenance: provenance(),
        clock_ns: 20.0,
        measurements: [("read", 300.0), ("lseek", 110.0), ("write", 500.0)]
            .into_iter()
            .flat_map(one)
            .collect(),
        rounds: 12,
        duration_ns: 1,
        bytes_written: 1,
        caveats: vec![HOSTILE.to_owned()],
    }
}

fn versus_jobs() -> JobsVersus {
    let side = |per_second: f64| {
        let run = |(rate, round)| contests::Sample { round, per_second: rate, p99_ns: Some(1e9 / rate) };
        Side {
            per_second: Some(per_second),
            per_second_interval: Some([0.97 * per_second, 1.04 * per_second]),
            p99_ns: Some(1e9 / per_second),
            samples: around(per_second, 8).into_iter().zip(0..).map(run).collect(),
        }
    };
    let contest = |job: &str| Contest {
        job: job.to_owned(),
        words: vec![format!("--name={job}")],
        fathom: side(40_000.0),
        fio: side(38_000.0),
        rate_over_fios: Some([1.05, 0.98, 1.11]),
        p99_over_fios: Some([0.9, 0.7, 1.2]),
    };
    JobsVersus {
        schema: contests::SCHEMA.to_owned(),
        provenance: provenance(),
        fio: HOSTILE.to_owned(),
        jobs: ["plain", HOSTILE].map(contest).to_vec(),
        refused: vec![Refusal { what: HOSTILE.to_owned(), reason: HOSTILE.to_owned() }],
        duration_ns: 1,
        bytes_written: 1,
    }
}

fn versus() -> Versus {
    let mut entries = Vec::new();
    for (operation, state) in [(Operation::Read, State::Cached), (Operation::Read, State::Cold)] {
        for (program, speed) in [("fathom 0.1.0", 1.0), ("dd (coreutils) 9.1", 0.8), (HOSTILE, 0.9)] {
            for block_bytes in [4096, 131_072, 1 << 20] {
                let rate = speed * 4e9 * (1.0 - 3000.0 / (block_bytes as f64 + 3000.0));
                let ratio = (program != "fathom 0.1.0").then_some([speed, speed * 0.93, speed * 1.15]);
                entries.push(Entry {
                    program: program.to_owned(),
                    command: format!("{program} {block_bytes}"),
                    operation,
                    block_bytes,
                    state,
                    bytes_per_second: Some(rate),
                    bytes_per_second_interval: Some([rate * 0.97, rate * 1.04]),
                    rate_over_fathoms: ratio,
                    call_rate_over_fathoms: ratio,
                    around_ns: Some(3e6),
                    is_settled: true,
                    samples: around(192e6 / rate * 1e9, 12)
                        .into_iter()
                        .zip(0..)
                        .map(|(inside_ns, round)| Sample {
                            round,
                            bytes: 192_000_000,
                            inside_ns,
                            calls_ns: None,
                            outside_ns: None,
                            proof: Proof::Proven,
                        })
                        .collect(),
                });
            }
        }
    }
    let refused = vec![Refusal { what: HOSTILE.to_owned(), reason: HOSTILE.to_owned() }];
    let (schema, provenance) = (versus::SCHEMA.to_owned(), provenance());
    Versus { schema, provenance, file_bytes: 192 << 20, entries, refused, duration_ns: 1, bytes_written: 1 }
}

fn ran() -> Ran {
    let side = |kind: &str, ns: f64| RanSide {
        kind: kind.to_owned(),
        calls: 4000,
        bytes: 4000 * 4096,
        mean_ns: ns * 1.1,
        max_ns: ns * 300.0,
        latencies_ns: (0..200).map(|at| (ns * 1.03_f64.powi(at), 20)).collect(),
    };
    let job = |name: &str, sides: Vec<RanSide>| RanJob {
        name: name.to_owned(),
        threads: 2,
        elapsed_ns: 100_000_000,
        cached_share: Some(0.5),
        sides,
    };
    let jobs = vec![
        job("reads", vec![side("read", 700.0)]),
        job(HOSTILE, vec![side("read", 90_000.0), side("write", 1500.0), side("sync", 900_000.0)]),
    ];
    Ran { schema: jobs::SCHEMA.to_owned(), provenance: provenance(), jobs, duration_ns: 1, bytes_written: 1 }
}

fn xor() -> Xor {
    let trial = |method, threads, rate: f64| Trial {
        method,
        threads,
        bytes: 64 << 20,
        duration_ns: (f64::from(64 << 20) / rate * 1e9) as u64,
        bytes_per_second: rate,
    };
    Xor {
        schema: xor::SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        path: HOSTILE.to_owned(),
        bytes: 1 << 30,
        xor: "0x01234567".to_owned(),
        duration_ns: 60_000_000,
        bytes_per_second: 18e9,
        method: Method::Mmap,
        threads: 2,
        reason: "the quicker of two ways on parts of the file".to_owned(),
        cached_share: Some(1.0),
        trials: vec![trial(Method::Read, 2, 12e9), trial(Method::Mmap, 2, 18.5e9)],
    }
}

fn model() -> Model {
    let mut model = Model::assumed();
    let provenance = provenance();
    model.made = Some(Made {
        version: "0.1.0".to_owned(),
        started: provenance.started,
        duration_ns: 30_000_000_000,
        bytes_written: 1 << 30,
        reclaimed_bytes: Some(300 << 20),
        machine: provenance.machine,
        mount: provenance.mount,
    });
    let numbers: Vec<_> = model.parameters.iter().filter(|(_, one)| one.value > 0.0).collect();
    for (at, (number, Parameter { value, .. })) in numbers.into_iter().enumerate() {
        let (origin, interval) = match at % 3 {
            0 => (Origin::Measured, Some([value * 0.8, value * 1.3])),
            1 => (Origin::Declared, None),
            _ => continue,
        };
        model.parameters.put(number, Parameter { value, interval, origin });
    }
    for (class, error) in [("cached random read", 0.058), ("cold sequential read", 0.12)] {
        model.residuals.insert(
            class.to_owned(),
            Residual {
                jobs: 4,
                mean_error: error,
                factor: 1.02,
                spread: error * 1.4,
                freedom: 8,
                ..Residual::default()
            },
        );
    }
    model
}

fn accounts() -> Vec<Account> {
    let jobs =
        |ns: f64| (1..6).map(move |at| (format!("job {at}"), ns * f64::from(at), ns * f64::from(at) * 1.07));
    ["calls on cached files", "the device"]
        .iter()
        .zip([600.0, 90_000.0])
        .map(|(name, ns)| Account {
            disturbed: 0,
            name: (*name).to_owned(),
            jobs: jobs(ns).collect(),
            runs: jobs(ns)
                .map(|(_, measured, _)| [0.98, 1.0, 1.04].map(|off| off * measured).to_vec())
                .collect(),
            refused: vec![HOSTILE.to_owned()],
        })
        .collect()
}

fn validated() -> Validation {
    let held = |job: &job::Job, at: usize| {
        let measured = 1e8 * (1.0 + at as f64).powf(1.5);
        let error = 0.02 * (at % 9) as f64 - 0.08;
        let value = measured * (1.0 + error);
        Held {
            name: job.name.clone(),
            class: prediction::class(job, &Model::assumed().parameters),
            condition: (at == 3).then(|| "readahead=32768".to_owned()),
            predicted: Estimate { value, low: value * 0.9, high: value * 1.12 },
            measured,
            runs: around(measured * 0.98, 6),
            fio: (!at.is_multiple_of(5)).then(|| validation::ByFio {
                bytes_per_second: measured * 1.03,
                fathoms_bytes_per_second: measured * 1.05,
                runs: around(measured * 1.03, 3),
            }),
            error,
            noise_floor: 0.02,
            paper_error: 0.4,
            plain_error: -0.5,
            nearest_error: Some(0.3),
            covered_runs: None,
            is_covered: error.abs() < 0.08,
            disturbed: 0,
            p99_error: 0.2,
            p99_noise_floor: Some(0.1),
            p999_error: Some(-0.3),
        }
    };
    let jobs: Vec<Held> =
        validation::Condition::Usual.jobs().iter().enumerate().map(|(at, job)| held(job, at)).collect();
    let again = |at: usize, job: &Held| Again {
        name: job.name.clone(),
        class: job.class.clone(),
        then: job.measured,
        now: job.measured * (0.8 + 0.02 * at as f64),
    };
    let again: Vec<Again> = jobs.iter().step_by(3).enumerate().map(|(at, job)| again(at, job)).collect();
    Validation {
        schema: validation::SCHEMA.to_owned(),
        provenance: provenance(),
        classes: validation::classes(&jobs, &again),
        jobs,
        again,
        refused: vec![HOSTILE.to_owned()],
        effects: vec![HOSTILE.to_owned()],
        duration_ns: 1,
        bytes_written: 1,
        repeats: 6,
        reclaimed_bytes: Some(300 << 20),
    }
}

#[test]
fn a_validation_can_be_a_page_of_the_documents() {
    let page = report::validation_markdown(&validated());
    assert!(page.starts_with("# How good predictions were on 2"), "{page}");
    let machine = provenance().machine;
    assert!(page.contains(&machine.kernel) && page.contains("\n| all | "), "{page}");
}

/// `fathom validate . --json docs/validation.json --markdown docs/validation.md` writes both.
#[test]
fn no_figure_of_the_page_on_validation_is_typed() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let validation: Validation =
        serde_json::from_str(&fs::read_to_string(docs.join("validation.json")).unwrap()).unwrap();
    let page = report::validation_markdown(&validation);
    if std::env::var_os("FATHOM_WRITE_DOCS").is_some() {
        fs::write(docs.join("validation.md"), &page).unwrap();
    }
    let there = fs::read_to_string(docs.join("validation.md")).unwrap_or_default();
    assert!(there == page, "docs/validation.md is behind: run this test with FATHOM_WRITE_DOCS=1");
}

/// Small jobs on a model, predicted for real.
fn predicted(model: &Model) -> Predicted {
    let read = job::Job { size: Some(1 << 20), ..job::Job::named("cold reads") };
    let cached =
        job::Job { size: Some(1 << 20), pre_read: true, stonewall: true, ..job::Job::named(HOSTILE) };
    let predicted = prediction::predict(&[read, cached], model, Settings { draws: 4, seed: 1 }).unwrap();
    Predicted {
        schema: prediction::SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        made: model.made.clone(),
        settings: vec!["readahead=1M".to_owned()],
        runner: "fathom".to_owned(),
        seed: 1,
        draws: 4,
        jobs: predicted.forecasts,
    }
}

/// A sweep with an axis of either kind, one cell that is refused and some that are missing.
fn swept() -> Sweep {
    let axes = [(Of::Job, "bs=4k,64k"), (Of::Model, "readahead=64K,1M"), (Of::Job, "iodepth=1")];
    let axes = axes.map(|(of, typed)| Axis::read(of, typed).unwrap()).to_vec();
    let settings = Settings { draws: 2, seed: 1 };
    let plan = Plan::new(model(), Default::default(), axes, settings).unwrap();
    let read = job::Job { size: Some(1 << 20), ..job::Job::named(HOSTILE) };
    let file = job::JobFile { jobs: vec![read], notes: vec![HOSTILE.to_owned()], ..job::JobFile::default() };
    plan.sweep(vec![
        plan.predict(0, Ok(file.clone())),
        plan.predict(2, Err(HOSTILE.to_owned())),
        plan.predict(3, Ok(file)),
    ])
}

/// What a trace of so many operations does: reads in order, then at random among a few, and a log that grows.
pub(crate) fn trace(place: &TestDirectory, operations: u64) -> Shown {
    let path = place.join(&format!("trace-{operations}"));
    let mut files = Files::default();
    let names = ["/srv/data", HOSTILE].map(|name| files.id(name.as_bytes()));
    let operation = |at: u64| {
        let start = at as i64 * 20_000;
        let (kind, file, offset): (CallKind, FileId, u64) = match at % 3 {
            0 => (CallKind::Pread, names[0], at * 4096 % (64 << 20)),
            1 => (CallKind::Pread, names[0], (at * 2_654_435_761 % 5000) * 8192),
            _ => (CallKind::Pwrite, names[1], at / 3 * 512),
        };
        Traced {
            offset: Some(offset),
            length: if at % 3 == 2 { 512 } else { 4096 << (at % 2) },
            duration_ns: Some(1000 + at * 7919 % 60_000),
            thread: (at % 4) as u32,
            ..Traced::new(kind, file, start)
        }
    };
    let all: Vec<Traced> = (0..operations).map(operation).collect();
    let origin = Source { level: Level::File, clock: Clock::Unix, source: HOSTILE.to_owned() };
    let mut writer = format::create(&path, &origin).unwrap();
    writer.add(&all, &files).unwrap();
    writer.finish().unwrap();
    let shown = show::show(&path).unwrap();
    assert!(shown.picture.dots.iter().any(|dot| dot.access == Access::Write));
    shown
}

fn replayed() -> Replayed {
    let moved = |ns: u64| {
        let [mut took, mut recorded] = [Histogram::default(), Histogram::default()];
        (0..1000).for_each(|at| took.add(ns + at * at));
        (0..1000).for_each(|at| recorded.add(3 * ns + at * at * at / 90));
        Moved {
            operations: 1000,
            bytes: 4096 * 1000,
            time: Duration::from_millis(5),
            took_ns: took,
            latencies_ns: Vec::new(),
            recorded_ns: recorded,
            different: 0,
        }
    };
    Replayed {
        schema: replay::SCHEMA.to_owned(),
        how: How { pace: Pace::Think, cache: Cache::Cold },
        threads: 2,
        elapsed: Duration::from_secs(1),
        reads: moved(900),
        writes: moved(2000),
        left_out: 1,
        laid_out_bytes: 1 << 20,
    }
}

/// Two curves of which one is quicker for large calls.
fn compared() -> String {
    let outcomes: Vec<(String, Outcome)> = ["monday", HOSTILE]
        .iter()
        .zip([1.0, 3.0])
        .map(|(path, gain)| ((*path).to_owned(), Outcome::Curve(Box::new(crate::surveyed::curve(gain)))))
        .collect();
    let rules = Rules { rate: 0.05, margin: 0.75 };
    let comparison = comparison::compare(&outcomes, rules, REGISTRY).unwrap();
    assert!(comparison.has_differences());
    report::comparison_page(&comparison, &outcomes)
}
