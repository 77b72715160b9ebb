//! Traces in parts: what is said of them is what is said of the whole.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::support::Scratch;
use fathom_trace::format::Reader;
use fathom_trace::import::{Format, import};
use fathom_trace::show::{Look, Plan, hit_ratios, show, write_accesses};

/// Requests to three volumes, each of them in most parts, with blocks that come again.
fn requests(count: u64) -> String {
    let line = |at: u64| {
        let (way, block) = (["R", "W"][usize::from(at.is_multiple_of(3))], at * 7919 % 5000);
        format!("{},{way},{},8192,{}\n", at % 3, block * 4096, 1_577_808_144_360_767 + at)
    };
    (0..count).map(line).collect()
}

fn merged(mut whole: Look, next: Look) -> Look {
    whole.merge(next);
    whole
}

fn shown(path: &Path) -> String {
    serde_json::to_string(&show(path).unwrap()).unwrap()
}

#[test]
fn parts_are_shown_as_the_whole_is() {
    let scratch = Scratch::new("parts");
    let at = |name: &str| scratch.0.join(name);
    fs::write(at("log"), requests(200_000)).unwrap();
    let run = |out: &str, rows| {
        import(&at("log"), Some(Format::Alibaba), &at(out), rows, &AtomicBool::new(false)).unwrap().1
    };
    assert_eq!(run("whole.parquet", None), run("parts", Some(30_000)));
    let plan = Plan::new(&at("parts")).unwrap();
    let sent = |look| -> Look { serde_json::from_str(&serde_json::to_string(&look).unwrap()).unwrap() };
    let looks = (0..plan.count()).map(|part| sent(plan.look(part).unwrap()));
    let elsewhere = looks.reduce(|whole, next| sent(merged(whole, next)));
    assert_eq!(serde_json::to_string(&plan.end(elsewhere)).unwrap(), shown(&at("whole.parquet")));
    let names = |folder: &str| fs::read_dir(at(folder)).unwrap().count();
    assert_eq!(names("parts"), 7);
    let whole = shown(&at("whole.parquet"));
    assert_eq!(shown(&at("parts")), whole);
    assert_eq!(shown(&at("parts/part-0*.parquet")), whole);
    let few = show(&at("parts/part-0000[01].parquet"));
    assert!(few.is_err(), "sets are no part of a pattern");
    assert_eq!(show(&at("parts/part-0000?.parquet")).unwrap().operations, 200_000);
    assert_eq!(show(&at("parts/*6.parquet")).unwrap().operations, 20_000);

    let (alone, together) = (hit_ratios(&at("parts"), 1.0).unwrap(), show(&at("whole.parquet")).unwrap());
    assert_eq!((alone.points, alone.error, alone.sampled), (together.hit_ratios, 0.0, 1.0));
    assert_eq!(alone.footprint_bytes, together.footprint_bytes);
    let sampled = hit_ratios(&at("parts"), 0.5).unwrap();
    assert!((sampled.sampled - 0.5).abs() < 1e-9, "{}", sampled.sampled);
    // Of each request two blocks, each an object of its own in 24 bytes.
    let mut accesses = Vec::new();
    assert_eq!(write_accesses(&at("parts"), &mut accesses).unwrap(), 400_000);
    let objects: HashSet<&[u8]> = accesses.chunks(24).map(|one| &one[4..12]).collect();
    assert_eq!((accesses.len(), objects.len() as u64 * 4096), (400_000 * 24, together.footprint_bytes));

    let read = |path: &str| Reader::open(&at(path)).and_then(Reader::read_all).unwrap();
    let ((operations, files), (others, other_files)) = (read("whole.parquet"), read("parts"));
    assert_eq!((operations, files.paths()), (others, other_files.paths()));

    // A part that ends where the trace does leaves no empty one behind; a trace of nothing has one.
    run("even", Some(100_000));
    assert_eq!(names("even"), 2);
    fs::write(at("log"), "").unwrap();
    run("nothing", Some(10));
    assert_eq!((names("nothing"), show(&at("nothing")).unwrap().operations), (1, 0));
}

/// Requests of three machines that begin at random and last up to a thousand times as long as until the next begins.
#[test]
fn what_is_under_way_where_a_part_ends_counts_in_the_next() {
    let scratch = Scratch::new("under-way");
    let at = |name: &str| scratch.0.join(name);
    let mut random = 1_u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let line = |time: u64| {
        let longest = 1 << below(21);
        let (lasting, early) = (below(longest), below(3000));
        let start = 128_166_372_003_061_629 + time * 1000 - early;
        format!("{start},usr{},{},Read,{},4096,{lasting}\n", below(3), below(4), below(100) * 2048)
    };
    fs::write(at("log"), (0..3000).map(line).collect::<String>()).unwrap();
    let run = |out: &str, rows| {
        import(&at("log"), Some(Format::Msr), &at(out), rows, &AtomicBool::new(false)).unwrap();
        shown(&at(out))
    };
    let whole = run("whole.parquet", None);
    for rows in [1, 7, 1000] {
        assert_eq!(run(&format!("of-{rows}"), Some(rows)), whole, "{rows} a part");
    }
    let most = show(&at("whole.parquet")).unwrap().timing.most_concurrency;
    assert!((50..1000).contains(&most), "{most} at once");
}

#[test]
fn what_is_no_trace_in_parts_is_said() {
    let scratch = Scratch::new("no-parts");
    let at = |name: &str| scratch.0.join(name);
    fs::write(at("log"), requests(100)).unwrap();
    let never = AtomicBool::new(false);
    import(&at("log"), Some(Format::Alibaba), &at("parts"), Some(50), &never).unwrap();
    fs::write(at("fio"), "fio version 2 iolog\n/f add\n/f open\n/f read 0 4096\n/f close\n").unwrap();
    import(&at("fio"), Some(Format::Fio), &at("parts/part-9.parquet"), None, &never).unwrap();
    fs::create_dir(at("empty")).unwrap();
    for (path, said) in [("parts", "another trace"), ("empty", "no part"), ("none-*", "no part")] {
        let error = show(&at(path)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let again = import(&at("log"), Some(Format::Alibaba), &at("parts"), Some(50), &never);
    assert!(again.is_err() && at("parts/part-00000.parquet").exists(), "what is there is kept");
    let stopped = import(&at("log"), Some(Format::Alibaba), &at("half"), Some(50), &AtomicBool::new(true));
    assert!(stopped.is_err() && !at("half").exists());
}
