//! What the tests share.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use fathom_trace::import::{Format, Imported, read};
use fathom_trace::{Files, Operation};

/// Imports bytes, and gives all that came of them.
pub(crate) fn import(bytes: &[u8], format: Format) -> (Vec<Operation>, Files, Imported) {
    let (mut all, mut known) = (Vec::new(), Files::default());
    let imported = read(bytes, format, |operations, files| {
        all.extend_from_slice(operations);
        known = files.clone();
        Ok::<(), io::Error>(())
    });
    (all, known, imported.expect("bytes can be read"))
}

/// A record as blktrace writes it: of process 77 on device 8:1.
pub(crate) fn blktrace_record(
    version: u8,
    sequence: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend((0x6561_7400 | u32::from(version)).to_le_bytes());
    record.extend(sequence.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    if version == 7 {
        record.extend(action.to_le_bytes());
        record.extend(77u32.to_le_bytes());
    } else {
        record.extend(77u32.to_le_bytes());
        record.extend(u64::from(action).to_le_bytes());
    }
    record.extend((8u32 << 20 | 1).to_le_bytes());
    record.extend([0; 4]);
    record.extend([0; 2]);
    record.extend((payload.len() as u16).to_le_bytes());
    record.extend(vec![0; if version == 8 { 12 } else { 0 }]);
    record.extend(payload);
    record
}

/// A directory that goes when its owner does.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fathom-trace-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory can be made");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a program can be run; where everything is required, it must be there.
pub(crate) fn has(program: &str) -> bool {
    let is_there = std::process::Command::new(program).arg("--version").output().is_ok()
        || std::process::Command::new(program).arg("-V").output().is_ok();
    if !is_there {
        skip(program, "it is not installed");
    }
    is_there
}

/// Says that a test is skipped.
#[allow(clippy::print_stderr, reason = "what is skipped must be seen")]
pub(crate) fn skip(name: &str, reason: &str) {
    assert!(std::env::var_os("FATHOM_REQUIRE").is_none(), "{name}: {reason}, and nothing may be skipped");
    eprintln!("skipped: {name}: {reason}");
}
