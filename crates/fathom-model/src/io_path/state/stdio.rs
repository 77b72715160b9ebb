//! Memory of the caller's library: streams, and the system calls that a call of the library still has to make.

use std::collections::{BTreeMap, VecDeque};

use fathom_net::Time;

use super::State;
use crate::file_read::Read;
use crate::io_path::{Call, Kind, Work};
use crate::page_cache::FileId;
use crate::stdio::{Asked, Library, Stream, Syscall};

/// The streams of all jobs, one for each file.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// Bytes of a stream's buffer.
    buffer: u64,
    of: BTreeMap<(u32, FileId), Open>,
    /// By job.
    under_way: BTreeMap<u32, UnderWay>,
}

/// An open stream.
#[derive(Clone, Debug)]
struct Open {
    stream: Stream,
    /// Whether it has read, or written, since somebody last went to a place.
    last: Option<Kind>,
}

/// A call of the library.
#[derive(Clone, Debug)]
struct UnderWay {
    work: Work,
    /// The system calls that it still has to make.
    calls: VecDeque<Call>,
    is_over: bool,
}

impl Streams {
    pub(super) fn new(buffer: u64) -> Self {
        Self { buffer, of: BTreeMap::new(), under_way: BTreeMap::new() }
    }
}

/// Whether the library has a part in calls of a kind.
pub(in crate::io_path) fn goes_through_streams(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write | Kind::Seek)
}

impl State {
    /// A call of the library begins: what it copies, and the system calls that it will make.
    pub(in crate::io_path) fn library_call(&mut self, work: &Work) -> Work {
        let call = work.call;
        let length = self.size(call.file);
        let is_direct = self.0.files[call.file.0 as usize].is_direct;
        let streams = &mut self.0.streams;
        let buffer = streams.buffer;
        let open = streams.of.entry((work.turn.job, call.file)).or_insert_with(|| Open::new(buffer));
        let mut library = Library::on(length);
        // What goes past the kernel's cache goes past the library, too.
        let is_buffered = goes_through_streams(call.kind) && !is_direct;
        if is_buffered {
            open.perform(call, &mut library);
        } else {
            match call.kind {
                Kind::Fsync | Kind::Fdatasync => open.stream.fflush(&mut library),
                Kind::Close => open.stream.fclose(&mut library),
                Kind::Open | Kind::OpenDirect | Kind::Create => {
                    open.stream.fclose(&mut library);
                    *open = Open::new(buffer);
                }
                _ => {}
            }
        }
        let mut calls: VecDeque<Call> = library.asked.iter().map(|asked| asked.as_part_of(call)).collect();
        if !is_buffered {
            calls.push_back(call);
        }
        streams.under_way.insert(work.turn.job, UnderWay { work: *work, calls, is_over: false });
        Work { copied: library.copied, ..*work }
    }

    /// The next system call of a call of the library; none once it has made them all.
    pub(in crate::io_path) fn next_system_call(&mut self, work: &Work, now: Time) -> Option<Work> {
        let under_way = self.0.streams.under_way.get_mut(&work.turn.job)?;
        let next = under_way.calls.pop_front();
        under_way.is_over = next.is_none();
        let (of, call) = (under_way.work, next?);
        let reader = self.reader(call.file, of.descriptor);
        let read = Read::new(call.file, call.offset, call.bytes, reader);
        Some(Work { call, begun: now, read, ..of })
    }

    /// The call of the library, once the last of its system calls has returned; asked once.
    pub(in crate::io_path) fn take_library_call(&mut self, work: &Work) -> Option<Work> {
        let under_way = &mut self.0.streams.under_way;
        under_way.get(&work.turn.job).filter(|it| it.is_over)?;
        under_way.remove(&work.turn.job).map(|it| it.work)
    }
}

impl Open {
    fn new(buffer: u64) -> Self {
        Self { stream: Stream::new(buffer), last: None }
    }

    /// `fread`, `fwrite` or `fseek`; one that goes elsewhere than the last seeks first, and so does one that
    /// reads where the last has written or the other way round: ISO C, 7.21.5.3.
    fn perform(&mut self, call: Call, library: &mut Library) {
        let turns = self.last.is_some_and(|last| last != call.kind);
        if call.kind == Kind::Seek || turns || self.stream.position() != call.offset {
            self.stream.fseek(call.offset, library);
            self.last = None;
        }
        match call.kind {
            Kind::Read => self.stream.fread(call.bytes, library),
            Kind::Write => self.stream.fwrite(call.bytes, library),
            _ => return,
        }
        self.last = Some(call.kind);
    }
}

impl Asked {
    fn as_part_of(&self, call: Call) -> Call {
        let kind = match self.call {
            Syscall::Read => Kind::Read,
            Syscall::Write => Kind::Write,
            Syscall::Seek => Kind::Seek,
        };
        Call { kind, offset: self.offset, bytes: self.bytes, fresh_pages: 0, ..call }
    }
}
