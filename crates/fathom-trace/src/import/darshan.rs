//! What darshan-dxt-parser prints: reads and writes per file and rank, with the times of both ends.
//!
//! ```text
//! # DXT, file_id: 8515199880342690440, file_name: /scratch/out
//! # DXT, rank: 0, hostname: node1
//!  X_POSIX       0  write        0               0         1048576      4.8324      4.8436
//! ```
//! Both modules stand in it: an `X_MPIIO` line is carried out by `X_POSIX` lines, and is left out where it
//! would count the same bytes twice. Source: Darshan's documentation, "Darshan DXT", and `darshan-dxt-logutils.c`.

use memchr::memmem;

use super::text::Text;
use super::{Lines, Output};
use crate::operation::{CallKind, FileId, Operation};

#[derive(Default)]
pub(super) struct Reader {
    file: Option<FileId>,
}

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        if line.starts_with(b"#") {
            self.comment(line, output);
            return Ok(());
        }
        let mut text = Text(line);
        match text.word() {
            b"X_POSIX" => {}
            module if module.starts_with(b"X_") => {
                output.ignored += 1;
                return Ok(());
            }
            _ => return Err("no module"),
        }
        let file = self.file.ok_or("no file was named before")?;
        let rank = word(&mut text, Text::signed).ok_or("no rank")?;
        let kind = match text.word() {
            b"read" => CallKind::Pread,
            b"write" => CallKind::Pwrite,
            _ => return Err("neither read nor write"),
        };
        word(&mut text, Text::number).ok_or("no segment")?;
        let offset = word(&mut text, Text::number).ok_or("no offset")?;
        let length = word(&mut text, Text::number).ok_or("no length")?;
        let start = word(&mut text, Text::seconds_ns).ok_or("no start")?;
        let end = word(&mut text, Text::seconds_ns).ok_or("no end")?;
        // Rank -1 stands for all ranks together.
        let rank = u32::try_from(rank).unwrap_or(u32::MAX >> 1);
        output.operations.push(Operation {
            duration_ns: Some(u64::try_from(end.saturating_sub(start)).unwrap_or(0)),
            process: rank,
            thread: rank,
            offset: Some(offset),
            length,
            ..Operation::new(kind, file, start)
        });
        Ok(())
    }
}

impl Reader {
    fn comment(&mut self, line: &[u8], output: &mut Output) {
        const NAME: &[u8] = b"file_name: ";
        output.ignored += 1;
        if line.starts_with(b"# DXT, file_id:")
            && let Some(at) = memmem::find(line, NAME)
        {
            self.file = Some(output.files.id(line[at + NAME.len()..].trim_ascii_end()));
        }
    }
}

/// The next word, all of it.
fn word<'a, T>(text: &mut Text<'a>, take: impl Fn(&mut Text<'a>) -> Option<T>) -> Option<T> {
    let mut word = Text(text.word());
    take(&mut word).filter(|_| word.is_empty())
}
