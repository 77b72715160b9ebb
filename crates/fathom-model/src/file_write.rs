//! Which folios a buffered write makes: `write_begin` as `generic_perform_write` and `iomap` call it, and
//! `__filemap_get_folio` of `mm/filemap.c`.

use crate::file_read::PAGE;
use crate::kernel::Kernel;
use crate::page_cache::{FileId, Folio, PageCache};
use crate::read_ahead::Limits;

/// The folio that a write from byte `position` to before `end` goes into next, and whether it is new. A new folio is as large as
/// the write (`fgf_set_order`), or smaller if it would not be aligned or other folios are in its way.
///
/// # Panics
/// Never: where a page is missing there is room for a folio of the least order.
pub fn write_begin(
    cache: &mut PageCache,
    limits: Limits,
    file: FileId,
    position: u64,
    end: u64,
) -> (Folio, bool) {
    let index = position / PAGE;
    if let Some(folio) = cache.folio(file, index) {
        return (folio, false);
    }
    let is_old = limits.kernel < Kernel::V6_6;
    let (least, largest) = (limits.least_order, if is_old { 0 } else { limits.largest_order });
    let chunk = PAGE << largest;
    let length = (end - position).min(chunk - position % chunk);
    let index = (index >> least) << least;
    let wanted = (length / PAGE).max(1).ilog2().clamp(least, largest);
    let mut order = if index == 0 { wanted } else { wanted.min(index.trailing_zeros()) };
    while !cache.add(file, index, order, false, None) && order > least {
        order -= 1;
    }
    (cache.folio(file, index).expect("a folio of the least order has room"), true)
}
