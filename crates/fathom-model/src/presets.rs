//! Sets of choices by name: another kernel's rules, another device, the paper's own simple model.
//!
//! ```
//! use fathom_model::parameters::Parameters;
//! use fathom_model::presets::preset;
//!
//! let measured = Parameters::assumed();
//! let simple = preset("paper")?.on(&measured);
//! assert_eq!(simple.value("copied_byte"), measured.value("copied_byte"), "prices stay");
//! # Ok::<(), String>(())
//! ```

use crate::parameters::Parameters;

/// Settings that belong together. What they do not name, prices above all, stays as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// What it is, in half a sentence.
    pub about: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

/// Every preset.
pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "paper",
        about: "paper E's model: copies that cost more beyond the processor's cache, one read-ahead window, one queue",
        settings: &[
            ("kernel", "fixed"),
            ("device", "plain_queue"),
            ("journal", "price"),
            ("log_bytes", "0"),
            ("far_spread", "0"),
            ("largest_folio", "4096"),
            ("noise", "0"),
        ],
    },
    Preset {
        name: "linux-2.6",
        about: "read-ahead of about 2.6.27, pages only, and its limits of dirty data",
        settings: &[
            ("kernel", "2.6"),
            ("largest_folio", "4096"),
            ("dirty_ratio", "10"),
            ("dirty_background_ratio", "5"),
        ],
    },
    Preset { name: "linux-6.6", about: "read-ahead of 6.6", settings: &[("kernel", "6.6")] },
    Preset {
        name: "disk",
        about: "a disk of 7,200 turns a minute, one request at a time",
        settings: &[
            ("device", "disk_with_seeks"),
            ("seek", "8.5ms"),
            ("rotation", "8.33ms"),
            ("disk", "1T"),
            ("device_byte", "5"),
        ],
    },
    Preset {
        name: "cloud-volume",
        about: "a volume of 3,000 requests and 125 MiB a second",
        settings: &[
            ("device", "token_bucket"),
            ("limit_read_iops", "3000"),
            ("limit_write_iops", "3000"),
            ("limit_read_rate", "125M"),
            ("limit_write_rate", "125M"),
            ("device_latency", "500us"),
            ("device_write_latency", "700us"),
        ],
    },
];

/// The preset of a name.
///
/// # Errors
/// One sentence that lists the names there are.
pub fn preset(name: &str) -> Result<Preset, String> {
    let names = || PRESETS.map(|preset| preset.name).join(", ");
    let found = PRESETS.into_iter().find(|preset| preset.name == name);
    found.ok_or_else(|| format!("there is no preset '{name}'; give one of {}", names()))
}

impl Preset {
    /// The same model with these settings.
    ///
    /// # Panics
    /// Never: a test makes every one of them.
    #[must_use]
    pub fn on(&self, parameters: &Parameters) -> Parameters {
        let mut changed = parameters.clone();
        for (name, value) in self.settings {
            changed.set(name, value).expect("a preset is made of parameters");
        }
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
        assert!(preset("papre").unwrap_err().ends_with("paper, linux-2.6, linux-6.6, disk, cloud-volume"));
    }
}
