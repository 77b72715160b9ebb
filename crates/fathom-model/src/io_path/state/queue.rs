//! The queue of the device: who waits to be let in, what waits for its turn, and what is under way.

use std::collections::{BTreeMap, VecDeque};

use fathom_net::Time;

use super::{Inner, State, prices};
use crate::file_read::PAGE;
use crate::io_path::{At, Request, Urgency};
use crate::page_cache::FileId;
use crate::parameters::{Parameters, Scalar, Scheduler};
use crate::scheduler::{Deadline, Direction, Merged, Settings, Span};
use crate::writeback_throttle::Throttle;

/// Requests between those who ask and the device.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    order: Order,
    throttle: Throttle<Request>,
    /// How many the device takes at once, and how many there may be in all.
    depth: usize,
    most: usize,
    /// How many there are that were let in.
    used: usize,
    /// What those who ask have still to ask for: one request waits to be let in, and those behind it for that.
    lanes: BTreeMap<Lane, VecDeque<Request>>,
    /// Requests that wait for room.
    untagged: VecDeque<Request>,
    /// What each of them was made of.
    parts: BTreeMap<u64, Vec<Request>>,
    /// When those that are under way went to the device, in ns since the machine was started.
    issued: BTreeMap<u64, u64>,
    runs: bool,
}

/// Somebody who asks, and sleeps until he is let in.
type Lane = (FileId, bool, Urgency);

/// Whose turn it is.
#[derive(Clone, Debug)]
enum Order {
    /// The one who came first.
    None(VecDeque<u64>),
    Deadline(Deadline),
}

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// How long a pause of a writer is recent: a second.
const RECENT: u64 = 1_000_000_000;

impl Queue {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let settings = Settings {
            expire: [value(Scalar::ReadExpire), value(Scalar::WriteExpire)],
            fifo_batch: value(Scalar::FifoBatch) as u32,
            writes_starved: value(Scalar::WritesStarved) as u32,
            largest: prices::limits(parameters).largest_io * PAGE / SECTOR,
        };
        let most = value(Scalar::NrRequests).max(1);
        Self {
            order: match parameters.choices.scheduler {
                Scheduler::None => Order::None(VecDeque::new()),
                Scheduler::MqDeadline => Order::Deadline(Deadline::new(settings)),
            },
            throttle: Throttle::new(
                value(Scalar::WbtLat),
                most as u32,
                parameters[Scalar::DeviceFlush] > 0.0,
            ),
            depth: value(Scalar::DeviceDepth).max(1) as usize,
            most: most as usize,
            used: 0,
            lanes: BTreeMap::new(),
            untagged: VecDeque::new(),
            parts: BTreeMap::new(),
            issued: BTreeMap::new(),
            runs: false,
        }
    }

    /// A request comes.
    fn submit(&mut self, request: Request, waits: bool, now: u64) {
        let lane = self.lanes.entry(request.lane()).or_default();
        lane.push_back(request);
        if lane.len() == 1 {
            self.go_on(request.lane(), waits, now);
        }
    }

    /// Lets in what somebody asks for, one after the other, up to the first that has to wait. Source:
    /// `blk_mq_submit_bio`.
    fn go_on(&mut self, lane: Lane, waits: bool, now: u64) {
        while let Some(&request) = self.lanes.get(&lane).and_then(VecDeque::front) {
            let is_merged = self.merges(&request, waits, now);
            let is_in = is_merged || (self.passes(request, waits, now) && self.tag(request, now));
            if !is_in {
                return;
            }
            self.leave_lane(lane);
        }
    }

    fn leave_lane(&mut self, lane: Lane) {
        if let Some(requests) = self.lanes.get_mut(&lane) {
            requests.pop_front();
        }
    }

    /// Whether the throttle lets a request on at once.
    fn passes(&mut self, request: Request, waits: bool, now: u64) -> bool {
        if !self.throttle.is_on() {
            return true;
        }
        if request.is_write {
            return self.throttle.write_comes(request, request.urgency, waits, now).is_some();
        }
        self.throttle.read_comes(now);
        true
    }

    /// Whether there is room for a request at once.
    fn tag(&mut self, request: Request, now: u64) -> bool {
        if self.used >= self.most || !self.untagged.is_empty() {
            self.untagged.push_back(request);
            return false;
        }
        self.insert(request, now);
        true
    }

    fn insert(&mut self, request: Request, now: u64) {
        self.used += 1;
        self.runs = true;
        let id = request.key();
        match &mut self.order {
            Order::None(waiting) => waiting.push_back(id),
            Order::Deadline(deadline) => deadline.insert(id, request.span(), now),
        }
        self.parts.insert(id, vec![request]);
    }

    /// Those that the throttle has woken, and those for whom there is room now.
    fn wake(&mut self, awake: Vec<Request>, waits: bool, now: u64) {
        let mut let_in: Vec<Lane> = Vec::new();
        for request in awake {
            if self.tag(request, now) {
                let_in.push(request.lane());
            }
        }
        while self.used < self.most
            && let Some(request) = self.untagged.pop_front()
        {
            self.insert(request, now);
            let_in.push(request.lane());
        }
        for lane in let_in {
            self.leave_lane(lane);
            self.go_on(lane, waits, now);
        }
    }

    /// Makes a request part of one that waits, if they touch.
    fn merges(&mut self, request: &Request, waits: bool, now: u64) -> bool {
        let Order::Deadline(deadline) = &mut self.order else { return false };
        let Some(Merged { into, absorbed }) = deadline.merge(request.span()) else { return false };
        let gone = absorbed.and_then(|gone| self.parts.remove(&gone));
        let parts = self.parts.entry(into).or_default();
        parts.push(*request);
        if let Some(gone) = gone {
            parts.extend(gone);
            self.used -= 1;
            let is_held = request.is_write && self.throttle.is_on();
            let awake = if is_held { self.throttle.write_freed(waits, now) } else { Vec::new() };
            self.wake(awake, waits, now);
        }
        true
    }

    /// The next that goes to the device, if that takes one more.
    fn next(&mut self, now: u64) -> Option<Request> {
        if self.issued.len() >= self.depth {
            return None;
        }
        let id = match &mut self.order {
            Order::None(waiting) => waiting.pop_front(),
            Order::Deadline(deadline) => deadline.dispatch(now).map(|(id, _)| id),
        }?;
        let parts = &self.parts[&id];
        let first = parts.iter().min_by_key(|part| part.span().start)?;
        let bytes = parts.iter().map(Request::bytes).sum();
        let whole = Request {
            id: parts[0].id,
            pages: parts.iter().map(|part| part.pages).sum(),
            at: first.at.map(|at| At { bytes, ..at }),
            bios: parts.iter().map(|part| part.bios).sum(),
            ..*first
        };
        self.issued.insert(id, now);
        if !whole.is_write {
            self.throttle.read_issued(id, now);
        }
        Some(whole)
    }
}

