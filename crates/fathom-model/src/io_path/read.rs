//! The read path: look for pages, read ahead, wait for the device, copy to the user.

use std::num::NonZeroU32;
use std::sync::Arc;

use fathom_net::{NetBuilder, Out, Place, Source, Time};

use super::CallKind;
use super::costs::Costs;
use super::places::Shared;
use super::request::Request;
use super::state::{Effects, State};
use super::work::Work;
use crate::file_read::{Batch, PAGE};
use crate::page_cache::{FetchId, FileId};
use crate::parameters::Scalar;
use crate::read_ahead::{Advice, Limits, ReadAhead, Step};

/// Draws the read path. Ports: `reads` and `arrived` in; `requests`, `wakes` and `returned` out. A read goes round once
/// for each turn of `filemap_read`.
pub(super) fn draw(
    net: &mut NetBuilder,
    costs: &Arc<Costs>,
    reads: Place<Work>,
    arrived: Place<Request>,
    shared: Shared,
) {
    let (incoming, still_arrived) = (net.port_in(reads), net.port_out(arrived));
    let arrived = net.port_in(arrived);
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let wakes = net.port_out(shared.wakes);
    let kernel = net.fusion("kernel", shared.state);
    let (again, copies) = (net.place::<Work>("again"), net.place::<Work>("copies"));
    let waiting = net.place::<(FetchId, Work)>("waiting");
    let by_fetch = net.index(waiting, |(fetch, _)| *fetch);

    let ways = Ways { kernel, again, copies, waiting, returned, requests, wakes };
    draw_look(net, "look", incoming, costs, ways);
    draw_look(net, "look again", again, costs, ways);
    let costs = Arc::clone(costs);
    let cpus = shared.cpus.map(|cpus| net.fusion("cpus", cpus));
    net.transition("copy")
        .input(copies)
        .with(cpus, |transition, cpus| transition.consume(cpus, 1))
        .delay_by(move |(work,), rng| {
            costs.around(work.crowded(costs.working(work)), rng) + costs.caches.waiting(work.far_ns, rng)
        })
        .with(cpus, |transition, cpus| transition.produce(cpus, 1))
        .output_each(again, |(work,), _| work.has_more().then_some(Work { owed_ns: 0, far_ns: 0, ..*work }))
        .output_each(returned, |(work,), _| (!work.has_more()).then_some(*work))
        .add();
    // Waiting reads come first; one more firing ends the request that none waits for any more.
    net.transition("wake")
        .input(arrived)
        .input_by(by_fetch, |(request,)| request.id)
        .priority(1)
        .output(still_arrived, |(request, _), _| *request)
        .output(again, |(_, (_, work)), _| *work)
        .add();
    net.transition("arrive")
        .input(arrived)
        .inhibit_by(by_fetch, |(request,)| request.id)
        .priority(1)
        .update(kernel, |(request,), state, firing| state.arrive(request, firing.now()))
        .add();
}

/// The places that a look puts tokens into.
#[derive(Clone, Copy)]
struct Ways {
    kernel: Place<State>,
    again: Place<Work>,
    copies: Place<Work>,
    waiting: Place<(FetchId, Work)>,
    returned: Out<Work>,
    requests: Out<Request>,
    wakes: Out<()>,
}

/// One turn of a read: the same for a call that has just come and for one that goes on.
fn draw_look<S: Source<Colour = Work>>(
    net: &mut NetBuilder,
    name: &str,
    from: S,
    costs: &Arc<Costs>,
    ways: Ways,
) {
    let costs = Arc::clone(costs);
    let Ways { kernel, again, copies, waiting, returned, requests, wakes } = ways;
    net.transition(name)
        .input(from)
        .update_into(
            kernel,
            (copies, again, waiting, returned, requests, wakes),
            move |(work,), state, firing| {
                let mut work = *work;
                let (mut outcome, Effects { requests, wake, .. }) = state.look(&mut work, &costs);
                if matches!(outcome, Outcome::Copy) {
                    if work.call.is_queued {
                        outcome = postpone(&mut work, &costs);
                    } else {
                        state.slow_down(&mut work, &costs, firing.now());
                    }
                }
                match outcome {
                    Outcome::Copy => (Some(work), None, None, None, requests, wake),
                    Outcome::Again => (None, Some(work), None, None, requests, wake),
                    Outcome::Wait(fetch) => (None, None, Some((fetch, work)), None, requests, wake),
                    Outcome::Return => (None, None, None, Some(work), requests, wake),
                }
            },
        )
        .add();
}

/// What a read does after a look at the cache.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Copy,
    /// It waits for a request.
    Wait(FetchId),
    /// It looks again.
    Again,
    Return,
}

/// A copy of a request whose thread goes on meanwhile: the thread's CPU makes it, when the thread takes the result. That is so
/// of the buffered reads of io_uring, which `io_read` tries again once their pages are there.
fn postpone(work: &mut Work, costs: &Costs) -> Outcome {
    work.owed_ns = costs.working(work) as u64 + work.far_ns;
    (work.far_ns, work.copied) = (0, 0);
    if work.has_more() { Outcome::Again } else { Outcome::Return }
}

