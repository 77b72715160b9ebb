//! Attributes and names: what a kernel remembers of them, for how long, and what asking costs.

use std::collections::{HashMap, HashSet};

use fathom_program::workload::{CallKind, RENAMED};

/// What is planted of metadata. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metadata {
    /// The way to the file system's server and back; zero where there is no server.
    pub round_trip: f64,
    /// How long attributes, names and absences of names are believed. Of no effect without a server.
    pub attributes: f64,
    /// See there.
    pub names: f64,
    /// See there.
    pub absences: f64,
    /// What each kind of call costs, in addition to the round trip and to a call of any kind.
    pub create: f64,
    /// See there.
    pub stat: f64,
    /// See there.
    pub open: f64,
    /// See there.
    pub rename: f64,
    /// See there.
    pub unlink: f64,
    /// Each name that is listed.
    pub listed_name: f64,
    /// By which share all but `stat` and `open` are slower for each thousand files in the directory.
    pub growth: f64,
}

impl Default for Metadata {
    /// As on a local ext4.
    fn default() -> Self {
        Self {
            round_trip: 0.0,
            attributes: 0.0,
            names: 0.0,
            absences: 0.0,
            create: 8_000.0,
            stat: 500.0,
            open: 900.0,
            rename: 6_000.0,
            unlink: 5_000.0,
            listed_name: 80.0,
            growth: 0.1,
        }
    }
}

impl Metadata {
    /// The ns of looking at what is known since `since` and believed for so long; afterwards it is known anew.
    fn looked_at(&self, since: &mut Option<f64>, believed: f64, now: f64) -> f64 {
        if self.round_trip == 0.0 || since.is_some_and(|since| now - since <= believed) {
            return 0.0;
        }
        *since = Some(now);
        self.round_trip
    }

    /// The ns of asking for a file's attributes, which are known since then.
    pub(super) fn attributes(&self, since: &mut Option<f64>, now: f64, anew: bool) -> f64 {
        if anew {
            *since = None;
        }
        self.stat + self.looked_at(since, self.attributes, now)
    }
}

/// A directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    present: HashSet<u64>,
    /// Since when a name or its absence is known.
    known: HashMap<u64, Option<f64>>,
}

impl Directory {
    pub(super) fn fill(&mut self, entries: u64) {
        self.present.extend(0..entries);
    }

    /// The ns of a call on the entry of a number, beyond the call itself; nothing where the kernel would fail.
    pub(super) fn perform(
        &mut self,
        metadata: &Metadata,
        op: CallKind,
        number: u64,
        now: f64,
    ) -> Option<f64> {
        let slower = 1.0 + metadata.growth * self.present.len() as f64 / 1000.0;
        let is_present = self.present.contains(&number);
        let known = self.known.entry(number).or_default();
        let mut looked_up = || {
            let believed = if is_present { metadata.names } else { metadata.absences };
            metadata.looked_at(known, believed, now)
        };
        Some(match op {
            CallKind::Create if !is_present => {
                let cost = metadata.create * slower + looked_up() + metadata.round_trip;
                self.present.insert(number);
                *known = Some(now + cost);
                cost
            }
            CallKind::Close | CallKind::Pause => 0.0,
            CallKind::LookUp => metadata.stat + looked_up(),
            CallKind::Stat if is_present => metadata.stat + looked_up(),
            CallKind::Open if is_present => metadata.open + looked_up() + metadata.round_trip,
            CallKind::Rename if is_present => {
                let cost = metadata.rename * slower + looked_up() + metadata.round_trip;
                self.present.remove(&number);
                self.present.insert(number ^ RENAMED);
                self.known.remove(&number);
                self.known.insert(number ^ RENAMED, Some(now));
                cost
            }
            CallKind::Unlink if is_present => {
                let cost = metadata.unlink * slower + looked_up() + metadata.round_trip;
                self.present.remove(&number);
                self.known.remove(&number);
                cost
            }
            CallKind::List => metadata.round_trip + metadata.listed_name * self.present.len() as f64,
            _ => return None,
        })
    }
}
