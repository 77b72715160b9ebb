//! The model's streams, held against the system calls that glibc makes: strace tells those of a C program that reads,
//! writes, seeks and flushes at random. Each call has to be the same, in the same order. Where there is no strace or
//! no C compiler it says so, and with `FATHOM_REQUIRE=all` it fails.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_model::stdio::{Asked, Library, Stream};
use fathom_program::call::CallKind;

/// Buffers; zero for the one that glibc takes by itself.
const BUFFERS: [u64; 10] = [0, 2, 100, 127, 128, 512, 1000, 4096, 16_384, 65_536];
const SEQUENCES: u64 = 3;
const OPERATIONS: usize = 250;
const LARGEST: u64 = 300_000;

/// `r`, `w` and `s` take a number of bytes or a place.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    static char data[300000];
    FILE *file = fopen(words[1], "r+");
    size_t size = strtoull(words[2], 0, 10);
    if (!file || (size && setvbuf(file, malloc(size), _IOFBF, size))) return 1;
    char what;
    unsigned long long number;
    while (scanf(" %c %llu", &what, &number) == 2) {
        if (what == 'r') fread(data, 1, number, file);
        if (what == 'w' && fwrite(data, 1, number, file) != number) return 2;
        if (what == 's' && fseek(file, number, SEEK_SET)) return 3;
        if (what == 'f' && fflush(file)) return 4;
    }
    // What exit does with a stream differs between versions.
    _exit(count == 3 && !fflush(file) ? 0 : 5);
}
"#;

#[test]
fn a_stream_asks_the_kernel_for_what_glibc_asks_it_for() {
    let scratch = Scratch::new();
    let program = match compiled(&scratch.0) {
        Ok(program) => program,
        Err(reason) => {
            let all = std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all");
            assert!(!all, "skipped, and everything is required: stdio_agreement: {reason}");
            println!("skipped: stdio_agreement: {reason}");
            return;
        }
    };
    let mut calls = 0;
    for size in BUFFERS {
        for seed in 0..SEQUENCES {
            let operations = pattern(seed ^ (size << 8), if size == 0 { 4096 } else { size });
            let length = 1 + seed * 100_001;
            let glibc = on_glibc(&program, &scratch.0, size, length, &operations);
            let model = on_model(size, length, &operations);
            let same = glibc.iter().zip(&model).take_while(|(glibc, model)| glibc == model).count();
            let next = [glibc.get(same..), model.get(same..)].map(|rest| rest.and_then(|rest| rest.first()));
            assert!(
                same == glibc.len().max(model.len()),
                "buffer {size}, seed {seed}: after {same} calls glibc and the model: {next:?}"
            );
            calls += same;
        }
    }
    println!("{calls} system calls are the same");
    assert!(calls > 5_000);
}

/// A directory of its own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("stdio-agreement-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn compiled(scratch: &Path) -> Result<PathBuf, String> {
    let traces = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !traces.is_ok_and(|output| output.status.success()) {
        return Err("strace is not installed, or may not trace".to_owned());
    }
    let (source, program) = (scratch.join("program.c"), scratch.join("program"));
    fs::write(&source, PROGRAM).unwrap();
    let output = Command::new("cc").arg(&source).arg("-o").arg(&program).output();
    match output {
        Ok(output) if output.status.success() => Ok(program),
        _ => Err("there is no C compiler".to_owned()),
    }
}

/// What a program does, in an order that ISO C allows: between reading and writing it seeks.
fn pattern(seed: u64, buffer: u64) -> Vec<(char, u64)> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let (mut operations, mut last) = (Vec::new(), ' ');
    while operations.len() < OPERATIONS {
        let what = ['r', 'r', 'w', 'w', 's', 'f'][below(6) as usize];
        let turns = matches!((last, what), ('r', 'w') | ('w', 'r'));
        if what == 's' || turns {
            let near = below(3 * buffer + 2);
            operations.push(('s', if below(2) == 0 { near } else { below(LARGEST) }));
            last = 's';
        }
        for _ in 0..1 + below(6) {
            let bytes = match below(6) {
                0 => below(LARGEST),
                1 => buffer * (1 + below(4)),
                2 => (buffer + below(3)).saturating_sub(1),
                3 => below(buffer + 1),
                _ => 1 + below(100),
            };
            match what {
                'r' | 'w' => operations.push((what, bytes.min(LARGEST))),
                'f' => operations.push(('f', 0)),
                _ => break,
            }
            last = what;
        }
    }
    operations
}

fn on_glibc(
    program: &Path,
    scratch: &Path,
    size: u64,
    length: u64,
    operations: &[(char, u64)],
) -> Vec<(Asked, u64)> {
    let (file, log) = (scratch.join("file"), scratch.join("log"));
    fs::write(&file, vec![7; length as usize]).unwrap();
    let mut traced = Command::new("strace")
        .args(["-e", "trace=read,write,lseek", "-s", "0", "-P"])
        .arg(&file)
        .arg("-o")
        .arg(&log)
        .arg(program)
        .arg(&file)
        .arg(size.to_string())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let script: String = operations.iter().map(|(what, number)| format!("{what} {number}\n")).collect();
    traced.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(traced.wait().unwrap().success());
    let mut position = 0;
    let text = fs::read_to_string(&log).unwrap();
    text.lines().filter(|line| !line.starts_with("+++")).map(|line| call_of(line, &mut position)).collect()
}

/// `read(3, ""..., 4096) = 100`: the call and what came of it.
fn call_of(line: &str, position: &mut u64) -> (Asked, u64) {
    let (name, rest) = line.split_once('(').unwrap();
    let (words, result) = rest.rsplit_once(')').unwrap();
    let result: u64 = result.trim_start_matches([' ', '=']).parse().unwrap_or_else(|_| panic!("{line}"));
    let bytes = || words.rsplit(", ").next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"));
    let before = *position;
    *position = if name == "lseek" { result } else { before + result };
    let asked = match name {
        "read" => Asked { call: CallKind::Read, offset: before, bytes: bytes() },
        "write" => Asked { call: CallKind::Write, offset: before, bytes: bytes() },
        "lseek" => Asked { call: CallKind::Seek, offset: result, bytes: 0 },
        _ => panic!("{line}"),
    };
    (asked, *position)
}

fn on_model(size: u64, length: u64, operations: &[(char, u64)]) -> Vec<(Asked, u64)> {
    let mut stream = Stream::new(if size == 0 { 4096 } else { size });
    let mut library = Library::on(length);
    for &(what, number) in operations {
        match what {
            'r' => stream.fread(number, &mut library),
            'w' => stream.fwrite(number, &mut library),
            's' => stream.fseek(number, &mut library),
            _ => stream.fflush(&mut library),
        }
    }
    stream.fflush(&mut library);
    let mut end = length;
    let outcome = |asked: Asked| {
        let after = match asked.call {
            CallKind::Read => asked.offset + asked.bytes.min(end.saturating_sub(asked.offset)),
            CallKind::Write => asked.offset + asked.bytes,
            _ => asked.offset,
        };
        if asked.call == CallKind::Write {
            end = end.max(after);
        }
        (asked, after)
    };
    library.asked.into_iter().map(outcome).collect()
}
