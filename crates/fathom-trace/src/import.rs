//! Other tools' traces, read as streams: a chunk at a time, each line by itself.
//!
//! Bytes that make no sense are counted with their place and left out; nothing that a file may hold stops
//! or breaks a reader. Memory grows with the number of files, processes and requests in flight, never with
//! the number of operations.

mod alibaba;
mod blkparse;
mod blktrace;
mod darshan;
mod fio;
mod msr;
mod requests;
mod spc;
mod strace;
mod tencent;
mod text;
mod vscsi;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memchr;
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use self::requests::OnVolumes;
use crate::error::{Error, Result};
use crate::format::{Sink, discard};
use crate::operation::{Clock, Files, Level, Operation, Origin};

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Format {
    /// fio's iolog, versions 2 and 3.
    Fio,
    /// `strace -f -ttt -T`, better with `-y`.
    Strace,
    /// What blkparse prints.
    Blkparse,
    /// What blktrace writes.
    Blktrace,
    /// The CSV of the block traces of Microsoft Research Cambridge.
    Msr,
    /// The CSV of Alibaba's block traces.
    Alibaba,
    /// The CSV of Tencent's cloud block storage traces.
    Tencent,
    /// The Storage Performance Council's trace file format.
    Spc,
    /// What darshan-dxt-parser prints.
    Darshan,
    /// VMware's vscsiStats traces, both versions.
    Vscsi,
}

impl Format {
    /// Every format.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The format of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// What a trace of this format shows, and what its times count from.
    #[must_use]
    pub fn origin(self) -> Origin {
        let level = match self {
            Self::Fio | Self::Strace | Self::Darshan => Level::File,
            _ => Level::Block,
        };
        let clock = match self {
            Self::Strace | Self::Msr | Self::Alibaba | Self::Tencent => Clock::Unix,
            _ => Clock::Source,
        };
        Origin { level, clock, source: self.name().to_owned() }
    }

    /// The one format that the beginning of a file is in; none where none or several could be meant.
    #[must_use]
    pub fn detect(beginning: &[u8]) -> Option<Self> {
        let mut fitting = Self::ALL.iter().copied().filter(|format| format.fits(beginning));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }

    /// Whether the first lines or records are of this format, most of them at least.
    fn fits(self, beginning: &[u8]) -> bool {
        let whole = beginning.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let sample = if self.is_text() { &beginning[..whole] } else { beginning };
        let mut found = 0;
        let read = read(sample, self, |operations, _| {
            found += operations.len();
            Ok::<(), io::Error>(())
        });
        read.is_ok_and(|imported| {
            // The last record of a beginning may be cut.
            found > 0 && found as u64 >= imported.rejected.count.saturating_sub(u64::from(!self.is_text()))
        })
    }

    fn is_text(self) -> bool {
        !matches!(self, Self::Blktrace | Self::Vscsi)
    }
}

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Operations given on.
    pub operations: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines or records that were understood and are no operation on a file or device.
    pub ignored: u64,
    /// What could not be understood.
    pub rejected: Rejected,
}

/// Lines or records that made no sense.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Vec<Reject>,
}

/// A line or record that made no sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// Its number, from 1.
    pub number: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// How many rejected lines are kept with their numbers.
const KEPT: usize = 10;

impl Rejected {
    fn add(&mut self, number: u64, reason: &'static str) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(Reject { number, reason });
        }
    }
}

/// What a reader has made so far.
#[derive(Debug, Default)]
struct Output {
    operations: Vec<Operation>,
    files: Files,
    ignored: u64,
}

impl Output {
    /// Takes a line for the heading of a table where it begins like that, and rejects it elsewhere.
    fn heading(
        &mut self,
        line: &[u8],
        begins: &[u8],
        reason: &'static str,
    ) -> std::result::Result<(), &'static str> {
        if !line.starts_with(begins) {
            return Err(reason);
        }
        self.ignored += 1;
        Ok(())
    }
}

/// A reader of lines.
trait Lines {
    /// Takes a line, without its end.
    fn line(&mut self, line: &[u8], output: &mut Output) -> std::result::Result<(), &'static str>;

