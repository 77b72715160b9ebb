//! Which pages of all files go when the cache is full: the policy that is planted.

mod queues;
mod segments;
mod single;

use std::collections::HashSet;

use self::segments::{Adaptive, Generations, Segmented, TwoLists, TwoQueues};
use self::single::{Clock, Counted, Drawn, Queue};

/// By which rule pages leave a full cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Replacement {
    /// The least recently used page goes.
    Lru,
    /// The page that was brought in first goes.
    Fifo,
    /// A hand goes round: it spares a page that was used since it last came by.
    Clock {
        /// Whether the use for which a page is brought in counts.
        first_use_counts: bool,
    },
    /// Linux without generations: a page is activated by its second use, and by its first where it was
    /// dropped not long before.
    TwoLists,
    /// The second use moves a page to a protected segment (Karedla, Love & Wherry 1994).
    Segmented {
        /// The share of the cache that is protected at most.
        protected: f64,
    },
    /// Any page goes.
    Random,
    /// Linux with generations (MGLRU), without the feedback of refaults: pages enter the oldest one, and
    /// the fifth use of a page moves it to the next.
    Generations,
    /// The page that was used least often goes, of several the least recently used.
    LeastOften,
    /// The page that was used last goes.
    MostRecent,
    /// 2Q (Johnson & Shasha 1994), with a quarter of the cache for new pages.
    TwoQueues,
    /// ARC (Megiddo & Modha 2003).
    Adaptive,
}

/// A page: the number of its file, and its place there.
type Page = (u32, u64);

/// What became of a page of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// It was brought in.
    Added(u64),
    /// It was used.
    Used(u64),
    /// It was dropped, and what is remembered of it too.
    Dropped(u64),
}

/// A rule at work. It is told of each page that is brought in, used or dropped from outside.
trait Rule: std::fmt::Debug {
    fn add(&mut self, page: Page);

    /// `first` is the first use since the page was brought in.
    fn touch(&mut self, page: Page, first: bool);

    fn remove(&mut self, page: Page);

    /// Takes out the page that goes next.
    fn victim(&mut self) -> Option<Page>;
}

/// The pages of all files, and the rule by which they go.
#[derive(Debug)]
pub(super) struct Memory {
    files: Vec<String>,
    rule: Box<dyn Rule>,
    held: HashSet<Page>,
    /// Pages that were brought in and not used so far.
    unused: HashSet<Page>,
}

impl Memory {
    /// A memory for `pages` pages, of `page` bytes each.
    pub(super) fn new(replacement: Replacement, pages: u64, page: u64, seed: u64) -> Self {
        let rule: Box<dyn Rule> = match replacement {
            Replacement::Lru => Box::new(Queue::least_recent()),
            Replacement::Fifo => Box::new(Queue::first_in()),
            Replacement::MostRecent => Box::new(Queue::most_recent()),
            Replacement::Clock { first_use_counts } => Box::new(Clock::new(first_use_counts)),
            Replacement::Random => Box::new(Drawn::new(seed)),
            Replacement::LeastOften => Box::new(Counted::default()),
            Replacement::TwoLists => Box::new(TwoLists::new(page)),
            Replacement::Segmented { protected } => {
                Box::new(Segmented::new((protected * pages as f64) as usize))
            }
            Replacement::Generations => Box::new(Generations::default()),
            Replacement::TwoQueues => Box::new(TwoQueues::new(pages as usize)),
            Replacement::Adaptive => Box::new(Adaptive::new(pages as usize)),
        };
        Self { files: Vec::new(), rule, held: HashSet::new(), unused: HashSet::new() }
    }

    /// What became of pages of the file `name`, in order.
    pub(super) fn note(&mut self, name: &str, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let file = self.number(name);
        for event in events {
            match event {
                Event::Added(index) => {
                    self.held.insert((file, index));
                    self.unused.insert((file, index));
                    self.rule.add((file, index));
                }
                Event::Used(index) => {
                    let first = self.unused.remove(&(file, index));
                    self.rule.touch((file, index), first);
                }
                Event::Dropped(index) => {
                    self.held.remove(&(file, index));
                    self.unused.remove(&(file, index));
                    self.rule.remove((file, index));
                }
            }
        }
    }

    /// How many pages there are.
    pub(super) fn len(&self) -> u64 {
        self.held.len() as u64
    }

    /// Takes out the page that goes next: its file and its place there.
    pub(super) fn evict(&mut self) -> Option<(&str, u64)> {
        let page = self.rule.victim()?;
        self.held.remove(&page);
        self.unused.remove(&page);
        Some((&self.files[page.0 as usize], page.1))
    }

    fn number(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|file| file == name);
        known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        }) as u32
    }
}
