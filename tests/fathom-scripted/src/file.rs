//! One simulated file: its blocks, its pages, and what each operation on it costs in ns.

use std::collections::HashSet;

use super::cache::Cache;
use super::directory::Directory;
use super::read_ahead::{Limits, Reader, State};
use super::replacement::Event;
use super::{Quiet, Script, Writes};
use fathom_program::workload::CacheState;

/// The device below all files: one request after the other.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// When it has done with what it was asked so far, in ns.
    idle_from: f64,
    /// When a server has answered each request that it is not done with.
    under_way: Vec<f64>,
}

/// A file, whether it is open or not.
#[derive(Debug)]
pub(super) struct File {
    size: u64,
    blocks: Vec<bool>,
    /// The blocks of pointers, by their level and their place among those of it.
    pointer_blocks: HashSet<(u32, u64)>,
    cache: Cache,
    dirty_bytes: u64,
    /// Since when there are dirty bytes, in ns.
    dirty_since: f64,
    /// The last transaction that a change of its metadata was part of.
    transaction: Option<u64>,
    /// What the open file remembers of its reader.
    open: Option<State>,
    /// Whether it is open past the cache.
    direct: bool,
    /// Since when its attributes are known, in ns.
    attributes: Option<f64>,
    /// What it holds, where it is a directory.
    pub(super) directory: Option<Directory>,
}

impl Device {
    /// When `bytes` asked for at `now` will have arrived.
    fn fetch(&mut self, script: &Script, now: f64, bytes: u64) -> f64 {
        let transfer = bytes as f64 * script.costs.device_byte;
        let Some(server) = script.server else {
            self.idle_from = self.idle_from.max(now) + transfer;
            return self.idle_from + script.costs.device_latency;
        };
        self.under_way.retain(|&done| done > now);
        self.under_way.sort_by(f64::total_cmp);
        let turn = self.under_way.len().checked_sub(server.in_flight).map_or(now, |at| self.under_way[at]);
        let done = turn + script.metadata.round_trip + transfer;
        self.under_way.push(done);
        done
    }
}

impl File {
    pub(super) fn new(script: &Script) -> Self {
        let least_order = (script.block / script.page).max(1).ilog2();
        Self {
            size: 0,
            blocks: Vec::new(),
            pointer_blocks: HashSet::new(),
            cache: Cache::new(least_order, script.cache.is_some()),
            dirty_bytes: 0,
            dirty_since: 0.0,
            transaction: None,
            open: None,
            direct: false,
            attributes: None,
            directory: None,
        }
    }

    /// Makes it a directory with so many files, where that is wanted.
    pub(super) fn is_directory(&mut self, entries: Option<u64>) {
        if let Some(entries) = entries {
            self.directory.get_or_insert_default().fill(entries);
        }
    }

