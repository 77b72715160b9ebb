//! A process that runs already: /proc says what its descriptors mean, while it goes on.
//!
//! The process is not stopped, so that a look may come too late: the descriptor may have been closed by then and mean
//! another file. The events tell whether it was, and a look that they contradict is not used.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::tracing::Trace;
use rustc_hash::FxHashMap;

use super::events::{Event, Layouts, events, names};
use super::ring::SubBuffer;
use crate::calls::{Call, Processes};
use crate::operation::Files;

/// How often it is asked whether the process still runs.
const PAUSE: Duration = Duration::from_millis(20);

/// What /proc says of a descriptor.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) path: Vec<u8>,
    pub(super) position: u64,
    /// As open(2) numbers them.
    pub(super) flags: u32,
    /// When it was begun and ended, in ns of the events' clock.
    began_ns: u64,
    ended_ns: u64,
}

/// Looks a descriptor of a thread up; nothing where it is none, or means nothing that has a path here.
pub(super) fn look(thread: &str, descriptor: i32) -> Option<Look> {
    let began_ns = monotonic_raw_ns();
    let path: PathBuf = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    let information = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).ok()?;
    let value = |key: &str| information.lines().find_map(|line| line.strip_prefix(key).map(str::trim));
    Some(Look {
        path: path.is_absolute().then(|| path.into_os_string().into_encoded_bytes())?,
        position: value("pos:")?.parse().ok()?,
        flags: u32::from_str_radix(value("flags:")?, 8).ok()?,
        began_ns,
        ended_ns: monotonic_raw_ns(),
    })
}

/// The calls that threads are inside of: when that was seen, which, and with which arguments.
type Inside = FxHashMap<u32, (u64, u64, [u64; 6])>;

/// The call that a thread waits in; nothing where it runs.
fn inside(process: u32, thread: u32) -> Option<(u64, u64, [u64; 6])> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let id = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((monotonic_raw_ns(), id, arguments))
}

/// A process as it was found.
pub(super) struct Found {
    process: u32,
    threads: Vec<u32>,
    inside: Inside,
    descriptors: Vec<(i32, Look)>,
    began_ns: u64,
}

/// Records a process until it has ended, and all that came of it meanwhile, or until the interrupt.
pub(super) fn follow(trace: &Trace, process: u32, interrupt: &AtomicBool) -> fathom_sys::Result<Found> {
    let began_ns = monotonic_raw_ns();
    let threads = trace.of_process_and_its_children(process)?;
    let inside = threads.iter().filter_map(|&thread| Some((thread, inside(process, thread)?))).collect();
    let mut found = Found { process, threads, inside, descriptors: Vec::new(), began_ns };
    // One that has ended by now has none.
    let listed = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    for descriptor in listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let is_file = fs::metadata(format!("/proc/{process}/fd/{descriptor}")).is_ok_and(|one| one.is_file());
        if let Some(look) = look(&process.to_string(), descriptor).filter(|_| is_file) {
            found.descriptors.push((descriptor, look));
        }
    }
    while !interrupt.load(Ordering::Relaxed) && trace.follows_anybody()? {
        thread::sleep(PAUSE);
    }
    Ok(found)
}

/// Looks what opens have made up, as soon as the kernel tells of them.
#[derive(Default)]
pub(super) struct Watch {
    /// By the thread, and by when it left the call.
    seen: Mutex<FxHashMap<(u32, u64), Look>>,
}

impl Watch {
    /// Looks up what the opens in a sub-buffer have made.
    pub(super) fn see(&self, page: &[u8], layouts: &Layouts, calls: &FxHashMap<u64, &'static str>) {
        for event in SubBuffer::new(page).into_iter().flatten() {
            let Some((thread, Event::Left(id, made))) = layouts.event(event.bytes) else { continue };
            let opens =
                calls.get(&id).is_some_and(|name| matches!(*name, "open" | "openat" | "openat2" | "creat"));
            let Some(made) = i32::try_from(made).ok().filter(|made| opens && *made >= 0) else { continue };
            if let Some(look) = look(&thread.to_string(), made) {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.insert((thread, event.time_ns), look);
            }
        }
    }
}

/// Spans of time, which may overlap.
#[derive(Debug, Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// Puts them in the order of their beginnings, each with the latest end so far.
    fn settle(&mut self) {
        self.0.sort_unstable();
        let mut latest = 0;
        for (_, end) in &mut self.0 {
            latest = latest.max(*end);
            *end = latest;
        }
    }

    /// Whether any of them touches the time from `from` to `to`.
    fn meet(&self, from: u64, to: u64) -> bool {
        let begun = self.0.partition_point(|(begin, _)| *begin <= to);
        begun.checked_sub(1).is_some_and(|last| self.0[last].1 >= from)
    }
}

