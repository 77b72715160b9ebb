//! In which order requests go to the device: `block/mq-deadline.c` of 6.18 function by function, under the names that
//! they have there, and the merging of `block/elevator.c` and `block/blk-merge.c`.
//!
//! Pure: it is told what time it is and gives one request after the other. Of the classes of `ioprio` there is one.
//!
//! ```
//! use fathom_model::scheduler::{Deadline, Merged, Settings, Span};
//! use fathom_program::call::Direction;
//!
//! let mut queue = Deadline::new(Settings::default());
//! let write = |start, length| Span { direction: Direction::Write, start, length };
//! queue.insert(1, write(300, 8), 0);
//! queue.insert(2, write(100, 8), 0);
//! assert_eq!(queue.merge(write(108, 8)), Some(Merged { into: 2, absorbed: None }), "it follows on the second");
//! assert_eq!(queue.dispatch(0), Some((2, write(100, 16))));
//! assert_eq!(queue.dispatch(0), Some((1, write(300, 8))));
//! ```

use std::collections::BTreeMap;

use fathom_program::call::Direction;

/// The scheduler's settings in `/sys/block/*/queue`, times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settings {
    /// The age at which a read, and a write, goes before requests in a better order.
    pub expire: [u64; 2],
    /// The number of requests of one direction, in their order on the device, that make a batch.
    pub fifo_batch: u32,
    /// How often reads may go before a write that waits.
    pub writes_starved: u32,
    /// The largest request, in the unit of [`Span::length`].
    pub largest: u64,
}

/// The range that a request moves, in sectors, pages or any other unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whether it reads.
    pub direction: Direction,
    /// Where it begins.
    pub start: u64,
    /// The length of the range.
    pub length: u64,
}

/// A queue of requests, which its owner identifies by numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    settings: Settings,
    sides: [Side; 2],
    last_dir: Direction,
    batching: u32,
    starved: u32,
    /// How many were ever inserted.
    inserted: u64,
}

/// The requests of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    /// By place, and by order of insertion where that is the same.
    sort_list: BTreeMap<(u64, u64), Waiting>,
    /// By order of insertion: the place.
    fifo_list: BTreeMap<u64, u64>,
    latest_pos: u64,
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    id: u64,
    length: u64,
    /// When it becomes old: `fifo_time`.
    expires: u64,
}

/// A request that became part of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The request that it became part of.
    pub into: u64,
    /// A third request that touched the other end, and is now part of the same request.
    pub absorbed: Option<u64>,
}

/// A request's key in the list by place.
type Key = (u64, u64);

impl Default for Settings {
    /// The kernel's own.
    fn default() -> Self {
        Self { expire: [500_000_000, 5_000_000_000], fifo_batch: 16, writes_starved: 2, largest: u64::MAX }
    }
}

