//! For how long a kernel believes what a name stands for, as the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) static ENTRY_TIMEOUT: Question = Question {
    about: &About {
        parameter: "entry_timeout",
        unit: "ns",
        question: "How long may it take until a file's removal or replacement by another machine is seen here?",
        method: "Files are created, and their names are looked up at growing ages. A lookup is fast as long as the kernel trusts the name that it has cached, and then takes a round trip to the server. Measured twice, the second time close to that age.",
        source: "KERNEL: fuse_dentry_revalidate, nfs_lookup_revalidate",
        privileges: About::KERNEL_TRACE,
        cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        samples_of: Some(super::attribute_timeout::PARAMETER),
        asks_server: true,
        not_applicable: "The files are here: nothing has to be asked of a server.",
        inconclusive: "For how long the kernel trusts a name could not be determined.",
        ..About::USUAL
    },
    what: What::Names,
    method: "look_ups_at_growing_ages",
    declared: |server| server.names.clone(),
    never: "Every look-up of a name asks the server: a path takes a round trip for each of its parts.",
    believed: |time| {
        format!(
            "The kernel trusts a name that it has looked up for {time}. For that long a path takes no round trip."
        )
    },
};
