//! Among how many servers the parts of a file alternate.

use super::stripes::Question;
use super::{About, Nature};

pub(super) static STRIPE_COUNT: Question = Question {
    about: &About {
        parameter: "stripe_count",
        unit: "count",
        question: "Among how many objects, each of which may be on another server, do the parts of a new file alternate?",
        method: "The mount declares it: CephFS and Lustre by extended attributes of a file. GlusterFS has no such number, because the name of each shard decides where it lies.",
        source: "ceph.file.layout, lustre.lov",
        nature: Nature::Fixed,
        asks_server: true,
        not_applicable: "The parts of a file do not alternate among a fixed number of servers here.",
        inconclusive: "Among how many objects the parts of a file alternate could not be determined.",
        ..About::USUAL
    },
    declared: |stripes| &stripes.count,
    none: "the name of each part decides which server has it, so that their number is not fixed",
    planted: |stripes| stripes.count.into(),
    explain: |count| match count {
        1 => "A file fills one object after the other: a large transfer mostly asks one server at a time."
            .to_owned(),
        _ => format!(
            "The parts of a file alternate among {count} objects: large transfers can use up to {count} servers at once."
        ),
    },
};