impl Deadline {
    /// An empty queue.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            sides: [Side::default(), Side::default()],
            last_dir: Direction::Write,
            batching: 0,
            starved: 0,
            inserted: 0,
        }
    }

    /// Puts a request into the queue. Source: `dd_insert_request`.
    pub fn insert(&mut self, id: u64, span: Span, now: u64) {
        let expires = now + self.settings.expire[span.direction as usize];
        let side = &mut self.sides[span.direction as usize];
        side.fifo_list.insert(self.inserted, span.start);
        side.sort_list.insert((span.start, self.inserted), Waiting { id, length: span.length, expires });
        self.inserted += 1;
    }

    /// Makes a range part of a waiting request that ends where the range begins, or begins where it ends. A request that touches
    /// the other end becomes part of the same. Source: `elv_merge`, `attempt_merge`.
    pub fn merge(&mut self, span: Span) -> Option<Merged> {
        let largest = self.settings.largest;
        let side = &mut self.sides[span.direction as usize];
        let fits = |waiting: &Waiting| waiting.length + span.length <= largest;
        if let Some(key) = side.ending_at(span.start).filter(|key| fits(&side.sort_list[key])) {
            let waiting = side.sort_list.get_mut(&key)?;
            waiting.length += span.length;
            let (into, end) = (waiting.id, key.0 + waiting.length);
            let absorbed = side.starting_at(end).and_then(|next| side.absorb(key, next, largest));
            return Some(Merged { into, absorbed });
        }
        let key = side.starting_at(span.start + span.length).filter(|key| fits(&side.sort_list[key]))?;
        let mut waiting = side.sort_list.remove(&key)?;
        waiting.length += span.length;
        let key = (span.start, key.1);
        side.sort_list.insert(key, waiting);
        side.fifo_list.insert(key.1, key.0);
        let former = side.ending_at(span.start);
        let merged = former.and_then(|former| {
            let into = side.id_of(former)?;
            Some(Merged { into, absorbed: Some(side.absorb(former, key, largest)?) })
        });
        Some(merged.unwrap_or(Merged { into: waiting.id, absorbed: None }))
    }

    /// Takes the next request for the device. Source: `__dd_dispatch_request`.
    pub fn dispatch(&mut self, now: u64) -> Option<(u64, Span)> {
        if let Some(key) = self.side(self.last_dir).next_request()
            && self.batching < self.settings.fifo_batch
        {
            return self.start(self.last_dir, key);
        }
        let [reads, writes] = [Direction::Read, Direction::Write].map(|of| !self.side(of).is_empty());
        let direction = match (reads, writes) {
            (false, false) => return None,
            (false, true) => Direction::Write,
            (true, false) => Direction::Read,
            (true, true) => {
                self.starved += 1;
                if self.starved > self.settings.writes_starved { Direction::Write } else { Direction::Read }
            }
        };
        if direction == Direction::Write {
            self.starved = 0;
        }
        let side = self.side(direction);
        let next = side.next_request().filter(|_| !side.check_fifo(now));
        let key = next.or_else(|| side.fifo_request())?;
        (self.last_dir, self.batching) = (direction, 0);
        self.start(direction, key)
    }

    fn side(&self, direction: Direction) -> &Side {
        &self.sides[direction as usize]
    }

    /// Source: `deadline_move_request`, `dd_start_request`.
    fn start(&mut self, direction: Direction, key: Key) -> Option<(u64, Span)> {
        self.batching += 1;
        let side = &mut self.sides[direction as usize];
        side.latest_pos = key.0;
        side.fifo_list.remove(&key.1);
        let Waiting { id, length, .. } = side.sort_list.remove(&key)?;
        Some((id, Span { direction, start: key.0, length }))
    }
}

impl Side {
    fn is_empty(&self) -> bool {
        self.fifo_list.is_empty()
    }

    /// The first at or after the last one that was dispatched. Source: `deadline_next_request`.
    fn next_request(&self) -> Option<Key> {
        self.sort_list.range((self.latest_pos, 0)..).next().map(|(&key, _)| key)
    }

    /// The one that has waited longest. Source: `deadline_fifo_request`.
    fn fifo_request(&self) -> Option<Key> {
        self.fifo_list.first_key_value().map(|(&number, &start)| (start, number))
    }

    /// Whether that one is old. Source: `deadline_check_fifo`.
    fn check_fifo(&self, now: u64) -> bool {
        self.fifo_request().is_some_and(|key| self.sort_list[&key].expires <= now)
    }

    fn starting_at(&self, place: u64) -> Option<Key> {
        self.sort_list.range((place, 0)..=(place, u64::MAX)).next().map(|(&key, _)| key)
    }

    fn ending_at(&self, place: u64) -> Option<Key> {
        let (&key, waiting) = self.sort_list.range(..(place, 0)).next_back()?;
        (key.0 + waiting.length == place).then_some(key)
    }

    fn id_of(&self, key: Key) -> Option<u64> {
        self.sort_list.get(&key).map(|waiting| waiting.id)
    }