/// What reading ahead has submitted.
#[derive(Clone, Copy, Debug, Default)]
struct Submitted {
    /// Requests to the device.
    requests: u64,
    /// Pages of a hole.
    zeroed: u64,
    /// Folios that wait for the device.
    folios: u64,
    /// Their pages.
    pages: u64,
}

impl State {
    /// One turn of a read, or a prefetch.
    fn look(&mut self, work: &mut Work, costs: &Costs) -> (Outcome, Effects) {
        let mut effects = Effects::default();
        let file = work.call.file;
        let outcome = if work.call.kind == CallKind::Prefetch {
            self.prefetch(work, &mut effects);
            Outcome::Return
        } else if self.files.get(file).is_direct {
            self.go_past_cache(work, costs, &mut effects)
        } else if work.call.kind == CallKind::Write {
            self.write_through(work, costs, &mut effects)
        } else {
            self.turn(work, costs, &mut effects)
        };
        (outcome, effects)
    }

    /// One turn of a read through the cache.
    fn turn(&mut self, work: &mut Work, costs: &Costs, effects: &mut Effects) -> Outcome {
        let file = work.call.file;
        let size = self.files.get(file).size;
        let limits = self.limits_of(file);
        // What is added awaits a request that gets its number below.
        let unknown = Some(FetchId(NonZeroU32::MAX));
        let reader = self.files.reader(file, work.call.descriptor);
        let before = work.read.position;
        let jumped = before == work.call.offset && reader.previous != Some(before);
        let end = work.read.end;
        if work.call.faults.is_some() && limits.is_random {
            // A fault asks for its page alone: `do_sync_mmap_readahead`.
            work.read.end = end.min((before / PAGE + 1) * PAGE);
        }
        let batch = work.read.turn(&mut self.cache, reader, limits, size, unknown, &mut self.steps);
        work.read.end = end;
        self.write_for_room(self.clock.ns(work.begun), effects);
        let is_near = self.is_near(work);
        let Submitted { requests, zeroed, folios, pages } = self.submit(file, is_near, effects);
        work.owed_ns += (zeroed as f64 * costs[Scalar::ZeroedPage] + costs.added(folios, pages)) as u64;
        match batch {
            Batch::Done => Outcome::Return,
            Batch::Copy { bytes, folios } => {
                if work.call.then == Some(CallKind::Write) {
                    // The write that follows copies.
                    (work.copied, work.far_ns) = (0, 0);
                    return Outcome::Copy;
                }
                work.copied = bytes;
                // A read that does not wait notices the time of the submission.
                work.far_ns = self.recency.read(work, [before, before + bytes], size, jumped, costs) as u64;
                let across = costs.caches.being_across(bytes, work.call.bytes, work.call.offset);
                let more = (folios - 1) as f64 * costs[Scalar::Folio] + across;
                // A thread that would go on meanwhile has no CPU for it, if the server works there.
                let serving = |request| costs.latency(request) + costs.serving(request);
                let handing_over = match is_near {
                    true => effects.requests.iter().map(serving).sum(),
                    false => requests as f64 * costs[Scalar::Submission],
                };
                work.owed_ns += (handing_over + more) as u64;
                Outcome::Copy
            }
            Batch::Wait(_) => {
                let awaited = self.cache.folio(file, work.read.position / PAGE);
                match awaited.and_then(|folio| folio.awaits) {
                    Some(fetch) => {
                        work.owed_ns += match work.call.is_queued {
                            true => costs[Scalar::QueuedCall] as u64,
                            false => costs[Scalar::Wake] as u64,
                        };
                        Outcome::Wait(fetch)
                    }
                    // A hole: there at once.
                    None => Outcome::Again,
                }
            }
        }
    }

    /// A read or a write with O_DIRECT: one request, and no page stays.
    fn go_past_cache(&mut self, work: &mut Work, costs: &Costs, effects: &mut Effects) -> Outcome {
        let file = work.call.file;
        let is_write = work.call.kind == CallKind::Write;
        let end = if is_write { work.read.end } else { work.read.end.min(self.files.get(file).size) };
        if work.read.position >= end {
            if work.call.is_queued || work.read.position == work.call.offset {
                return Outcome::Return;
            }
            // A caller that waited wakes up now; one that went on meanwhile does so when it takes the result.
            work.copied = 0;
            work.owed_ns += costs[Scalar::Wake] as u64;
            return Outcome::Copy;
        }
        let (first, beyond) = (work.read.position / PAGE, end.div_ceil(PAGE));
        let now = self.clock.ns(work.begun);
        let is_unwritten = is_write && self.written_past_cache(file, [work.read.position, end], now);
        if is_unwritten {
            work.owed_ns += costs[Scalar::UnwrittenCall] as u64;
        }
        // A file may end before what was asked for.
        (work.read.position, work.read.end) = (end, end);
        self.ask_directly(work, [first, beyond], is_unwritten, effects)
    }

