//! Which of a thread's files is next, as fio's `file_service_type` and `openfiles` say.

use crate::dice::Dice;
use crate::distribution::Draw;
use crate::job::{FileService, Job};

/// Chooses among the files of one thread (`__get_next_file` of fio's `io_u.c`).
#[derive(Debug)]
pub(crate) struct NextFile {
    order: Order,
    dice: Dice,
    files: Vec<State>,
    /// How many may be in use at once, and how many are.
    most_open: usize,
    open: usize,
    done: usize,
    current: usize,
    /// Transfers that still follow in the current file, and how many do so after a change.
    stays: u32,
    every: u32,
}

#[derive(Debug)]
enum Order {
    /// The next one in turn.
    InTurn(usize),
    Random,
    Drawn(Draw),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open,
    Done,
}

/// fio draws parts of a file, so that its distributions have something to spread over.
const PARTS: u64 = 1 << 10;

impl NextFile {
    /// For a job's thread with so many files.
    pub(crate) fn new(job: &Job, files: usize, thread: u32) -> Self {
        let mut dice = Dice::new(!job.seed ^ (u64::from(thread) << 32));
        let parts = files as u64 * PARTS;
        let (order, every) = match job.files.service {
            FileService::RoundRobin(every) => (Order::InTurn(0), every),
            FileService::Sequential => (Order::InTurn(0), u32::MAX),
            FileService::Random(every) => (Order::Random, every),
            FileService::Drawn(distribution) => {
                (Order::Drawn(Draw::new(distribution, parts, dice.draw())), 1)
            }
        };
        let most_open = if job.files.open == 0 { files } else { files.min(job.files.open as usize) };
        Self {
            order,
            dice,
            files: vec![State::Closed; files],
            most_open,
            open: 0,
            done: 0,
            current: 0,
            stays: 0,
            every,
        }
    }

    /// The file of the next transfer; none where all are done.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        let count = self.files.len();
        if self.done == count {
            return None;
        }
        if self.stays > 0 && self.files[self.current] == State::Open {
            self.stays -= u32::from(self.every != u32::MAX);
            return Some(self.current);
        }
        loop {
            let file = match &mut self.order {
                Order::InTurn(next) => std::mem::replace(next, (*next + 1) % count),
                Order::Random => self.dice.below(count as u64) as usize,
                Order::Drawn(draw) => {
                    (draw.block(count as u64 * PARTS, || self.dice.share()) / PARTS) as usize
                }
            };
            match self.files[file] {
                State::Done => continue,
                State::Closed if self.open == self.most_open => continue,
                State::Closed => {
                    self.files[file] = State::Open;
                    self.open += 1;
                }
                State::Open => {}
            }
            (self.current, self.stays) = (file, self.every - 1);
            return Some(file);
        }
    }

    /// Whether the current file begins again where nothing of it is left: fio does so where files are drawn from a
    /// distribution.
    pub(crate) fn begins_again(&self) -> bool {
        matches!(self.order, Order::Drawn(_))
    }

    /// Nothing of the current file is left.
    pub(crate) fn finish(&mut self) {
        self.files[self.current] = State::Done;
        (self.open, self.done) = (self.open - 1, self.done + 1);
    }

    /// Another pass over all files begins.
    pub(crate) fn rewind(&mut self) {
        self.files.fill(State::Closed);
        (self.open, self.done, self.stays) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Distribution;

    /// The files of so many transfers, each of which has `blocks` blocks.
    fn chosen(service: FileService, open: u32, blocks: usize) -> Vec<usize> {
        let mut job = Job::named("x");
        (job.files.service, job.files.open) = (service, open);
        let mut next = NextFile::new(&job, 4, 0);
        let mut left = [blocks; 4];
        let mut made = Vec::new();
        while let Some(file) = next.choose() {
            match left[file] {
                0 => next.finish(),
                _ => {
                    left[file] -= 1;
                    made.push(file);
                }
            }
        }
        made
    }

    #[test]
    fn files_are_served_in_turn_or_one_after_the_other() {
        assert_eq!(chosen(FileService::RoundRobin(1), 0, 2), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(chosen(FileService::RoundRobin(2), 0, 2), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(chosen(FileService::Sequential, 0, 2), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(chosen(FileService::RoundRobin(1), 2, 2), [0, 1, 0, 1, 2, 3, 2, 3]);
        let random = chosen(FileService::Random(1), 0, 50);
        assert_eq!(random.len(), 200);
        let same = random.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((20..90).contains(&same), "{same}");
    }

    #[test]
    fn some_files_are_drawn_far_more_often() {
        let mut job = Job::named("x");
        job.files.service = FileService::Drawn(Distribution::Normal(10.0, None));
        let mut next = NextFile::new(&job, 4, 0);
        let drawn: Vec<_> = (0..1000).filter_map(|_| next.choose()).collect();
        let middle = drawn.iter().filter(|file| matches!(file, 1 | 2)).count();
        assert!(middle > 950, "{middle}");
    }
}
