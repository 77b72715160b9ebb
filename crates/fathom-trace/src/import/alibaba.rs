//! Alibaba's block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Offset and length are in bytes, the time in us since 1970. Source: the README of github.com/alibaba/block-traces.

use super::requests::Volumes;
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
        let Some(device) = text.number_before(b',') else {
            return output.heading(line, b"device_id,", "no device number");
        };
        let kind = match text.until(b',') {
            Some(b"R") => CallKind::Read,
            Some(b"W") => CallKind::Write,
            _ => return Err("neither R nor W"),
        };
        let offset = text.number_before(b',').ok_or("no offset")?;
        let length = text.number_before(b',').ok_or("no length")?;
        let time = text.last_number().ok_or("no time stamp")?;
        let start =
            i64::try_from(time).ok().and_then(|time| time.checked_mul(1000)).ok_or("no time stamp")?;
        let file = self.volumes.file(device, output);
        output.operations.push(Operation {
            offset: Some(offset),
            length,
            ..Operation::new(kind, file, start)
        });
        Ok(())
    }
}
