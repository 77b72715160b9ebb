//! The write path: fill folios of the cache from the user, pause where too much is dirty, and write them out
//! for a sync, which then goes to the journal.

use std::sync::Arc;

use fathom_net::{NetBuilder, Out, Place, Source, Span, Time};

use super::costs::Costs;
use super::places::Shared;
use super::request::{Request, Urgency};
use super::state::{Effects, Journal, State};
use super::work::Work;
use super::{CallKind, journal};
use crate::file_read::PAGE;
use crate::kernel::Kernel;
use crate::page_cache::FileId;
use crate::parameters::Scalar;

/// `SYNC_FILE_RANGE_WRITE` and `SYNC_FILE_RANGE_WAIT_AFTER`.
pub(super) const WRITES: u32 = 2;
const WAITS: u32 = 4;

/// Draws the write path. Ports: `writes` and `written` in; `requests`, `wakes`, `dirtied`, `returned` and those of the
/// journal out. A write goes round once for each pause.
pub(super) fn draw(
    net: &mut NetBuilder,
    costs: &Arc<Costs>,
    writes: Place<Work>,
    written: Place<Request>,
    journal: journal::Ports,
    shared: Shared,
) {
    let (writes, written) = (net.port_in(writes), net.port_in(written));
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let (wakes, dirtied) = (net.port_out(shared.wakes), net.port_out(shared.dirtied));
    let kernel = net.fusion("kernel", shared.state);
    let (copies, again) = (net.place::<Work>("copies"), net.place::<Work>("again"));
    let (syncing, synced) = (net.place::<Work>("syncing"), net.place::<u32>("synced"));
    let (locked, unlocked) = (net.place::<Work>("locked"), net.place::<FileId>("unlocked"));
    let (settling, aging) = (net.port_out(journal.settling), net.port_out(journal.aging));
    let (steps, committed) = (net.port_out(journal.steps), net.port_out(journal.committed));
    let by_job = net.index(syncing, |work| work.turn.job);
    let by_file = net.index(locked, |work| work.call.file);

    let ways = Ways { kernel, copies, locked, syncing, synced, requests, wakes, dirtied, aging };
    draw_fill(net, "fill", writes, costs, ways);
    draw_fill(net, "fill more", again, costs, ways);
    let copy = Arc::clone(costs);
    let cpus = shared.cpus.map(|cpus| net.fusion("cpus", cpus));
    net.transition("copy")
        .input(copies)
        .with(cpus, |transition, cpus| transition.consume(cpus, 1))
        .delay_by(move |(work,), rng| {
            let working = copy.around(work.crowded(copy.working(work)), rng);
            working + copy.caches.waiting(work.far_ns, rng) + Span::ticks(work.pause_ns)
        })
        .with(cpus, |transition, cpus| transition.produce(cpus, 1))
        .output_each(again, |(work,), _| work.has_more().then_some(*work))
        .output_each(unlocked, |(work,), _| (work.locks && !work.has_more()).then_some(work.call.file))
        .output_each(returned, |(work,), _| (!work.has_more()).then_some(*work))
        .add();
    net.transition("hand on the lock")
        .input(unlocked)
        .input_by(by_file, |(file,)| *file)
        .update(kernel, |(file, work), state, _| state.files.of(*file).writer = Some(work.turn.job))
        .output(again, |(_, work), _| *work)
        .add();
    net.transition("unlock")
        .input(unlocked)
        .inhibit_by(by_file, |(file,)| *file)
        .update(kernel, |(file,), state, _| state.files.of(*file).writer = None)
        .add();
    net.transition("written")
        .input(written)
        .update_into(kernel, (synced, wakes, steps, committed), |(request,), state, firing| {
            let Effects { synced, wake, step, committed, .. } = state.written(request, firing.now());
            (synced, wake, step, committed)
        })
        .add();
    net.transition("all written")
        .input(synced)
        .input_by(by_job, |(job,)| *job)
        .output(settling, |(_, work), _| *work)
        .add();
}

/// The places that a turn puts tokens into.
#[derive(Clone, Copy)]
struct Ways {
    kernel: Place<State>,
    copies: Place<Work>,
    locked: Place<Work>,
    syncing: Place<Work>,
    synced: Place<u32>,
    requests: Out<Request>,
    wakes: Out<()>,
    dirtied: Out<u64>,
    aging: Out<u64>,
}

/// One turn of a write, or the beginning of a sync.
fn draw_fill<S: Source<Colour = Work>>(
    net: &mut NetBuilder,
    name: &str,
    from: S,
    costs: &Arc<Costs>,
    ways: Ways,
) {
    let costs = Arc::clone(costs);
    let Ways { kernel, copies, locked, syncing, synced, requests, wakes, dirtied, aging } = ways;
    net.transition(name)
        .input(from)
        .update_into(
            kernel,
            (copies, locked, syncing, synced, requests, wakes, dirtied, aging),
            move |(work,), state, firing| {
                let now = firing.now();
                let (mut copying, mut locked, mut syncing) = (None, None, None);
                let effects = if work.call.kind != CallKind::Write {
                    syncing = Some(*work);
                    state.begin_sync(work, now)
                } else if work.call.faults.is_some() || state.files.of(work.call.file).lock(work.turn.job) {
                    let (mut work, effects) = state.write_turn(work, &costs, now);
                    state.slow_down(&mut work, &costs, now);
                    copying = Some(work);
                    effects
                } else {
                    locked = Some(*work);
                    Effects::default()
                };
                let Effects { synced, requests, wake, .. } = effects;
                let now = state.clock.ns(now);
                let timers = (state.writeback.set_timer(now), state.journal.set_timer(now));
                (copying, locked, syncing, synced, requests, wake, timers.0, timers.1)
            },
        )
        .add();
}

