//! What disks did, as fio's `disk_util` tells it.

use serde::Serialize;

use fathom_run::load::Disk;

/// One disk; what it is made of stands on average in the keys with `aggr`.
#[derive(Serialize)]
pub(super) struct DiskUse {
    pub(super) name: String,
    pub(super) read_ios: u64,
    pub(super) write_ios: u64,
    pub(super) read_merges: u64,
    pub(super) write_merges: u64,
    pub(super) read_ticks: u64,
    pub(super) write_ticks: u64,
    pub(super) in_queue: u64,
    pub(super) util: f64,
    #[serde(flatten)]
    pub(super) below: Option<Below>,
}

#[derive(Serialize)]
pub(super) struct Below {
    pub(super) aggr_read_ios: u64,
    pub(super) aggr_write_ios: u64,
    pub(super) aggr_read_merges: u64,
    /// So it is called in fio.
    pub(super) aggr_write_merge: u64,
    pub(super) aggr_read_ticks: u64,
    pub(super) aggr_write_ticks: u64,
    pub(super) aggr_in_queue: u64,
    pub(super) aggr_util: f64,
}

impl DiskUse {
    pub(super) fn of(disks: &[Disk]) -> Vec<Self> {
        let below: Vec<Self> = disks.iter().filter(|disk| disk.is_below).map(Self::one).collect();
        let whole = disks.iter().filter(|disk| !disk.is_below).map(|disk| {
            let count = below.len() as u64;
            let mean = |of: fn(&Self) -> u64| below.iter().map(of).sum::<u64>() / count.max(1);
            let below = (count > 0).then(|| Below {
                aggr_read_ios: mean(|one| one.read_ios),
                aggr_write_ios: mean(|one| one.write_ios),
                aggr_read_merges: mean(|one| one.read_merges),
                aggr_write_merge: mean(|one| one.write_merges),
                aggr_read_ticks: mean(|one| one.read_ticks),
                aggr_write_ticks: mean(|one| one.write_ticks),
                aggr_in_queue: mean(|one| one.in_queue),
                aggr_util: below.iter().map(|one| one.util).fold(0.0, f64::max),
            });
            Self { below, ..Self::one(disk) }
        });
        let whole: Vec<Self> = whole.collect();
        whole.into_iter().chain(below).collect()
    }

    fn one(disk: &Disk) -> Self {
        let stat = &disk.stat;
        let [read_ios, write_ios] = stat.requests;
        let [read_merges, write_merges] = stat.merged;
        let [read_ticks, write_ticks] = stat.wait_ms;
        Self {
            name: disk.name.clone(),
            read_ios,
            write_ios,
            read_merges,
            write_merges,
            read_ticks,
            write_ticks,
            in_queue: stat.queue_ms,
            util: (stat.busy_ms as f64 * 100.0 / disk.watched_ms.max(1) as f64).min(100.0),
            below: None,
        }
    }
}
