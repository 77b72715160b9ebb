//! The read-ahead of Linux 6.18, `mm/readahead.c`, function by function under the names it has there.
//!
//! Everything is in pages. What it decides to fetch is put into the cache as "never ready"; the
//! machine then asks the device when it will be.

use fathom_model::read_ahead::{get_init_ra_size, get_next_ra_size, round_down};

use super::cache::Cache;

/// `file_ra_state`: what one open file remembers of its reader.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    start: u64,
    size: u64,
    async_size: u64,
    order: u32,
    /// The page in which the last read ended; none before the first.
    pub(super) previous: Option<u64>,
}

/// What the rule needs to know besides the state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// `ra_pages`: the window.
    pub(super) window: u64,
    /// `io_pages`: the largest request that the device takes at once.
    pub(super) largest_io: u64,
    /// Whether the file system lets the cache hold folios of several pages.
    pub(super) large_folios: bool,
    /// The file's length.
    pub(super) file: u64,
}

/// One decision: the rule applied to a file.
pub(super) struct Reader<'a> {
    pub(super) limits: Limits,
    pub(super) cache: &'a mut Cache,
    pub(super) state: &'a mut State,
    /// The pages that were put into the cache and must now be fetched.
    pub(super) fetched: Vec<u64>,
}

/// `MAX_PAGECACHE_ORDER` where a huge page is 2^9 pages.
const LARGEST_ORDER: u32 = 9;

