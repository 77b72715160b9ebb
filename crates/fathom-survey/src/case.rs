//! A file system whose parameters are known because it was made so, and the right answers to questions about it.

use std::time::Duration;

use fathom_fuse::{Stripes, Writes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Value;

/// A file system to make, with everything that decides its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// A stable name: `ext4-1k-ra128` is ext4 with blocks of 1 KiB and a window of 128 KiB.
    pub name: String,
    /// The program that makes the file system and its arguments; the device is appended. `None` where there is nothing to make.
    pub mkfs: Option<Vec<String>>,
    /// The Debian package of the program.
    pub package: Option<&'static str>,
    /// The type that is mounted.
    pub fs_type: String,
    /// Options of the mount, separated by commas.
    pub mount_options: String,
    /// Bytes of the image; only what is written takes space.
    pub image_bytes: u64,
    /// Bytes of a sector of the loop device.
    pub sector_size: u32,
    /// Bytes of a block as made; `None` where the page is the block.
    pub block_size: Option<u64>,
    /// How files lie in the file system, if it was made with an unusual layout.
    pub layout: Layout,
    /// The read-ahead window to set, in KiB; `None` where nothing is read ahead.
    pub read_ahead_kib: Option<u32>,
    /// What is set on the machine or the mount while the case is surveyed.
    pub conditions: Conditions,
}

/// Settings besides the file system. If any is set, the survey asks only the questions about that setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The memory that the survey may use, in bytes: a limit of a control group.
    pub memory: Option<u64>,
    /// `vm.dirty_background_bytes` and `vm.dirty_bytes`.
    pub dirty: Option<[u64; 2]>,
    /// The most bytes that the device writes in a second.
    pub write_rate: Option<u64>,
    /// The most reads that the device serves in a second.
    pub read_rate: Option<u64>,
    /// `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`, as times.
    pub flusher: Option<[Duration; 2]>,
    /// The mount option `commit` in seconds; zero where the format commits nothing.
    pub commit: Option<u64>,
    /// How the lab's own server of files is mounted.
    pub served: Option<Served>,
}

/// The planted parameters of a mount with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// How long the kernel may believe attributes.
    pub attributes: Duration,
    /// How long the kernel may believe which file a name stands for.
    pub names: Duration,
    /// How long the kernel may believe that a name does not exist.
    pub absences: Duration,
    /// How long each request takes, in addition to the way to the server and back.
    pub round_trip: Duration,
    /// The most bytes that one request reads.
    pub read_request: u64,
    /// The most bytes that one request writes.
    pub write_request: u64,
    /// Where written data wait.
    pub writes: Writes,
    /// Requests that the server works on at once.
    pub threads: u16,
    /// The most requests that the kernel sends at once, for reading ahead and for writing back.
    pub background: u16,
    /// How the mount says that files are divided among servers; none where it says nothing of it.
    pub stripes: Option<Stripes>,
    /// How much longer a read takes of what the server does not have in its memory; zero where it has everything.
    pub cold: Duration,
    /// Bytes that the server reads ahead after two reads in order.
    pub ahead: u64,
}

/// The layout of files that a format was made with. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The format's default layout.
    Usual,
    /// An ext4 without extents: each block has a pointer.
    SingleBlocks,
    /// Space is handed out in clusters of this many bytes.
    Clusters(u64),
    /// Small files stay in their inodes.
    InlineData,
    /// All free space lies in holes of this many bytes.
    Holes(u64),
}

/// The kernel that a case is mounted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Name and release: `Linux 6.18.1`.
    pub name: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// Whether cached pages are sorted into generations, and not into two lists.
    pub generations: bool,
}

/// The right answer to one question in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Truth {
    /// There is one right value.
    Known {
        /// The value, in the parameter's unit.
        value: Value,
        /// Why it is the right one.
        basis: Basis,
    },
    /// Any value from the one to the other is right.
    Within {
        /// The lowest and the highest, in the parameter's unit.
        interval: [f64; 2],
        /// Why these.
        basis: Basis,
    },
    /// The question makes no sense in this case.
    NotApplicable {
        /// Why it makes none.
        basis: Basis,
    },
    /// The right answer is not known beforehand: the witness is asked, and where it is silent there is no score.
    Unknown,
}

