//! What `metadata_cost` says of calls on names against bare loops in C, compiled here and run in turns with it on the
//! same CPU and in the same directory. A loop's figure is the time of all its calls over their number; the figure of a
//! side is the median of its turns, and the bar is 10 %.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod bare;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom::experiment::{Effort, by_name};
use fathom::finding::Kind;
use fathom::instrument::Instrument;
use fathom::machine::linux::{Limits, Linux};
use fathom::scratch::Scratch;
use fathom::survey::{self, Plan};
use fathom_stats::quantile::median;
use fathom_sys::affinity::pin_to_current_cpu;

use bare::Bare;

const TURNS: u64 = 9;
const BAR: f64 = 0.1;
const KINDS: [&str; 7] = ["create", "close", "stat", "open", "rename", "unlink", "readdir"];
const SIZES: [u64; 2] = [10, 1000];

/// The bare loops: reads `FILES KIND` and answers with the ns of a call of that kind. When it is asked for the first one,
/// it makes a new directory with so many files and times all kinds: some file systems allocate more slowly where much
/// was deleted of late, and ours has new directories as well.
const BARE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NEW = 8, ROUNDS = 48, KINDS = 7 };
static double kept[KINDS][ROUNDS];
static char buffer[32768];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void must(int good) { if (!good) { perror("bare"); exit(1); } }

static int filled(const char *path, int files) {
    char name[64];
    int made = mkdir(path, 0700) == 0, dir = open(path, O_PATH | O_DIRECTORY);
    must(dir >= 0);
    for (int i = 0; made && i < files; i++) {
        snprintf(name, sizeof name, "%012x", i);
        close(openat(dir, name, O_CREAT | O_EXCL | O_RDWR, 0600));
    }
    return dir;
}

#define LOOP(kind, call) { \
    double before = now(); \
    for (int i = 0; i < NEW; i++) must((call) >= 0); \
    kept[kind][round] = (now() - before) / NEW; }

int main(int count, char **words) {
    char path[4096], names[NEW][64], others[NEW][64];
    int files, wanted, turn = 0, fds[NEW];
    struct stat about;
    while (count == 2 && scanf("%d %d", &files, &wanted) == 2) {
        turn += wanted == 0;
        snprintf(path, sizeof path, "%s/bare-%d", words[1], turn);
        int dir = filled(path, files);
        for (int i = 0; i < NEW; i++) {
            snprintf(names[i], 64, "%012x", files + i);
            snprintf(others[i], 64, "0001%08x", files + i);
        }
        for (int round = 0; wanted == 0 && round < ROUNDS; round++) {
            LOOP(0, fds[i] = openat(dir, names[i], O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
            LOOP(1, close(fds[i]));
            LOOP(2, fstatat(dir, names[i], &about, 0));
            LOOP(3, fds[i] = openat(dir, names[i], O_RDWR | O_CLOEXEC));
            for (int i = 0; i < NEW; i++) close(fds[i]);
            LOOP(4, renameat(dir, names[i], dir, others[i]));
            LOOP(5, unlinkat(dir, others[i], 0));
            double before = now();
            int all = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            must(all >= 0);
            while (syscall(SYS_getdents64, all, buffer, sizeof buffer) > 0) {}
            close(all);
            kept[6][round] = now() - before;
        }
        close(dir);
        qsort(kept[wanted], ROUNDS, sizeof(double), ascending);
        printf("%f\n", kept[wanted][ROUNDS / 2]);
        fflush(stdout);
    }
    return 0;
}
"#;

fn main() -> ExitCode {
    let directory = std::env::var_os("FATHOM_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    match compare(&directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("metadata: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Medians of ours, in the order of the bare loops' answers.
fn ours(directory: &Path, instrument: &Instrument, seed: u64) -> Result<Vec<f64>, String> {
    let limits = Limits { max_write: 1 << 20, deadline: None };
    let mut machine = Linux::at(directory, instrument, limits, Arc::new(AtomicBool::new(false)))
        .map_err(|fault| fault.to_string())?;
    let plan = Plan {
        experiments: by_name("metadata_cost").into_iter().collect(),
        evidence: vec![Kind::Timing],
        effort: Effort::Full,
        seed,
        max_time: Duration::from_secs(60),
        intrusive: false,
    };
    let answers = survey::ask(&mut machine, &plan, &mut |_, _| ()).map_err(|fault| fault.to_string())?;
    let spreads = &answers[0].finding.evidence[0].distributions;
    Ok(spreads.iter().map(|spread| spread.median_ns).collect())
}

fn compare(directory: &Path) -> Result<bool, String> {
    let instrument = Instrument::calibrate()?;
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let _pinned = pin_to_current_cpu();
    let mut bare = Bare::start(scratch.path(), BARE, &["-O2"], &[&scratch.path().display().to_string()])?;
    let mut sides =
        [vec![Vec::new(); KINDS.len() * SIZES.len()], vec![Vec::new(); KINDS.len() * SIZES.len()]];
    for turn in 0..TURNS {
        for (at, ns) in ours(directory, &instrument, turn)?.into_iter().enumerate() {
            sides[0][at].push(ns);
        }
        for (at, size) in SIZES.into_iter().enumerate() {
            for kind in 0..KINDS.len() {
                sides[1][at * KINDS.len() + kind].push(bare.ask(&format!("{size} {kind}"))?);
            }
        }
    }
    let mut is_within = true;
    println!("{:20} {:>9} {:>9} {:>7}", "", "ours ns", "bare ns", "ratio");
    for (at, (ours, bare)) in sides[0].iter().zip(&sides[1]).enumerate() {
        let [ours, bare] = [ours, bare].map(|side| median(side).unwrap_or(f64::NAN));
        let name = format!("{}, {} files", KINDS[at % KINDS.len()], SIZES[at / KINDS.len()]);
        println!("{name:20} {ours:9.0} {bare:9.0} {:7.3}", ours / bare);
        is_within &= (ours / bare - 1.0).abs() <= BAR;
    }
    println!("the bar is {:.0} %: {}", BAR * 100.0, if is_within { "kept" } else { "missed" });
    Ok(is_within)
}
