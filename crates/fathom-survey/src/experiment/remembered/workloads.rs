//! The workloads: files are made, wait, and are asked about in turns with calls that are known to reach the server or not.

use super::{ALL, KNOWN, What};
use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};

/// The directory, and the file that is asked about again and again.
pub(super) const DIRECTORY: usize = 0;
pub(super) const KNOWN_FILE: usize = 1;
pub(super) const FIRST_FILE: usize = 2;
pub(super) const SEEK: &str = "empty calls";
pub(super) const ATTRIBUTES: &str = "stats that are asked of the server, and others";
pub(super) const NAMES: &str = "look-ups of a known name";
pub(super) const ABSENCES: &str = "look-ups of new names, and again";
pub(super) const CLOCK: &str = "clock";

/// An age, and what is asked about then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) age_ns: f64,
    pub(super) what: [bool; 3],
}

/// Numbers of names that were made, and of names that stand for nothing, and how many there are of each age.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    pub(super) new: u64,
    pub(super) nothing: u64,
    pub(super) alike: u64,
}

/// Numbers that were not used yet.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) nothing: u64,
    pub(super) new: u64,
}

impl What {
    /// The calls that are known to be asked of the server, and those that are not where anything is believed: the label
    /// of their pass and their place in it.
    pub(super) fn known_calls(self) -> [(&'static str, usize); 2] {
        match self {
            What::Attributes => [(ATTRIBUTES, 0), (ATTRIBUTES, 1)],
            What::Names => [(ABSENCES, 0), (NAMES, 1)],
            What::Absences => [(ABSENCES, 0), (ABSENCES, 1)],
        }
    }

    /// The number of passes of known calls that go with a probe.
    pub(super) fn known_passes(self) -> usize {
        match self {
            What::Attributes | What::Absences => 1,
            What::Names => 2,
        }
    }
}

/// The same place so many times.
pub(super) fn same(times: u64) -> Region {
    Region { offset: 0, size: 0, step: 0, count: times }
}

pub(super) fn files(stats: usize) -> Vec<ScratchFile> {
    let names = [ScratchFile::directory("believed", 1), ScratchFile::empty("believed-file")];
    names.into_iter().chain((0..stats).map(|at| ScratchFile::empty(&format!("believed-{at}")))).collect()
}

/// Adds the known calls of one kind. The attributes of the directory on the way are asked for first.
pub(super) fn known(workload: Workload, what: What, count: u64, numbers: &mut Numbers) -> Workload {
    let on = |ops: &[CallKind], region, label| Pass::timed(DIRECTORY, ops, region).label(label);
    let looks = [CallKind::LookUp, CallKind::LookUp];
    let mut new = || {
        let region = Region { offset: numbers.nothing, size: 0, step: 1, count };
        numbers.nothing += count;
        on(&looks, region, ABSENCES)
    };
    match what {
        What::Attributes => workload.pass(
            Pass::timed(KNOWN_FILE, &[CallKind::StatAnew, CallKind::Stat], same(count)).label(ATTRIBUTES),
        ),
        What::Names => workload.pass(new()).pass(on(&looks, same(count), NAMES)),
        What::Absences => workload.pass(new()),
    }
}

/// Makes everything ready that is asked about later; what is asked about first comes last.
pub(super) fn beginning(places: &[Place], names: Names) -> Workload {
    let Names { new, nothing, alike: count } = names;
    let mut workload = Workload::new(files(places.len() * count as usize));
    for (at, place) in places.iter().enumerate().rev() {
        for what in ALL.into_iter().filter(|&what| place.what[what as usize]) {
            for alike in 0..count {
                let number = at as u64 * count + alike;
                let entry = |offset: u64| Region { offset: offset + number, size: 0, step: 1, count: 1 };
                workload = workload.pass(match what {
                    What::Attributes => {
                        Pass::timed(FIRST_FILE + number as usize, &[CallKind::Create], same(1))
                    }
                    What::Names => Pass::timed(DIRECTORY, &[CallKind::Create, CallKind::Close], entry(new)),
                    What::Absences => Pass::timed(DIRECTORY, &[CallKind::LookUp], entry(nothing)),
                });
            }
        }
    }
    workload
}

/// Asks about what has come to its age, after a wait, with known calls on either side where there are numbers for them.
pub(super) fn asking(
    workload: Workload,
    place: &Place,
    wait_ns: f64,
    at: usize,
    Names { new, nothing, alike }: Names,
    mut numbers: Option<&mut Numbers>,
) -> Workload {
    let number = at as u64 * alike;
    let waiting = workload.pass(Pass::pause(wait_ns as u64));
    ALL.into_iter().filter(|&what| place.what[what as usize]).fold(waiting, |workload, what| {
        let workload = match numbers.as_deref_mut() {
            Some(numbers) => known(workload, what, KNOWN, numbers),
            None => workload,
        };
        (number..number + alike).fold(workload, |workload, number| {
            let look = |offset: u64| {
                let region = Region { offset: offset + number, size: 0, step: 1, count: 1 };
                Pass::timed(DIRECTORY, &[CallKind::LookUp], region)
            };
            workload.pass(match what {
                What::Attributes => Pass::timed(FIRST_FILE + number as usize, &[CallKind::Stat], same(1)),
                What::Names => look(new),
                What::Absences => look(nothing),
            })
        })
    })
}
