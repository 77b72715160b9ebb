//! Job files drawn at random from the supported subset: fio accepts each, echoes the same options,
//! and takes every number for the one that it is taken for here.

use std::collections::HashMap;
use std::time::Duration;

use fathom::job::{Blocks, Direction, Job};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

use super::{Place, fio, has_fio, read};

const FILES: usize = 10;
const JOBS: usize = 20;

/// The values that fio said it had read of each option of one job, in order.
type Echo = HashMap<String, Vec<u64>>;

fn size(dice: &mut Pcg64Mcg) -> String {
    let number = dice.random_range(64..=512_u32);
    let unit = ["k", "K", "kb", "kB", "ki", "KiB", "m", "M", "mb", "mib", "g", "0000", "0000b"]
        .choose(dice)
        .unwrap();
    match dice.random_range(0..8) {
        0 => format!("0x{number:x}000"),
        1 => format!("{number}*$pagesize"),
        2 => "$pagesize".to_owned(),
        _ => format!("{number}{unit}"),
    }
}

fn block(dice: &mut Pcg64Mcg) -> String {
    ["512", "1k", "4k", "4K", "8kb", "4096", "0x1000", "4096b", "4kib"].choose(dice).unwrap().to_string()
}

fn time(dice: &mut Pcg64Mcg) -> String {
    let unit = ["", "s", "S", "ms", "msec", "us", "usec", "m", "h", "d"].choose(dice).unwrap();
    format!("{}{unit}", dice.random_range(1..=99_u32))
}

/// One value, or one for each direction, some of them left out.
fn per_direction(dice: &mut Pcg64Mcg, one: impl Fn(&mut Pcg64Mcg) -> String) -> String {
    match dice.random_range(0..6) {
        0 => format!("{},{}", one(dice), one(dice)),
        1 => format!(",{}", one(dice)),
        2 => format!("{},", one(dice)),
        3 => format!("{},{},{}", one(dice), one(dice), one(dice)),
        _ => one(dice),
    }
}

/// A size without fio's own words, which stand in no list.
fn plain_size(dice: &mut Pcg64Mcg) -> String {
    loop {
        let size = size(dice);
        if !size.contains('$') {
            return size;
        }
    }
}

/// One option that both accept, as a line.
fn option(dice: &mut Pcg64Mcg) -> String {
    let any = |dice: &mut Pcg64Mcg, of: &[&str]| of.choose(dice).unwrap().to_string();
    let directions = ["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw"];
    let number = |dice: &mut Pcg64Mcg, most: u32| dice.random_range(0..=most).to_string();
    let switches = ["direct", "buffered", "end_fsync", "invalidate", "pre_read", "fadvise_hint", "unlink"];
    let flags = ["norandommap", "thread", "group_reporting", "stonewall", "wait_for_previous"];
    match dice.random_range(0..22) {
        0 => format!("{}={}", any(dice, &["rw", "readwrite"]), any(dice, &directions)),
        1 => format!("{}={}", any(dice, &["rwmixread", "rwmixwrite"]), number(dice, 100)),
        2 | 3 => format!("{}={}", any(dice, &["bs", "blocksize"]), per_direction(dice, block)),
        4 => {
            let range =
                |dice: &mut Pcg64Mcg| format!("{}{}{}", block(dice), any(dice, &["-", ":"]), block(dice));
            format!("{}={}", any(dice, &["bsrange", "blocksize_range"]), per_direction(dice, range))
        }
        5 => format!("{}={}", any(dice, &["io_size", "io_limit"]), size(dice)),
        6 => format!("offset={}", size(dice)),
        7 => format!("numjobs={}", dice.random_range(1..=8)),
        8 => format!("ioengine={}", any(dice, &["psync", "sync", "pvsync"])),
        9 | 10 => format!("{}={}", any(dice, &switches), number(dice, 1)),
        11 => format!("fsync={}", number(dice, 64)),
        12 => format!("fdatasync={}", number(dice, 64)),
        13 => format!("runtime={}", time(dice)),
        14 => format!("ramp_time={}", time(dice)),
        15 => format!("thinktime={}", time(dice)),
        16 => format!("rate={}", per_direction(dice, plain_size)),
        17 => format!("randseed={}", number(dice, 1 << 30)),
        18 => any(dice, &flags),
        19 => format!("{}={}", any(dice, &flags), number(dice, 1)),
        20 => any(dice, &["iodepth=1", "kb_base=1024", "randrepeat=1", "loops=1", "description=some words"]),
        _ => format!("size={}", size(dice)),
    }
}

