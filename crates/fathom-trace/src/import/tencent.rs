//! Tencent's cloud block storage traces: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! The time is in s since 1970, offset and size in sectors of 512 bytes, the type 0 for a read and 1 for a
//! write. Source: the README of the traces in SNIA's repository, "Tencent Block Storage".

use super::requests::{VolumeRequest, in_bytes};
use super::text::Text;
use crate::operation::CallKind;

pub(super) const HEADING: &[u8] = b"Timestamp,";

pub(super) fn read(line: &[u8]) -> Result<VolumeRequest, &'static str> {
    let mut text = Text(line);
    let time = text.number_before(b',').ok_or("no time stamp")?;
    let offset = text.number_before(b',').ok_or("no offset")?;
    let length = text.number_before(b',').ok_or("no size")?;
    let kind = match text.number_before(b',') {
        Some(0) => CallKind::Read,
        Some(1) => CallKind::Write,
        _ => return Err("neither 0 for a read nor 1 for a write"),
    };
    let volume = text.last_number().ok_or("no volume")?;
    let start_ns = i64::try_from(time).ok().and_then(|time| time.checked_mul(1_000_000_000));
    Ok(VolumeRequest {
        volume,
        kind,
        offset: in_bytes(offset).ok_or("no offset")?,
        length: in_bytes(length).ok_or("no size")?,
        start_ns: start_ns.ok_or("no time stamp")?,
    })
}
