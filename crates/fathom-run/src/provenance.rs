//! Where figures come from: the facts that every result states before its figures.

use std::path::Path;

use chrono::{SecondsFormat, Utc};
use fathom_sys::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::instrument::Certificate;

/// What a reader needs to judge a result by, or to repeat it; flattened into each kind of result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of Fathom that wrote the result.
    pub version: String,
    /// When the measurement began: RFC 3339.
    pub started: String,
    /// The seed that decided random orders and positions.
    pub seed: u64,
    /// The machine that it ran on.
    pub machine: MachineFacts,
    /// The mount that it measured.
    pub mount: MountFacts,
    /// The clock's certificate.
    pub instrument: Certificate,
}

/// The machine that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFacts {
    /// Name and release of the kernel.
    pub kernel: String,
    /// The processor's architecture.
    pub arch: String,
    /// The number of CPUs that Fathom might use.
    pub cpus: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// `none`, `container`, `hypervisor` or its maker.
    pub virtualisation: String,
    /// Load averages over 1, 5 and 15 minutes when the measurement began.
    pub load: Vec<f64>,
    /// Whether the machine's free memory goes back to the host of a virtual machine, so that the next program that takes it has to
    /// wait.
    #[serde(default)]
    pub returns_free_memory: bool,
}

/// The mount that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MountFacts {
    /// The directory that was named.
    pub path: String,
    /// The file system's type.
    pub fs_type: String,
    /// The source of the mount, such as a device.
    pub source: String,
    /// The options of the mount and of the file system.
    pub options: String,
    /// The block device below, as sysfs shows it; empty where there is none.
    pub device: DeviceFacts,
    /// Free bytes when the measurement began.
    pub free_bytes: u64,
}

/// The block device below a mount.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// The kernel's name of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the kernel treats the device as a rotating disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Bytes of a sector that the device is addressed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// Bytes of a sector that the device works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// The device's own read-ahead setting in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_bytes: Option<u64>,
}

/// This moment in UTC, as RFC 3339 writes it.
pub fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

impl Provenance {
    /// The provenance of what this process measures at `path` from now on.
    ///
    /// # Errors
    /// As [`MountFacts::of`].
    pub fn of(path: &Path, instrument: &Certificate, seed: u64) -> Result<Self, Fault> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: now(),
            seed,
            machine: MachineFacts::here(),
            mount: MountFacts::of(path)?,
            instrument: instrument.clone(),
        })
    }

    /// The provenance of a simulation: the model's file, what was set on it, and the machine and mount that the model was made
    /// from.
    pub fn simulated(
        model: &Path,
        settings: &[String],
        made: Option<(&MachineFacts, &MountFacts)>,
        seed: u64,
    ) -> Self {
        let none = MachineFacts {
            kernel: "no kernel".to_owned(),
            arch: "no machine".to_owned(),
            cpus: 0,
            memory_bytes: 0,
            virtualisation: String::new(),
            load: Vec::new(),
            returns_free_memory: false,
        };
        let (machine, mount) = made.map_or((&none, None), |(machine, mount)| (machine, Some(mount)));
        let of = |text: &dyn Fn(&MountFacts) -> String| mount.map_or_else(|| "nothing".to_owned(), text);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: now(),
            seed,
            machine: MachineFacts {
                virtualisation: "simulated: nothing real was measured".to_owned(),
                ..machine.clone()
            },
            mount: MountFacts {
                path: model.display().to_string(),
                fs_type: format!("SIMULATED {}", mount.map_or("machine", |mount| mount.fs_type.as_str())),
                source: format!(
                    "a model made from {}",
                    of(&|mount| format!("{} on {}", mount.source, mount.path))
                ),
                options: match settings.is_empty() {
                    true => "nothing set on top of the model".to_owned(),
                    false => format!("set: {}", settings.join(", ")),
                },
                device: DeviceFacts::default(),
                free_bytes: 0,
            },
            instrument: Certificate::simulated(),
        }
    }
}

impl MachineFacts {
    /// The machine that this process runs on.
    pub fn here() -> Self {
        Self {
            kernel: facts::kernel(),
            arch: facts::arch(),
            cpus: fathom_sys::affinity::allowed_cpus().len(),
            memory_bytes: facts::memory_bytes(),
            virtualisation: facts::virtualisation(),
            load: facts::load_averages(),
            returns_free_memory: facts::returns_free_memory(),
        }
    }
}

impl MountFacts {
    /// The mount at `path`.
    ///
    /// # Errors
    /// What `statfs(2)` or the table of mounts give.
    pub fn of(path: &Path) -> fathom_sys::Result<Self> {
        let mount = facts::mount_of(path)?;
        let device = facts::device_of(&mount).map_or_else(DeviceFacts::default, |device| DeviceFacts {
            name: Some(device.name),
            rotational: device.rotational,
            scheduler: device.scheduler,
            logical_block_bytes: device.logical_block_bytes,
            physical_block_bytes: device.physical_block_bytes,
            read_ahead_bytes: device.read_ahead_bytes,
        });
        Ok(Self {
            path: path.display().to_string(),
            fs_type: mount.fs_type,
            source: mount.source,
            options: mount.options,
            device,
            free_bytes: facts::space(path)?.free_bytes,
        })
    }
}
