//! Sets of choices by name: another kernel's rules, another device, the paper's own simple model.
//!
//! ```
//! use fathom_model::parameters::{Parameters, Scalar};
//! use fathom_model::presets::preset;
//!
//! let measured = Parameters::assumed();
//! let simple = preset("paper")?.on(&measured);
//! assert_eq!(simple[Scalar::CopiedByte], measured[Scalar::CopiedByte], "costs stay");
//! # Ok::<(), String>(())
//! ```

use crate::kernel::Kernel;
use crate::parameters::{Choices, Device, Journal, Parameters, Scalar};

/// Settings that belong together. Parameters that they do not name, above all costs, keep their measured values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    choices: fn(&mut Choices),
    numbers: &'static [(Scalar, f64)],
}

/// Every preset.
pub const PRESETS: [Preset; 7] = [
    // Paper E's model: copies that cost more beyond the processor's cache, one read-ahead window, one queue.
    Preset {
        name: "paper",
        choices: |choices| {
            choices.kernel = Kernel::Fixed;
            choices.device = Device::PlainQueue;
            choices.journal = Journal::Price;
        },
        numbers: &[
            (Scalar::LogBytes, 0.0),
            (Scalar::FarSpread, 0.0),
            (Scalar::LargestFolio, 4_096.0),
            (Scalar::Noise, 0.0),
        ],
    },
    // Read-ahead of about 2.6.27, pages only, and its limits of dirty data.
    Preset {
        name: "linux-2.6",
        choices: |choices| choices.kernel = Kernel::V2_6,
        numbers: &[
            (Scalar::LargestFolio, 4_096.0),
            (Scalar::DirtyRatio, 10.0),
            (Scalar::DirtyBackgroundRatio, 5.0),
        ],
    },
    // Read-ahead of 6.1, and writes into single pages.
    Preset { name: "linux-6.1", choices: |choices| choices.kernel = Kernel::V6_1, numbers: &[] },
    // Read-ahead of 6.6.
    Preset { name: "linux-6.6", choices: |choices| choices.kernel = Kernel::V6_6, numbers: &[] },
    // Read-ahead of 6.12. Debian's has MGLRU on, which is `reclaim=generations`.
    Preset { name: "linux-6.12", choices: |choices| choices.kernel = Kernel::V6_12, numbers: &[] },
    // A disk of 7,200 turns a minute, one request at a time.
    Preset {
        name: "disk",
        choices: |choices| choices.device = Device::DiskWithSeeks,
        numbers: &[
            (Scalar::Seek, 8.5e6),
            (Scalar::Rotation, 8.33e6),
            (Scalar::Disk, 1_099_511_627_776.0),
            (Scalar::DeviceByte, 5.0),
        ],
    },
    // A volume of 3,000 requests and 125 MiB a second.
    Preset {
        name: "cloud-volume",
        choices: |choices| choices.device = Device::TokenBucket,
        numbers: &[
            (Scalar::LimitReadIops, 3_000.0),
            (Scalar::LimitWriteIops, 3_000.0),
            (Scalar::LimitReadRate, 131_072_000.0),
            (Scalar::LimitWriteRate, 131_072_000.0),
            (Scalar::DeviceLatency, 5e5),
            (Scalar::DeviceWriteLatency, 7e5),
        ],
    },
];

/// The preset with this name.
///
/// # Errors
/// One sentence that lists the names there are.
pub fn preset(name: &str) -> Result<Preset, String> {
    let names = || PRESETS.map(|preset| preset.name).join(", ");
    let found = PRESETS.into_iter().find(|preset| preset.name == name);
    found.ok_or_else(|| format!("there is no preset '{name}'; give one of {}", names()))
}

impl Preset {
    /// The same parameters with these settings.
    pub fn on(&self, parameters: &Parameters) -> Parameters {
        let mut changed = parameters.clone();
        (self.choices)(&mut changed.choices);
        self.numbers.iter().for_each(|&(scalar, value)| changed.put_value(scalar, value));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_made_and_a_wrong_name_gets_a_list() {
        for one in PRESETS {
            let made = one.on(&Parameters::assumed());
            assert_ne!(made, Parameters::assumed(), "{}", one.name);
        }
        assert!(
            preset("papre")
                .unwrap_err()
                .ends_with("paper, linux-2.6, linux-6.1, linux-6.6, linux-6.12, disk, cloud-volume")
        );
    }
}
