//! VMware's vscsiStats traces: records of 32 bytes (version 1) or 40 (version 2), little-endian.
//!
//! | version | fields |
//! |---|---|
//! | 1 | serial u32, bytes u32, segments u32, command u16, version u16, block u64, time u64 |
//! | 2 | command u16, version u16, serial u32, bytes u32, segments u32, block u64, time u64, response u64 |
//!
//! The version's high byte is 1 or 2, blocks have 512 bytes, times are in us; the command is SCSI's.
//! Source: vscsi.h of libCacheSim, and the README of the CloudPhysics traces; commands: T10's SBC-4.

use super::requests::in_bytes;
use super::{Output, Records, Taken};
use crate::operation::{CallKind, FileId, Operation};

const DEVICE: &[u8] = b"disk";

#[derive(Default)]
pub(super) struct Reader {
    version: Option<u8>,
    file: Option<FileId>,
}

impl Records for Reader {
    fn record(&mut self, bytes: &[u8], output: &mut Output) -> Taken {
        let version = match self.version.or_else(|| version(bytes)) {
            Some(version) => version,
            None if bytes.len() < 80 => return Taken::Needs(80),
            None => return Taken::Rejected(8, "a record of neither version"),
        };
        let size = if version == 1 { 32 } else { 40 };
        if bytes.len() < size {
            return Taken::Needs(size);
        }
        let record = if version == 1 { first(bytes) } else { second(bytes) };
        if record.version != version {
            return Taken::Rejected(size, "a record of another version");
        }
        self.version = Some(version);
        let (Some(start_ns), Some(offset)) = (
            i64::try_from(record.time_us).ok().and_then(|time| time.checked_mul(1000)),
            in_bytes(record.block),
        ) else {
            return Taken::Rejected(size, "a time or block beyond all bounds");
        };
        let Some(kind) = kind(record.command) else {
            output.ignored += 1;
            return Taken::Record(size);
        };
        let file = *self.file.get_or_insert_with(|| output.files.id(DEVICE));
        output.operations.push(Operation {
            duration_ns: record.response_us.and_then(|response| response.checked_mul(1000)),
            offset: Some(offset),
            length: u64::from(record.bytes),
            ..Operation::new(kind, file, start_ns)
        });
        Taken::Record(size)
    }
}

struct Record {
    version: u8,
    command: u16,
    bytes: u32,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

/// The version that the first two records have.
fn version(bytes: &[u8]) -> Option<u8> {
    let both = |size: usize, at: usize| {
        let of = |start: usize| bytes.get(start + at + 1).copied();
        (of(0)?, of(size).or_else(|| (bytes.len() == size).then(|| of(0)).flatten())?).into()
    };
    match (both(40, 2), both(32, 14)) {
        (Some((2, 2)), _) => Some(2),
        (_, Some((1, 1))) => Some(1),
        _ => None,
    }
}

fn first(bytes: &[u8]) -> Record {
    Record {
        version: bytes[15],
        command: u16_at(bytes, 12),
        bytes: u32_at(bytes, 4),
        block: u64_at(bytes, 16),
        time_us: u64_at(bytes, 24),
        response_us: None,
    }
}

fn second(bytes: &[u8]) -> Record {
    Record {
        version: bytes[3],
        command: u16_at(bytes, 0),
        bytes: u32_at(bytes, 8),
        block: u64_at(bytes, 16),
        time_us: u64_at(bytes, 24),
        response_us: Some(u64_at(bytes, 32)),
    }
}

/// What a SCSI command does to blocks.
fn kind(command: u16) -> Option<CallKind> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(CallKind::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(CallKind::Write),
        0x35 | 0x91 => Some(CallKind::Flush),
        0x42 => Some(CallKind::Discard),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
