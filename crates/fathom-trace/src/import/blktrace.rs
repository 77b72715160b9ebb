//! What blktrace writes, one file per CPU or all in one stream, in either byte order.
//!
//! Versions 7 (`struct blk_io_trace`) and 8 (`struct blk_io_trace2`) of `linux/blktrace_api.h`:
//!
//! | bytes | version 7 | version 8 |
//! |---|---|---|
//! | 0 | magic and version u32 | the same |
//! | 4 | sequence u32 | the same |
//! | 8 | time in ns u64 | the same |
//! | 16 | sector u64 | the same |
//! | 24 | bytes u32 | the same |
//! | 28 | action u32 | process u32 |
//! | 32 | process u32 | action u64 |
//! | 36 | device u32 | |
//! | 40 | CPU u32 | device u32 |
//! | 44 | error u16, payload u16 | CPU u32 |
//! | 48 | payload | error u16, payload u16, 12 bytes of padding |

use super::requests::{InFlight, Moment, Request, SECTOR};
use super::{Output, Records, Taken};
use crate::operation::CallKind;

const MAGIC: u32 = 0x6561_7400;
/// `BLK_TC_*`: what an action's upper half says of a request.
const WRITES: u64 = 1 << 1;
const FLUSHES: u64 = 1 << 2;
const DISCARDS: u64 = 1 << 13;
const NOTIFIES: u64 = 1 << 10;

#[derive(Default)]
pub(super) struct Reader {
    in_flight: InFlight,
}

impl Records for Reader {
    fn record(&mut self, bytes: &[u8], output: &mut Output) -> Taken {
        let Some(magic) = bytes.first_chunk::<4>() else { return Taken::Needs(4) };
        let read = if u32::from_le_bytes(*magic) & !0xff == MAGIC {
            u32::from_le_bytes
        } else if u32::from_be_bytes(*magic) & !0xff == MAGIC {
            u32::from_be_bytes
        } else {
            return Taken::Rejected(1, "no record begins here");
        };
        let is_big = read([0, 0, 0, 1]) == 1;
        let header = Header { bytes, is_big };
        let size = match header.u32(0) & 0xff {
            7 => 48,
            8 => 64,
            _ => return Taken::Rejected(4, "a version other than 7 and 8"),
        };
        if bytes.len() < size {
            return Taken::Needs(size);
        }
        let payload = usize::from(header.u16(if size == 48 { 46 } else { 50 }));
        if bytes.len() < size + payload {
            return Taken::Needs(size + payload);
        }
        match header.request(size == 64) {
            Some(request) => self.in_flight.note(request, output),
            None => output.ignored += 1,
        }
        Taken::Record(size + payload)
    }

    fn end(&mut self, output: &mut Output) {
        self.in_flight.end(output);
    }
}

struct Header<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Header<'_> {
    fn u16(&self, at: usize) -> u16 {
        let bytes = [self.bytes[at], self.bytes[at + 1]];
        if self.is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn u32(&self, at: usize) -> u32 {
        let bytes = self.bytes[at..].first_chunk::<4>().copied().unwrap_or_default();
        if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64(&self, at: usize) -> u64 {
        let bytes = self.bytes[at..].first_chunk::<8>().copied().unwrap_or_default();
        if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// The request that a record tells of; none where it tells of something else.
    fn request(&self, is_second: bool) -> Option<Request> {
        let (action, process, device) = if is_second {
            (self.u64(32), self.u32(28), self.u32(40))
        } else {
            (u64::from(self.u32(28)), self.u32(32), self.u32(36))
        };
        // `BLK_TC_SHIFT` is 16 in both versions.
        let (categories, action) = (action >> 16, action & 0xff);
        let moment = match action {
            _ if categories & NOTIFIES != 0 => return None,
            1 => Moment::Queued,
            7 => Moment::Issued,
            8 => Moment::Completed,
            _ => return None,
        };
        let (sector, bytes) = (self.u64(16), u64::from(self.u32(24)));
        let kind = if categories & DISCARDS != 0 {
            CallKind::Discard
        } else if bytes > 0 {
            if categories & WRITES != 0 { CallKind::Write } else { CallKind::Read }
        } else if categories & FLUSHES != 0 {
            CallKind::Flush
        } else {
            return None;
        };
        // A flush has no place, and some kernels write all ones.
        let sector = if kind == CallKind::Flush { 0 } else { sector };
        i64::try_from(sector.checked_mul(SECTOR)?.checked_add(bytes)?).ok()?;
        Some(Request {
            moment,
            time_ns: i64::try_from(self.u64(8)).ok()?,
            process,
            device: (device >> 20, device & 0xf_ffff),
            kind,
            sector,
            bytes,
        })
    }
}
