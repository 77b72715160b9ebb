//! For how long a kernel believes the attributes of files that the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) const PARAMETER: &str = "attribute_timeout";

pub(super) static ATTRIBUTE_TIMEOUT: Question = Question {
    about: &About {
        parameter: PARAMETER,
        unit: "ns",
        question: "How long may it take until a change of a file's size or times by another machine is seen here?",
        method: "Files are created, and stat is called on them at growing ages. It is fast as long as the kernel trusts the attributes that it has cached, and then takes a round trip to the server. Measured twice, the second time close to that age.",
        source: "KERNEL: fuse_update_get_attr, nfs_attribute_timeout",
        privileges: About::KERNEL_TRACE,
        cost: Cost { seconds: 9, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        asks_server: true,
        not_applicable: "The files are here: nothing has to be asked of a server.",
        inconclusive: "For how long the kernel trusts a file's attributes could not be determined.",
        ..About::USUAL
    },
    what: What::Attributes,
    method: "stats_at_growing_ages",
    declared: |server| server.attributes.clone(),
    never: "Every stat asks the server: changes by other machines are seen at once.",
    believed: |time| {
        format!(
            "The kernel trusts a file's attributes for {time}. For that long changes by other machines may not be seen, and a stat takes no round trip."
        )
    },
};
