//! Tencent's cloud block storage traces: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! The time is in s since 1970, offset and size in sectors of 512 bytes, the type 0 for a read and 1 for a
//! write. Source: the README of the traces in SNIA's repository, "Tencent Block Storage".

use super::requests::{Volumes, in_bytes};
use super::text::Text;
use super::{Lines, Output};
use crate::operation::{CallKind, Operation};

#[derive(Default)]
pub(super) struct Reader {
    volumes: Volumes,
}

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let mut text = Text(line);
        let Some(time) = text.number_before(b',') else {
            return output.heading(line, b"Timestamp,", "no time stamp");
        };
        let offset = text.number_before(b',').ok_or("no offset")?;
        let length = text.number_before(b',').ok_or("no size")?;
        let kind = match text.number_before(b',') {
            Some(0) => CallKind::Read,
            Some(1) => CallKind::Write,
            _ => return Err("neither 0 for a read nor 1 for a write"),
        };
        let volume = text.last_number().ok_or("no volume")?;
        let start = i64::try_from(time).ok().and_then(|time| time.checked_mul(1_000_000_000));
        let file = self.volumes.file(volume, output);
        output.operations.push(Operation {
            offset: Some(in_bytes(offset).ok_or("no offset")?),
            length: in_bytes(length).ok_or("no size")?,
            ..Operation::new(kind, file, start.ok_or("no time stamp")?)
        });
        Ok(())
    }
}
