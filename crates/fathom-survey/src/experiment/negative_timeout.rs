//! For how long a kernel believes that there is nothing of a name, as the server of a file system has told it.

use super::remembered::{Question, What};
use super::{About, Cost, Figure, Nature};

pub(super) static NEGATIVE_TIMEOUT: Question = Question {
    about: &About {
        parameter: "negative_timeout",
        unit: "ns",
        question: "How long may it take until a new file of another machine is seen here, if its name was looked up before?",
        method: "Names that do not exist are looked up, and again at growing ages. A lookup is fast as long as the kernel remembers that the name does not exist, and then takes a round trip to the server. Measured twice, the second time close to that age.",
        source: "KERNEL: fuse_dentry_revalidate, nfs_lookup_revalidate",
        privileges: About::KERNEL_TRACE,
        cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Drifting,
        figure: Figure::Spread,
        samples_of: Some(super::attribute_timeout::PARAMETER),
        asks_server: true,
        not_applicable: "The files are here: nothing has to be asked of a server.",
        inconclusive: "For how long the kernel remembers that a file does not exist could not be determined.",
        ..About::USUAL
    },
    what: What::Absences,
    method: "look_ups_of_nothing",
    declared: |_| None,
    never: "The server is asked every time for a file that does not exist: a search in several directories takes a round trip for each.",
    believed: |time| {
        format!(
            "The kernel remembers for {time} that a file does not exist: a new file of another machine may be seen that late."
        )
    },
};