    /// One request for pages of a call's file, for which the call waits.
    fn ask_directly(
        &mut self,
        work: &Work,
        [first, beyond]: [u64; 2],
        is_unwritten: bool,
        effects: &mut Effects,
    ) -> Outcome {
        let request = Request::read(self.ids.next(), work.call.file, first, beyond - first);
        let is_write = work.call.kind == CallKind::Write;
        let is_near = self.is_near(work);
        let request = Request {
            is_write,
            is_direct: true,
            is_unwritten,
            is_submitted: work.call.is_queued,
            is_near,
            asks_first: is_write && first == work.call.offset / PAGE,
            ..request
        };
        self.reading += 1;
        effects.requests.push(request);
        Outcome::Wait(request.id)
    }

    /// One request of a write that waits for each: its data stay in the cache, and are clean. Source: `fuse_perform_write`.
    fn write_through(&mut self, work: &mut Work, costs: &Costs, effects: &mut Effects) -> Outcome {
        if work.owed_ns > 0 {
            // It is answered, and what was done before takes its time.
            return Outcome::Copy;
        }
        let (file, from, end) = (work.call.file, work.read.position, work.read.end);
        if from >= end {
            return Outcome::Return;
        }
        work.copied = 0;
        work.read.end = end.min(from / PAGE * PAGE + (costs[Scalar::WriteThrough] as u64).max(PAGE));
        while work.has_more() {
            self.write_stretch(work, self.clock.ns(work.begun), costs, effects);
        }
        work.read.end = end;
        work.owed_ns += (costs[Scalar::Wake] as u64).max(1);
        self.clean(file);
        self.ask_directly(work, [from / PAGE, work.read.position.div_ceil(PAGE)], false, effects)
    }

    /// POSIX_FADV_WILLNEED.
    fn prefetch(&mut self, work: &Work, effects: &mut Effects) {
        let file = work.call.file;
        let limits = self.limits_of(file);
        let reader = self.files.reader(file, work.call.descriptor);
        let (cache, steps) = (&mut self.cache, &mut self.steps);
        let fetch = Some(FetchId(NonZeroU32::MAX));
        let first = work.call.offset / PAGE;
        let pages = (work.call.offset + work.call.bytes).div_ceil(PAGE) - first;
        ReadAhead { limits, cache, file, reader, fetch, steps }.force_page_cache_ra(first, pages);
        let is_near = self.is_near(work);
        self.submit(file, is_near, effects);
    }

    /// The rules of reading ahead for a file.
    fn limits_of(&self, file: FileId) -> Limits {
        let file = self.files.get(file);
        let window = self.limits.window << u32::from(file.advice == Advice::Sequential);
        let is_random = file.advice == Advice::Random;
        Limits { window, is_random, file_pages: file.size.div_ceil(PAGE), ..self.limits }
    }

    /// Makes requests of the folios that were added: one for each run of them, of at most the device's largest request.
    /// Folios of a hole need no device.
    fn submit(&mut self, file: FileId, is_near: bool, effects: &mut Effects) -> Submitted {
        let before = effects.requests.len();
        let steps = std::mem::take(&mut self.steps);
        let mut run: Option<(u64, u64)> = None;
        let mut made = Submitted::default();
        for step in &steps {
            let Step::Added { first, order } = *step else { continue };
            let end = first + (1 << order);
            if self.files.is_hole(file, first, end) {
                self.cache.arrive(file, first, end - first);
                made.zeroed += end - first;
                continue;
            }
            made.folios += 1;
            made.pages += end - first;
            run = match run {
                Some((start, last)) if last == first && end - start <= self.limits.largest_io => {
                    Some((start, end))
                }
                _ => {
                    self.request(file, run, is_near, effects);
                    Some((first, end))
                }
            };
        }
        self.request(file, run, is_near, effects);
        self.steps = steps;
        self.steps.clear();
        made.requests = (effects.requests.len() - before) as u64;
        made
    }

    /// One request of a run of pages, if there is a run.
    fn request(&mut self, file: FileId, run: Option<(u64, u64)>, is_near: bool, effects: &mut Effects) {
        let Some((first, end)) = run else { return };
        let request = Request { is_near, ..Request::read(self.ids.next(), file, first, end - first) };
        self.cache.expect(file, first, end - first, request.id);
        self.reading += 1;
        effects.requests.push(request);
    }

    /// Whether what a call asks for is served on its own CPU.
    fn is_near(&mut self, work: &Work) -> bool {
        self.near.holds(work.begun)
    }

    /// The device has served a read.
    fn arrive(&mut self, request: &Request, now: Time) {
        self.clock.note(now);
        self.reading -= 1;
        self.cache.arrive(request.file, request.first, request.pages);
    }
}
