//! Putting a window into the cache: in large folios where there are any, and page by page.

use super::{ReadAhead, Step, round_down};
use crate::kernel::Kernel;

impl ReadAhead<'_> {
    /// The window that the reader's state describes, in folios as large as order and alignment allow.
    pub(super) fn page_cache_ra_order(&mut self) {
        let (start, size, async_size) = (self.reader.start, self.reader.size, self.reader.async_size);
        let order = self.reader.order;
        self.steps.push(Step::Window { index: start, order, size, async_size });
        let (least, largest) = (self.limits.least_order, self.limits.largest_order);
        let is_old = self.limits.kernel < Kernel::V6_18;
        if largest == 0 || is_old && size < 4.max(1 << least) {
            self.reader.order = 0;
            return self.do_page_cache_ra(start, size, async_size);
        }
        // Before 6.18 every window's folios grow; 6.18 has grown the order before.
        let order = if is_old { order + 2 } else { order };
        let order = order.min(largest).min(size.max(1).ilog2()).max(least);
        self.reader.order = order;
        let end = self.limits.file_pages.min(start + size);
        let mark = start + size - async_size;
        let mut index = round_down(start, 1 << least);
        while index < end {
            let order = self.folio_order(index, order, end);
            if !self.put(index, order, index == round_down(mark, 1 << order)) {
                // A page was there already: the rest goes one by one, before 6.18 as much as the whole window. Where
                // the first folio begins before the window, the kernel's difference wraps round and nothing more is
                // read.
                let done = if is_old { 0 } else { index.wrapping_sub(start) };
                if size > done {
                    self.do_page_cache_ra(index, size - done, async_size);
                }
                return;
            }
            index += 1 << order;
        }
    }

    /// The largest order up to `order` at which `index` is aligned and `end` not passed.
    fn folio_order(&self, index: u64, order: u32, end: u64) -> u32 {
        let least = self.limits.least_order;
        // Kernels before 6.9 had no folios of two pages.
        let is_old = self.limits.kernel < Kernel::V6_12;
        let allowed = |order: u32| if is_old && order == 1 { 0 } else { order };
        let mut order = if index == 0 { order } else { allowed(order.min(index.trailing_zeros())) };
        while order > least && index + (1 << order) > end {
            order = allowed(order - 1);
        }
        order
    }

    /// `count` pages at `index` in the smallest folios, without those that are there; the mark stands
    /// `lookahead` pages before the end.
    pub(super) fn do_page_cache_ra(&mut self, index: u64, count: u64, lookahead: u64) {
        let file_pages = self.limits.file_pages;
        if index >= file_pages {
            return;
        }
        let least = self.limits.least_order;
        // 2.6 stops at the end of the file, but places the mark as if it did not.
        let mark_end = if self.limits.kernel == Kernel::V2_6 { index + count } else { file_pages };
        let asked = count.min(mark_end - index);
        let count = count.min(file_pages - index);
        self.steps.push(Step::Pages { index, count, lookahead });
        let mark = (lookahead > 0 && lookahead <= asked)
            .then(|| (index + asked - lookahead).next_multiple_of(1 << least));
        for first in (round_down(index, 1 << least)..index + count).step_by(1 << least) {
            self.put(first, least, Some(first) == mark);
        }
    }

    pub(super) fn put(&mut self, first: u64, order: u32, is_marked: bool) -> bool {
        let is_new = self.cache.add(self.file, first, order, is_marked, self.fetch);
        if is_new {
            self.steps.push(Step::Added { first, order });
        }
        is_new
    }
}
