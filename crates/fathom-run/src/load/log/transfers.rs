//! `write_iolog`: a log of version 3 that fio and [`read_iolog`](fathom_program::job::IoLog) replay.

use std::fmt::Write as _;

use fathom_program::call::{Call, CallKind};
use fathom_program::job::Job;

/// A call that was made.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// The call.
    pub call: Call,
    /// When the call began, in ticks.
    pub start: u64,
    /// Whether the call is one of the job's transfers and syncs.
    pub counts: bool,
}

/// What a thread did to its files, under the names that fio gives them. The first call begins at zero; files are open from
/// the beginning to the end.
pub(in crate::load) fn text(job: &Job, thread: u32, calls: &[Made], ns_per_tick: f64) -> String {
    let names = job.fio_paths(thread, None);
    // The last sync is no transfer, and logged; one before a verification is not.
    let is_logged = |made: &&Made| made.counts || made.call.kind == CallKind::Fsync && job.verify.is_none();
    let mut calls: Vec<&Made> = calls.iter().filter(is_logged).collect();
    // Requests are told when they end.
    calls.sort_by_key(|made| made.start);
    let first = calls.first().map_or(0, |made| made.start);
    let mut text = "fio version 3 iolog\n".to_owned();
    let mut now = 0;
    for what in ["add", "open"] {
        for name in &names {
            let _ = writeln!(text, "0 {name} {what}");
        }
    }
    for Made { call, start, .. } in calls {
        let what = match call.kind {
            CallKind::Discard => "trim",
            CallKind::Fsync => "sync",
            CallKind::Fdatasync => "datasync",
            CallKind::SyncRange => "sync_file_range",
            kind if kind.is_read() => "read",
            kind if kind.is_write() => "write",
            _ => continue,
        };
        now = ((start - first) as f64 * ns_per_tick / 1e3) as u64;
        let Some(name) = names.get(call.descriptor as usize) else { continue };
        let _ = writeln!(text, "{now} {name} {what} {} {}", call.offset, call.bytes);
    }
    for name in &names {
        let _ = writeln!(text, "{now} {name} close");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_program::call::FileId;
    use fathom_program::job::{IoLog, Replay};

    #[test]
    fn what_is_written_can_be_replayed() {
        let job = Job::named("x");
        let made = |kind, offset, start, counts| Made {
            call: Call::new(kind, FileId(0)).at(offset, 512),
            start,
            counts,
        };
        let calls = [
            made(CallKind::Pwrite, 512, 9_000, true),
            made(CallKind::Pread, 0, 5_000, true),
            made(CallKind::Fdatasync, 0, 20_000, true),
            made(CallKind::DontNeed, 0, 30_000, false),
        ];
        let text = text(&job, 0, &calls, 1.0);
        assert_eq!(
            text,
            "fio version 3 iolog\n0 x.0.0 add\n0 x.0.0 open\n0 x.0.0 read 0 512\n4 x.0.0 write 512 512\n\
             15 x.0.0 datasync 0 512\n15 x.0.0 close\n"
        );
        assert!(IoLog::parse(&text, &Replay::default()).is_ok());
    }
}
