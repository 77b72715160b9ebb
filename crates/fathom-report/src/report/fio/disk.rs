//! What disks did, as fio's `disk_util` tells it.

use serde::ser::{Serialize, SerializeMap, Serializer};

use fathom_run::load::Disk;

/// One disk, and what it is made of.
pub(super) struct DiskUse {
    pub(super) name: String,
    pub(super) own: Figures,
    /// The means over the disks below; of their utilisation the most.
    pub(super) below: Option<Figures>,
}

/// What a disk did.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    /// Reads, writes, merged reads, merged writes, ms that reads and writes waited, ms in the queue.
    pub(super) counts: [u64; 7],
    /// The share of the time that it was busy, in percent.
    pub(super) util: f64,
}

impl DiskUse {
    pub(super) fn of(disks: &[Disk]) -> Vec<Self> {
        let own = |disk: &Disk| Self { name: disk.name.clone(), own: Figures::of(disk), below: None };
        let below: Vec<Self> = disks.iter().filter(|disk| disk.is_below).map(own).collect();
        let figures: Vec<Figures> = below.iter().map(|disk| disk.own).collect();
        let whole = disks.iter().filter(|disk| !disk.is_below);
        whole.map(|disk| Self { below: Figures::together(&figures), ..own(disk) }).chain(below).collect()
    }
}

impl Figures {
    fn of(disk: &Disk) -> Self {
        let stat = &disk.stat;
        let ([reads, writes], [merged_reads, merged_writes]) = (stat.requests, stat.merged);
        let [read_ms, write_ms] = stat.wait_ms;
        Self {
            counts: [reads, writes, merged_reads, merged_writes, read_ms, write_ms, stat.queue_ms],
            util: (stat.busy_ms as f64 * 100.0 / disk.watched_ms.max(1) as f64).min(100.0),
        }
    }

    fn together(all: &[Self]) -> Option<Self> {
        let mean = |at: usize| all.iter().map(|one| one.counts[at]).sum::<u64>() / all.len() as u64;
        let util = all.iter().map(|one| one.util).reduce(f64::max)?;
        Some(Self { counts: std::array::from_fn(mean), util })
    }

    /// As the normal text has them, each name with `prefix` before it.
    pub(super) fn text(&self, prefix: &str) -> String {
        let Self { counts: [reads, writes, merged_reads, merged_writes, read_ms, write_ms, queue_ms], util } =
            self;
        [
            format!("{prefix}ios={reads}/{writes}"),
            format!("{prefix}merge={merged_reads}/{merged_writes}"),
            format!("{prefix}ticks={read_ms}/{write_ms}"),
            format!("{prefix}in_queue={queue_ms}"),
            format!("{prefix}util={util:.2}%"),
        ]
        .join(", ")
    }

    fn entries<M: SerializeMap>(&self, map: &mut M, keys: [&str; 8]) -> Result<(), M::Error> {
        for (key, count) in keys.iter().zip(self.counts) {
            map.serialize_entry(key, &count)?;
        }
        map.serialize_entry(keys[7], &self.util)
    }
}

const OWN: [&str; 8] =
    ["read_ios", "write_ios", "read_merges", "write_merges", "read_ticks", "write_ticks", "in_queue", "util"];
/// fio has one word for the merged writes here, and another above.
const BELOW: [&str; 8] = [
    "aggr_read_ios",
    "aggr_write_ios",
    "aggr_read_merges",
    "aggr_write_merge",
    "aggr_read_ticks",
    "aggr_write_ticks",
    "aggr_in_queue",
    "aggr_util",
];

impl Serialize for DiskUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        self.own.entries(&mut map, OWN)?;
        self.below.map_or(Ok(()), |below| below.entries(&mut map, BELOW))?;
        map.end()
    }
}
