//! What the block formats share: sectors, volumes by number, and requests that are paired with their ends.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Lines, Output};
use crate::operation::{CallKind, FileId, Operation};

/// Linux and most tracers count in sectors of 512 bytes, whatever the device's own are.
pub(super) const SECTOR: u64 = 512;

/// So many sectors in bytes; `None` where no offset can be that large.
pub(super) fn in_bytes(sectors: u64) -> Option<u64> {
    sectors.checked_mul(SECTOR).filter(|&bytes| i64::try_from(bytes).is_ok())
}

/// Volumes that a trace names by numbers.
#[derive(Default)]
pub(super) struct Volumes {
    /// Those of low numbers, which are found without a search.
    low: Vec<Option<FileId>>,
    others: FxHashMap<u64, FileId>,
}

/// Up to here a number is low.
const LOW: usize = 1 << 12;

impl Volumes {
    /// The file that stands for a volume.
    pub(super) fn file(&mut self, volume: u64, output: &mut Output) -> FileId {
        let low = usize::try_from(volume).ok().filter(|&low| low < LOW);
        if let Some(file) = low.and_then(|low| *self.low.get(low)?) {
            return file;
        }
        let mut new = || output.files.id(volume.to_string().as_bytes());
        let Some(low) = low else { return *self.others.entry(volume).or_insert_with(new) };
        self.low.resize(LOW, None);
        *self.low[low].insert(new())
    }
}

/// A request that a line tells whole.
pub(super) struct VolumeRequest {
    pub(super) volume: u64,
    pub(super) kind: CallKind,
    pub(super) start_ns: i64,
    /// Where it begins and how long it is, in bytes.
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A reader of a format whose lines each tell a whole request to a volume that has a number.
pub(super) struct OnVolumes {
    volumes: Volumes,
    /// How the line begins that names the columns, where the format has one.
    heading: Option<&'static [u8]>,
    read: fn(&[u8]) -> Result<VolumeRequest, &'static str>,
}

impl OnVolumes {
    pub(super) fn new(
        heading: Option<&'static [u8]>,
        read: fn(&[u8]) -> Result<VolumeRequest, &'static str>,
    ) -> Self {
        Self { volumes: Volumes::default(), heading, read }
    }
}

impl Lines for OnVolumes {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let request = match ((self.read)(line), self.heading) {
            (Ok(request), _) => request,
            (Err(reason), Some(heading)) => return output.heading(line, heading, reason),
            (Err(reason), None) => return Err(reason),
        };
        let file = self.volumes.file(request.volume, output);
        output.operations.push(Operation {
            offset: Some(request.offset),
            length: request.length,
            ..Operation::new(request.kind, file, request.start_ns)
        });
        Ok(())
    }
}

/// The moment in a request's life that a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Queued: a file system or program has submitted it.
    Queued,
    /// Issued to the driver.
    Issued,
    /// Completed by the device.
    Completed,
}

/// A request at one moment of its life.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) moment: Moment,
    pub(super) time_ns: i64,
    pub(super) process: u32,
    pub(super) device: (u32, u32),
    pub(super) kind: CallKind,
    pub(super) sector: u64,
    pub(super) bytes: u64,
}

/// No device holds more at once; where a trace lacks completions, the oldest give way.
const IN_FLIGHT: usize = 1 << 16;

type Key = ((u32, u32), u64, CallKind);

/// Requests that wait for their ends.
///
/// A request counts from when it was issued to the driver; on devices without a queue of requests (md, dm, zram)
/// nothing is ever issued, and it counts from when it was queued.
#[derive(Default)]
pub(super) struct InFlight {
    queued: Waiting,
    issued: Waiting,
    files: FxHashMap<(u32, u32), FileId>,
    /// Devices that issue requests, and the one that did last.
    issuing: FxHashSet<(u32, u32)>,
    last_issuing: Option<(u32, u32)>,
}

