//! The choice between mapping and copying a cached file, made while it is read: each thread takes its first
//! pieces by turns, these count in the answer, and the faster way reads the rest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Method, Trial, per_second};
use fathom_program::units::Bytes;

/// A page fault that maps more than this costs a fraction of copying it. The kernel maps around a fault what is of
/// one folio, and 64 KiB where folios are smaller (`filemap_map_pages`).
const LARGE_FOLIO: u64 = 128 << 10;
/// Pieces by each method, over all threads, before they are compared.
const ENOUGH: u32 = 2;
/// Whose turn it is: drift meets both alike.
const TURNS: [usize; 4] = [0, 1, 1, 0];

/// A way to read, with what it has done so far.
pub(super) struct Candidate {
    pub(super) method: Method,
    pub(super) threads: usize,
    pub(super) parts: u32,
    bytes: u64,
    duration_ns: u64,
    /// Bytes per second of the fastest of its parts: what else runs can only make one slower.
    fastest: f64,
}

/// Shared by the threads of a sweep.
pub(super) struct Contest {
    state: Mutex<State>,
}

struct State {
    candidates: Vec<Candidate>,
    /// What a page fault maps, where that alone has decided.
    bytes_per_fault: Option<u64>,
    winner: Option<Method>,
}

/// One piece, by one thread.
pub(super) struct Measured {
    pub(super) method: Method,
    pub(super) bytes: u64,
    pub(super) duration_ns: u64,
    /// Page faults that the thread took meanwhile.
    pub(super) faults: u64,
}

impl Contest {
    pub(super) fn new() -> Self {
        let candidates = [Method::Mmap, Method::Read].map(|method| Candidate::new(method, 1)).into();
        Self { state: Mutex::new(State { candidates, bytes_per_fault: None, winner: None }) }
    }

    /// Whether the rest is the winner's.
    pub(super) fn is_over(&self) -> bool {
        self.state().winner.is_some()
    }

    /// How a thread reads its piece number `turn`.
    pub(super) fn method(&self, turn: usize) -> Method {
        let state = self.state();
        state.winner.unwrap_or_else(|| {
            let index = TURNS[turn % TURNS.len()] % state.candidates.len().max(1);
            state.candidates.get(index).map_or(Method::Read, |candidate| candidate.method)
        })
    }

    pub(super) fn note(&self, piece: Measured) {
        let mut state = self.state();
        let Some(candidate) = state.candidates.iter_mut().find(|one| one.method == piece.method) else {
            return;
        };
        candidate.note(piece.bytes, piece.duration_ns);
        if state.winner.is_some() {
            return;
        }
        // Where the kernel does not count them there are none at all.
        let bytes_per_fault = piece.bytes.checked_div(piece.faults);
        let large = bytes_per_fault.filter(|&bytes| piece.method == Method::Mmap && bytes > LARGE_FOLIO);
        if large.is_some() {
            (state.bytes_per_fault, state.winner) = (large, Some(Method::Mmap));
        } else if state.candidates.iter().all(|candidate| candidate.parts >= ENOUGH) {
            state.winner = Candidate::fastest(&state.candidates).map(|best| best.method);
        }
    }

    /// The file does not allow that method: what is left, if anything is.
    pub(super) fn without(&self, method: Method) -> Option<Method> {
        let mut state = self.state();
        state.candidates.retain(|candidate| candidate.method != method);
        state.winner = state.candidates.first().map(|candidate| candidate.method);
        state.winner
    }

    /// The method that won, or led when the file ended; why; and what was tried.
    pub(super) fn outcome(&self) -> (Method, String, Vec<Trial>) {
        let state = self.state();
        let leader = Candidate::fastest(&state.candidates).map(|best| best.method);
        let method = state.winner.or(leader).unwrap_or(Method::Read);
        let why = match state.bytes_per_fault {
            Some(bytes) => {
                format!("a page fault maps {} of it, which no copy is as fast as", Bytes(bytes))
            }
            None if state.candidates.len() > 1 => format!("{method} was the fastest on parts of it"),
            None => format!("{method} is the only way to it"),
        };
        (method, why, state.candidates.iter().filter_map(Candidate::trial).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Candidate {
    pub(super) fn new(method: Method, threads: usize) -> Self {
        Self { method, threads, parts: 0, bytes: 0, duration_ns: 0, fastest: 0.0 }
    }

    /// It read a part.
    pub(super) fn note(&mut self, bytes: u64, duration_ns: u64) {
        self.parts += 1;
        self.bytes += bytes;
        self.duration_ns += duration_ns;
        self.fastest = self.fastest.max(per_second(bytes, duration_ns));
    }

    /// The first of the fastest.
    pub(super) fn fastest(candidates: &[Self]) -> Option<&Self> {
        candidates.iter().reduce(|best, other| if other.fastest > best.fastest { other } else { best })
    }

    /// What it did in trials; nothing where it needed none.
    pub(super) fn trial(&self) -> Option<Trial> {
        (self.bytes > 0).then_some(Trial {
            method: self.method,
            threads: self.threads,
            bytes: self.bytes,
            duration_ns: self.duration_ns,
            bytes_per_second: self.fastest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: u64 = 4 << 20;

    fn piece(method: Method, duration_ns: u64, faults: u64) -> Measured {
        Measured { method, bytes: PIECE, duration_ns, faults }
    }

    #[test]
    fn large_folios_end_it_at_once() {
        let contest = Contest::new();
        assert_eq!((contest.is_over(), contest.method(0)), (false, Method::Mmap));
        contest.note(piece(Method::Mmap, 1000, 4));
        assert_eq!((contest.is_over(), contest.method(1)), (true, Method::Mmap));
        assert!(contest.outcome().1.contains("a page fault maps 1 MiB of it"), "{}", contest.outcome().1);
    }

    #[test]
    fn the_faster_of_two_wins_by_the_best_of_its_pieces() {
        for (mmap, read, winner) in [(1000, 2000, Method::Mmap), (2000, 1000, Method::Read)] {
            let contest = Contest::new();
            let turns: Vec<Method> = (0..4).map(|turn| contest.method(turn)).collect();
            assert_eq!(turns, [Method::Mmap, Method::Read, Method::Read, Method::Mmap]);
            // The first of the winner's pieces was held up.
            contest.note(piece(winner, 1_000_000, 64));
            for (method, duration_ns) in [(Method::Mmap, mmap), (Method::Read, read)] {
                contest.note(piece(method, duration_ns, 64));
                assert!(!contest.is_over() || method == Method::Read);
                contest.note(piece(method, duration_ns, 64));
            }
            assert_eq!((contest.is_over(), contest.method(4)), (true, winner));
            let (method, why, trials) = contest.outcome();
            assert_eq!((method, trials.len()), (winner, 2));
            assert!(why.contains("fastest on parts of it"), "{why}");
        }
    }

    #[test]
    fn a_method_that_fails_is_out() {
        let contest = Contest::new();
        assert_eq!(contest.without(Method::Mmap), Some(Method::Read));
        assert_eq!((contest.is_over(), contest.method(0)), (true, Method::Read));
        // Another thread was at it still.
        assert_eq!(contest.without(Method::Mmap), Some(Method::Read));
        assert_eq!(contest.outcome().1, "read is the only way to it");
        assert_eq!(contest.without(Method::Read), None);
    }
}
