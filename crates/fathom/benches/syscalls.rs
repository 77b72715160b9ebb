//! What `fathom syscalls` says of a call against a bare loop in C, compiled here and run in turns with it on
//! the same CPU and the same file. The figure is the ratio of the median times per call; the bar is 3 %.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod bare;
mod pairs;

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
use pairs::Pairs;

const TURNS: usize = 201;
const BAR: f64 = 0.03;

/// The bare loop: reads `NUMBER-OF-CALL`s and answers with the nanoseconds of a batch of each.
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
// the return from a wrapper of the C library would cost as much again as a cheap call. And at the start of a
// cache line, as the other side has it: elsewhere the same loop may take half as long again.
static inline long enter(long number, long a, long b, long c, long d) {
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    __asm__ volatile(".p2align 6\n\tsyscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
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

static long long batch(int call, int fd, long calls) {
    char byte = 'A';
    struct stat about;
    lseek(fd, 0, SEEK_SET);
    long long before = now();
    switch (call) {
    case 0: for (long i = 0; i < calls; i++) if (enter(SYS_read, fd, (long)&byte, 1, 0) != 1) exit(1); break;
    case 1: for (long i = 0; i < calls; i++) if (enter(SYS_pread64, fd, (long)&byte, 1, i) != 1) exit(1); break;
    case 2: for (long i = 0; i < calls; i++) if (enter(SYS_lseek, fd, i, SEEK_SET, 0) != i) exit(1); break;
    case 3: for (long i = 0; i < calls; i++) if (enter(SYS_fstat, fd, (long)&about, 0, 0) != 0) exit(1); break;
    case 4: for (long i = 0; i < calls; i++) enter(SYS_getppid, 0, 0, 0, 0); break;
    case 5: for (long i = 0; i < calls; i++) if (enter(SYS_write, fd, (long)&byte, 1, 0) != 1) exit(1); break;
    }
    return now() - before;
}

int main(int count, char **words) {
    int fd = open(words[1], O_RDWR), call;
    long calls = atol(words[2]);
    while (fd >= 0 && count == 3 && scanf("%d", &call) == 1) {
        batch(call, fd, 256);
        printf("%lld\n", batch(call, fd, calls));
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
    println!("{:8} {:>9} {:>9} {:>7}  95 % interval", "", "ours ns", "bare ns", "ratio");
    for (number, call) in ALL.into_iter().enumerate() {
        let ours = || {
            let ns = call.time(&instrument, target.as_fd(), 0, CALLS);
            ns.map(|ns| ns / CALLS as f64).map_err(|errno| format!("{}: {errno}", call.name()))
        };
        let pairs = Pairs::take(TURNS, &mut generator, ours, || {
            bare.ask(&number.to_string()).map(|ns| ns / CALLS as f64)
        })?;
        let ratio = pairs.ratio(&mut generator).ok_or("there is no interval")?;
        println!(
            "{:8} {:9.1} {:9.1} {:7.3}  {:.3} to {:.3}",
            call.name(),
            median(&pairs.ours).unwrap_or(f64::NAN),
            median(&pairs.theirs).unwrap_or(f64::NAN),
            ratio.value,
            ratio.interval.low,
            ratio.interval.high
        );
        is_within &= (ratio.value - 1.0).abs() <= BAR;
    }
    println!("the bar is {:.0} %: {}", BAR * 100.0, if is_within { "kept" } else { "missed" });
    Ok(is_within)
}
