//! Dirty pages go to the device: what the flusher and a sync have in common.

use super::{Effects, State};
use crate::io_path::request::{Request, Urgency};
use crate::page_cache::FileId;

/// Dirty pages that lie one behind the other, for one write.
struct Run {
    first: u64,
    end: u64,
    /// Pages that the folios have which begin in it.
    held: u64,
    /// Folios that it writes, in whole or in part.
    folios: u64,
}

impl State {
    /// Sends dirty folios of a range of pages to the device until they have `most` pages. Returns how many pages they
    /// have.
    pub(crate) fn write_out(
        &mut self,
        file: FileId,
        [first, end]: [u64; 2],
        most: u64,
        urgency: Urgency,
        effects: &mut Effects,
    ) -> u64 {
        let (mut at, mut taken) = (first, 0);
        let mut run: Option<Run> = None;
        while taken < most
            && let Some(next) = self.writeback.dirty(file).pages.next(at).filter(|&next| next < end)
        {
            let Some(folio) = self.cache.folio(file, next) else {
                self.writeback.dirty(file).pages.remove(next, next + 1);
                continue;
            };
            self.cache.set_dirty(folio, false);
            taken += folio.pages;
            let (mut held, mut from) = (folio.pages, next);
            at = folio.first + folio.pages;
            while from < at {
                let dirty = &mut self.writeback.dirty(file).pages;
                let until = dirty.run_end(from, at.min(from + self.limits.largest_io));
                dirty.remove(from, until);
                match &mut run {
                    Some(run) if run.end == from && until - run.first <= self.limits.largest_io => {
                        (run.end, run.held, run.folios) = (until, run.held + held, run.folios + 1);
                    }
                    run => {
                        let earlier = run.replace(Run { first: from, end: until, held, folios: 1 });
                        self.send_run(file, earlier, urgency, effects);
                    }
                }
                held = 0;
                from = self.writeback.dirty(file).pages.next(until).unwrap_or(at);
            }
        }
        self.send_run(file, run, urgency, effects);
        self.writeback.dirty(file).cursor = at;
        taken
    }

    /// One write of a run of pages, if there is a run.
    fn send_run(&mut self, file: FileId, run: Option<Run>, urgency: Urgency, effects: &mut Effects) {
        let Some(Run { first, end, held, folios }) = run else { return };
        let request = Request::write(self.ids.next(), file, first, end - first, urgency);
        let pointers = self.allocation.written_back(file, [first, end]);
        self.journal.change_pointers(pointers);
        self.cache.set_writeback(file, first, end - first, true);
        self.send(Request { folios, ..request }, held, effects);
    }

    /// A write goes to the device that holds pages of folios.
    pub(crate) fn send(&mut self, request: Request, held: u64, effects: &mut Effects) {
        effects.requests.push(request);
        self.writeback.send(request, held);
    }

    /// Makes a file's dirty folios clean in no time.
    pub(crate) fn clean(&mut self, file: FileId) {
        let dirty = std::mem::take(&mut self.writeback.dirty(file).pages);
        let mut at = 0;
        while let Some(next) = dirty.next(at) {
            self.allocation.written_back(file, [next, dirty.run_end(next, u64::MAX)]);
            let folio = self.cache.folio(file, next);
            at = folio.map_or(next + 1, |folio| folio.first + folio.pages);
            if let Some(folio) = folio {
                self.cache.set_dirty(folio, false);
            }
        }
        self.allocation.write_pointers(file);
    }
}
