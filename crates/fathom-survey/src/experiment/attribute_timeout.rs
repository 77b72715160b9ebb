//! For how long a kernel believes the attributes of files that the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) const PARAMETER: &str = "attribute_timeout";

pub(super) static ATTRIBUTE_TIMEOUT: Question = Question {
    about: &About {
        parameter: PARAMETER,
        unit: "ns",
        question: "For how long is what another machine changes in a file's size or times not seen here?",
        method: "Files are made, and their attributes are asked for at growing ages: as long as the kernel believes what it was told, a stat takes no round trip to the server. Twice, the second time close to the step.",
        source: "KERNEL: fuse_update_get_attr, nfs_attribute_timeout",
        privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
        cost: Cost { seconds: 9, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        asks_server: true,
        ..About::USUAL
    },
    what: What::Attributes,
    method: "stats_at_growing_ages",
    declared: |server| server.attributes.clone(),
    never: "Every stat asks the server: what others change is seen at once.",
    believed: |time| {
        format!(
            "The kernel believes a file's attributes for {time}: for so long what others change may not be seen, and a stat costs no round trip."
        )
    },
    untold: "For how long attributes are believed could not be told.",
};