    /// Makes the second of two that touch part of the first, which takes its turn where that comes earlier; gives the
    /// one that is gone. Source: `attempt_merge`, `dd_merged_requests`.
    fn absorb(&mut self, first: Key, second: Key, largest: u64) -> Option<u64> {
        let (kept, gone) = (*self.sort_list.get(&first)?, *self.sort_list.get(&second)?);
        if kept.length + gone.length > largest {
            return None;
        }
        for key in [first, second] {
            self.sort_list.remove(&key);
            self.fifo_list.remove(&key.1);
        }
        let turn = if gone.expires < kept.expires { second.1 } else { first.1 };
        let merged =
            Waiting { length: kept.length + gone.length, expires: kept.expires.min(gone.expires), ..kept };
        self.sort_list.insert((first.0, turn), merged);
        self.fifo_list.insert(turn, first.0);
        Some(gone.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(start: u64) -> Span {
        Span { direction: Direction::Read, start, length: 8 }
    }

    fn write(start: u64) -> Span {
        Span { direction: Direction::Write, ..read(start) }
    }

    fn all(queue: &mut Deadline, now: u64) -> Vec<u64> {
        std::iter::from_fn(|| queue.dispatch(now)).map(|(id, _)| id).collect()
    }

    fn filled(settings: Settings, spans: &[Span]) -> Deadline {
        let mut queue = Deadline::new(settings);
        for (id, &span) in (0..).zip(spans) {
            queue.insert(id, span, 0);
        }
        queue
    }

    #[test]
    fn requests_go_in_the_order_of_their_places_from_the_last_one_on() {
        let mut queue = filled(Settings::default(), &[read(500), read(100), read(300)]);
        // Of the other direction than the last one: that one which came first, and on from there.
        assert_eq!(all(&mut queue, 0), [1, 2, 0]);
        queue.insert(3, read(400), 0);
        queue.insert(4, read(600), 0);
        assert_eq!(all(&mut queue, 0), [4, 3]);
    }

    #[test]
    fn reads_go_before_writes_in_batches_until_those_have_starved() {
        let settings = Settings { fifo_batch: 2, ..Settings::default() };
        let spans: Vec<Span> =
            (0..10).map(|at| read(100 * at)).chain((0..4).map(|at| write(100 * at))).collect();
        let mut queue = filled(settings, &spans);
        // The queue begins as if it had written, with a batch that has room.
        let order = all(&mut queue, 0);
        assert_eq!(order, [10, 11, 0, 1, 2, 3, 12, 13, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn one_that_is_old_goes_first_once_the_batch_is_over() {
        let settings = Settings { fifo_batch: 1, expire: [1_000, 5_000], ..Settings::default() };
        let mut queue = Deadline::new(settings);
        for (id, place) in [(0, 900), (1, 100), (2, 200)] {
            queue.insert(id, read(place), 10 * id);
        }
        assert_eq!(queue.clone().dispatch(999).unwrap().0, 1, "it is not old yet");
        assert_eq!(queue.dispatch(1_000).unwrap().0, 0);
        assert_eq!(queue.dispatch(1_000).unwrap().0, 1, "nothing lies beyond, and round");
    }

    #[test]
    fn requests_that_touch_become_one_up_to_the_largest() {
        let settings = Settings { largest: 24, ..Settings::default() };
        let mut queue = filled(settings, &[write(100), write(116), write(200)]);
        assert_eq!(queue.merge(write(208)), Some(Merged { into: 2, absorbed: None }));
        assert_eq!(queue.merge(write(192)), Some(Merged { into: 2, absorbed: None }));
        assert_eq!(queue.merge(write(216)), None, "it is full");
        assert_eq!(queue.merge(read(124)), None, "it goes the other way");
        assert_eq!(queue.merge(write(108)), Some(Merged { into: 0, absorbed: Some(1) }));
        assert_eq!(queue.dispatch(0), Some((0, Span { length: 24, ..write(100) })));
        assert_eq!(queue.dispatch(0), Some((2, Span { length: 24, ..write(192) })));
        assert_eq!(queue.dispatch(0), None);
    }

    #[test]
    fn what_two_become_has_the_turn_of_the_older() {
        let mut queue = Deadline::new(Settings { fifo_batch: 1, expire: [100, 100], ..Settings::default() });
        queue.insert(0, read(500), 0);
        queue.insert(1, read(200), 10);
        queue.insert(2, read(484), 20);
        assert_eq!(queue.merge(read(492)), Some(Merged { into: 2, absorbed: Some(0) }));
        assert_eq!(queue.dispatch(100), Some((2, Span { length: 24, ..read(484) })));
    }
}
