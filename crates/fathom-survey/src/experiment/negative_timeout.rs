//! For how long a kernel believes that there is nothing of a name, as the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) static NEGATIVE_TIMEOUT: Question = Question {
    about: &About {
        parameter: "negative_timeout",
        unit: "ns",
        question: "For how long is it not seen here that another machine has made a file that was looked for?",
        method: "Names that are not there are looked up, and again at growing ages: as long as the kernel believes that there is nothing, that takes no round trip to the server. Twice, the second time close to the step.",
        source: "KERNEL: fuse_dentry_revalidate, nfs_lookup_revalidate",
        privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
        cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        samples_of: Some(super::attribute_timeout::PARAMETER),
        asks_server: true,
        ..About::USUAL
    },
    what: What::Absences,
    method: "look_ups_of_nothing",
    declared: |_| None,
    never: "The server is asked every time for a file that is not there: a search along a path of directories costs a round trip for each.",
    believed: |time| {
        format!(
            "The kernel believes for {time} that a file is not there: a file that others make may be seen that late."
        )
    },
    untold: "For how long a file is believed not to be there could not be told.",
};