fn options(dice: &mut Pcg64Mcg, most: usize) -> String {
    (0..dice.random_range(0..=most))
        .map(|_| {
            let indent = ["", "", "  ", "\t"].choose(dice).unwrap();
            let end = ["", "", " ", " ; a remark", " # another"].choose(dice).unwrap();
            format!("{indent}{}{end}\n", option(dice))
        })
        .collect()
}

/// A file of jobs; the last size of each is large enough for all blocks.
fn job_file(dice: &mut Pcg64Mcg) -> String {
    let mut text = "; drawn at random\n".to_owned();
    for number in 0..JOBS {
        if dice.random_range(0..3) == 0 {
            text += &format!("[global]\n{}\n", options(dice, 4));
        }
        let timed = ["", "runtime=7\ntime_based\n", "runtime=3s\ntime_based=1\n"].choose(dice).unwrap();
        text += &format!("[job {number}]\n{}{timed}size={}\n# next\n", options(dice, 10), plain_size(dice));
    }
    text
}

/// What fio says, option by option, with `--debug=parse`: global ones first, since jobs inherit them.
fn echoes(said: &str) -> Vec<Echo> {
    let (mut globals, mut jobs, mut is_global): (Echo, Vec<Echo>, bool) = (Echo::new(), Vec::new(), false);
    let mut option = String::new();
    for line in said.lines().filter_map(|line| line.strip_prefix("parse")) {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim();
        if let Some(section) = line.strip_prefix("Parsing section [") {
            is_global = section.starts_with("global");
            if !is_global {
                jobs.push(globals.clone());
            }
            continue;
        }
        let echo = if is_global { &mut globals } else { jobs.last_mut().unwrap_or(&mut globals) };
        if let Some(rest) = line.strip_prefix("handle_option=") {
            option = rest.split(',').next().unwrap_or_default().to_owned();
            echo.entry(option.clone()).or_default().clear();
        } else if let Some((failed, value)) =
            line.strip_prefix("ret=").and_then(|rest| rest.split_once(", out="))
        {
            // A part that is left out fails, and keeps what was there.
            let value = if failed == "0" { value.parse().unwrap() } else { u64::MAX };
            echo.entry(option.clone()).or_default().push(value);
        }
    }
    jobs
}

/// The last value that fio read of an option that one of these names gives.
fn last(echo: &Echo, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| echo.get(*name)).and_then(|values| values.last().copied())
}

/// Everything that the two can be asked about a job's numbers: here first, then what fio says.
fn compared(job: &Job, echo: &Echo) -> Vec<(&'static str, u64, Option<u64>)> {
    let us = |time: Duration| time.as_micros() as u64;
    vec![
        ("size", job.size.unwrap(), last(echo, &["size"])),
        ("offset", job.offset, last(echo, &["offset"])),
        ("io_size", job.io_size.unwrap_or(0), last(echo, &["io_size"])),
        ("numjobs", u64::from(job.numjobs), last(echo, &["numjobs"])),
        ("fsync", u64::from(job.fsync), last(echo, &["fsync"])),
        ("fdatasync", u64::from(job.fdatasync), last(echo, &["fdatasync"])),
        ("end_fsync", u64::from(job.end_fsync), last(echo, &["end_fsync"])),
        ("invalidate", u64::from(job.invalidate), last(echo, &["invalidate"])),
        ("pre_read", u64::from(job.pre_read), last(echo, &["pre_read"])),
        ("norandommap", u64::from(!job.random_map), last(echo, &["norandommap"])),
        ("stonewall", u64::from(job.stonewall), last(echo, &["stonewall"])),
        ("group_reporting", u64::from(job.group_reporting), last(echo, &["group_reporting"])),
        ("time_based", u64::from(job.time_based), last(echo, &["time_based"])),
        ("runtime", us(job.runtime), last(echo, &["runtime"])),
        ("ramp_time", us(job.ramp_time), last(echo, &["ramp_time"])),
        ("thinktime", us(job.thinktime), last(echo, &["thinktime"])),
        ("randseed", job.seed, last(echo, &["randseed"])),
    ]
}

/// The option's value for one direction, as fio read it: the part that stands for it.
fn of_direction(values: &[u64], direction: Direction) -> Option<u64> {
    let part = if values.len() == 1 { values[0] } else { *values.get(direction as usize)? };
    (part != u64::MAX).then_some(part)
}

