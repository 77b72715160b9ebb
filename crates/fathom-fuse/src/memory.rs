//! What the server has in its memory of the files that it keeps elsewhere, and what it reads ahead.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::plan::Plan;

const PAGE: u64 = 4096;

/// The pages of files that were read, or read ahead. What is written is not in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(HashMap<u64, File>);

#[derive(Debug, Default)]
struct File {
    /// When each page is in memory.
    pages: HashMap<u64, Instant>,
    /// Where the last request ended.
    end: u64,
    /// Where what was read ahead of requests in order ends, so that each page is brought in once.
    ahead: u64,
}

impl Memory {
    /// Brings in what a request asks for, and after two requests in order some more; how long the request waits for its own.
    pub(crate) fn read(
        &mut self,
        plan: &Plan,
        number: u64,
        offset: u64,
        bytes: u64,
        now: Instant,
    ) -> Duration {
        let Plan { cold, ahead, .. } = *plan;
        if cold.is_zero() || bytes == 0 {
            return Duration::ZERO;
        }
        let file = self.0.entry(number).or_default();
        let end = offset + bytes;
        let is_in_order = offset > 0 && offset == file.end;
        file.end = end;
        let mut bring = |from: u64, to: u64| {
            let pages = from / PAGE..to.div_ceil(PAGE);
            pages.map(|page| *file.pages.entry(page).or_insert(now + cold)).max()
        };
        let there = bring(offset, end).unwrap_or(now);
        if is_in_order {
            let known = if (end..=end + ahead).contains(&file.ahead) { file.ahead } else { end };
            bring(known, end + ahead);
            file.ahead = end + ahead;
        }
        there.saturating_duration_since(now)
    }

    /// Forgets the pages of what is written.
    pub(crate) fn write(&mut self, number: u64, offset: u64, bytes: u64) {
        if let Some(file) = self.0.get_mut(&number) {
            file.ahead = 0;
            for page in offset / PAGE..(offset + bytes).div_ceil(PAGE) {
                file.pages.remove(&page);
            }
        }
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, number: u64) {
        self.0.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_or_read_ahead_is_in_memory() {
        let plan: Plan = "cold=2ms,ahead=16384".parse().unwrap();
        let (cold, none) = (Duration::from_millis(2), Duration::ZERO);
        let mut memory = Memory::default();
        let start = Instant::now();
        let mut read =
            |page: u64, ms: u64| memory.read(&plan, 7, page * PAGE, PAGE, start + Duration::from_millis(ms));
        assert_eq!([read(8, 0), read(8, 9)], [cold, none], "the second time it is there");
        assert_eq!([read(3, 20), read(4, 30)], [cold, cold], "two in order");
        assert_eq!(read(5, 31), Duration::from_millis(1), "it is on its way");
        // The last request in order was that of page 5.
        assert_eq!([read(10, 40), read(9, 40)], [cold, none]);
        memory.write(7, 9 * PAGE + 5, 1);
        let mut read = |page: u64| memory.read(&plan, 7, page * PAGE, PAGE, start + 50 * cold);
        assert_eq!([read(9), read(8)], [cold, none]);
        assert_eq!(memory.read(&Plan::default(), 7, 1 << 20, PAGE, start), none, "all is in memory");
        memory.remove(7);
        assert_eq!(memory.read(&plan, 7, 8 * PAGE, PAGE, start), cold);
    }
}