impl State {
    /// One turn of a write: fills folios until all is written or the writer has to pause.
    fn write_turn(&mut self, work: &Work, costs: &Costs, now: Time) -> (Work, Effects) {
        let mut effects = Effects::default();
        let is_mapped = work.call.faults.is_some();
        let locks = !is_mapped && self.files.get(work.call.file).writer.is_some();
        let mut work = Work { owed_ns: 0, far_ns: 0, copied: 0, pause_ns: 0, locks, ..*work };
        let begun = self.clock.ns(now);
        if !is_mapped && self.recency.jumps(&work, work.read.position) {
            work.owed_ns = costs[Scalar::JumpedWrite] as u64;
        }
        while work.has_more() {
            let spent = work.owed_ns + work.far_ns + costs.copying(work.copied, work.call.bytes) as u64;
            let (pause, wake) =
                self.writeback.balance(work.turn.job, self.cache.dirty_pages(), begun + spent);
            work.pause_ns = pause;
            effects.wake = effects.wake.or(wake);
            if pause > 0 {
                break;
            }
            self.write_stretch(&mut work, begun + spent, costs, &mut effects);
        }
        (work, effects)
    }

    /// Writes into one folio; `now` in ns since the machine was started.
    pub(super) fn write_stretch(&mut self, work: &mut Work, now: u64, costs: &Costs, effects: &mut Effects) {
        let (file, position) = (work.call.file, work.read.position);
        let jumps = self.recency.jumps(work, position);
        let appends = position == self.files.get(file).size;
        let filled = self.fill_folio(file, [position, work.read.end], now);
        self.write_for_room(now, effects);
        let size = self.files.get(file).size;
        let range = [position, filled.end];
        let far = self.recency.write(work, range, size, filled.old_pages > 0, costs);
        let bytes = filled.end - position;
        work.owed_ns += match work.call.faults {
            Some(_) if filled.dirtied > 0 => costs[Scalar::WriteFault] as u64,
            Some(_) => 0,
            None => filled.cost(bytes, costs),
        };
        if work.call.faults.is_some() {
            // A copy of mapped memory, and no call of the file system.
        } else if filled.new_blocks > 0 && jumps && !appends {
            self.journal.scatter(file, position / work.call.bytes.max(1));
        } else if filled.new_blocks == 0 && jumps && filled.marked > 0 {
            work.owed_ns += costs[Scalar::JumpedOver] as u64;
        }
        work.far_ns += far;
        work.copied += bytes;
        work.read.position = filled.end;
        self.writeback.count_dirtied(work.turn.job, filled.dirtied);
    }

    /// Begins to write what a sync asks for.
    fn begin_sync(&mut self, work: &Work, now: Time) -> Effects {
        let mut effects = Effects::default();
        let now = self.clock.ns(now);
        let call = work.call;
        let file = (call.kind != CallKind::Sync).then_some(call.file);
        let pages = match call.kind {
            CallKind::SyncRange => [call.offset / PAGE, (call.offset + call.bytes).div_ceil(PAGE)],
            _ => [0, u64::MAX],
        };
        // As in sync_file_range(2) zero stands for all three; what is only begun is not waited for.
        let of_range =
            |bit: u32| call.kind != CallKind::SyncRange || call.flags == 0 || call.flags & bit != 0;
        let (writes, waits) = (of_range(WRITES), of_range(WAITS));
        let urgency = if waits { Urgency::Sync } else { Urgency::Background };
        self.writeback.start_estimate(now);
        // Data in the journal waited for their place, until `ext4_sync_file` of 6.4 wrote them there as well.
        let is_early = self.limits.kernel < Kernel::V6_6;
        let is_journaled = self.journal.takes_data()
            && is_early
            && matches!(call.kind, CallKind::Fsync | CallKind::Fdatasync);
        let is_of = |of: &FileId| !is_journaled && file.is_none_or(|file| file == *of);
        for file in self.files.all().filter(|file| writes && is_of(file)) {
            self.write_out(file, pages, u64::MAX, urgency, &mut effects);
            if call.kind != CallKind::SyncRange {
                self.write_pointers(file, &mut effects);
            }
        }
        self.writeback.estimate(now);
        if !waits || !self.writeback.wait(work.turn.job, file) {
            effects.synced.push(work.turn.job);
        }
        effects
    }

    /// A sync writes a file's blocks of pointers, unless the journal does.
    fn write_pointers(&mut self, file: FileId, effects: &mut Effects) {
        let places = self.allocation.write_pointers(file);
        if self.journal.takes_pointers() {
            return;
        }
        for at in places {
            let request = Request::write(self.ids.next(), file, 0, 0, Urgency::Sync);
            self.send(Request { at: Some(at), ..request }, 0, effects);
        }
    }

    /// The device has served a write.
    fn written(&mut self, request: &Request, now: Time) -> Effects {
        self.clock.note(now);
        if Journal::owns(request) {
            let (step, committed) = self.journal.written();
            return Effects { step, committed, ..Effects::default() };
        }
        let Some((synced, wake)) = self.writeback.land(request) else { return Effects::default() };
        self.cache.set_writeback(request.file, request.first, request.pages, false);
        Effects { synced, wake, ..Effects::default() }
    }
}
