//! The proof of a cache state: which pages are in the page cache just before a pass.

use fathom_sys::cache::{cachestat, evict, mincore};
use fathom_sys::file::{self, pread};
use fathom_sys::{Error, facts};
use std::os::fd::AsFd;

use super::files::Files;
use crate::machine::Fault;
use fathom_program::workload::{CacheState, ScratchFile};

/// The scratch file by which that is found out.
pub(super) const FILE: &str = "residency";

/// How this mount lets a program see what is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Residency {
    /// By `cachestat(2)`: exact, and touches nothing.
    Cachestat,
    /// By `mincore(2)` on a mapping.
    Mincore,
    /// Not at all: states are unknown.
    Invisible,
}

/// Finds a way that is seen to work here: it must show a page that was just written.
///
/// A stacked file system may answer for its own, empty cache while the data is in that of the layer
/// below; such an answer must not count as a proof of coldness.
pub(crate) fn detect(files: &mut Files) -> Result<Residency, Fault> {
    let name = FILE;
    let size = 4 * facts::page_size();
    files.provide(&[ScratchFile::filled(name, size)], &|| Ok(()))?;
    let file = files.descriptor(name)?;
    let mut byte = [0];
    let read = pread(file.as_fd(), &mut byte, 0);
    match read.map_err(|errno| Error::new("read", &files.path(name), errno).at(0))? {
        1 => {}
        moved => return Err(Fault::short("read", &files.path(name), 0, 1, moved)),
    }
    if cachestat(&file, 0, 1).is_ok_and(|stat| stat.nr_cache == 1) {
        return Ok(Residency::Cachestat);
    }
    let page = facts::page_size() as usize;
    if mincore(&file, 0, page, page).is_ok_and(|pages| pages == [true]) {
        // mincore says "all cached" for files of others; it must also be able to say no.
        let dropped = evict(&file, 0, 0).is_ok();
        let seen = mincore(&file, 0, size as usize, page).is_ok_and(|pages| pages.contains(&false));
        if dropped && seen {
            return Ok(Residency::Mincore);
        }
    }
    Ok(Residency::Invisible)
}

impl Residency {
    /// How many pages of a range are in the cache, and how many it has; none where that is invisible.
    pub(crate) fn count(
        self,
        file: &impl AsFd,
        offset: u64,
        length: u64,
    ) -> Result<Option<(u64, u64)>, file::Errno> {
        let page = facts::page_size();
        let low = offset / page * page;
        let pages = (offset + length - low).div_ceil(page);
        let cached = match self {
            Residency::Invisible => return Ok(None),
            Residency::Cachestat => cachestat(file, low, pages * page)?.nr_cache,
            Residency::Mincore => {
                let pages = mincore(file, low, (pages * page) as usize, page as usize)?;
                pages.into_iter().filter(|&cached| cached).count() as u64
            }
        };
        Ok(Some((cached, pages)))
    }

    /// Whether anything can be seen.
    pub(super) fn is_visible(self) -> bool {
        self != Residency::Invisible
    }

    /// How many bytes of a file are in the cache; none where that is invisible.
    pub(super) fn bytes(self, file: &impl AsFd) -> Result<Option<u64>, file::Errno> {
        let length = file::status(file.as_fd())?;
        let counted = if length == 0 { Some((0, 0)) } else { self.count(file, 0, length)? };
        Ok(counted.filter(|_| self.is_visible()).map(|(cached, _)| cached * facts::page_size()))
    }

    /// The state of each position of `size` bytes, in the order of `offsets`.
    pub(super) fn states(
        self,
        files: &Files,
        name: &str,
        size: u64,
        offsets: &[u64],
    ) -> Result<Vec<CacheState>, Fault> {
        if self == Residency::Invisible {
            return Ok(vec![CacheState::Unknown; offsets.len()]);
        }
        let file = files.descriptor(name)?;
        let page = facts::page_size();
        let failed = |errno| Error::new("ask for the cached pages of", &files.path(name), errno);
        let low = offsets.iter().min().copied().unwrap_or(0) / page * page;
        let high = offsets.iter().max().copied().unwrap_or(0) + size.max(1);
        let pages = (high - low).div_ceil(page);
        if self == Residency::Cachestat {
            let whole = cachestat(&file, low, pages * page).map_err(failed)?.nr_cache;
            if whole == 0 {
                return Ok(vec![CacheState::Cold; offsets.len()]);
            }
            if whole == pages {
                return Ok(vec![CacheState::Cached; offsets.len()]);
            }
        }
        let cached = mincore(&file, low, (pages * page) as usize, page as usize).map_err(failed)?;
        let state = |&offset: &u64| {
            let first = ((offset - low) / page) as usize;
            let last = ((offset - low + size.max(1) - 1) / page) as usize;
            let here = &cached[first..=last];
            match (here.iter().all(|&page| page), here.iter().any(|&page| page)) {
                (true, _) => CacheState::Cached,
                (false, false) => CacheState::Cold,
                (false, true) => CacheState::Unknown,
            }
        };
        Ok(offsets.iter().map(state).collect())
    }
}
