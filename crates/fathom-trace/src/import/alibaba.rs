//! Alibaba's block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Offset and length are in bytes, the time in us since 1970. Source: the README of github.com/alibaba/block-traces.

use super::requests::VolumeRequest;
use super::text::Text;
use crate::operation::CallKind;

pub(super) const HEADING: &[u8] = b"device_id,";

pub(super) fn read(line: &[u8]) -> Result<VolumeRequest, &'static str> {
    let mut text = Text(line);
    let volume = text.number_before(b',').ok_or("no device number")?;
    let kind = match text.until(b',') {
        Some(b"R") => CallKind::Read,
        Some(b"W") => CallKind::Write,
        _ => return Err("neither R nor W"),
    };
    let offset = text.number_before(b',').ok_or("no offset")?;
    let length = text.number_before(b',').ok_or("no length")?;
    let time = text.last_number().ok_or("no time stamp")?;
    let start_ns = i64::try_from(time).ok().and_then(|time| time.checked_mul(1000)).ok_or("no time stamp")?;
    Ok(VolumeRequest { volume, kind, start_ns, offset, length })
}
