//! Which points there are, how much each of them writes, and which ones the budget does not allow.

use crate::curve::{Operation, Order, Refusal, Setting, State};
use crate::rounds::FEWEST_ROUNDS;
use fathom_program::units::Bytes;

/// Which values each dimension takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Bytes per call.
    pub block_bytes: Vec<u64>,
    /// Bytes of the files.
    pub file_bytes: Vec<u64>,
    /// What calls do.
    pub operations: Vec<Operation>,
    /// Where they do it; appends are sequential.
    pub orders: Vec<Order>,
    /// What the cache holds; appends begin with an empty file.
    pub states: Vec<State>,
    /// How many threads.
    pub threads: Vec<u32>,
}

/// The points to be measured, and those that are not.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// In the order of their settings.
    pub points: Vec<Planned>,
    /// What was asked for and is not in the grid.
    pub refused: Vec<Refusal>,
}

/// A point to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// What is done.
    pub setting: Setting,
    /// The most that a thread moves in calls of one sample that count, in bytes.
    pub most_bytes: u64,
}

/// What a sample of small writes moves at most, from the best to the least that is worth a sample.
const WRITE_VOLUMES: [u64; 4] = [1 << 20, 512 << 10, 256 << 10, 128 << 10];

impl Choice {
    /// All the combinations that make sense, within so many bytes to write.
    pub fn grid(&self, max_write: u64) -> Grid {
        let mut refused = Vec::new();
        let (fitting, too_large): (Vec<Setting>, Vec<Setting>) =
            self.settings().into_iter().partition(|setting| share(setting) >= calls_needed(setting));
        refuse(&mut refused, &too_large, |setting| {
            format!("a thread's part of a file of {} has no room for them", Bytes(setting.file_bytes))
        });
        let files = fitting.iter().filter(|setting| setting.operation != Operation::Append);
        let mut files: Vec<(u64, bool)> =
            files.map(|setting| (setting.file_bytes, setting.state == State::Cached)).collect();
        files.sort_unstable();
        files.dedup();
        let left = max_write.saturating_sub(files.iter().map(|(bytes, _)| bytes).sum());
        let (reads, writes): (Vec<Setting>, Vec<Setting>) =
            fitting.into_iter().partition(|setting| setting.operation == Operation::Read);
        let volume = volume(&writes, left);
        let (writes, dear) = affordable(writes, volume, left);
        refuse(&mut refused, &dear, |setting| {
            let needed = max_write - left.min(max_write) + dear_total(&writes, &dear, volume);
            // In a unit that the option takes as it stands.
            format!(
                "{FEWEST_ROUNDS} rounds would write {}, more than --max-write leaves: raise it to {}MiB",
                Bytes(cost(setting, volume)),
                needed.div_ceil(1 << 20)
            )
        });
        let planned = |setting: Setting| {
            let most_bytes = match setting.operation {
                Operation::Read => share(&setting),
                _ => volume.max(setting.block_bytes).min(share(&setting) - setting.block_bytes),
            };
            Planned { setting, most_bytes }
        };
        Grid { points: reads.into_iter().chain(writes).map(planned).collect(), refused }
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &operation in &self.operations {
            let append = operation == Operation::Append;
            let orders = if append { &[Order::Sequential][..] } else { &self.orders };
            let states = if append { &[State::Empty][..] } else { &self.states };
            for &order in orders {
                for &state in states {
                    for &threads in &self.threads {
                        for &file_bytes in &self.file_bytes {
                            settings.extend(self.block_bytes.iter().map(|&block_bytes| Setting {
                                operation,
                                order,
                                state,
                                threads,
                                file_bytes,
                                block_bytes,
                            }));
                        }
                    }
                }
            }
        }
        settings.sort_unstable();
        settings.dedup();
        settings
    }
}

/// The largest volume with which all writes fit into `left` bytes, or at least the small ones.
fn volume(writes: &[Setting], left: u64) -> u64 {
    let fits = |volume: u64, largest: u64| {
        let those = writes.iter().filter(|setting| setting.block_bytes <= largest);
        those.map(|setting| cost(setting, volume)).sum::<u64>() <= left
    };
    let [most, .., least] = WRITE_VOLUMES;
    let of = |largest: u64| WRITE_VOLUMES.into_iter().find(|&volume| fits(volume, largest));
    of(u64::MAX).or_else(|| of(most)).unwrap_or(least)
}

/// Bytes of the file that one thread has to itself.
pub(super) fn share(setting: &Setting) -> u64 {
    let part = setting.file_bytes / u64::from(setting.threads.max(1));
    // Whole calls, so that no thread begins in the middle of a block.
    part / setting.block_bytes.max(1) * setting.block_bytes
}

