//! Where the figures of a scripted machine come from.

use fathom::instrument::Certificate;
use fathom::provenance::{DeviceFacts, MachineFacts, MountFacts, Provenance};

/// A machine, a mount and a clock that do not exist.
pub(crate) fn provenance(seed: u64) -> Provenance {
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
