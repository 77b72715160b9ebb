//! fio's iolog, versions 2 and 3.
//!
//! Version 3 begins each line with the time in us. Version 2 has `wait` lines, which hold the time in ms since
//! the start: so fio's code reads them (`read_iolog_get` in iolog.c), whatever its manual says. Neither
//! tells how long an operation took. A read or write names its offset, as pread(2) does.

use super::text::Text;
use super::{Lines, Output};
use crate::operation::{CallKind, Operation};

#[derive(Default)]
pub(super) struct Reader {
    version: u8,
    /// Version 2's time so far.
    now_ns: i64,
}

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if let Some(rest) = line.strip_prefix(b"fio version ") {
            // Logs that were appended to one another each begin with it.
            (self.version, self.now_ns) = match rest.trim_ascii() {
                b"2 iolog" => (2, 0),
                b"3 iolog" => (3, 0),
                _ => return Err("a version other than 2 and 3"),
            };
            output.ignored += 1;
            return Ok(());
        }
        let mut text = Text(line);
        let start_ns = match self.version {
            2 => self.now_ns,
            3 => {
                let micros = text.number_before(b' ').ok_or("no time stamp")?;
                i64::try_from(micros)
                    .ok()
                    .and_then(|micros| micros.checked_mul(1000))
                    .ok_or("no time stamp")?
            }
            _ => return Err("no line 'fio version 2 iolog' or 'fio version 3 iolog' before"),
        };
        self.action(text, start_ns, output)
    }
}

impl Reader {
    /// `FILE ACTION` or `FILE ACTION OFFSET LENGTH`. A file's name may hold spaces: the rest is told by its end.
    fn action(&mut self, mut text: Text, start_ns: i64, output: &mut Output) -> Result<(), &'static str> {
        let last = text.last_word();
        if let Some(kind) = file_action(last) {
            let file = text.0.trim_ascii();
            if file.is_empty() {
                return Err("no file");
            }
            match kind {
                Some(kind) => output.operations.push(Operation::new(kind, output.files.id(file), start_ns)),
                None => output.ignored += 1,
            }
            return Ok(());
        }
        let number = |word: &[u8]| {
            let mut word = Text(word);
            word.number().filter(|_| word.is_empty())
        };
        let length = number(last).ok_or("no length")?;
        let offset = number(text.last_word()).ok_or("no offset")?;
        let action = text.last_word();
        let file = text.0.trim_ascii();
        if file.is_empty() {
            return Err("no file");
        }
        let kind = match action {
            b"read" => CallKind::Pread,
            b"write" => CallKind::Pwrite,
            b"sync" => CallKind::Fsync,
            b"datasync" => CallKind::Fdatasync,
            b"sync_file_range" => CallKind::SyncRange,
            b"trim" => CallKind::Discard,
            b"wait" if self.version == 2 => {
                let wait = i64::try_from(offset).ok().and_then(|millis| millis.checked_mul(1_000_000));
                self.now_ns = self.now_ns.max(wait.ok_or("no time to wait")?);
                output.ignored += 1;
                return Ok(());
            }
            _ => return Err("no action of an iolog"),
        };
        let offset = (!matches!(kind, CallKind::Fsync | CallKind::Fdatasync)).then_some(offset);
        let length = if offset.is_some() { length } else { 0 };
        output.operations.push(Operation {
            offset,
            length,
            ..Operation::new(kind, output.files.id(file), start_ns)
        });
        Ok(())
    }
}

/// What is done to a file as a whole; nothing that a trace keeps where it is only announced.
fn file_action(word: &[u8]) -> Option<Option<CallKind>> {
    match word {
        b"add" | b"unlink" => Some(None),
        b"open" => Some(Some(CallKind::Open)),
        b"close" => Some(Some(CallKind::Close)),
        _ => None,
    }
}