/// When descriptors of a number, of whichever process, may have changed; under none what may have changed all.
#[derive(Debug, Default)]
struct Changed(FxHashMap<Option<i32>, Spans>);

impl Changed {
    fn add(&mut self, descriptor: Option<i32>, span: (u64, u64)) {
        self.0.entry(descriptor).or_default().0.push(span);
    }

    fn meets(&self, descriptor: i32, from: u64, to: u64) -> bool {
        [Some(descriptor), None].iter().filter_map(|key| self.0.get(key)).any(|spans| spans.meet(from, to))
    }
}

/// When descriptors changed their meaning, and when their positions moved.
#[derive(Debug, Default)]
struct Changes {
    meanings: Changed,
    positions: Changed,
}

impl Changes {
    /// Finds the changes in the events and in the calls that were entered before; moves only up to `settled_ns`.
    fn find(
        kept: &[File],
        sub_buffer: usize,
        layouts: &Layouts,
        mut entered: Inside,
        settled_ns: u64,
    ) -> io::Result<Self> {
        let calls = names();
        let mut changes = Self::default();
        events(kept, sub_buffer, |time_ns, bytes| {
            match layouts.event(bytes) {
                Some((thread, Event::Entered(id, arguments))) => {
                    entered.insert(thread, (time_ns, id, arguments));
                }
                Some((thread, Event::Left(id, _))) => {
                    let known = entered.remove(&thread);
                    let known = known.filter(|(seen_ns, number, _)| *number == id && *seen_ns <= time_ns);
                    let name = calls.get(&id).copied().unwrap_or_default();
                    // A call that was entered unseen may have concerned any descriptor.
                    let (begun_ns, arguments) = known.map_or((0, None), |known| (known.0, Some(known.2)));
                    changes.add(name, arguments, (begun_ns, time_ns), settled_ns);
                }
                _ => {}
            }
            Ok(())
        })?;
        for (begun_ns, id, arguments) in entered.into_values() {
            let name = calls.get(&id).copied().unwrap_or_default();
            changes.add(name, Some(arguments), (begun_ns, u64::MAX), settled_ns);
        }
        changes.meanings.0.values_mut().chain(changes.positions.0.values_mut()).for_each(Spans::settle);
        Ok(changes)
    }

    fn add(&mut self, name: &str, arguments: Option<[u64; 6]>, span: (u64, u64), settled_ns: u64) {
        let descriptor = |place: usize| arguments.map(|all| all[place] as u32 as i32);
        match name {
            "close" => self.meanings.add(descriptor(0), span),
            "dup2" | "dup3" => self.meanings.add(descriptor(1), span),
            // A name may be another one by the time of the look.
            "close_range" | "execve" | "execveat" | "unlink" | "unlinkat" | "rename" | "renameat"
            | "renameat2" => {
                self.meanings.add(None, span);
            }
            "read" | "write" | "readv" | "writev" | "preadv2" | "pwritev2" | "lseek"
                if span.0 <= settled_ns =>
            {
                self.positions.add(descriptor(0), span);
            }
            _ => {}
        }
    }
}

/// Looks, and the changes that they must bear up against.
pub(super) struct Seen {
    looks: FxHashMap<(u32, u64), Look>,
    changes: Changes,
    /// Where descriptors stood that were open before: when that was seen, which, and where.
    places: VecDeque<(u64, i32, u64)>,
}

impl Seen {
    /// Enters a process as it was found, and keeps what was seen of it since.
    pub(super) fn new(
        found: Found,
        watch: Watch,
        kept: &[File],
        sub_buffer: usize,
        layouts: &Layouts,
        (processes, files): (&mut Processes, &mut Files),
    ) -> io::Result<Self> {
        let settled_ns = found.descriptors.iter().map(|(_, look)| look.ended_ns).max().unwrap_or(0);
        let looks = watch.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let changes = Changes::find(kept, sub_buffer, layouts, found.inside.clone(), settled_ns)?;
        let mut seen = Self { looks, changes, places: VecDeque::new() };
        seen.enter(found, processes, files);
        Ok(seen)
    }

