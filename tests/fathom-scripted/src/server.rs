//! How a client talks to the server of its files. The way there and back is that of [`Metadata`](super::Metadata).

/// What is planted of the requests that move data. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Server {
    /// One request reads so much at most.
    pub read_request: u64,
    /// One request writes so much at most.
    pub write_request: u64,
    /// So many reads are served at once, and others wait for their turn.
    pub in_flight: usize,
    /// Where what is written waits.
    pub writes: Writes,
}

/// Where what is written waits for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Each write does.
    Through,
    /// The close does.
    FlushedAtClose,
    /// A sync does.
    Cached,
}

impl Default for Server {
    /// As the usual NFS client's.
    fn default() -> Self {
        Self { read_request: 1 << 20, write_request: 1 << 20, in_flight: 64, writes: Writes::FlushedAtClose }
    }
}
