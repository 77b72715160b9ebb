//! Whatever a file holds, readers end, and count.

use std::fs;

use crate::support::{Scratch, import};
use fathom_trace::Operation;
use fathom_trace::format::{Reader, create};
use fathom_trace::import::Format;
use proptest::prelude::*;

/// Pieces that lead deep into the readers.
const PIECES: [&str; 44] = [
    "128166372003061629",
    "usr",
    "Read",
    "Write",
    "R",
    "W",
    "r",
    "0",
    "1",
    "7",
    "-1",
    "4096",
    "18446744073709551615",
    "9223372036854775807",
    "999999999999999999",
    ",",
    ",",
    ",",
    " ",
    "\n",
    "\n",
    ".",
    "0.551706",
    "  8,0    3        1     0.000000000   697  Q   W ",
    " + ",
    "[pid 5] ",
    "5 1.5 read(3</f>, ",
    "\"\\177E\", ",
    ") = 5 <0.1>",
    "= ?",
    "<unfinished ...>",
    "<... read resumed>",
    "5 1.5 vfork( <unfinished ...>\n",
    "6 1.6 openat(AT_FDCWD, \"a\\",
    "lseek(3, 0, SEEK_END) = 7",
    "mmap(NULL, 5, PROT_READ, MAP_SHARED, 3, 0x1000) = 0x7f",
    "fio version 2 iolog\n",
    "fio version 3 iolog\n",
    "/f wait 5 0",
    "/f read 0 5",
    "# DXT, file_id: 1, file_name: /x\n",
    " X_POSIX 0 write 0 0 5 0.1 0.2",
    "CPU0",
    "\r",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => (0..PIECES.len()).prop_map(|at| PIECES[at].as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Records of blktrace and vscsi with anything in them.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let record = (any::<[u8; 64]>(), 0..5usize).prop_map(|(mut bytes, kind)| {
        match kind {
            0 => bytes[..4].copy_from_slice(&0x6561_7407u32.to_le_bytes()),
            1 => bytes[..4].copy_from_slice(&0x6561_7408u32.to_be_bytes()),
            2 => bytes[2..4].copy_from_slice(&[0, 2]),
            3 => bytes[14..16].copy_from_slice(&[0, 1]),
            _ => {}
        }
        bytes.to_vec()
    });
    proptest::collection::vec(record, 0..20).prop_map(|records| records.concat())
}

fn is_sane(operations: &[Operation]) {
    for operation in operations {
        // What a file offset and a size can be: our format holds no more.
        assert!(operation.offset.is_none_or(|offset| i64::try_from(offset).is_ok()), "{operation:?}");
        let _ = (operation.moved_bytes(), operation.kind.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_text_breaks_a_reader(bytes in text()) {
        for &format in Format::ALL {
            is_sane(&import(&bytes, format).0);
        }
        let _ = Format::detect(&bytes);
    }

    #[test]
    fn no_bytes_break_a_reader(bytes in records()) {
        for &format in Format::ALL {
            is_sane(&import(&bytes, format).0);
        }
    }
}

/// A trace of ours with every kind of value in it, as bytes.
fn trace(scratch: &Scratch) -> Vec<u8> {
    let path = scratch.0.join("whole");
    let lines: String = (0..500)
        .map(|at| format!("128166372003061629,usr,{},Read,{},512,{at}\n", at % 3, at * 512))
        .collect();
    let (operations, files, _) = import(lines.as_bytes(), Format::Msr);
    let mut writer = create(&path, &Format::Msr.origin()).unwrap();
    writer.add(&operations, &files).unwrap();
    writer.finish().unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn no_change_of_a_trace_breaks_its_reader() {
    let scratch = Scratch::new("broken");
    let whole = trace(&scratch);
    let path = scratch.0.join("changed");
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    for round in 0..600 {
        let mut bytes = whole.clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(next(bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(reader) = Reader::open(&path) {
            let _ = reader.read_all();
        }
    }
}