impl Reader<'_> {
    /// The page at `index` is not in the cache, and `request` pages from it are wanted.
    pub(super) fn page_cache_sync_ra(&mut self, index: u64, request: u64) {
        if self.limits.window == 0 {
            // force_page_cache_ra: what is asked for and no more.
            return self.do_page_cache_ra(index, 1, 0);
        }
        let most = self.most_pages(request);
        let near = self.state.previous.is_some_and(|previous| index.wrapping_sub(previous) <= 1);
        if index == 0 || request > most || near {
            let size = get_init_ra_size(request, most);
            self.state.size = size;
            self.state.async_size = if size > request { size - request } else { size / 2 };
        } else {
            let (run, from_start) = self.cache.run_before(index, most);
            if run <= request {
                return self.do_page_cache_ra(index, request, 0);
            }
            let run = if from_start { 2 * run } else { run };
            self.state.size = (run + request).min(most);
            self.state.async_size = 1;
        }
        self.state.start = index;
        self.state.order = 0;
        self.page_cache_ra_order();
    }

    /// A reader who wants `request` pages has touched the marked folio at `index` of `folio_pages`.
    pub(super) fn page_cache_async_ra(&mut self, index: u64, folio_pages: u64, request: u64) {
        if self.limits.window == 0 {
            return;
        }
        let most = self.most_pages(request);
        let State { start, size, async_size, .. } = *self.state;
        if index == round_down(start + size - async_size, folio_pages) {
            self.state.start += size;
            self.state.size = size.max(get_next_ra_size(size, most));
        } else {
            let start = self.cache.next_miss(index + 1, most);
            if start - index > most {
                return;
            }
            self.state.start = start;
            self.state.size = get_next_ra_size(start - index + request, most);
        }
        self.state.order += 2;
        let align = 1 << self.state.order.min(most.trailing_zeros());
        let end = self.state.start + self.state.size;
        let aligned_end = round_down(end, align);
        if aligned_end > self.state.start {
            self.state.size -= end - aligned_end;
        }
        self.state.async_size = self.state.size;
        self.page_cache_ra_order();
    }

    /// What is asked for and no more.
    pub(super) fn force_page_cache_ra(&mut self, index: u64, count: u64) {
        self.do_page_cache_ra(index, count, 0);
    }

    /// `ractl_max_pages`: one large request may exceed the window.
    fn most_pages(&self, request: u64) -> u64 {
        let Limits { window, largest_io, .. } = self.limits;
        if request > window && largest_io > window { request.min(largest_io) } else { window }
    }

    /// Fetches the window that the state describes, in folios as large as its order and alignment allow.
    fn page_cache_ra_order(&mut self) {
        let State { start, size, async_size, .. } = *self.state;
        let least = self.cache.least_order();
        if !self.limits.large_folios && least == 0 {
            self.state.order = 0;
            return self.do_page_cache_ra(start, size, async_size);
        }
        let order = self.state.order.min(LARGEST_ORDER).min(size.max(1).ilog2()).max(least);
        self.state.order = order;
        let mark = start + size - async_size;
        let end = self.limits.file.min(start + size);
        let mut index = round_down(start, 1 << least);
        while index < end {
            let mut order = if index == 0 { order } else { order.min(index.trailing_zeros()) };
            while order > least && index + (1 << order) > end {
                order -= 1;
            }
            if !self.fetch(index, order, index == round_down(mark, 1 << order)) {
                // Some pages were there already; the rest goes page by page.
                return self.do_page_cache_ra(index, (start + size).saturating_sub(index), async_size);
            }
            index += 1 << order;
        }
    }

    /// Fetches `count` pages at `index`, skipping those that are there; `lookahead` pages before the
    /// end stands the mark, unless `lookahead` is zero.
    fn do_page_cache_ra(&mut self, index: u64, count: u64, lookahead: u64) {
        let least = self.cache.least_order();
        let count = count.min(self.limits.file.saturating_sub(index));
        let mark = (lookahead > 0 && lookahead <= count)
            .then(|| (index + count - lookahead).next_multiple_of(1 << least));
        for first in (round_down(index, 1 << least)..index + count).step_by(1 << least) {
            self.fetch(first, least, Some(first) == mark);
        }
    }

    fn fetch(&mut self, first: u64, order: u32, marked: bool) -> bool {
        let fetched = self.cache.insert(first, order, marked, f64::INFINITY);
        if fetched {
            self.fetched.extend(first..first + (1 << order));
        }
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which reads of one page set off a fetch, and how many KiB each brings in.
    fn ramp(window: u64, large_folios: bool, reads: u64) -> Vec<(u64, usize)> {
        let limits = Limits { window, largest_io: 1024, large_folios, file: 1 << 16 };
        let (mut cache, mut state) = (Cache::new(0, false), State::default());
        let mut seen = Vec::new();
        for index in 0..reads {
            let mut reader = Reader { limits, cache: &mut cache, state: &mut state, fetched: Vec::new() };
            if !reader.cache.holds(index) {
                reader.page_cache_sync_ra(index, 1);
            } else if let Some(page) = reader.cache.page(index).filter(|page| page.marked) {
                reader.cache.change(index, |page| page.marked = false);
                reader.page_cache_async_ra(page.folio, page.folio_pages, 1);
            }
            if !reader.fetched.is_empty() {
                seen.push((index * 4, reader.fetched.len() * 4));
            }
            state.previous = Some(index + 1);
        }
        seen
    }

    #[test]
    fn a_window_of_128_kib_opens_as_measured_on_linux_6_18() {
        let expected = [
            (0, 16),
            (4, 32),
            (16, 16),
            (48, 32),
            (64, 32),
            (96, 64),
            (128, 64),
            (192, 128),
            (256, 128),
            (384, 128),
            (512, 128),
        ];
        assert_eq!(ramp(32, true, 129), expected);
    }

    #[test]
    fn a_window_of_100_kib_opens_as_measured_on_linux_6_18() {
        let expected = [(0, 8), (4, 16), (8, 32), (24, 64), (56, 100), (120, 100), (220, 100), (320, 100)];
        assert_eq!(ramp(25, true, 81), expected);
    }

    #[test]
    fn a_window_of_1_mib_opens_as_measured_on_linux_6_18() {
        let sizes: Vec<usize> = ramp(256, true, 1000).into_iter().map(|(_, size)| size).collect();
        assert_eq!(sizes[..11], [16, 64, 112, 64, 128, 128, 256, 256, 512, 512, 1024]);
    }

    #[test]
    fn without_large_folios_the_window_doubles() {
        let sizes: Vec<usize> = ramp(32, false, 200).into_iter().map(|(_, size)| size).collect();
        assert_eq!(sizes[..6], [16, 32, 64, 128, 128, 128]);
    }

    #[test]
    fn no_window_reads_what_is_asked_for() {
        assert_eq!(ramp(0, true, 4), [(0, 4), (4, 4), (8, 4), (12, 4)]);
    }
}
