//! `strace -f -ttt -T`, with `-y` or without.
//!
//! ```text
//! 18617 1795324446.038852 read(3</etc/hostname>, "name\n", 131072) = 5 <0.000012>
//! 18616 1795324446.037196 vfork( <unfinished ...>
//! 18616 1795324446.037775 <... vfork resumed>) = 18617 <0.000566>
//! ```
//! With `-y` strace names the file of each descriptor; without, descriptors are followed from their opens on,
//! and calls on others are ignored. Source: strace(1).

mod call;
mod errno;

use memchr::memmem;
use rustc_hash::FxHashMap;

use self::call::{Parsed, parse};
use super::text::Text;
use super::{Lines, Output};
use crate::calls::{Call, Processes, What};

/// More threads than that are not inside of calls at once.
const INSIDE: usize = 1 << 16;
/// Of a call's beginning, which may quote data.
const BEGINNING: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Reader {
    processes: Processes,
    /// Calls that have begun: when, and what stood there.
    begun: FxHashMap<u32, (i64, Vec<u8>)>,
    whole: Vec<u8>,
    /// Where the first process works, until that is known.
    directory: Option<Vec<u8>>,
}

impl Reader {
    /// A reader of a log whose first process begins in `directory`.
    pub(super) fn new(directory: Option<Vec<u8>>) -> Self {
        Self { directory, ..Self::default() }
    }
}

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.is_empty() || line.starts_with(b"strace: ") {
            output.ignored += 1;
            return Ok(());
        }
        let (thread, start_ns, text) = beginning(line)?;
        if let Some(directory) = self.directory.take() {
            self.processes.work_in(thread, directory);
        }
        self.adopt(thread);
        if let Some(resumed) = text.strip_prefix(b"<... ") {
            let at = memmem::find(resumed, b" resumed>").ok_or("a resumed call without its name")?;
            let rest = &resumed[at + b" resumed>".len()..];
            let Some((start_ns, first)) = self.begun.remove(&thread) else {
                // It began before the trace did.
                output.ignored += 1;
                return Ok(());
            };
            let mut whole = std::mem::take(&mut self.whole);
            whole.clear();
            whole.extend_from_slice(&first);
            whole
                .extend_from_slice(rest.strip_prefix(b" ").filter(|_| first.ends_with(b" ")).unwrap_or(rest));
            let taken = self.call(thread, start_ns, &whole, output);
            self.whole = whole;
            return taken;
        }
        if let Some(first) = text.strip_suffix(b"<unfinished ...>") {
            if self.begun.len() >= INSIDE || first.len() > BEGINNING {
                return Err("too much that is unfinished");
            }
            self.begun.insert(thread, (start_ns, first.to_vec()));
            return Ok(());
        }
        self.call(thread, start_ns, text, output)
    }
}

impl Reader {
    fn call(
        &mut self,
        thread: u32,
        start_ns: i64,
        text: &[u8],
        output: &mut Output,
    ) -> Result<(), &'static str> {
        if text.starts_with(b"+++ ") {
            self.processes.apply(&Call::new(thread, start_ns, What::Exit), &mut output.files);
            output.ignored += 1;
            return Ok(());
        }
        if text.starts_with(b"--- ") {
            output.ignored += 1;
            return Ok(());
        }
        match parse(thread, start_ns, text)? {
            Parsed::Call(call) => match self.processes.apply(&call, &mut output.files) {
                Some(operation) => output.operations.push(operation),
                None => output.ignored += 1,
            },
            Parsed::Other => output.ignored += 1,
        }
        Ok(())
    }

    /// A thread's first line may come before the line in which its creator's call returns.
    fn adopt(&mut self, thread: u32) {
        if self.begun.is_empty() || self.processes.knows(thread) {
            return;
        }
        let mut creators = self.begun.iter().filter_map(|(creator, (_, first))| match call::fork(first) {
            Some(What::Fork { shares, is_thread }) => Some((*creator, shares, is_thread)),
            _ => None,
        });
        if let (Some((creator, shares, is_thread)), None) = (creators.next(), creators.next()) {
            self.processes.fork(creator, thread, shares, is_thread);
        }
    }
}

/// `[pid 7] 1.5 rest`, `7 1.5 rest` or `1.5 rest`.
fn beginning(line: &[u8]) -> Result<(u32, i64, &[u8]), &'static str> {
    let mut text = Text(line);
    let bracketed = text.0.starts_with(b"[pid");
    if bracketed {
        text.0 = &text.0[4..];
        text.spaces();
    }
    let before = text;
    let mut thread = text.number().ok_or("no process and no time")?;
    if bracketed && !text.skip(b']') {
        return Err("no process");
    }
    if !bracketed && text.0.first() == Some(&b'.') {
        (text, thread) = (before, 0);
    }
    text.spaces();
    let has_decimals = text.0.iter().take(20).any(|&byte| byte == b'.');
    let start_ns = text.seconds_ns().filter(|_| has_decimals).ok_or("no time: run strace with -ttt")?;
    let thread = u32::try_from(thread).map_err(|_| "no process")?;
    if !text.skip(b' ') {
        return Err("no time: run strace with -ttt");
    }
    text.spaces();
    Ok((thread, start_ns, text.0))
}
