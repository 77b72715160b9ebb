//! Linux and the model make the same calls: each of random jobs and random traces is run on both, and every call of
//! every thread is compared. Jobs are bounded by bytes, not by time, which passes differently on both.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom::instrument::Instrument;
use fathom::job::{Blocks, Course, Distribution, Engine, FileService, Job, Order, Pattern, Thinking};
use fathom::load::{self, Limits, Outcome, Testbed};
use fathom::model::Model;
use fathom::prediction::{self, Replay};
use fathom::replay::{self, Bounds, Cache, How, Pace, Plan};
use fathom_program::call::Call;
use fathom_trace::{CallKind, FileId, Files, Level, Operation};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const JOBS: u64 = 200;
const TRACES: u64 = 50;

/// One file for each thread, or several in some order.
fn files(dice: &mut SmallRng) -> fathom::job::Files {
    let services = [
        FileService::RoundRobin(1),
        FileService::RoundRobin(3),
        FileService::Sequential,
        FileService::Random(2),
        FileService::Drawn(Distribution::Zipf(1.2, None)),
    ];
    fathom::job::Files {
        count: dice.random_range(1..5),
        open: dice.random_range(0..3),
        service: services[dice.random_range(0..services.len())],
        sizes: (dice.random_range(0..4) == 0).then_some((32768, 65536)),
        hint: dice.random::<bool>().then(|| "random".to_owned()),
        ..fathom::job::Files::default()
    }
}

fn job(dice: &mut SmallRng) -> Job {
    let block = |dice: &mut SmallRng| {
        let least = 512 << dice.random_range(0..4);
        Blocks { least, most: least * dice.random_range(1..4) }
    };
    let blocks = [block(dice), block(dice)];
    let size = dice.random_range(4..24) * 4096;
    let engine = [Engine::Psync, Engine::Sync, Engine::Pvsync][dice.random_range(0..3)];
    let pattern = [Pattern::Sequential, Pattern::Random][dice.random_range(0..2)];
    let files = files(dice);
    Job {
        filesize: files.sizes.map(|(least, _)| least),
        files,
        engine,
        pattern,
        blocks: if dice.random() { blocks } else { [Blocks::fixed(blocks[0].least); 2] },
        read_percent: [0, 30, 70, 100][dice.random_range(0..4)],
        size: Some(size),
        offset: dice.random_range(0..3) * 4096,
        io_size: dice.random::<bool>().then(|| size * dice.random_range(1..6) / 2),
        numjobs: dice.random_range(1..4),
        fsync: if dice.random_range(0..4) == 0 { dice.random_range(1..6) } else { 0 },
        fdatasync: if dice.random_range(0..4) == 0 { dice.random_range(1..6) } else { 0 },
        end_fsync: dice.random(),
        invalidate: dice.random(),
        pre_read: dice.random(),
        random_map: dice.random(),
        thinktime: std::time::Duration::from_micros(if dice.random_range(0..8) == 0 { 20 } else { 0 }),
        thinking: Thinking { blocks: dice.random_range(0..3), ..Thinking::default() },
        seed: dice.random(),
        course: Course {
            loops: dice.random_range(0..3),
            number_ios: if dice.random_range(0..4) == 0 { 7 } else { 0 },
            ..Course::default()
        },
        order: Order {
            every: dice.random_range(1..3),
            skip: dice.random_range(-2..2) * 4096,
            zones: vec![(70, 20), (30, 80)],
            distribution: [Distribution::Uniform, Distribution::Zoned]
                [usize::from(dice.random_range(0..5) == 0)],
            increment: (dice.random_range(0..2) * 8192, false),
            percentage_random: [[100, 60][dice.random_range(0..2)]; 3],
            ..Order::default()
        },
        ..Job::named("random")
    }
}

#[test]
fn random_jobs_make_the_same_calls_on_linux_and_on_the_model() {
    let instrument = Instrument::calibrate().unwrap();
    let limits = Limits { max_write: 1 << 30, deadline: None };
    let interrupt = Arc::new(AtomicBool::new(false));
    let model = Model::assumed();
    let mut dice = SmallRng::seed_from_u64(1);
    let mut kinds = BTreeSet::new();
    let mut testbed = Testbed::at(&std::env::temp_dir(), 64 << 20, &instrument, limits, interrupt).unwrap();
    for number in 0..JOBS {
        let job = job(&mut dice);
        let jobs = std::slice::from_ref(&job);
        let logged = Job {
            course: Course { iologs: [None, Some("log".to_owned())], ..job.course.clone() },
            ..job.clone()
        };
        let outcomes =
            load::run(&logged, &mut testbed).unwrap_or_else(|fault| panic!("job {number}: {fault}: {job:?}"));
        let calls = |outcome: Outcome| outcome.calls.into_iter().flatten().map(|made| made.call).collect();
        let linux: Vec<Vec<Call>> = outcomes.into_iter().map(calls).collect();
        let simulated = prediction::calls(jobs, &model.parameters, 1).unwrap();
        assert_eq!(linux, simulated, "job {number}: {job:?}");
        assert!(linux.iter().all(|thread| !thread.is_empty()), "job {number} makes no calls: {job:?}");
        kinds.extend(linux.iter().flatten().map(|call| call.kind));
        testbed.remove(&job);
    }
    use CallKind::{DontNeed, Fdatasync, Fsync, Pread, Preadv, Pwrite, Pwritev, Read, Seek, Write};
    let all = [Read, Write, Pread, Pwrite, Preadv, Pwritev, Seek, Fsync, Fdatasync, DontNeed];
    assert_eq!(kinds, BTreeSet::from(all));
}

