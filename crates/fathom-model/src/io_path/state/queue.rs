//! The state of the device's queue: requests that wait to be let in, that wait for their turn, and that are under way.

use std::collections::{BTreeMap, VecDeque};

use fathom_program::call::Direction;

use crate::file_read::PAGE;
use crate::io_path::costs;
use crate::io_path::request::{At, Request, Urgency};
use crate::page_cache::FileId;
use crate::parameters::{Parameters, Scalar, Scheduler};
use crate::scheduler::{Deadline, Merged, Settings, Span};
use crate::writeback_throttle::Throttle;

/// The queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    order: Order,
    throttle: Throttle<Request>,
    /// Requests that the device takes at once.
    depth: usize,
    /// Requests that the queue has room for: `nr_requests`.
    most: usize,
    /// Requests that have room.
    used: usize,
    /// Requests that ever had room.
    inserted: u64,
    /// Requests not let in, by where they come from: the first of each waits to be let in, the others for the first.
    lanes: BTreeMap<Lane, VecDeque<Request>>,
    /// Requests that the throttle has let in, and that wait for room.
    untagged: VecDeque<Request>,
    /// The requests that each one was merged from.
    parts: BTreeMap<u64, Vec<Request>>,
    /// When those under way went to the device, in ns since the machine was started.
    issued: BTreeMap<u64, u64>,
}

/// Where requests come from: a file, whether they write, and whether a job waits for them. One source sleeps until its
/// request is let in.
type Lane = (FileId, bool, bool, Urgency);

/// The order of requests.
#[derive(Clone, Debug)]
enum Order {
    /// That in which they came.
    None(VecDeque<u64>),
    Deadline(Deadline),
}

/// The moment at which something happens to the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The time in ns since the machine was started.
    pub(crate) now: u64,
    /// Whether a writer has paused lately.
    pub(crate) waits: bool,
}

/// Bytes of a sector.
const SECTOR: u64 = 512;

impl Queue {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let settings = Settings {
            expire: [value(Scalar::ReadExpire), value(Scalar::WriteExpire)],
            fifo_batch: value(Scalar::FifoBatch) as u32,
            writes_starved: value(Scalar::WritesStarved) as u32,
            largest: costs::limits(parameters).largest_io * PAGE / SECTOR,
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
            inserted: 0,
            lanes: BTreeMap::new(),
            untagged: VecDeque::new(),
            parts: BTreeMap::new(),
            issued: BTreeMap::new(),
        }
    }

    /// A request comes. Returns whether the queue is to be looked at.
    pub(crate) fn submit(&mut self, request: Request, moment: Moment) -> Option<()> {
        let before = self.inserted;
        let lane = self.lanes.entry(request.lane()).or_default();
        lane.push_back(request);
        if lane.len() == 1 {
            self.go_on(request.lane(), moment);
        }
        (self.inserted > before).then_some(())
    }

    /// Lets in the requests of a lane, one after the other, up to the first that has to wait. Source:
    /// `blk_mq_submit_bio`.
    fn go_on(&mut self, lane: Lane, moment: Moment) {
        while let Some(&request) = self.lanes.get(&lane).and_then(VecDeque::front) {
            let is_merged = self.merges(&request, moment);
            let is_in = is_merged || (self.passes(request, moment) && self.tag(request, moment.now));
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
    fn passes(&mut self, request: Request, Moment { now, waits }: Moment) -> bool {
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
        self.inserted += 1;
        let id = request.key();
        match &mut self.order {
            Order::None(waiting) => waiting.push_back(id),
            Order::Deadline(deadline) => deadline.insert(id, request.span(), now),
        }
        self.parts.insert(id, vec![request]);
    }

    /// Lets in the requests that the throttle has woken, and those that now have room.
    fn wake(&mut self, awake: Vec<Request>, moment: Moment) {
        let mut let_in: Vec<Lane> = Vec::new();
        for request in awake {
            if self.tag(request, moment.now) {
                let_in.push(request.lane());
            }
        }
        while self.used < self.most
            && let Some(request) = self.untagged.pop_front()
        {
            self.insert(request, moment.now);
            let_in.push(request.lane());
        }
        for lane in let_in {
            self.leave_lane(lane);
            self.go_on(lane, moment);
        }
    }

    /// Merges a request into one that waits for its turn, if they touch.
    fn merges(&mut self, request: &Request, moment: Moment) -> bool {
        let Order::Deadline(deadline) = &mut self.order else { return false };
        let Some(Merged { into, absorbed }) = deadline.merge(request.span()) else { return false };
        let gone = absorbed.and_then(|gone| self.parts.remove(&gone));
        let parts = self.parts.entry(into).or_default();
        parts.push(*request);
        if let Some(gone) = gone {
            parts.extend(gone);
            self.used -= 1;
            let is_held = request.is_write && self.throttle.is_on();
            let Moment { now, waits } = moment;
            let awake = if is_held { self.throttle.write_freed(waits, now) } else { Vec::new() };
            self.wake(awake, moment);
        }
        true
    }

    /// The requests that go to the device now.
    pub(crate) fn dispatch(&mut self, now: u64) -> Vec<Request> {
        std::iter::from_fn(|| self.next(now)).collect()
    }

    /// The next request to the device, if it takes one more.
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
            folios: parts.iter().map(|part| part.folios).sum(),
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

    /// The device has served a request. Returns the requests that it was merged from. The queue is to be looked at.
    pub(crate) fn complete(&mut self, request: &Request, moment: Moment) -> Vec<Request> {
        let Moment { now, waits } = moment;
        let id = request.key();
        let issued = self.issued.remove(&id).unwrap_or(now);
        self.used -= 1;
        let mut awake = Vec::new();
        if self.throttle.is_on() && request.is_write {
            awake = self.throttle.write_done(waits, now);
        } else if self.throttle.is_on() {
            self.throttle.read_done(id, now - issued, now);
        }
        self.wake(awake, moment);
        self.parts.remove(&id).unwrap_or_default()
    }

    /// Sets the timer of the throttle's window, unless it is set; returns in how many ns it runs out.
    pub(crate) fn set_timer(&mut self) -> Option<u64> {
        self.throttle.arm_timer()
    }

    /// The throttle looks at how reads fared. Returns whether the queue is to be looked at.
    pub(crate) fn judge_window(&mut self, moment: Moment) -> Option<()> {
        let before = self.inserted;
        let awake = self.throttle.timer_fn(moment.waits, moment.now);
        self.wake(awake, moment);
        (self.inserted > before).then_some(())
    }
}

impl Request {
    fn lane(&self) -> Lane {
        (self.file, self.is_write, self.is_direct, self.urgency)
    }

    /// Its number in the queue.
    fn key(&self) -> u64 {
        u64::from(self.id.0.get())
    }

    /// Where it goes, in sectors.
    fn span(&self) -> Span {
        let direction = if self.is_write { Direction::Write } else { Direction::Read };
        Span { direction, start: self.place() / SECTOR, length: self.bytes() / SECTOR }
    }
}
