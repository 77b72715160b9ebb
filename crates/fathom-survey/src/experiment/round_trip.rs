//! What asking the server of a file system takes.

use super::prelude::*;
use super::remembered::BARE_NS;
use super::silence::answer_or_silence;
use super::sync_latency::spread;
use super::{remembered, truth_of_served};
use crate::inference::latency;

pub(super) struct RoundTrip;

const METHOD: &str = "stats_asked_of_the_server";

impl Experiment for RoundTrip {
    fn about(&self) -> &'static About {
        &About {
            parameter: "round_trip",
            unit: "ns",
            question: "How long does a request to the file system's server take?",
            method: "statx(2) with AT_STATX_FORCE_SYNC asks the server for a file's attributes even if the kernel has them. The answer is the median, if it is at least ten times as long as a call that needs no server.",
            source: "KERNEL: fuse_update_get_attr, nfs_getattr",
            cost: Cost { seconds: 2, write_bytes: 0, read_bytes: 0 },
            figure: Figure::Spread,
            asks_server: true,
            not_applicable: "The files are here: there is no server to ask.",
            inconclusive: "How long a request to the server takes could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let seen = match answer_or_silence(remembered::round_trip(session))? {
            Ok(seen) => seen,
            Err(silence) => return Ok(silence.evidence(Kind::Timing, METHOD)),
        };
        let median = match &seen.median {
            Ok(median) => median,
            Err(reason) => return Ok(Evidence::inconclusive(Kind::Timing, METHOD, reason.as_str())),
        };
        let mut evidence = Evidence::measured(Kind::Timing, METHOD, Value::Real(median.value))
            .within_real([median.interval.low, median.interval.high])
            .resting_on(median.level, seen.all.len())
            .spread(spread("stat asked of the server", &seen.all).into_iter().collect());
        if median.interval.high > latency::MOST_CHANGE * median.interval.low {
            evidence = evidence.caveat(
                "it has two speeds: a server that works on its caller's CPU answers sooner than one that has to be woken on another",
            );
        }
        if seen.ends_on_the_way() {
            evidence = evidence.caveat(format!(
                "looking up a new name takes {}: attributes are answered on the way, as sshfs does from what it remembers, and the server is farther",
                Nanos(seen.name)
            ));
        }
        Ok(evidence)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        remembered::declared(declared, "mount_options", |_| None)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_of_served(case, |served| {
            let planted = served.round_trip.as_nanos() as f64;
            // Busy CPUs keep both processes waiting.
            Truth::within([planted, 1.5 * planted + 2.0 * BARE_NS])
        })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(format!("Asking the server takes {}.", Nanos(finding.number()?)))
    }
}
