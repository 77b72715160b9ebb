//! What a program's call is to the layers below.

use fathom_program::call::{Call, CallKind, Direction};

use crate::io_path::state::State;
use crate::io_path::work::SystemCall;

/// `O_TRUNC` of open(2).
const O_TRUNC: u32 = 0o1000;

/// A call as the layers below see it: what costs as much and changes the same.
pub(super) fn served(call: &Call, descriptor: u32, state: &State) -> SystemCall {
    let Call { offset, bytes, fresh_pages, .. } = *call;
    let request = SystemCall {
        kind: call.kind,
        file: call.file,
        descriptor,
        fresh_pages,
        faults: None,
        offset,
        bytes,
        flags: if call.kind == CallKind::SyncRange { call.flags } else { 0 },
        is_queued: false,
        then: None,
    };
    if let Some(file) = call.frees {
        // Its pages go, those that were never written too.
        return SystemCall { kind: CallKind::Create, file, ..request };
    }
    let kind = match call.kind {
        kind if kind.direction().is_some() && call.bytes == 0 => CallKind::Seek,
        kind => match kind.direction() {
            Some(Direction::Read) => CallKind::Read,
            Some(Direction::Write) => CallKind::Write,
            None => kind,
        },
    };
    let kind = match kind {
        CallKind::Open if call.flags & O_TRUNC != 0 && state.size(call.file) > 0 => CallKind::Create,
        CallKind::Truncate if call.bytes == 0 && state.size(call.file) > 0 => CallKind::Create,
        // There is no other file system.
        CallKind::Syncfs => CallKind::Sync,
        CallKind::DontNeed => CallKind::Evict,
        kind => kind,
    };
    let then = (kind == CallKind::Write).then(|| state.files.get(call.file).syncs).flatten();
    SystemCall { kind, then, ..request }
}
