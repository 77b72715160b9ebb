//! What tests of several crates share: what they may skip, directories of their own, and facts of no machine.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fathom_run::instrument::Certificate;
use fathom_run::provenance::{DeviceFacts, MachineFacts, MountFacts, Provenance};

/// Whether `FATHOM_REQUIRE=all` is in the environment: then nothing may be skipped.
pub fn is_everything_required() -> bool {
    std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all")
}

/// Whether what the test `name` needs is there. Where it is not, a line says what was skipped and why.
///
/// # Panics
/// Where it is not there and everything is required.
pub fn require(name: &str, condition: bool, reason: &str) -> bool {
    assert!(condition || !is_everything_required(), "skipped, and everything is required: {name}: {reason}");
    if !condition {
        // The harness swallows what a passing test prints unless it is written past it.
        let line = format!("skipped: {name}: {reason}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    condition
}

/// A directory for one test, removed at its end.
#[derive(Debug)]
pub struct TestDirectory(PathBuf);

impl TestDirectory {
    /// A new directory below the system's temporary one.
    ///
    /// # Panics
    /// Where it can't be made.
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fathom-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory can be written");
        Self(path)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or folder in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A machine, a mount and a clock that do not exist.
pub fn provenance(seed: u64) -> Provenance {
    Provenance {
        version: "0.1.0".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        seed,
        machine: MachineFacts {
            kernel: "scripted".to_owned(),
            arch: "none".to_owned(),
            cpus: 1,
            memory_bytes: 0,
            virtualisation: "none".to_owned(),
            load: vec![0.1, 0.2, 0.3],
            returns_free_memory: false,
        },
        mount: MountFacts {
            path: "/".to_owned(),
            fs_type: "scripted".to_owned(),
            source: "none".to_owned(),
            options: String::new(),
            device: DeviceFacts::default(),
            free_bytes: 0,
        },
        instrument: Certificate {
            clock: "simulated".to_owned(),
            resolution_ns: 0.1,
            overhead_ns: 20.0,
            linearity_ppm: 0.0,
            ticks_per_second: 2.1e9,
            ticks_per_second_interval: [2.1e9, 2.1e9],
            intervals_ns: [0.0, 1e9],
            system_call_ns: 135.0,
            evidence: Vec::new(),
        },
    }
}
