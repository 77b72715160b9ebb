//! How many bytes of a file lie together on one server.

use super::stripes::Question;
use super::{About, Nature};
use fathom_program::units::Bytes;

pub(super) static STRIPE_SIZE: Question = Question {
    about: &About {
        parameter: "stripe_size",
        unit: "bytes",
        question: "After how many bytes does a new file go on in another object, which may be on another server?",
        method: "The mount declares it: CephFS and Lustre by extended attributes of a file, GlusterFS by its client's settings in .meta. Where parts of a file differ, there is no answer.",
        source: "ceph.file.layout, lustre.lov, shard-block-size",
        nature: Nature::Fixed,
        asks_server: true,
        not_applicable: "A file is not cut into stripes here.",
        inconclusive: "How large a stripe is could not be determined.",
        ..About::USUAL
    },
    declared: |stripes| &stripes.size,
    none: "the mount declares no size of stripes",
    planted: |stripes| stripes.bytes.into(),
    explain: |bytes| {
        let bytes = Bytes(bytes);
        format!(
            "A file goes on in another object every {bytes}: a transfer that crosses no such border asks one server."
        )
    },
};
