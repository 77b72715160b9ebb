//! The state of the caller's library: streams, and the system calls that its calls have still to make.

use std::collections::{BTreeMap, VecDeque};

use crate::io_path::CallKind;
use crate::io_path::work::{SystemCall, Work};
use crate::page_cache::FileId;
use crate::stdio::{Library, Stream};

/// The streams of all jobs, one for each file.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Bytes of a stream's buffer.
    buffer: u64,
    open: BTreeMap<(u32, FileId), Open>,
    /// The call of each job.
    under_way: BTreeMap<u32, UnderWay>,
}

/// An open stream.
#[derive(Clone, Debug)]
struct Open {
    stream: Stream,
    /// What it did last, unless that was a seek.
    last: Option<CallKind>,
}

/// A call of the library.
#[derive(Clone, Debug)]
struct UnderWay {
    work: Work,
    /// The system calls that it still has to make.
    calls: VecDeque<SystemCall>,
}

/// Whether the library has a part in calls of a kind.
pub(crate) fn goes_through_streams(kind: CallKind) -> bool {
    matches!(kind, CallKind::Read | CallKind::Write | CallKind::Seek)
}

impl Streams {
    /// No stream yet; a stream's buffer will have so many bytes.
    pub(crate) fn new(buffer: u64) -> Self {
        Self { buffer, open: BTreeMap::new(), under_way: BTreeMap::new() }
    }

    /// A call of the library begins, on a file of so many bytes. Returns the call with the bytes that it copies; its
    /// system calls follow by [`next`](Self::next).
    pub(crate) fn call(&mut self, work: &Work, length: u64, is_direct: bool) -> Work {
        let call = work.call;
        let buffer = self.buffer;
        let open = self.open.entry((work.turn.job, call.file)).or_insert_with(|| Open::new(buffer));
        let mut library = Library::on(length);
        // Direct reads and writes do not use the stream's buffer either.
        let is_buffered = goes_through_streams(call.kind) && !is_direct;
        if is_buffered {
            open.perform(call, &mut library);
        } else {
            match call.kind {
                CallKind::Fsync | CallKind::Fdatasync => open.stream.fflush(&mut library),
                CallKind::Close => open.stream.fclose(&mut library),
                CallKind::Open | CallKind::OpenDirect | CallKind::Create => {
                    open.stream.fclose(&mut library);
                    *open = Open::new(buffer);
                }
                _ => {}
            }
        }
        let asked = library.asked.iter().map(|asked| SystemCall {
            kind: asked.call,
            offset: asked.offset,
            bytes: asked.bytes,
            fresh_pages: 0,
            ..call
        });
        let mut calls: VecDeque<SystemCall> = asked.collect();
        if !is_buffered {
            calls.push_back(call);
        }
        self.under_way.insert(work.turn.job, UnderWay { work: *work, calls });
        Work { copied: library.copied, ..*work }
    }

    /// The next system call of a job's call of the library, or that call when it returns.
    pub(crate) fn next(&mut self, job: u32) -> (Option<Work>, Option<Work>) {
        let Some(under_way) = self.under_way.get_mut(&job) else { return (None, None) };
        match under_way.calls.pop_front() {
            Some(call) => (Some(Work { call, ..under_way.work }), None),
            None => (None, self.under_way.remove(&job).map(|under_way| under_way.work)),
        }
    }
}

impl Open {
    fn new(buffer: u64) -> Self {
        Self { stream: Stream::new(buffer), last: None }
    }

    /// `fread`, `fwrite` or `fseek`. A call that does not go on where the last one ended seeks first, and so does a
    /// read after a write or a write after a read: ISO C, 7.21.5.3.
    fn perform(&mut self, call: SystemCall, library: &mut Library) {
        let turns = self.last.is_some_and(|last| last != call.kind);
        if call.kind == CallKind::Seek || turns || self.stream.position() != call.offset {
            self.stream.fseek(call.offset, library);
            self.last = None;
        }
        match call.kind {
            CallKind::Read => self.stream.fread(call.bytes, library),
            CallKind::Write => self.stream.fwrite(call.bytes, library),
            _ => return,
        }
        self.last = Some(call.kind);
    }
}