    /// Gives what still waited for something.
    fn end(&mut self, _output: &mut Output) {}
}

/// A reader of binary records.
trait Records {
    /// Looks at the bytes from a record's beginning on.
    fn record(&mut self, bytes: &[u8], output: &mut Output) -> Taken;

    /// Gives what still waited for something.
    fn end(&mut self, _output: &mut Output) {}
}

/// What a reader of records made of the next bytes.
enum Taken {
    /// A record of that many bytes, which are at least one.
    Record(usize),
    /// That many bytes, at least one, that are no record.
    Rejected(usize, &'static str),
    /// That many bytes are needed to tell.
    Needs(usize),
}

/// Reads a stream of the given format; what it holds goes to `sink` in batches.
///
/// # Errors
/// What reading gives, and what the sink gives.
pub fn read<E: From<io::Error>>(
    source: impl Read,
    format: Format,
    sink: impl FnMut(&[Operation], &Files) -> std::result::Result<(), E>,
) -> std::result::Result<Imported, E> {
    match format {
        Format::Fio => lines(source, fio::Reader::default(), sink),
        Format::Strace => lines(source, strace::Reader::default(), sink),
        Format::Blkparse => lines(source, blkparse::Reader::default(), sink),
        Format::Blktrace => records(source, blktrace::Reader::default(), sink),
        Format::Msr => lines(source, msr::Reader, sink),
        Format::Alibaba => lines(source, OnVolumes::new(Some(alibaba::HEADING), alibaba::read), sink),
        Format::Tencent => lines(source, OnVolumes::new(Some(tencent::HEADING), tencent::read), sink),
        Format::Spc => lines(source, OnVolumes::new(None, spc::read), sink),
        Format::Darshan => lines(source, darshan::Reader::default(), sink),
        Format::Vscsi => records(source, vscsi::Reader::default(), sink),
    }
}

/// Makes a new trace at `out` of a file in another tool's format, which is found out where it is not given: a file, or a folder of
/// parts with so many operations each. `interrupt` ends it.
///
/// # Errors
/// A file can't be read or written, its format is not clear, or an interrupt; then there is no trace.
pub fn import(
    from: &Path,
    format: Option<Format>,
    out: &Path,
    rows_per_part: Option<usize>,
    interrupt: &AtomicBool,
) -> Result<(Format, Imported)> {
    let format = format.map_or_else(|| detect(from), Ok)?;
    let source = File::open(from).map_err(|error| Error::new("open", from, error))?;
    let mut sink = Sink::create(out, &format.origin(), rows_per_part)?;
    let imported = read(source, format, |operations, files| match interrupt.load(Ordering::Relaxed) {
        true => Err(io::Error::other("interrupted")),
        false => sink.add(operations, files).map_err(io::Error::other),
    });
    let imported = imported.map_err(|error| Error::new("import", from, error));
    let finished = imported.and_then(|imported| sink.finish().map(|()| (format, imported)));
    finished.inspect_err(|_| discard(out))
}

/// Reads the log of a strace whose first process begins in `directory`.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_strace<E: From<io::Error>>(
    source: impl Read,
    directory: Option<Vec<u8>>,
    sink: impl FnMut(&[Operation], &Files) -> std::result::Result<(), E>,
) -> std::result::Result<Imported, E> {
    lines(source, strace::Reader::new(directory), sink)
}

/// Finds out the format of a file.
///
/// # Errors
/// The file can't be read, or its beginning is of no format or of several.
pub fn detect(path: &Path) -> Result<Format> {
    let mut beginning = Vec::new();
    let opened = File::open(path).map_err(|error| Error::new("open", path, error))?;
    opened.take(64 << 10).read_to_end(&mut beginning).map_err(|error| Error::new("read", path, error))?;
    Format::detect(&beginning).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Error::new("import", path, format!("its format is not clear; name it: {}", names.join(", ")))
    })
}

/// What is read at once: so much that the operations that come of it, which take some times as much, stay in the CPU's
/// second cache until they are columns.
const CHUNK: usize = 32 << 10;
/// No line or record is longer; one that is, is rejected.
const LONGEST: usize = 1 << 20;

