//! The kernel's events as they were kept, in the order of time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek};

use fathom_sys::call_number::FILE_CALLS;
use rustc_hash::FxHashMap;

use super::ring::{Field, Layout, SubBuffer};

/// The events that are recorded, as this kernel writes them.
#[derive(Debug, Clone)]
pub(super) struct Layouts {
    entered: (u64, Field, Field),
    left: (u64, Field, Field),
    made: (u64, Field, Field),
    kind: Field,
    thread: Field,
}

/// What a thread has done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// Entered a call: its number and arguments.
    Entered(u64, [u64; 6]),
    /// Left a call: its number and result.
    Left(u64, i64),
    /// Made a thread or process: its number, and clone(2)'s flags.
    Made(u32, u64),
}

impl Layouts {
    /// Of the descriptions of `sys_enter`, `sys_exit` and `task_newtask`.
    pub(super) fn new(entered: &str, left: &str, made: &str) -> Option<Self> {
        let [entered, left, made] = [Layout::parse(entered)?, Layout::parse(left)?, Layout::parse(made)?];
        let of = |layout: &Layout, one, two| Some((layout.id, layout.field(one)?, layout.field(two)?));
        Some(Self {
            kind: entered.field("common_type")?,
            thread: entered.field("common_pid")?,
            entered: of(&entered, "id", "args")?,
            left: of(&left, "id", "ret")?,
            made: of(&made, "pid", "clone_flags")?,
        })
    }

    /// The thread of an event, and what it has done.
    pub(super) fn event(&self, bytes: &[u8]) -> Option<(u32, Event)> {
        let kind = self.kind.of(bytes)?;
        let event = if kind == self.entered.0 {
            let mut arguments = [0; 6];
            for (place, argument) in arguments.iter_mut().enumerate() {
                *argument = self.entered.2.at(bytes, place)?;
            }
            Event::Entered(self.entered.1.of(bytes)?, arguments)
        } else if kind == self.left.0 {
            Event::Left(self.left.1.of(bytes)?, self.left.2.of(bytes)?.cast_signed())
        } else if kind == self.made.0 {
            Event::Made(self.made.1.of(bytes)? as u32, self.made.2.of(bytes)?)
        } else {
            return None;
        };
        Some((self.thread.of(bytes)? as u32, event))
    }
}

/// One CPU's sub-buffers, as they were kept.
struct Buffers<'a> {
    file: &'a File,
    page: Vec<u8>,
    next: VecDeque<(u64, Vec<u8>)>,
}

impl Buffers<'_> {
    /// The time of the next event; none at the end.
    fn time_ns(&mut self, missed: &mut u64) -> io::Result<Option<u64>> {
        while self.next.is_empty() {
            match self.file.read_exact(&mut self.page) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            let Some(events) = SubBuffer::new(&self.page) else { continue };
            *missed += u64::from(events.missed);
            self.next.extend(events.map(|event| (event.time_ns, event.bytes.to_vec())));
        }
        Ok(self.next.front().map(|event| event.0))
    }
}

/// Goes through all CPUs' sub-buffers in the order of time; gives how many times events were missed.
pub(super) fn events(
    kept: &[File],
    sub_buffer: usize,
    mut sink: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut buffers = Vec::new();
    for mut file in kept {
        file.rewind()?;
        buffers.push(Buffers { file, page: vec![0; sub_buffer], next: VecDeque::new() });
    }
    let mut missed = 0;
    loop {
        let mut first: Option<(u64, usize)> = None;
        for (at, cpu) in buffers.iter_mut().enumerate() {
            if let Some(time_ns) = cpu.time_ns(&mut missed)? {
                first = Some(first.map_or((time_ns, at), |least| least.min((time_ns, at))));
            }
        }
        let Some((_, at)) = first else { return Ok(missed) };
        let Some((time_ns, bytes)) = buffers[at].next.pop_front() else { return Ok(missed) };
        sink(time_ns, &bytes)?;
    }
}

/// The names of calls by their numbers.
pub(super) fn names() -> FxHashMap<u64, &'static str> {
    FILE_CALLS.iter().map(|call| (call.1.cast_unsigned(), call.0)).collect()
}
