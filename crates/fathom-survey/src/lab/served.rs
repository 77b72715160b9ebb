//! Mounts that the lab serves itself: what the kernel may believe, and how it talks to the server, is planted.

use std::time::Duration;

use fathom_fuse::{Layout, Stripes, Writes};

use super::cases::{IMAGE_BYTES, fuse_case};
use crate::case::{Case, Conditions, Served};

const KIB: u64 = 1024;

impl Served {
    /// What these numbers plant: milliseconds that attributes, names and absences are believed, microseconds of a round
    /// trip, KiB of a read and of a write, threads and requests in the background, what becomes of writes, and stripes.
    pub fn planted(
        [attributes, names, absences]: [u64; 3],
        round_trip: u64,
        [read, write]: [u64; 2],
        [threads, background]: [u16; 2],
        writes: Writes,
        stripes: Option<Stripes>,
    ) -> Self {
        Self {
            attributes: Duration::from_millis(attributes),
            names: Duration::from_millis(names),
            absences: Duration::from_millis(absences),
            round_trip: Duration::from_micros(round_trip),
            read_request: read * KIB,
            write_request: write * KIB,
            writes,
            threads,
            background,
            stripes,
            cold: Duration::ZERO,
            ahead: 0,
        }
    }

    /// The same on a server that does not keep what is written in its memory: microseconds that a read from elsewhere
    /// takes longer, and KiB that it reads ahead.
    #[must_use]
    pub fn reading_ahead(self, cold: u64, ahead: u64) -> Self {
        Self { cold: Duration::from_micros(cold), ahead: ahead * KIB, ..self }
    }

    /// The words of a plan of the lab's file system.
    fn words(&self) -> String {
        let ns = |time: Duration| time.as_nanos();
        let writes = match self.writes {
            Writes::Through => "",
            Writes::Cached => ",cache=writeback",
            Writes::Late => ",write=late",
        };
        let stripes = self.stripes.map_or(String::new(), |Stripes { bytes, count, layout }| {
            let layout = if layout == Layout::Ceph { "ceph" } else { "lustre" };
            format!(",stripe={bytes},stripes={count},layout={layout}")
        });
        let cold = match self.cold.is_zero() {
            true => String::new(),
            false => format!(",cold={}ns,ahead={}", ns(self.cold), self.ahead),
        };
        format!(
            "size={IMAGE_BYTES},attr={}ns,entry={}ns,negative={}ns,rtt={}ns,max_read={},max_write={},threads={},background={}{writes}{stripes}{cold}",
            ns(self.attributes),
            ns(self.names),
            ns(self.absences),
            ns(self.round_trip),
            self.read_request,
            self.write_request,
            self.threads,
            self.background,
        )
    }

    /// A case with such a mount.
    pub fn case(self, name: String) -> Case {
        Case {
            name,
            mount_options: self.words(),
            conditions: Conditions { served: Some(self), ..Conditions::default() },
            ..fuse_case(4096, 128)
        }
    }
}

/// The ones of every run of the lab.
pub(super) fn served_cases() -> Vec<Case> {
    let stripes = |bytes, count, layout| Some(Stripes { bytes, count, layout });
    let planted = [
        ([1000, 1000, 0], 0, [128, 128], [2, 16], Writes::Through, None),
        ([0, 0, 0], 200, [64, 32], [2, 16], Writes::Cached, stripes(4 << 20, 1, Layout::Ceph)),
        ([500, 2000, 1500], 300, [256, 1024], [8, 12], Writes::Late, stripes(65536, 5, Layout::Ceph)),
        ([2500, 300, 800], 1000, [100, 48], [16, 12], Writes::Through, stripes(1 << 20, 4, Layout::Lustre)),
    ];
    // All is in memory on two servers, one reads ahead, and one reads nothing ahead.
    let elsewhere = [[0, 0], [1000, 128], [0, 0], [2000, 0]];
    let all = planted.into_iter().zip(elsewhere);
    all.map(|((believed, round_trip, kib, requests, writes, stripes), [cold, ahead])| {
        let [attributes, names, absences] = believed;
        let served = Served::planted(believed, round_trip, kib, requests, writes, stripes);
        served.reading_ahead(cold, ahead).case(format!("fuse-served{attributes}-{names}-{absences}"))
    })
    .collect()
}
