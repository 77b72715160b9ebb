//! What `fathom syscalls` says of a call against bare loops in C, compiled here and run in turns with it on
//! the same CPU and the same file. The loop stands at four places of the code; the figure is the ratio of the
//! median times per call to the fastest of them, and the bar is 3 %.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod bare;
mod pairs;
mod ratio;

use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use fathom::instrument::Instrument;
use fathom::scratch::Scratch;
use fathom::speed::syscalls::{ALL, CALLS};
use fathom_stats::quantile::median;
use fathom_sys::affinity::pin_to_current_cpu;
use fathom_sys::file;
use rand_pcg::Pcg64Mcg;

use bare::Bare;
use pairs::in_turns;
use ratio::ratio;

const TURNS: usize = 201;
const BAR: f64 = 0.03;

/// How many places the bare loop stands at.
const PLACES: usize = 4;

/// The bare loops: reads `NUMBER-OF-CALL PLACE` and answers with the nanoseconds of a batch.
const BARE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Inlined, as the other side has it: after a call the return predictor is empty on many processors, so that
// the return from a wrapper of the C library would cost as much again as a cheap call.
static inline long enter(long number, long a, long b, long c, long d) {
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    result = x0;
#else
    result = syscall(number, a, b, c, d);
#endif
    return result;
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// The same loops, a number of empty instructions behind the start of a cache line: where a loop stands may change
// its time by 5 %, now and then by 30 %, which is a cost of the place and not of the call.
#define LOOP(nops) \
    __asm__ volatile(".p2align 6\n\t.rept " #nops "\n\tnop\n\t.endr"); \
    for (long i = 0; i < calls; i++)
#define PLACE(name, nops) \
    static __attribute__((noinline)) long long name(int call, int fd, long calls) { \
        char byte = 'A'; \
        struct stat about; \
        lseek(fd, 0, SEEK_SET); \
        long long before = now(); \
        switch (call) { \
        case 0: LOOP(nops) if (enter(SYS_read, fd, (long)&byte, 1, 0) != 1) exit(1); break; \
        case 1: LOOP(nops) if (enter(SYS_pread64, fd, (long)&byte, 1, i) != 1) exit(1); break; \
        case 2: LOOP(nops) if (enter(SYS_lseek, fd, i, SEEK_SET, 0) != i) exit(1); break; \
        case 3: LOOP(nops) if (enter(SYS_fstat, fd, (long)&about, 0, 0) != 0) exit(1); break; \
        case 4: LOOP(nops) enter(SYS_getppid, 0, 0, 0, 0); break; \
        case 5: LOOP(nops) if (enter(SYS_write, fd, (long)&byte, 1, 0) != 1) exit(1); break; \
        } \
        return now() - before; \
    }
PLACE(at_0, 0)
PLACE(at_12, 12)
PLACE(at_24, 24)
PLACE(at_44, 44)

int main(int count, char **words) {
    long long (*const places[])(int, int, long) = {at_0, at_12, at_24, at_44};
    int fd = open(words[1], O_RDWR), call, place;
    long calls = atol(words[2]);
    while (fd >= 0 && count == 3 && scanf("%d %d", &call, &place) == 2) {
        places[place](call, fd, 256);
        printf("%lld\n", places[place](call, fd, calls));
        fflush(stdout);
    }
    return 0;
}
"#;

fn main() -> ExitCode {
    match compare(&std::env::temp_dir()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("syscalls: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<bool, String> {
    let instrument = Instrument::calibrate()?;
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let path = scratch.path().join("file");
    let target = file::create_new(&path).map_err(|error| error.to_string())?;
    let written = file::pwrite(target.as_fd(), &vec![b'A'; CALLS as usize], 0);
    written.map_err(|errno| format!("write {}: {errno}", path.display()))?;
    // The child inherits it: both sides run on one CPU.
    let _pinned = pin_to_current_cpu();
    let words = [&path.display().to_string(), &CALLS.to_string()];
    let mut bare = Bare::start(scratch.path(), BARE, &["-O2"], &words.map(String::as_str))?;
    let mut generator = Pcg64Mcg::new(1);
    let mut is_within = true;
    println!("{:8} {:>9} {:>9} {:>9} {:>7}  95 % interval", "", "ours ns", "bare ns", "slowest", "ratio");
    for (number, call) in ALL.iter().enumerate() {
        // Ours stands behind the places.
        let mut sides = in_turns(TURNS, PLACES + 1, &mut generator, |side| {
            let ns = if side < PLACES {
                bare.ask(&format!("{number} {side}"))?
            } else {
                let ns = call.time(&instrument, target.as_fd(), 0, CALLS);
                ns.map_err(|errno| format!("{}: {errno}", call.name()))?
            };
            Ok(ns / CALLS as f64)
        })?;
        let ours = sides.pop().unwrap_or_default();
        let of = |side: &Vec<f64>| median(side).unwrap_or(f64::NAN);
        sides.sort_by(|a, b| of(a).total_cmp(&of(b)));
        let (fastest, slowest) = (&sides[0], of(&sides[PLACES - 1]));
        let ratio = ratio(&ours, fastest, &mut generator)?;
        println!(
            "{:8} {:9.1} {:9.1} {slowest:9.1} {:7.3}  {:.3} to {:.3}",
            call.name(),
            of(&ours),
            of(fastest),
            ratio.value,
            ratio.interval.low,
            ratio.interval.high
        );
        is_within &= (ratio.value - 1.0).abs() <= BAR;
    }
    println!("the bar is {:.0} %: {}", BAR * 100.0, if is_within { "kept" } else { "missed" });
    Ok(is_within)
}
