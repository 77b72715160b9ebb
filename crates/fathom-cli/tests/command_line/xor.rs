//! `fathom xor`: whatever can be read has the right answer, and whatever can't says why.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use crate::published;
use crate::support::{NO_SETPRIV, Outcome, Place, command, fathom, require, unprivileged};

/// An odd number of bytes, and the XOR of their words by the definition.
fn odd() -> (Vec<u8>, String) {
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let padded = [&bytes[..], &[0]].concat();
    let words = padded.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let xor = format!("{:08x}", words.fold(0, |all, word| all ^ word));
    (bytes, xor)
}

#[test]
fn every_method_and_a_pipe_give_the_same_digits() {
    let place = Place::new();
    let (bytes, digits) = odd();
    let path = place.join("odd");
    fs::write(&path, &bytes).unwrap();
    for more in [&[][..], &["--method", "read"], &["--method", "mmap", "--threads", "7"]] {
        let outcome = fathom(&[&["xor", &path], more].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.out.starts_with(&format!("{digits}  {path}\n977 KiB in ")), "{outcome:?}");
    }
    let mut child = command(&["xor", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // In pieces that tear words apart.
    let mut pipe = child.stdin.take().unwrap();
    bytes.chunks(33_333).for_each(|piece| pipe.write_all(piece).unwrap());
    drop(pipe);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert!(outcome.code == Some(0) && outcome.out.starts_with(&digits), "{outcome:?}");
}

#[test]
fn json_keeps_to_the_schema() {
    let place = Place::new();
    let path = place.join("empty");
    fs::write(&path, "").unwrap();
    let outcome = fathom(&["xor", &path, "--json", "-"]);
    let json = serde_json::from_str(&outcome.out).unwrap();
    published::check("xor", &json);
    assert_eq!((&json["xor"], &json["bytes"]), (&"00000000".into(), &0.into()), "{json}");
    assert!(outcome.err.starts_with("00000000  "), "{outcome:?}");
}

#[test]
fn what_can_not_be_read_is_told() {
    let place = Place::new();
    let (missing, file) = (place.join("missing"), place.join("file"));
    fs::write(&file, "mine").unwrap();
    fathom(&["xor"]).complains(2, "required arguments were not provided: <FILE>");
    fathom(&["xor", &file, "--threads", "0"]).complains(2, "'0' is not a number of threads from 1 to 1024");
    fathom(&["xor", &file, "--method", "magic"]).complains(2, "[possible values: auto, read, mmap, direct]");
    fathom(&["xor", &missing]).complains(1, &format!("open {missing}: No such file or directory"));
    fathom(&["xor", place.text()]).complains(1, "is a directory: name a file in it");
    fathom(&["xor", "-", "--method", "mmap"]).complains(1, "use --method read instead of mmap");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    match unprivileged(&["xor", &file]) {
        Some(outcome) => outcome.complains(1, ": Permission denied"),
        None => assert!(!require("what_can_not_be_read_is_told", false, NO_SETPRIV)),
    }
}

#[test]
fn a_file_that_is_cut_off_meanwhile_is_told() {
    for method in ["read", "mmap", "auto"] {
        let place = Place::new();
        let path = place.join("shrinking");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let child = command(&["xor", &path, "--method", method])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
        // A tebibyte takes minutes: the reader is in the middle, or has not begun and sees the short file.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4097).unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        if outcome.code != Some(0) {
            outcome.complains(1, "shrank from 1099511627776 to 4097 bytes while it was read");
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_file() {
    for method in ["read", "mmap", "auto"] {
        let place = Place::new();
        let path = place.join("large");
        File::create(&path).unwrap().set_len(256 << 20).unwrap();
        let mut child = command(&["xor", &path, "--method", method, "--threads", "2"]);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        let mut peak_kib = 0_u64;
        while child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
            // The work is done by a child of what was started.
            let id = child.id();
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            for worker in children.split_whitespace() {
                let text = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
                let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let seen = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
                peak_kib = peak_kib.max(seen.unwrap_or(0));
            }
        }
        assert!((1..64 << 10).contains(&peak_kib), "{method}: {peak_kib} KiB");
    }
}