impl InFlight {
    /// Takes note of a request; a completed one is given on as an operation.
    pub(super) fn note(&mut self, request: Request, output: &mut Output) {
        let key = (request.device, request.sector, request.kind);
        match request.moment {
            Moment::Queued => {
                if let Some(oldest) = self.queued.add(key, request)
                    && !self.issuing.contains(&oldest.device)
                {
                    self.give(oldest, None, output);
                }
            }
            Moment::Issued => {
                if self.last_issuing.replace(request.device) != Some(request.device) {
                    self.issuing.insert(request.device);
                }
                if let Some(oldest) = self.issued.add(key, request) {
                    self.give(oldest, None, output);
                }
            }
            Moment::Completed => {
                let queued = self.queued.take(key);
                match self.issued.take(key).or(queued) {
                    Some(begun) => self.give(begun, Some(request), output),
                    None => output.ignored += 1,
                }
            }
        }
    }

    /// Gives on what was never seen to complete.
    pub(super) fn end(&mut self, output: &mut Output) {
        for request in self.issued.drain() {
            self.give(request, None, output);
        }
        for request in self.queued.drain() {
            if !self.issuing.contains(&request.device) {
                self.give(request, None, output);
            }
        }
    }

    fn give(&mut self, request: Request, completed: Option<Request>, output: &mut Output) {
        let file = *self.files.entry(request.device).or_insert_with(|| {
            output.files.id(format!("{}:{}", request.device.0, request.device.1).as_bytes())
        });
        let has_place = request.kind != CallKind::Flush;
        output.operations.push(Operation {
            duration_ns: completed
                .and_then(|end| u64::try_from(end.time_ns.checked_sub(request.time_ns)?).ok()),
            process: request.process,
            thread: request.process,
            offset: has_place.then_some(request.sector * SECTOR),
            length: request.bytes,
            ..Operation::new(request.kind, file, request.time_ns)
        });
    }
}

#[derive(Default)]
struct Waiting {
    requests: FxHashMap<Key, (u64, Request)>,
    order: VecDeque<(u64, Key)>,
    count: u64,
}

impl Waiting {
    /// Adds one; gives the oldest where there are too many.
    fn add(&mut self, key: Key, request: Request) -> Option<Request> {
        self.count += 1;
        self.requests.insert(key, (self.count, request));
        self.order.push_back((self.count, key));
        let mut oldest = None;
        while self.order.len() > IN_FLIGHT {
            let (number, key) = self.order.pop_front()?;
            // One that was taken or replaced meanwhile is no longer waited for.
            if self.requests.get(&key).is_some_and(|waiting| waiting.0 == number) {
                oldest = self.requests.remove(&key).map(|waiting| waiting.1);
            }
        }
        oldest
    }

    fn take(&mut self, key: Key) -> Option<Request> {
        if self.requests.is_empty() {
            return None;
        }
        self.requests.remove(&key).map(|waiting| waiting.1)
    }

    fn drain(&mut self) -> Vec<Request> {
        let mut left: Vec<(u64, Request)> = self.requests.drain().map(|(_, waiting)| waiting).collect();
        left.sort_by_key(|waiting| waiting.0);
        self.order.clear();
        left.into_iter().map(|waiting| waiting.1).collect()
    }
}

/// What the letters say that blktrace describes a request with: F for a flush, then what is done, then how.
///
/// None for what moves nothing and flushes nothing. Source: `blk_fill_rwbs` in the kernel's blktrace.c.
pub(super) fn kind(letters: &[u8], bytes: u64) -> Option<CallKind> {
    let (flushes, rest) = match letters {
        [b'F', rest @ ..] => (true, rest),
        _ => (false, letters),
    };
    match rest.first() {
        Some(b'D' | b'E') => Some(CallKind::Discard),
        Some(b'W') if bytes > 0 => Some(CallKind::Write),
        Some(b'R') if bytes > 0 => Some(CallKind::Read),
        _ if flushes => Some(CallKind::Flush),
        _ => None,
    }
}