/// Bytes that a thread needs room for: one call, and before it one that does not count where it writes.
fn calls_needed(setting: &Setting) -> u64 {
    match setting.operation {
        Operation::Read => setting.block_bytes,
        _ => 2 * setting.block_bytes,
    }
}

/// Bytes that all rounds of a point write at least, the one that finds its size included.
fn cost(setting: &Setting, volume: u64) -> u64 {
    let sample = (volume.max(setting.block_bytes) + setting.block_bytes).min(share(setting));
    sample * u64::from(setting.threads) * u64::from(FEWEST_ROUNDS + 1)
}

fn dear_total(writes: &[Setting], dear: &[Setting], volume: u64) -> u64 {
    writes.iter().chain(dear).map(|setting| cost(setting, volume)).sum()
}

/// The cheapest points that `left` bytes pay for, in order, and the others.
fn affordable(mut writes: Vec<Setting>, volume: u64, mut left: u64) -> (Vec<Setting>, Vec<Setting>) {
    writes.sort_by_key(|setting| (cost(setting, volume), *setting));
    let mut count = 0;
    for setting in &writes {
        let Some(rest) = left.checked_sub(cost(setting, volume)) else { break };
        left = rest;
        count += 1;
    }
    let mut dear = writes.split_off(count);
    writes.sort_unstable();
    dear.sort_unstable();
    (writes, dear)
}

/// One refusal per curve and reason, with the sizes that it is about.
fn refuse(refused: &mut Vec<Refusal>, settings: &[Setting], reason: impl Fn(&Setting) -> String) {
    for family in settings.chunk_by(|a, b| a.family() == b.family()) {
        let (Some(first), Some(last)) = (family.first(), family.last()) else { continue };
        let sizes = match family.len() {
            1 => format!("calls of {}", Bytes(first.block_bytes)),
            _ => format!("calls of {} to {}", Bytes(first.block_bytes), Bytes(last.block_bytes)),
        };
        refused.push(Refusal { what: format!("{}: {sizes}", first.name()), reason: reason(last) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Choice {
        Choice {
            block_bytes: (9..=26).map(|power| 1 << power).collect(),
            file_bytes: vec![64 << 20],
            operations: vec![Operation::Read, Operation::Overwrite, Operation::Append],
            orders: vec![Order::Sequential, Order::Random],
            states: vec![State::Cached, State::Cold],
            threads: vec![1],
        }
    }

    #[test]
    fn what_the_budget_does_not_allow_is_refused_by_name() {
        let grid = everything().grid(256 << 20);
        let reads = grid.points.iter().filter(|point| point.setting.operation == Operation::Read);
        assert_eq!(reads.count(), 2 * 2 * 18);
        let written: u64 = grid
            .points
            .iter()
            .filter(|point| point.setting.operation != Operation::Read)
            .map(|point| (point.most_bytes + point.setting.block_bytes) * u64::from(FEWEST_ROUNDS + 1))
            .sum();
        assert!(written <= 128 << 20, "{written}");
        let append = grid.refused.iter().find(|refusal| refusal.what.starts_with("append")).unwrap();
        assert!(append.reason.contains("no room"), "{append:?}");
        let append = grid.refused.iter().rfind(|refusal| refusal.what.starts_with("append")).unwrap();
        assert!(append.what.ends_with("to 32 MiB") && append.reason.contains("raise it to"), "{append:?}");
        let enough = everything().grid(64 << 30);
        // Writes of the whole file alone are missing: the first one does not count.
        assert_eq!((enough.points.len(), enough.refused.len()), (9 * 18 - 5, 5));
    }

    #[test]
    fn the_budget_that_is_named_is_enough() {
        let choice = Choice { operations: vec![Operation::Append], ..everything() };
        let grid = choice.grid(100 << 20);
        let words = grid.refused[1].reason.rsplit("to ").next().unwrap().to_owned();
        let budget = fathom_program::units::parse_bytes(&words).unwrap();
        let refused = choice.grid(budget).refused;
        assert!(refused.iter().all(|refusal| refusal.reason.contains("no room")), "{refused:?}");
    }

    #[test]
    fn calls_fit_into_a_threads_part() {
        let choice = Choice { threads: vec![1, 3], file_bytes: vec![1 << 20], ..everything() };
        let grid = choice.grid(1 << 30);
        let largest = |threads: u32| {
            let of = grid.points.iter().filter(|point| point.setting.threads == threads);
            of.map(|point| point.setting.block_bytes).max()
        };
        assert_eq!((largest(1), largest(3)), (Some(1 << 20), Some(256 << 10)));
        assert!(grid.refused.iter().all(|refusal| refusal.reason.contains("no room")));
    }
}
