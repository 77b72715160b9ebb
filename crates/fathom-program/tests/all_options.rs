//! Job files drawn from every option that the table has, good values and bad ones: whatever fio refuses is refused, and
//! what is refused though fio takes it is refused for a reason that is named. Without fio these tests say `skipped: NAME: reason`;
//! with `FATHOM_REQUIRE=all` in the environment they fail instead.

#[path = "../../../fuzz/command_line.rs"]
mod command_line;

use std::path::Path;
use std::process::Command;

use fathom_program::job::{Job, JobFile, Mistake, Surroundings, option_table, parse, parse_command};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

const FILES: usize = 2000;
/// How many files are handed to fio at once.
const BATCH: usize = 100;

/// Reasons for refusing what fio's parser takes: it finds these out when it runs, or has no way to.
const REASONS: [&str; 31] = [
    "there is no such job before this one",
    "can't wait for itself",
    "jobs have this name",
    // Whether it does take one depends on what lies in memory behind the line.
    "takes no space before '='",
    "is not supported: ",
    "needs ",
    "is not for Linux",
    "runs a command",
    "loads a library",
    "rearranges the blocks",
    "there is no engine",
    "does not fit into",
    "leaves nothing to do",
    "exclude each other",
    "the least rate is above the most",
    "sizes in zones need a zoned block device",
    "this option takes no percentage",
    "is not a percentage",
    "is less than 0",
    "is more than",
    "is less than",
    "is past the end of the file",
    "is not a CPU",
    "there is no CPU",
    "is none of default, local",
    "is none of read, write, trim, sync",
    "is not an error",
    "is not read from a file",
    "there must be 1 to",
    "larger than any file can be",
    // With --parse-only fio does not look at what stands behind the colon of rw=read:N.
    "is not a number of bytes",
];

fn on_this_machine<T>(ask: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    ask(&Surroundings {
        page_size: 4096,
        cpus: 2,
        memory_mib: 1000,
        variable: &|_| None,
        file: &|_| None,
        path: "",
        on_files: None,
        added: &[],
    })
}

fn read(text: &str) -> Result<JobFile, Mistake> {
    on_this_machine(|surroundings| parse(text, surroundings))
}

