//! The block traces of Microsoft Research Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are in units of 100 ns, the first since 1601 ("Windows filetime"); offset and size are in bytes.
//! Source: the README of the traces in SNIA's repository, block I/O set 388.

use super::text::Text;
use super::{Lines, Output};
use crate::operation::{CallKind, Operation};

/// From 1601 to 1970, in units of 100 ns.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;

pub(super) struct Reader;

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let mut text = Text(line);
        let Some(time) = text.number_before(b',') else {
            return output.heading(line, b"Timestamp,", "no time stamp");
        };
        let volume_start = text.0;
        text.until(b',').ok_or("no host")?;
        text.until(b',').ok_or("no disk number")?;
        // Host and disk, with the comma between them.
        let volume = &volume_start[..volume_start.len() - text.0.len() - 1];
        let kind = match text.until(b',') {
            Some(b"Read") => CallKind::Read,
            Some(b"Write") => CallKind::Write,
            _ => return Err("neither Read nor Write"),
        };
        let offset = text.number_before(b',').ok_or("no offset")?;
        let length = text.number_before(b',').ok_or("no size")?;
        let took = text.last_number().ok_or("no response time")?;
        let start = i64::try_from(time).ok().and_then(|time| time.checked_sub(UNIX_EPOCH)?.checked_mul(100));
        output.operations.push(Operation {
            duration_ns: Some(took.checked_mul(100).ok_or("no response time")?),
            offset: Some(offset),
            length,
            ..Operation::new(kind, output.files.id(volume), start.ok_or("no time stamp")?)
        });
        Ok(())
    }
}
