use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn holding(bytes: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fathom-xor-{}-{number}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// Word by word, as it is defined.
fn naive(bytes: &[u8]) -> String {
    let word = |chunk: &[u8]| {
        let mut padded = [0; 4];
        padded[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(padded)
    };
    format!("{:08x}", bytes.chunks(4).fold(0, |all, chunk| all ^ word(chunk)))
}

fn watch() -> Watch {
    Watch::default()
}

const METHODS: [Option<Method>; 4] = [None, Some(Method::Read), Some(Method::Mmap), Some(Method::Direct)];

#[test]
fn every_method_gives_what_the_definition_gives() {
    let lengths = (0..70).chain([4095, 4096, 4097, 65_535, 65_539, (1 << 20) + 1, (9 << 20) + 3]);
    for length in lengths {
        let bytes = pattern(length);
        let file = Scratch::holding(&bytes);
        for method in METHODS {
            for threads in [None, Some(1), Some(9)] {
                match xor(&file.0, Request { method, threads }, &watch()) {
                    Ok(answer) => {
                        let given = (answer.xor, answer.bytes);
                        assert_eq!(given, (naive(&bytes), length as u64), "{method:?} {threads:?} {length}");
                    }
                    // A tmpfs before Linux 6.6 has no O_DIRECT; an empty file has nothing to map.
                    Err(fault) => assert!(
                        length == 0 || method == Some(Method::Direct),
                        "{method:?} {threads:?} {length}: {fault}"
                    ),
                }
            }
        }
    }
}

#[test]
fn trials_count_and_are_told() {
    // Mostly a hole: what is folded stands at the seams between the trials and at the end.
    let file = Scratch::holding(&[]);
    let length = (140 << 20) + 3;
    let sparse = std::fs::OpenOptions::new().write(true).open(&file.0).unwrap();
    sparse.set_len(length).unwrap();
    let bytes = pattern(4096);
    let middle = [(68 << 20) - 2048, (76 << 20) - 2048];
    let places = [0, (4 << 20) - 2048, 8 << 20, (13 << 20) - 4096, middle[0], middle[1], 99 << 20];
    for place in places {
        sparse.write_all_at(&bytes, place).unwrap();
    }
    sparse.write_all_at(&[1, 2, 3], length - 3).unwrap();
    sparse.sync_all().unwrap();
    let all: Vec<u8> = [&bytes.repeat(places.len())[..], &[1, 2, 3]].concat();
    for cached in [true, false] {
        match cached {
            true => drop(std::fs::read(&file.0).unwrap()),
            false => fathom_sys::cache::evict(File::open(&file.0).unwrap(), 0, 0).unwrap(),
        }
        let answer = xor(&file.0, Request::default(), &watch()).unwrap();
        assert_eq!(answer.xor, naive(&all));
        assert!(!answer.trials.is_empty() && answer.trials.len() <= 3, "{answer:?}");
        assert!(answer.trials.iter().all(|trial| trial.bytes > 0 && trial.duration_ns > 0), "{answer:?}");
        // Which of the two depends on how much free memory lies in one piece.
        let reason = ["the fastest on parts of it", "a page fault maps"];
        assert!(reason[..=usize::from(cached)].iter().any(|said| answer.reason.contains(said)), "{answer:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_meanwhile_has_no_answer() {
    for method in METHODS {
        let file = Scratch::holding(&pattern(32 << 20));
        let whole = match source::open(&file.0).unwrap() {
            Source::Whole(whole) => whole,
            Source::Stream(_) => panic!("a regular file has a size"),
        };
        std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(5_000_001).unwrap();
        let fault = fold(&whole, Request { method, threads: None }, &watch()).map(|_| ()).unwrap_err();
        let text = fault.to_string();
        assert!(
            text.contains("shrank from 33554432 to 5000001 bytes while it was read")
                || (method == Some(Method::Direct) && text.contains("O_DIRECT")),
            "{method:?}: {text}"
        );
    }
}

#[test]
fn a_file_that_is_written_to_meanwhile_has_no_answer() {
    let file = Scratch::holding(&pattern(1 << 20));
    let Source::Whole(whole) = source::open(&file.0).unwrap() else { panic!("a regular file has a size") };
    assert_eq!(whole.is_unchanged(), Ok(()));
    // Time stamps may be as coarse as a tick of the kernel's own clock.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().write_all_at(b"new", 100).unwrap();
    let text = whole.is_unchanged().unwrap_err().to_string();
    assert!(text.contains("was written to while it was read"), "{text}");
}

#[test]
fn files_of_proc_are_read_to_their_end() {
    let path = Path::new("/proc/version");
    let answer = xor(path, Request::default(), &watch()).unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!((answer.xor, answer.bytes), (naive(&bytes), bytes.len() as u64));
}

#[test]
fn files_that_have_less_than_they_say_are_told_apart_from_broken_ones() {
    let path = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if path.exists() {
        let text = xor(path, Request::default(), &watch()).unwrap_err().to_string();
        assert!(text.contains("bytes and ends after "), "{text}");
    }
}

#[test]
fn what_can_not_be_folded_says_why() {
    let fault = |path: &str, method| {
        xor(Path::new(path), Request { method, threads: None }, &watch()).unwrap_err().to_string()
    };
    assert!(fault("/", None).contains("/ is a directory"), "{}", fault("/", None));
    assert!(fault("/dev/null", Some(Method::Mmap)).contains("use --method read instead of mmap"));
    assert!(fault("/nonexistent", None).starts_with("open /nonexistent: No such file"));
}

#[test]
fn an_interrupt_ends_it() {
    let interrupted = Watch::from(Arc::new(true.into()));
    let file = Scratch::holding(&pattern(1 << 20));
    for method in [None, Some(Method::Read), Some(Method::Mmap)] {
        let fault = xor(&file.0, Request { method, threads: None }, &interrupted).unwrap_err();
        assert_eq!(fault, Fault::Interrupted);
    }
}