fn has_fio(name: &str) -> bool {
    let there = Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    let all = std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all");
    assert!(there || !all, "skipped, and everything is required: {name}: fio is not installed");
    if !there {
        let line = format!("skipped: {name}: fio is not installed\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    there
}

/// Whether the same jobs come from the command line that a file amounts to.
fn survives_a_command_line(file: &JobFile) -> bool {
    // On a command line a log has to have a name.
    let mut options = file.sections.iter().flat_map(|section| &section.options);
    let differs = options.any(|(key, value)| key.starts_with("write_") && value.is_none());
    if differs {
        return true;
    }
    let words = command_line::words(file);
    let plain = |jobs: &[Job]| -> Vec<Job> {
        jobs.iter().map(|job| Job { written: Vec::new(), ..job.clone() }).collect()
    };
    let again = on_this_machine(|surroundings| parse_command(&words, surroundings));
    again.is_ok_and(|again| plain(&again.jobs.jobs) == plain(&file.jobs))
}

/// The rows of the table: names, values, and whether only some engines have it.
fn rows() -> Vec<(Vec<String>, String, Vec<String>)> {
    let words = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let table = option_table();
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells = cells(line);
        let (names, engines) = cells[0].split_once(" (").unwrap_or((&cells[0], ""));
        (words(names), cells[1].trim().to_owned(), words(engines))
    };
    table.lines().skip(2).map(row).collect()
}

fn any(dice: &mut Pcg64Mcg, of: &[&str]) -> String {
    (*of.choose(dice).unwrap()).to_owned()
}

fn size(dice: &mut Pcg64Mcg) -> String {
    let unit =
        any(dice, &["", "", "k", "K", "kb", "m", "mib", "g", "GiB", "b", "%", "x", "kfoo", ".5k", " "]);
    format!("{}{unit}", dice.random_range(0..600_u32))
}

/// Something that may stand as a value of any option.
fn odd(dice: &mut Pcg64Mcg) -> String {
    let values = [
        "",
        "foo",
        "0x10",
        "-1",
        "1:2",
        "1,2",
        ",4k",
        "4k,",
        "1-2",
        "none",
        "true",
        "\"4k\"",
        " 4k",
        "1.5",
        "99%",
        "4z",
        "$ncpus",
        "2*$ncpus",
        "99999999999999999999",
        "4k/50:8k",
        "a:b:c",
        "/dev/nosuch",
        "é",
    ];
    any(dice, &values)
}

/// A value that an option of this name may well have.
fn value(dice: &mut Pcg64Mcg, name: &str, kind: &str) -> String {
    let own: &[&str] = match name {
        "rw" | "readwrite" => &["read:8", "randread:4", "randrw", "write:-4k", "trimwrite", "rw:x"],
        "ioengine" => &["psync", "libaio", "io_uring", "pvsync2", "mmap", "aio", "filestat", "rbd", "sync:x"],
        "bssplit" => {
            &["4k/50:8k/50", "4k/60:64k/,8k/10", "4k", "x/3", "4k/:8k/", "4k/200:8k/1", "1k/10,2k,4k/90"]
        }
        "random_distribution" => &[
            "zipf",
            "zipf:1.2",
            "zipf:1",
            "pareto:0.2:0.5",
            "normal:200",
            "zoned:60/10:40/90",
            "zoned:60/10",
            "zoned_abs:50/1g:50/2g",
            "zipf:1.2:3",
        ],
        "file_service_type" => &["random:4", "zipf:1.0", "gauss:5", "sequential", "pareto:x"],
        "steadystate" | "ss" => &["iops:1%", "bw:1m", "bw_slope:0.3%", "iops", "iops:x"],
        "verify_pattern" | "buffer_pattern" => {
            &["0xff", "\"abc\"", "123", "%o", "0xffx", "-10", "\"ab\"0x12%o"]
        }
        "sync_file_range" => &["write:8", "wait_before,write", "write", "read", "wait_after:x"],
        "ignore_error" => &["EIO", "EIO,28:ENOSPC"],
        "cpus_allowed" | "verify_async_cpus" | "log_compression_cpus" => &["0", "0-1", "0,1"],
        "numa_mem_policy" => &["local", "bind:0", "interleave"],
        "percentile_list" | "latency_percentile" => &["99", "50:99.9", "101", "99:x", "99,5"],
        "replay_skip" => &["read", "read,trim"],
        "replay_align" => &["8", "3"],
        "offset" | "fileoffset" | "size" | "io_size" | "io_limit" => &["10%", "1g", "200%", "0"],
        _ => &[],
    };
    if !own.is_empty() && dice.random_range(0..3) > 0 {
        return any(dice, own);
    }
    let choices: Vec<&str> = kind.split(", ").collect();
    let bounds =
        kind.split_once(" to ").and_then(|(a, b)| Some((a.parse::<i64>().ok()?, b.parse::<i64>().ok()?)));
    match (kind, bounds) {
        (_, Some((least, most))) => dice.random_range(least - 1..=most + 1).to_string(),
        ("flag" | "0 or 1", _) => any(dice, &["0", "1", "1", "2", "1abc"]),
        ("time (us)" | "time (s)", _) => {
            let unit = any(dice, &["", "s", "ms", "m", "h", "min", "sec", "us", "d", "S"]);
            format!("{}{unit}", dice.random_range(0..90_u32))
        }
        ("number" | "bytes or N%", _) => size(dice),
        ("LOW-HIGH", _) => format!("{}-{}", size(dice), size(dice)),
        ("fractions", _) => any(dice, &["0.5", "1", "0.2:0.3", "x"]),
        ("text" | "-", _) => any(dice, &["x", "a b", "x;y", "/tmp/nosuch", "1"]),
        _ => any(dice, &choices),
    }
}

fn job_file(dice: &mut Pcg64Mcg, rows: &[(Vec<String>, String, Vec<String>)]) -> String {
    let mut text = String::new();
    for section in ["[global]", "[x]"] {
        text += &format!("{section}\n");
        for _ in 0..dice.random_range(0..=3) {
            let (names, kind, engines) = rows.choose(dice).unwrap();
            let name = names.choose(dice).unwrap();
            if let Some(engine) = engines.choose(dice).filter(|_| dice.random_range(0..4) > 0) {
                text += &format!("ioengine={engine}\n");
            }
            let line = match dice.random_range(0..12) {
                0 => name.clone(),
                1 => format!("{name}={}", odd(dice)),
                2 => format!("{name} ={}", value(dice, name, kind)),
                3 if name.len() > 3 => format!("{}={}", &name[1..], value(dice, name, kind)),
                4 if kind == "flag" => name.clone(),
                _ => format!("{name}={}", value(dice, name, kind)),
            };
            text += &format!("{line}{}\n", any(dice, &["", "", " # remark", "  "]));
        }
    }
    text
}

/// Whether fio takes each of the files, four at a time. It comes to a file that is not there only after it has taken the one before,
/// and then it ends at once: after files that it has all taken it measures the CPU's clock for a tenth of a second.
fn taken(place: &Path, files: &[String]) -> Vec<bool> {
    for (number, text) in files.iter().enumerate() {
        std::fs::write(place.join(format!("{number}.fio")), text).unwrap();
    }
    let each = "fio --parse-only {}.fio no-more.fio 2>&1 </dev/null | grep -q no-more.fio && echo {}; true";
    let all = format!("seq 0 {} | xargs -P 4 -I{{}} sh -c '{each}'", files.len() - 1);
    let output = Command::new("sh").args(["-c", &all]).current_dir(place).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<usize> = said.lines().filter_map(|line| line.parse().ok()).collect();
    (0..files.len()).map(|number| numbers.contains(&number)).collect()
}

#[test]
fn fio_agrees_on_two_thousand_files_of_all_options() {
    if !has_fio("fio_agrees_on_two_thousand_files_of_all_options") {
        return;
    }
    let place = std::env::temp_dir().join(format!("fathom-all-options-{}", std::process::id()));
    std::fs::create_dir(&place).unwrap();
    let seed = std::env::var("FATHOM_SEED").map_or(27, |text| text.parse().unwrap());
    let mut dice = Pcg64Mcg::new(seed);
    let rows = rows();
    let (mut wrong, mut both) = (Vec::new(), 0);
    for _ in 0..FILES / BATCH {
        let files: Vec<String> = (0..BATCH).map(|_| job_file(&mut dice, &rows)).collect();
        for (text, is_taken) in files.iter().zip(taken(&place, &files)) {
            match (read(text), is_taken) {
                (Ok(file), true) if survives_a_command_line(&file) => both += 1,
                (Ok(file), true) => {
                    wrong.push(format!("as a command line: {}\n{text}", command_line::words(&file).join(" ")))
                }
                (Err(_), false) => {}
                // fio 3.33 has no engines for directories.
                (Ok(_), false) if text.contains("ioengine=dir") => {}
                (Ok(_), false) => wrong.push(format!("fio refuses this, and it is accepted here:\n{text}")),
                (Err(mistake), true) if REASONS.iter().any(|reason| mistake.reason.contains(reason)) => {}
                (Err(mistake), true) => wrong.push(format!("fio takes this, and here is {mistake}:\n{text}")),
            }
        }
    }
    std::fs::remove_dir_all(&place).unwrap();
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {FILES} files, seed {seed}:\n{shown}", wrong.len());
    assert!(both > FILES / 4, "only {both} files are accepted by both");
}

#[test]
fn a_global_section_between_jobs_stands_in_each_job_behind_it() {
    let later = "[global]\nsize=1m\n[x]\nname=z\nrw=read\n[global]\nbs=8k\n[y]\nrw=write\n";
    let later = read(later).unwrap();
    let shown = command_line::words(&later).join(" ");
    assert_eq!(shown, "fio --size=1m --name=z --rw=read --name=y --bs=8k --rw=write");
    assert!(survives_a_command_line(&later));
}

/// fio's own list of options is in the table, all of it.
#[test]
fn every_option_that_fio_lists_is_in_the_table() {
    if !has_fio("every_option_that_fio_lists_is_in_the_table") {
        return;
    }
    let said = Command::new("fio").arg("--cmdhelp").output().unwrap().stdout;
    let names: Vec<String> = rows().into_iter().flat_map(|(names, ..)| names).collect();
    let text = String::from_utf8_lossy(&said).into_owned();
    let listed = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    let missing: Vec<&str> = listed.filter(|name| !names.iter().any(|known| known == name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_documentation_shows_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jobs.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once("<!-- options -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of options -->").unwrap();
    if std::env::var_os("FATHOM_WRITE_DOCS").is_some() {
        let new = format!("{before}<!-- options -->\n{}<!-- end of options -->{after}", option_table());
        std::fs::write(path, new).unwrap();
    } else {
        assert!(shown == option_table(), "docs/jobs.md is behind: run this test with FATHOM_WRITE_DOCS=1");
    }
}
