//! How many bytes one request writes at most.

use super::requests::Question;
use super::{About, Cost, Figure, Nature};
use fathom_program::call::Direction;

pub(super) static REQUEST_SIZE_WRITE: Question = Question {
    about: &About {
        parameter: "request_size_write",
        unit: "bytes",
        question: "How many bytes does one request to the file system's server write?",
        method: "Writes that bypass the page cache are timed at sizes of a power of two, a page less and a page more. If a request holds that power of two, the largest write takes longer, because it needs another request. The same must show at twice that size, and not in between.",
        source: "KERNEL: fuse_direct_io, nfs_pageio_add_request",
        privileges: About::KERNEL_TRACE,
        cost: Cost { seconds: 3, write_bytes: 64 << 20, read_bytes: 0 },
        nature: Nature::Fixed,
        figure: Figure::Spread,
        asks_server: true,
        not_applicable: "The files are here: no request goes to a server.",
        inconclusive: "How much one request writes could not be determined.",
        ..About::USUAL
    },
    direction: Direction::Write,
    method: "steps_of_direct_writes",
    declared: |server| server.write_request.clone(),
};