    /// The ns of asking for its attributes.
    pub(super) fn stat(&mut self, script: &Script, now: f64, anew: bool) -> f64 {
        script.metadata.attributes(&mut self.attributes, now, anew)
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A new descriptor: the old one's reader is forgotten.
    pub(super) fn open(&mut self) {
        self.open = Some(State::default());
        self.direct = false;
    }

    /// A new descriptor whose reads go past the cache.
    pub(super) fn open_direct(&mut self) {
        self.open();
        self.direct = true;
    }

    /// The ns of closing it beyond the call itself.
    pub(super) fn close(&mut self, script: &Script) -> f64 {
        self.open = None;
        match script.server {
            Some(server) if server.writes == Writes::FlushedAtClose => self.sync(script),
            _ => 0.0,
        }
    }

    /// Lets a hole follow the data.
    pub(super) fn lengthen(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// What became of pages since this was last asked.
    pub(super) fn drain_events(&mut self) -> Vec<Event> {
        self.cache.drain_events()
    }

    /// Drops one page.
    pub(super) fn forget(&mut self, index: u64) {
        self.cache.forget(index);
    }

    /// Data up to `size`, written and synced: they stay in the cache until they are evicted.
    pub(super) fn fill(&mut self, script: &Script, size: u64) {
        self.write(script, self.size, size - self.size);
        self.dirty_bytes = 0;
    }

    /// The ns of a write beyond the call itself.
    pub(super) fn write(&mut self, script: &Script, offset: u64, size: u64) -> f64 {
        let costs = &script.costs;
        let mut cost = size as f64 * costs.copied_byte;
        let end = offset + size;
        let order = self.cache.least_order();
        let unit = script.page << order;
        for folio in (offset / unit)..end.div_ceil(unit) {
            let first = folio << order;
            match self.cache.page(first) {
                None => {
                    self.cache.insert(first, order, false, 0.0);
                    self.cache.change(first, |page| page.new = true);
                    cost += costs.first_in_page;
                }
                Some(page) if page.new => {
                    self.cache.change(first, |page| page.new = false);
                    cost += costs.second_in_page;
                }
                Some(_) => {}
            }
        }
        for block in (offset / script.block) as usize..end.div_ceil(script.block) as usize {
            if self.blocks.len() <= block {
                self.blocks.resize(block + 1, false);
            }
            if !std::mem::replace(&mut self.blocks[block], true) {
                cost += costs.first_in_block;
                // Written front to back, the first block of a cluster is its first write.
                let clustered = script.cluster > script.block;
                if clustered && (block as u64 * script.block).is_multiple_of(script.cluster) {
                    cost += costs.first_in_cluster;
                }
                cost += self.point_to(script, block as u64) as f64 * costs.pointer_block;
            }
        }
        self.size = self.size.max(end);
        match script.server {
            Some(server) if self.direct || server.writes == Writes::Through => {
                cost += size.div_ceil(server.write_request) as f64 * script.metadata.round_trip;
            }
            _ => self.dirty_bytes += size,
        }
        cost
    }

    /// Makes the blocks of pointers that lead to a block, and counts those that were not there yet.
    ///
    /// Source: `ext4_block_to_path` of `fs/ext4/indirect.c`.
    fn point_to(&mut self, script: &Script, block: u64) -> usize {
        let Some(mut beyond) = script.direct_pointers.and_then(|direct| block.checked_sub(direct)) else {
            return 0;
        };
        let (per_block, mut depth, mut reach) = (script.block / 4, 1, script.block / 4);
        while beyond >= reach {
            beyond -= reach;
            depth += 1;
            reach *= per_block;
        }
        // Each depth has a tree of its own, so that its number is part of the level's.
        let mut new = |level: u32| {
            let index = beyond / per_block.pow(level + 1);
            usize::from(self.pointer_blocks.insert((8 * depth + level, index)))
        };
        (0..depth).map(&mut new).sum()
    }

    /// The ns of a read beyond the call itself; `now` is when it begins.
    ///
    /// Source: `filemap_read` of `mm/filemap.c`: a miss is fetched, a mark sets off the next window,
    /// and a page on its way is waited for.
    pub(super) fn read(
        &mut self,
        script: &Script,
        device: &mut Device,
        now: f64,
        offset: u64,
        size: u64,
    ) -> f64 {
        if let (true, Some(server)) = (self.direct, script.server) {
            let copied = size as f64 * script.costs.copied_byte;
            return size.div_ceil(server.read_request) as f64 * script.metadata.round_trip + copied;
        }
        if self.direct && script.evictable {
            let asked = now + script.costs.submission;
            return device.fetch(script, asked, size) - now;
        }
        let end = (offset + size).div_ceil(script.page);
        let beyond = size.saturating_sub(script.costs.copy_knee) as f64;
        let copied = size as f64 * script.costs.copied_byte + beyond * script.costs.byte_beyond_knee;
        let mut time = now + copied;
        let mut index = offset / script.page;
        while index < end {
            if !self.cache.holds(index) {
                time =
                    self.fetch(script, device, time, |reader| reader.page_cache_sync_ra(index, end - index));
            }
            let Some(page) = self.cache.page(index) else { break };
            self.cache.touch(index);
            if page.marked {
                self.cache.change(index, |page| page.marked = false);
                time = self.fetch(script, device, time, |reader| {
                    reader.page_cache_async_ra(page.folio, page.folio_pages, end - page.folio);
                });
            }
            time = time.max(page.ready);
            index = page.folio + page.folio_pages;
        }
        if let Some(state) = &mut self.open {
            state.previous = Some((offset + size) / script.page);
        }
        time - now
    }

    /// The ns of bringing in what is missing, without waiting for the device. It is no use of what is there.
    pub(super) fn prefetch(
        &mut self,
        script: &Script,
        device: &mut Device,
        now: f64,
        offset: u64,
        size: u64,
    ) -> f64 {
        let (first, end) = (offset / script.page, (offset + size).div_ceil(script.page));
        self.fetch(script, device, now, |reader| reader.force_page_cache_ra(first, end - first)) - now
    }

    /// Lets the read-ahead rule decide at `now` and asks the device for what it wants; when the
    /// reader may go on.
    fn fetch(
        &mut self,
        script: &Script,
        device: &mut Device,
        now: f64,
        decide: impl FnOnce(&mut Reader<'_>),
    ) -> f64 {
        let limits = Limits {
            window: script.read_ahead.window / script.page,
            largest_io: script.read_ahead.largest_io / script.page,
            large_folios: script.read_ahead.large_folios,
            file: self.size.div_ceil(script.page),
        };
        let mut state = self.open.unwrap_or_default();
        let mut reader = Reader { limits, cache: &mut self.cache, state: &mut state, fetched: Vec::new() };
        decide(&mut reader);
        let fetched = reader.fetched;
        self.open = self.open.map(|_| state);
        if fetched.is_empty() {
            return now;
        }
        let block = |&index: &u64| (index * script.page / script.block) as usize;
        // Where a server keeps the file, it alone knows of holes.
        let is_here = script.server.is_none();
        if is_here && fetched.iter().map(block).all(|block| !self.blocks.get(block).is_some_and(|&set| set)) {
            fetched.iter().for_each(|&index| self.cache.arrives(index, 0.0));
            return now + fetched.len() as f64 * script.costs.zeroed_page;
        }
        let asked = now + script.costs.submission;
        let ready = device.fetch(script, asked, fetched.len() as u64 * script.page);
        fetched.iter().for_each(|&index| self.cache.arrives(index, ready));
        asked
    }

    /// Bytes will be dirty from `now` on, unless some are already.
    pub(super) fn dirty_from(&mut self, now: f64) {
        if self.dirty_bytes == 0 {
            self.dirty_since = now;
        }
    }

    /// Its metadata are part of a transaction.
    pub(super) fn changed_in(&mut self, transaction: u64) {
        self.transaction = Some(transaction);
    }

    /// The last transaction that its metadata were part of.
    pub(super) fn transaction(&self) -> Option<u64> {
        self.transaction
    }

    /// What has been due at the flusher's last look is written by `now`.
    pub(super) fn expire(&mut self, quiet: Option<Quiet>, now: f64) {
        if quiet.is_some_and(|quiet| quiet.written(self.dirty_since) <= now) {
            self.dirty_bytes = 0;
        }
    }

    /// The ns of writing what is dirty.
    pub(super) fn sync(&mut self, script: &Script) -> f64 {
        let dirty = std::mem::take(&mut self.dirty_bytes);
        if dirty == 0 || !script.evictable {
            return 0.0;
        }
        let way = script.server.map_or(script.costs.device_latency, |_| script.metadata.round_trip);
        way + dirty as f64 * script.costs.device_byte
    }

    /// The ns of writing what is dirty and forgetting all pages, where the data have a home elsewhere.
    pub(super) fn evict(&mut self, script: &Script) -> f64 {
        let cost = self.sync(script);
        if script.evictable {
            self.cache.clear();
        }
        cost
    }

    /// Which pages of `size` bytes at `offset` are in the cache, on their way or there.
    pub(super) fn state(&self, script: &Script, offset: u64, size: u64) -> CacheState {
        let pages = offset / script.page..(offset + size.max(1)).div_ceil(script.page);
        let (count, held) = (pages.end - pages.start, pages.filter(|&index| self.cache.holds(index)).count());
        match held as u64 {
            0 => CacheState::Cold,
            held if held == count => CacheState::Cached,
            _ => CacheState::Unknown,
        }
    }
}