    fn enter(&mut self, found: Found, processes: &mut Processes, files: &mut Files) {
        for (descriptor, look) in found.descriptors {
            if self.changes.meanings.meets(descriptor, found.began_ns, look.ended_ns) {
                continue;
            }
            processes.inherit(found.process, descriptor, files.id(&look.path), None, look.flags);
            if !self.changes.positions.meets(descriptor, look.began_ns, look.ended_ns) {
                self.places.push_back((look.ended_ns, descriptor, look.position));
            }
        }
        for thread in found.threads {
            processes.fork(found.process, thread, true, true);
        }
    }

    /// Enters where descriptors stood that were seen until `now_ns`.
    pub(super) fn place(&mut self, now_ns: u64, process: u32, processes: &mut Processes) {
        while let Some(&(_, descriptor, position)) = self.places.front().filter(|one| one.0 <= now_ns) {
            self.places.pop_front();
            processes.place(process, descriptor, position);
        }
    }

    /// Path and flags of what an open has made, where nothing changed between its end and the look.
    pub(super) fn opened(&mut self, call: &Call, ended_ns: u64) -> Option<(Vec<u8>, u32)> {
        let look = self.looks.remove(&(call.thread, ended_ns))?;
        let made = i32::try_from(call.result?).ok()?;
        let has_changed = self.changes.meanings.meets(made, ended_ns, look.ended_ns);
        (!has_changed).then_some((look.path, look.flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Under, What};
    use crate::operation::{CallKind, Operation};

    fn seen(changes: &[(&str, u64, (u64, u64))]) -> Seen {
        let mut all = Changes::default();
        for &(name, descriptor, span) in changes {
            all.add(name, Some([descriptor; 6]), span, u64::MAX);
        }
        all.meanings.0.values_mut().chain(all.positions.0.values_mut()).for_each(Spans::settle);
        Seen { looks: FxHashMap::default(), changes: all, places: VecDeque::new() }
    }

    fn look(began_ns: u64, ended_ns: u64) -> Look {
        Look { path: b"/f".to_vec(), position: 4096, flags: 2, began_ns, ended_ns }
    }

    fn call(what: CallKind, descriptor: i32, result: i64) -> Call<'static> {
        Call {
            thread: 9,
            start_ns: 0,
            duration_ns: None,
            what: What::Do(what),
            descriptor,
            offset: None,
            length: 10,
            flags: 0,
            result: Some(result),
            path: None,
            under: Under::Here,
            to: None,
        }
    }

    #[test]
    fn an_open_is_named_if_its_descriptor_still_was_the_same() {
        let named = |changes: &[(&str, u64, (u64, u64))]| {
            let mut seen = seen(changes);
            seen.looks.insert((9, 100), look(150, 200));
            seen.opened(&call(CallKind::Open, -1, 5), 100).is_some()
        };
        assert!(named(&[]));
        assert!(named(&[("close", 5, (50, 99)), ("close", 6, (120, 130)), ("close", 5, (201, 210))]));
        for changes in [
            ("close", 5, (150, 160)),
            ("dup2", 5, (200, 300)),
            ("close", 5, (90, u64::MAX)),
            ("execve", 0, (120, 130)),
        ] {
            assert!(!named(&[("close", 5, (1, 2)), changes]), "{changes:?}");
        }
    }

    #[test]
    fn what_was_open_before_has_its_place_where_it_did_not_move_meanwhile() {
        let offset = |changes: &[(&str, u64, (u64, u64))]| {
            let (mut processes, mut files) = (Processes::default(), Files::default());
            let descriptors = vec![(3, look(150, 200))];
            let inside = Inside::default();
            let found = Found { process: 9, threads: vec![9], inside, descriptors, began_ns: 100 };
            let mut seen = seen(changes);
            seen.enter(found, &mut processes, &mut files);
            seen.place(199, 9, &mut processes);
            let before = processes.apply(&call(CallKind::Read, 3, 10), &mut files);
            seen.place(200, 9, &mut processes);
            let after = processes.apply(&call(CallKind::Read, 3, 10), &mut files);
            [before, after].map(|one: Option<Operation>| one.map(|one| one.offset))
        };
        assert_eq!(offset(&[]), [Some(None), Some(Some(4096))]);
        assert_eq!(offset(&[("read", 3, (120, 140))]), [Some(None), Some(Some(4096))]);
        assert_eq!(offset(&[("read", 3, (140, 160))]), [Some(None), Some(None)]);
        assert_eq!(offset(&[("close", 3, (120, 140))]), [None, None]);
    }
}
