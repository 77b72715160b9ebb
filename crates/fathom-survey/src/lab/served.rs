//! Mounts that the lab serves itself: what the kernel may believe, and how it talks to the server, is planted.

use std::time::Duration;

use fathom_fuse::Writes;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::cases::{IMAGE_BYTES, fuse_case};
use crate::case::{Case, Conditions, Served};

const KIB: u64 = 1024;
/// A kernel reads no more at once than this and than one request may write: its own read-ahead before the first request.
const USUAL_READ_KIB: u64 = 128;

impl Served {
    /// The words of a plan of the lab's file system.
    fn words(&self) -> String {
        let ns = |time: Duration| time.as_nanos();
        let writes = match self.writes {
            Writes::Through => "",
            Writes::Cached => ",cache=writeback",
            Writes::Late => ",write=late",
        };
        format!(
            "size={IMAGE_BYTES},attr={}ns,entry={}ns,negative={}ns,rtt={}ns,max_read={},max_write={},threads={},background={}{writes}",
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

    fn case(self, name: String) -> Case {
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
    // Milliseconds that attributes, names and absences are believed, microseconds of a round trip, KiB of a read and of
    // a write, threads and requests in the background, and what becomes of writes.
    let planted = [
        ([1000, 1000, 0], 0, [128, 128], [2, 16], Writes::Through),
        ([0, 0, 0], 200, [64, 32], [2, 16], Writes::Cached),
        ([500, 2000, 1500], 300, [256, 1024], [8, 12], Writes::Late),
        ([2500, 300, 800], 1000, [100, 48], [16, 12], Writes::Through),
    ];
    planted
        .map(|([attributes, names, absences], round_trip, [read, write], [threads, background], writes)| {
            let served = Served {
                attributes: Duration::from_millis(attributes),
                names: Duration::from_millis(names),
                absences: Duration::from_millis(absences),
                round_trip: Duration::from_micros(round_trip),
                read_request: read * KIB,
                write_request: write * KIB,
                writes,
                threads,
                background,
            };
            served.case(format!("fuse-served{attributes}-{names}-{absences}"))
        })
        .into()
}

/// One whose every number is drawn at random.
pub fn drawn(seed: u64) -> Case {
    let dice = &mut Pcg64Mcg::seed_from_u64(seed);
    let [attributes, names, absences] = [0; 3].map(|_| match dice.random_range(0..4) {
        0 => 0,
        _ => between(dice, 100.0, 1900.0),
    });
    let round_trip = if dice.random_range(0..10) == 0 { 0 } else { between(dice, 50.0, 5000.0) };
    let pages = |dice: &mut Pcg64Mcg, most: u64| match dice.random_range(0..3) {
        0 => dice.random_range(1..=most),
        _ => 1 << dice.random_range(0..=most.ilog2()),
    };
    let write = 4 * pages(dice, 256);
    let read = 4 * pages(dice, write.max(USUAL_READ_KIB) / 4);
    let writes = [Writes::Through, Writes::Cached, Writes::Late][dice.random_range(0..3)];
    let served = Served {
        attributes: Duration::from_millis(attributes),
        names: Duration::from_millis(names),
        absences: Duration::from_millis(absences),
        round_trip: Duration::from_micros(round_trip),
        read_request: read * KIB,
        write_request: write * KIB,
        writes,
        threads: dice.random_range(2..=24),
        background: dice.random_range(2..=24),
    };
    served.case(format!("fuse-drawn{seed}"))
}

/// A whole number, each factor as likely as any other.
fn between(dice: &mut Pcg64Mcg, low: f64, high: f64) -> u64 {
    (low * (high / low).powf(dice.random::<f64>())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_can_be_planted() {
        for seed in 0..200 {
            let case = drawn(seed);
            let plan: fathom_fuse::Plan = case.mount_options.parse().unwrap();
            let served = case.conditions.served.unwrap();
            assert_eq!((plan.round_trip, plan.writes), (served.round_trip, served.writes));
            assert!((2..=24).contains(&plan.threads) && served.read_request >= 4096);
            assert!(served.attributes < Duration::from_secs(2));
            assert_eq!(case, drawn(seed));
        }
    }
}
