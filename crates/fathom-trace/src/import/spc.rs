//! The Storage Performance Council's traces: `ASU,LBA,Size,Opcode,Timestamp[,...]`.
//!
//! The address is in blocks of 512 bytes, the size in bytes, the time in s since the trace began. Fields may
//! have spaces around them, and more fields may follow. Source: SPC Trace File Format Specification 1.0.1.

use super::requests::{VolumeRequest, in_bytes};
use super::text::Text;
use crate::operation::CallKind;

pub(super) fn read(line: &[u8]) -> Result<VolumeRequest, &'static str> {
    let mut text = Text(line);
    let volume = field(&mut text, Text::number).ok_or("no storage unit")?;
    let block = field(&mut text, Text::number).ok_or("no address")?;
    let length = field(&mut text, Text::number).ok_or("no size")?;
    text.spaces();
    let kind = match text.0.first() {
        Some(b'R' | b'r') => CallKind::Read,
        Some(b'W' | b'w') => CallKind::Write,
        _ => return Err("neither R nor W"),
    };
    text.0 = &text.0[1..];
    field(&mut text, |_| Some(())).ok_or("neither R nor W")?;
    text.spaces();
    let start_ns = text.seconds_ns().ok_or("no time stamp")?;
    text.spaces();
    if !text.is_empty() && !text.skip(b',') {
        return Err("no time stamp");
    }
    Ok(VolumeRequest { volume, kind, start_ns, offset: in_bytes(block).ok_or("no address")?, length })
}

/// A field and the comma behind it.
fn field<'a, T>(text: &mut Text<'a>, take: impl Fn(&mut Text<'a>) -> Option<T>) -> Option<T> {
    text.spaces();
    let value = take(text)?;
    text.spaces();
    text.skip(b',').then_some(value)
}
