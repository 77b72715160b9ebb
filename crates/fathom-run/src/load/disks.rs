//! What the disks below did while jobs ran, as the kernel counts it for everybody.

use std::path::Path;
use std::time::Instant;

use fathom_sys::facts::{self, DeviceStat};

/// What one disk did while jobs ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's name of the disk.
    pub name: String,
    /// Whether the first disk of the list is made of this one.
    pub is_below: bool,
    /// What the disk did.
    pub stat: DeviceStat,
    /// How long the disk was watched, in ms.
    pub watched_ms: u64,
}

/// The disks of a mount.
#[derive(Debug)]
pub(super) struct Disks {
    pub(super) so_far: Vec<Disk>,
    began: Option<(Instant, Vec<Option<DeviceStat>>)>,
}

impl Disks {
    /// Those below a directory: that of its mount, and those that this one is made of. None where there is no device.
    pub(super) fn below(path: &Path) -> Option<Self> {
        let device = facts::device_of(&facts::mount_of(path).ok()?)?;
        let whole = facts::whole_disk(&device.name)?;
        let disk =
            |name: String, is_below| Disk { name, is_below, stat: DeviceStat::default(), watched_ms: 0 };
        let below = facts::devices_below(&whole).into_iter().map(|name| disk(name, true)).collect::<Vec<_>>();
        let so_far = [disk(whole, false)].into_iter().chain(below).collect();
        Some(Self { so_far, began: None })
    }

    fn stats(&self) -> Vec<Option<DeviceStat>> {
        self.so_far.iter().map(|disk| facts::device_stat(&disk.name)).collect()
    }

    /// Jobs begin.
    pub(super) fn begin(&mut self) {
        self.began = Some((Instant::now(), self.stats()));
    }

    /// Jobs have ended.
    pub(super) fn end(&mut self) {
        let Some((began, before)) = self.began.take() else { return };
        let after = self.stats();
        for (disk, (before, after)) in self.so_far.iter_mut().zip(before.into_iter().zip(after)) {
            disk.watched_ms += began.elapsed().as_millis() as u64;
            let (Some(before), Some(after)) = (before, after) else { continue };
            disk.stat = sum(disk.stat, after, before);
        }
    }
}

/// What was counted, and what came to it between two looks.
fn sum(counted: DeviceStat, after: DeviceStat, before: DeviceStat) -> DeviceStat {
    let more = |counted: u64, after: u64, before: u64| counted + after.saturating_sub(before);
    let both = |counted: [u64; 2], after: [u64; 2], before: [u64; 2]| {
        [0, 1].map(|side| more(counted[side], after[side], before[side]))
    };
    DeviceStat {
        requests: both(counted.requests, after.requests, before.requests),
        merged: both(counted.merged, after.merged, before.merged),
        bytes: both(counted.bytes, after.bytes, before.bytes),
        wait_ms: both(counted.wait_ms, after.wait_ms, before.wait_ms),
        busy_ms: more(counted.busy_ms, after.busy_ms, before.busy_ms),
        queue_ms: more(counted.queue_ms, after.queue_ms, before.queue_ms),
    }
}