impl State {
    /// A request comes.
    pub(in crate::io_path) fn submit_request(&mut self, request: &Request, now: Time) {
        let now = self.since_start(now);
        let waits = self.0.writer_waits(now);
        self.0.queue.submit(*request, waits, now);
    }

    /// Those that go to the device now.
    pub(in crate::io_path) fn dispatch_requests(&mut self, now: Time) -> Vec<Request> {
        let now = self.since_start(now);
        std::iter::from_fn(|| self.0.queue.next(now)).collect()
    }

    /// The device has served a request; gives what that was made of.
    pub(in crate::io_path) fn complete_request(&mut self, request: &Request, now: Time) -> Vec<Request> {
        let now = self.since_start(now);
        let waits = self.0.writer_waits(now);
        let queue = &mut self.0.queue;
        let id = request.key();
        let issued = queue.issued.remove(&id).unwrap_or(now);
        queue.used -= 1;
        queue.runs = true;
        let mut awake = Vec::new();
        if queue.throttle.is_on() && request.is_write {
            awake = queue.throttle.write_done(waits, now);
        } else if queue.throttle.is_on() {
            queue.throttle.read_done(id, now - issued, now);
        }
        queue.wake(awake, waits, now);
        queue.parts.remove(&id).unwrap_or_default()
    }

    /// Whether the queue is to be looked at; asked once.
    pub(in crate::io_path) fn take_queue_run(&mut self) -> Option<()> {
        std::mem::take(&mut self.0.queue.runs).then_some(())
    }

    /// In how many ns the throttle looks at how reads fare, if that has to be set; asked once.
    pub(in crate::io_path) fn take_window(&mut self) -> Option<u64> {
        self.0.queue.throttle.arm_timer()
    }

    /// The throttle looks at how reads fared.
    pub(in crate::io_path) fn judge_window(&mut self, now: Time) {
        let now = self.since_start(now);
        let waits = self.0.writer_waits(now);
        let awake = self.0.queue.throttle.timer_fn(waits, now);
        self.0.queue.wake(awake, waits, now);
    }
}

impl Inner {
    /// Whether a writer has paused lately. Source: `wb_recent_wait` of `block/blk-wbt.c`.
    fn writer_waits(&self, now: u64) -> bool {
        self.writeback.slept_at().is_some_and(|slept| now < slept + RECENT)
    }
}

impl Request {
    fn lane(&self) -> Lane {
        (self.file, self.is_write, self.urgency)
    }

    /// Its number, by which the queue knows it.
    fn key(&self) -> u64 {
        u64::from(self.id.0.get())
    }

    /// Where it goes, in sectors.
    fn span(&self) -> Span {
        let direction = if self.is_write { Direction::Write } else { Direction::Read };
        Span { direction, start: self.place() / SECTOR, length: self.bytes() / SECTOR }
    }
}
