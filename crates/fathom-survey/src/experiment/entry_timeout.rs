//! For how long a kernel believes what a name stands for, as the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) static ENTRY_TIMEOUT: Question = Question {
    about: &About {
        parameter: "entry_timeout",
        unit: "ns",
        question: "For how long is it not seen here that another machine has removed or replaced a file?",
        method: "Files are made, and their names are looked up at growing ages: as long as the kernel believes what it was told, that takes no round trip to the server. Twice, the second time close to the step.",
        source: "KERNEL: fuse_dentry_revalidate, nfs_lookup_revalidate",
        privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
        cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        samples_of: Some(super::attribute_timeout::PARAMETER),
        asks_server: true,
        ..About::USUAL
    },
    what: What::Names,
    method: "look_ups_at_growing_ages",
    declared: |server| server.names.clone(),
    never: "Every look-up of a name asks the server: each path costs a round trip for each of its parts.",
    believed: |time| {
        format!(
            "The kernel believes for {time} what a name stands for: for so long a path costs no round trip."
        )
    },
    untold: "For how long names are believed could not be told.",
};
