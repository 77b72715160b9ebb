//! A trace as fio's iolog, version 3.
//!
//! fio knows reads, writes, syncs and discards at offsets, and opens and closes per file: each file is opened
//! before its first operation and closed at the end. What else a trace holds is counted and left out.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::format::Reader;
use crate::operation::{CallKind, Files, Operation};

/// What an export came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Lines that stand for operations.
    pub operations: u64,
    /// Operations that fio has no word for, that failed or moved nothing, or whose place is not known.
    pub left_out: u64,
}

/// fio reads names and actions of at most 256 bytes, ended by blanks.
const LONGEST_NAME: usize = 255;

/// Writes a trace as an iolog.
///
/// # Errors
/// The trace can't be read, the iolog not written, or a file has a name that an iolog can't hold.
pub fn fio(trace: &Path, sink: &mut impl Write) -> Result<Exported> {
    let mut reader = Reader::open(trace)?;
    let mut exported = Exported::default();
    let mut opened = Vec::new();
    let mut first_ns = None;
    let mut last_us = 0;
    let failed = |error: io::Error| Error::new("export", trace, error);
    writeln!(sink, "fio version 3 iolog").map_err(failed)?;
    while let Some((operations, files)) = reader.read()? {
        for operation in operations {
            let Some((action, place)) = line(operation) else {
                exported.left_out += 1;
                continue;
            };
            let first_ns = *first_ns.get_or_insert(operation.start_ns);
            let since = u64::try_from(operation.start_ns.saturating_sub(first_ns)).unwrap_or(0) / 1000;
            // fio waits for differences, and takes a time that goes back for none.
            last_us = since.max(last_us);
            let path = name(trace, operation, files)?;
            let file = operation.file.0 as usize;
            if opened.len() <= file {
                opened.resize(file + 1, false);
            }
            if !std::mem::replace(&mut opened[file], true) {
                writeln!(sink, "{last_us} {path} add\n{last_us} {path} open").map_err(failed)?;
            }
            let (offset, length) = place;
            writeln!(sink, "{last_us} {path} {action} {offset} {length}").map_err(failed)?;
            exported.operations += 1;
        }
    }
    for (file, _) in opened.iter().enumerate().filter(|(_, opened)| **opened) {
        let path = String::from_utf8_lossy(&reader.files().paths()[file]).into_owned();
        writeln!(sink, "{last_us} {path} close").map_err(failed)?;
    }
    sink.flush().map_err(failed)?;
    Ok(exported)
}

fn name<'a>(trace: &Path, operation: &Operation, files: &'a Files) -> Result<&'a str> {
    let path = std::str::from_utf8(files.path(operation.file)).ok();
    let fits =
        |path: &&str| !path.is_empty() && path.len() <= LONGEST_NAME && !path.contains(char::is_whitespace);
    path.filter(fits).ok_or_else(|| {
        let path = String::from_utf8_lossy(files.path(operation.file)).into_owned();
        Error::new("export", trace, format!("an iolog can't hold the file name {path:?}"))
    })
}

/// The action of an operation, and where and how much.
fn line(operation: &Operation) -> Option<(&'static str, (u64, u64))> {
    if operation.result.is_some_and(|result| result < 0) {
        return None;
    }
    let length =
        if operation.kind.direction().is_some() { operation.moved_bytes() } else { operation.length };
    let place = operation.offset.map(|offset| (offset, length)).filter(|_| length > 0);
    match operation.kind {
        CallKind::Fsync | CallKind::Flush => Some(("sync", (0, 0))),
        CallKind::Fdatasync => Some(("datasync", (0, 0))),
        CallKind::Discard => Some(("trim", place?)),
        kind => match kind.direction()? {
            crate::operation::Direction::Read => Some(("read", place?)),
            crate::operation::Direction::Write => Some(("write", place?)),
        },
    }
}
