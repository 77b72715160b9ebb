//! What a sync writes and waits for.

use fathom_net::Time;

use super::{Barrier, Flusher, Flying, Inner, State};
use crate::file_read::PAGE;
use crate::io_path::{At, Kind, Request, Urgency, Work};
use crate::page_cache::FileId;
use crate::parameters::Kernel;

impl State {
    /// Begins to write what a sync asks for. The jobs that have nothing to wait for are among
    /// [`take_synced`](Self::take_synced).
    pub(in crate::io_path) fn begin_sync(&mut self, work: &Work, now: Time) {
        let jiffy = self.since_start(now) / self.0.writeback.jiffy;
        let inner = &mut *self.0;
        let call = work.call;
        let file = (call.kind != Kind::SyncAll).then_some(call.file);
        let pages = match call.kind {
            Kind::WriteOut => [call.offset / PAGE, (call.offset + call.bytes).div_ceil(PAGE)],
            _ => [0, u64::MAX],
        };
        let files = file.map_or(0..inner.files.len() as u32, |file| file.0..file.0 + 1);
        inner.writeback.speed.start_estimate(jiffy, inner.writeback.flying.is_empty());
        // What goes through the journal waited for its place, until `ext4_sync_file` of 6.4 wrote it there as well.
        let is_early = matches!(inner.limits.kernel, Kernel::V2_6 | Kernel::Fixed);
        let is_journaled =
            inner.journal.takes_data() && is_early && matches!(call.kind, Kind::Sync | Kind::SyncData);
        for file in files.filter(|_| !is_journaled) {
            inner.write_out(FileId(file), pages, u64::MAX, Urgency::Sync);
            if call.kind != Kind::WriteOut {
                inner.write_pointers(FileId(file));
            }
        }
        let writeback = &mut inner.writeback;
        writeback.speed.estimate(jiffy);
        let is_of = |flying: &&Flying| file.is_none_or(|file| file == flying.request.file);
        let (job, before) = (work.turn.job, writeback.written_out);
        match writeback.flying.iter().filter(is_of).count() {
            0 => writeback.synced.push(job),
            left => writeback.barriers.push(Barrier { job, file, before, left }),
        }
    }

    /// A write of the device is done.
    pub(in crate::io_path) fn written(&mut self, request: &Request, now: Time) {
        self.note(now);
        if self.journal_written(request) {
            return;
        }
        let Inner { writeback, cache, .. } = &mut *self.0;
        let Some(at) = writeback.flying.iter().position(|flying| flying.request.id == request.id) else {
            return;
        };
        let Flying { number, held, .. } = writeback.flying.swap_remove(at);
        cache.set_writeback(request.file, request.first, request.pages, false);
        writeback.pages -= held;
        writeback.speed.written += held;
        for barrier in &mut writeback.barriers {
            if barrier.file.is_none_or(|file| file == request.file) && number < barrier.before {
                barrier.left -= 1;
                if barrier.left == 0 {
                    writeback.synced.push(barrier.job);
                }
            }
        }
        writeback.barriers.retain(|barrier| barrier.left > 0);
        if let Flusher::Waits(reason) = writeback.flusher
            && writeback.flying.len() < writeback.queue
        {
            (writeback.flusher, writeback.wakes) = (Flusher::Writes(reason), true);
        }
    }
}

impl Inner {
    /// A sync writes the blocks that lead to a file's data, where no journal does.
    fn write_pointers(&mut self, file: FileId) {
        for at in self.allocation.take_dirty(file) {
            let at: Option<At> = (!self.journal.takes_pointers()).then_some(at);
            if at.is_some() {
                let id = self.fetch_id();
                self.fly(Request { at, ..Request::write(id, file, 0, 0, Urgency::Sync) }, 0);
            }
        }
    }
}