/// What a right answer is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// `sysconf(_SC_PAGESIZE)`.
    Page,
    /// The block size that mkfs was given.
    Made,
    /// A limit that was set, for read-ahead, memory or dirty data.
    Set,
    /// A rule of the kernel in `mm/readahead.c` or `mm/vmscan.c`.
    Rule,
    /// What the witness of the same case saw, because no rule is certain for this format or kernel.
    Witness,
    /// Files are in memory only.
    Memory,
    /// Files are on this machine, so that no server is asked for them.
    Local,
    /// The format's own structure, with the features that mkfs was given.
    Format,
}

/// Bytes in a second that a device writes which is slower than its writers.
pub(crate) const WRITE_RATE: u64 = 100 << 20;

impl Case {
    /// Whether the name contains `pattern`: `xfs`, `4k`, `ra128`.
    pub fn matches(&self, pattern: &str) -> bool {
        self.name.contains(pattern)
    }

    /// Whether only the file system itself was chosen, and files can be made in it.
    pub fn is_usual(&self) -> bool {
        self.conditions == Conditions::default() && self.fs_type != "squashfs"
    }

    /// Whether the files are on a server.
    pub fn is_served(&self) -> bool {
        self.fs_type.starts_with("fuse")
    }

    /// The read-ahead window in pages of the kernel's; `None` where nothing is read ahead.
    pub fn read_ahead_pages(&self, kernel: &Kernel) -> Option<u64> {
        self.read_ahead_kib.map(|kib| u64::from(kib) * 1024 / kernel.page_size)
    }

    /// How long the questions of the case take at least, because the kernel's own timers decide.
    pub fn time(&self) -> Duration {
        let Conditions { memory, dirty, flusher, commit, .. } = self.conditions;
        // What is waited for several times, and as much again for everything else.
        let flusher = flusher.map(|[expiry, wakeup]| 8 * (expiry + wakeup));
        let commit = commit.map(|seconds| Duration::from_secs(40 * (seconds + 1)));
        // The device may be as slow as half of what it is allowed.
        let dirty = dirty.map(|_| Duration::from_secs(2 * self.write_bytes() / WRITE_RATE));
        // Files of several times the limit are read over and over.
        let memory = memory.map(|bytes| Duration::from_secs(60 + bytes / (4 << 20)));
        flusher.or(commit).or(dirty).or(memory).unwrap_or_default()
    }

    /// The most bytes that the questions of the case may have to write.
    pub fn write_bytes(&self) -> u64 {
        // Every size of burst up to more than what may be dirty, and many of twice as much as the point: some are held up.
        self.conditions.dirty.map_or(0, |[_, limit]| (60 * limit).min(self.image_bytes / 6 * 5))
    }
}

impl Kernel {
    /// The version of the kernel, if it is a Linux.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut parts = self.name.strip_prefix("Linux ")?.split(['.', '-', '+']);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

impl Truth {
    /// A whole number as the right answer.
    pub fn known(value: u64, basis: Basis) -> Self {
        Truth::Known { value: Value::Whole(value), basis }
    }

    /// Any value between two settings as the right answer.
    pub fn within(interval: [f64; 2]) -> Self {
        Truth::Within { interval, basis: Basis::Set }
    }

    /// A word as the right answer.
    pub fn word(word: &str, basis: Basis) -> Self {
        Truth::Known { value: Value::Word(word.to_owned()), basis }
    }

    /// The truth, or where it is unknown, what the witness says.
    pub(crate) fn judged_by(self, witness: Option<&Value>) -> Self {
        match (self, witness) {
            (Truth::Unknown, Some(value)) => Truth::Known { value: value.clone(), basis: Basis::Witness },
            (known, _) => known,
        }
    }

    /// The basis of the right answer, where one is known.
    pub fn basis(&self) -> Option<Basis> {
        match self {
            Truth::Known { basis, .. } | Truth::Within { basis, .. } | Truth::NotApplicable { basis } => {
                Some(*basis)
            }
            Truth::Unknown => None,
        }
    }
}