fn agree(text: &str, job: &Job, echo: &Echo) {
    // Names of one option that are both used would be two in fio's echo; the files use one spelling each.
    for (name, here, there) in compared(job, echo) {
        if let Some(there) = there {
            assert_eq!(here, there, "{name} of [{}] in\n{text}", job.name);
        }
    }
    for direction in [Direction::Read, Direction::Write] {
        let side = direction as usize;
        if let Some(rate) = echo.get("rate").and_then(|values| of_direction(values, direction)) {
            assert_eq!(job.rate[side], rate, "rate of [{}] in\n{text}", job.name);
        }
        let is_ranged =
            job.blocks[side] != Blocks::fixed(job.blocks[side].least) || echo.contains_key("bsrange");
        if let Some(block) = echo.get("bs").and_then(|values| of_direction(values, direction)) {
            assert!(is_ranged || job.blocks[side] == Blocks::fixed(block), "bs of [{}] in\n{text}", job.name);
        }
    }
}

/// fio knows each option by one name; aliases in a file would stand apart in its echo.
fn with_one_name(text: &str) -> String {
    let names = [
        ("readwrite=", "rw="),
        ("blocksize_range=", "bsrange="),
        ("blocksize=", "bs="),
        ("io_limit=", "io_size="),
        ("wait_for_previous", "stonewall"),
    ];
    names.iter().fold(text.to_owned(), |text, (alias, name)| text.replace(alias, name))
}

#[test]
fn fio_reads_two_hundred_generated_jobs_alike() {
    if !has_fio("fio_reads_two_hundred_generated_jobs_alike") {
        return;
    }
    let place = Place::new("generated");
    let mut dice = Pcg64Mcg::new(11);
    let mut seen = 0;
    while seen < FILES * JOBS {
        let aliased = job_file(&mut dice);
        // Both refuse blocks that do not fit, and options that only make sense together.
        let Ok(file) = read(&aliased) else { continue };
        echoes_options(&place, &aliased, &file.jobs);
        let text = with_one_name(&aliased);
        assert_eq!(file.jobs.len(), JOBS);
        let path = place.write("drawn.fio", &text);
        let (accepted, said) = fio(&place, &["--parse-only", "--debug=parse"], &path);
        let echoes = echoes(&said);
        assert!(accepted && echoes.len() == JOBS, "{} sections in what fio said of\n{text}", echoes.len());
        let plain = read(&text).unwrap();
        for ((job, aliased), echo) in plain.jobs.iter().zip(&file.jobs).zip(&echoes) {
            assert_eq!(
                Job { written: Vec::new(), ..job.clone() },
                Job { written: Vec::new(), ..aliased.clone() }
            );
            agree(&text, job, echo);
        }
        seen += JOBS;
    }
}

/// fio accepts the file, and the command line that it says this amounts to has every option as it was read here.
fn echoes_options(place: &Place, text: &str, jobs: &[Job]) {
    let path = place.write("aliased.fio", text);
    let (accepted, said) = fio(place, &["--parse-only", "--showcmd"], &path);
    assert!(accepted && !said.contains("dropped"), "fio refuses what is accepted here:\n{text}\n{said}");
    let parts: Vec<&str> = said.split("--name=").skip(1).collect();
    assert_eq!(parts.len(), jobs.len(), "{said}");
    for (part, job) in parts.iter().zip(jobs) {
        for (key, value) in &job.written {
            // fio shows the option's first name, whichever was written.
            let option = with_one_name(&format!("{key}="));
            let shown = [format!("--{option}{value}"), format!("--{option}\"{value}\"")];
            assert!(shown.iter().any(|shown| part.contains(shown)), "{} in {part}", shown[0]);
        }
    }
}

/// Everything that fio refuses is refused here too.
#[test]
fn what_fio_refuses_is_refused() {
    if !has_fio("what_fio_refuses_is_refused") {
        return;
    }
    let place = Place::new("refused");
    let mut refused = 0;
    for line in [
        "rw=READ",
        "rw=",
        "rw",
        "bs=0",
        "bs=",
        "bs=k",
        "size=",
        "size=abc",
        "bsrange=4k",
        "direct",
        "direct=2",
        "direct=yes",
        "invalidate=",
        "rwmixread=101",
        "end_fsync",
        "foo=1",
        "RW=read",
        "rw = read",
        "fsync=x",
        "numjobs=x",
        "runtime=usec",
        "rate=x",
        "size=$NOSUCH",
        "size=${NOSUCH_VARIABLE}",
        "size=18446744073709551616",
        "include nosuch.fio",
        "thread=2",
        "time_based=x",
        "stonewall=-",
        "offset=",
        "io_size=",
        "thinktime=",
        "$",
    ] {
        let text = format!("[x]\nsize=1m\n{line}\n");
        let path = place.write("refused.fio", &text);
        let (accepted, said) = fio(&place, &["--parse-only"], &path);
        let is_refused = !accepted || said.contains("dropped");
        refused += usize::from(is_refused);
        assert!(!is_refused || read(&text).is_err(), "fio refuses '{line}', and it is accepted here");
    }
    assert!(refused > 20, "{refused} of the lines are refused by fio");
}