/// A window on a stream: bytes that were read and not yet used.
struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    used: usize,
    end: usize,
    at_end: bool,
}

impl<R: Read> Window<R> {
    fn new(source: R) -> Self {
        Self { source, bytes: vec![0; CHUNK], used: 0, end: 0, at_end: false }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.used..self.end]
    }

    /// Reads on, and tells how much that gave. What is unused stays.
    fn refill(&mut self) -> io::Result<usize> {
        self.bytes.copy_within(self.used..self.end, 0);
        self.end -= self.used;
        self.used = 0;
        if self.end == self.bytes.len() {
            self.bytes.resize((self.bytes.len() * 2).min(LONGEST + CHUNK), 0);
        }
        loop {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    self.at_end = count == 0;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads a stream to its end; `take` uses up what it can of the window each time that there is more in it.
fn windows<R: Read, E: From<io::Error>>(
    source: R,
    mut sink: impl FnMut(&[Operation], &Files) -> std::result::Result<(), E>,
    mut take: impl FnMut(&mut Window<R>, &mut Output, &mut Rejected),
) -> std::result::Result<Imported, E> {
    let (mut window, mut output, mut imported) =
        (Window::new(source), Output::default(), Imported::default());
    loop {
        imported.bytes += window.refill()? as u64;
        take(&mut window, &mut output, &mut imported.rejected);
        sink(&output.operations, &output.files)?;
        imported.operations += output.operations.len() as u64;
        imported.ignored += std::mem::take(&mut output.ignored);
        output.operations.clear();
        if window.at_end {
            return Ok(imported);
        }
    }
}

fn lines<E: From<io::Error>>(
    source: impl Read,
    mut reader: impl Lines,
    sink: impl FnMut(&[Operation], &Files) -> std::result::Result<(), E>,
) -> std::result::Result<Imported, E> {
    let (mut number, mut too_long) = (0, false);
    windows(source, sink, |window, output, rejected| {
        while let Some(length) = line_length(window) {
            let line = &window.rest()[..length];
            // The rest of a line that was rejected for its length is no line of its own.
            if !std::mem::take(&mut too_long) {
                number += 1;
                let taken = reader.line(chomp(line), output);
                taken.unwrap_or_else(|reason| rejected.add(number, reason));
            }
            window.used = (window.used + length + 1).min(window.end);
        }
        if window.rest().len() > LONGEST {
            if !std::mem::replace(&mut too_long, true) {
                number += 1;
                rejected.add(number, "longer than a line may be");
            }
            window.used = window.end;
        }
        if window.at_end {
            reader.end(output);
        }
    })
}

/// The length of the next line; at the end of the source, of one that nothing ends.
fn line_length<R: Read>(window: &Window<R>) -> Option<usize> {
    let rest = window.rest();
    memchr(b'\n', rest).or_else(|| (window.at_end && !rest.is_empty()).then_some(rest.len()))
}

fn chomp(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn records<E: From<io::Error>>(
    source: impl Read,
    mut reader: impl Records,
    sink: impl FnMut(&[Operation], &Files) -> std::result::Result<(), E>,
) -> std::result::Result<Imported, E> {
    let mut number = 0;
    let mut in_garbage = false;
    windows(source, sink, |window, output, rejected| {
        while !window.rest().is_empty() {
            let used = match reader.record(window.rest(), output) {
                Taken::Record(size) => {
                    number += 1;
                    in_garbage = false;
                    size
                }
                Taken::Rejected(size, reason) => {
                    // A run of bytes that make no sense counts once.
                    if !in_garbage {
                        number += 1;
                        rejected.add(number, reason);
                    }
                    in_garbage = true;
                    size
                }
                Taken::Needs(size) if window.at_end || size > LONGEST => {
                    number += 1;
                    rejected.add(number, "cut off");
                    window.rest().len()
                }
                Taken::Needs(_) => break,
            };
            window.used = (window.used + used.max(1)).min(window.end);
        }
        if window.at_end {
            reader.end(output);
        }
    })
}