/// A trace of up to three threads, which open, move data, sync, close, rename and remove; times go on.
fn trace(dice: &mut SmallRng) -> Plan {
    let mut files = Files::default();
    let paths: Vec<FileId> = ["a", "b", "c", "d"].iter().map(|name| files.id(name.as_bytes())).collect();
    let threads = dice.random_range(1..4);
    let mut operations = Vec::new();
    let mut open: Vec<Option<FileId>> = vec![None; 4];
    for at in 0..dice.random_range(20..80) {
        let path = paths[dice.random_range(0..4)];
        let slot = dice.random_range(0..open.len());
        let number = 3 + slot as i32;
        let bytes = dice.random_range(1..5) * 1000;
        let held = open[slot];
        let (kind, result) = match (held, dice.random_range(0..20)) {
            (None, 0) => (CallKind::Unlink, 0),
            (None, 1) => (CallKind::Rename, 0),
            (None, 2) => (CallKind::Open, -2),
            (None, _) => (CallKind::Open, i64::from(number)),
            (Some(_), 0..4) => (CallKind::Close, 0),
            (Some(_), 4) => (CallKind::Fsync, 0),
            (Some(_), 5) => (CallKind::Fdatasync, 0),
            (Some(_), 6) => (CallKind::Seek, 0),
            (Some(_), 7..9) => (CallKind::Write, bytes),
            (Some(_), 9..11) => (CallKind::Pwritev, bytes),
            (Some(_), 11..13) => (CallKind::Readv, bytes),
            (Some(_), 13) => (CallKind::SyncRange, 0),
            (Some(_), _) => (CallKind::Pread, bytes),
        };
        let to = paths[dice.random_range(0..4)];
        open[slot] = match (kind, held) {
            (CallKind::Open, _) if result >= 0 => Some(path),
            (CallKind::Close, _) => None,
            (_, held) => held,
        };
        operations.push(Operation {
            duration_ns: Some(1000),
            thread: dice.random_range(0..threads),
            descriptor: held.map(|_| number),
            offset: kind.direction().map(|_| dice.random_range(0..8) * 1000).or(Some(0)),
            length: kind.direction().map_or(0, |_| bytes as u64),
            result: Some(result),
            // O_RDWR | O_CREAT.
            flags: if kind == CallKind::Open && result >= 0 { 0o102 } else { 0 },
            to: (kind == CallKind::Rename).then_some(to),
            ..Operation::new(kind, held.unwrap_or(path), at * 3_000)
        });
    }
    Plan::new(&operations, &files, Level::File)
}

#[test]
fn random_traces_make_the_same_calls_on_linux_and_on_the_model() {
    let bounds = Bounds {
        max_write: 1 << 30,
        instrument: Instrument::calibrate().unwrap(),
        deadline: None,
        interrupt: Arc::new(AtomicBool::new(false)),
    };
    let model = Model::assumed();
    let mut dice = SmallRng::seed_from_u64(2);
    let mut kinds = BTreeSet::new();
    for number in 0..TRACES {
        let plan = Arc::new(trace(&mut dice));
        let how = How {
            pace: [Pace::Fast, Pace::Think, Pace::Recorded][dice.random_range(0..3)],
            cache: [Cache::Cold, Cache::Warm][dice.random_range(0..2)],
        };
        let linux = replay::calls(&plan, &std::env::temp_dir(), how, &bounds);
        let linux = linux.unwrap_or_else(|fault| panic!("trace {number}: {fault}"));
        let replay = Replay::new(&plan, how).unwrap();
        let simulated = prediction::trace_calls(&replay, &model.parameters, 1);
        assert_eq!(linux, simulated, "trace {number}");
        assert_eq!(
            linux.iter().map(Vec::len).sum::<usize>(),
            plan.threads.iter().map(Vec::len).sum::<usize>()
        );
        kinds.extend(linux.iter().flatten().map(|call| call.kind));
    }
    use CallKind::{
        Close, Fdatasync, Fsync, Open, Pread, Pwritev, Readv, Rename, Seek, SyncRange, Unlink, Write,
    };
    let all = [Open, Close, Readv, Write, Pread, Pwritev, Seek, Fsync, Fdatasync, SyncRange, Unlink, Rename];
    assert_eq!(kinds, BTreeSet::from(all));
}
