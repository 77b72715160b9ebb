//! Requests to the device.

use std::num::NonZeroU32;

use crate::file_read::PAGE;
use crate::page_cache::{FetchId, FileId};
pub use crate::writeback_throttle::Urgency;

/// A request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The request's number. A read that waits for the request keeps it.
    pub id: FetchId,
    /// The file that it reads or writes.
    pub file: FileId,
    /// Its first page in the file.
    pub first: u64,
    /// The number of pages that it moves.
    pub pages: u64,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether a job waits for it.
    pub urgency: Urgency,
    /// How many folios of the page cache it writes back, in whole or in part.
    pub folios: u64,
    /// The request's place on the device; none if the file system does not map files.
    pub at: Option<At>,
    /// The number of the kernel's bios that it is made of, one behind the other. A control group's throttle counts each.
    pub bios: u64,
    /// Whether a call with O_DIRECT made it, and waits for it by its number.
    pub is_direct: bool,
    /// Whether the device may have no space for it yet: such a call writes to blocks that were never written.
    pub is_unwritten: bool,
    /// Whether its caller has already spent the time of submitting it.
    pub is_submitted: bool,
    /// Whether its server works on its caller's CPU.
    pub is_near: bool,
    /// Whether it is the first of a write: a server may be asked something before, by a request of its own.
    pub asks_first: bool,
}

/// A place on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Its first byte.
    pub byte: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Request {
    /// A read of pages of a file, for which a job waits.
    pub(crate) fn read(id: FetchId, file: FileId, first: u64, pages: u64) -> Self {
        Self {
            id,
            file,
            first,
            pages,
            is_write: false,
            folios: 0,
            urgency: Urgency::Sync,
            at: None,
            bios: 1,
            is_direct: false,
            is_unwritten: false,
            is_submitted: false,
            is_near: false,
            asks_first: false,
        }
    }

    /// So many of its pages, elsewhere on the device.
    pub(crate) fn piece(self, id: FetchId, first: u64, pages: u64, at: Option<At>) -> Self {
        let folios = (self.folios * pages).div_ceil(self.pages.max(1));
        Self { id, first, pages, folios, at, ..self }
    }

    /// A write of pages of a file.
    pub(crate) fn write(id: FetchId, file: FileId, first: u64, pages: u64, urgency: Urgency) -> Self {
        Self { is_write: true, urgency, ..Self::read(id, file, first, pages) }
    }

    /// Whether a call or a page waits for the request by its number: reads, and writes with O_DIRECT, but not syncs.
    #[must_use]
    pub fn arrives(&self) -> bool {
        !self.is_write || self.is_direct
    }

    /// The bytes that it moves.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.at.map_or(self.pages * PAGE, |at| at.bytes)
    }

    /// Where it begins on the device, in bytes. Files that the file system does not map lie one behind the other.
    pub(crate) fn place(&self) -> u64 {
        // Each file has 16 TiB of its own, for 2^20 files.
        self.at.map_or(((u64::from(self.file.0) & 0xF_FFFF) << 44) + self.first * PAGE, |at| at.byte)
    }
}

/// The numbers of requests, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestIds {
    last: u32,
}

impl RequestIds {
    /// The next number. After 2^32 requests the numbers begin again.
    pub(crate) fn next(&mut self) -> FetchId {
        // The largest number stands for a request that has none yet.
        self.last = self.last % (u32::MAX - 2) + 1;
        FetchId(NonZeroU32::new(self.last).unwrap_or(NonZeroU32::MIN))
    }
}
