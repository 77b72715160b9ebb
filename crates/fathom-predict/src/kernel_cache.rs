//! What the kernel's page cache would have answered of a trace: two lists with refaults or generations, by the model's
//! own code.

use std::path::Path;

use fathom_model::io_path::page_cache;
use fathom_model::page_cache::FileId;
pub use fathom_model::parameters::Reclaim;
use fathom_trace::error::Error;
use fathom_trace::show::{BLOCK, each_access};

/// The share of a trace's accesses to blocks of [`BLOCK`] bytes that page caches of these sizes, in bytes, would have had. Each access
/// is one to a single page, and nothing is read ahead. Memory: 36 bytes for each page of the caches, and 4 for each that was in one.
///
/// # Errors
/// The trace can't be read.
pub fn hit_ratios(path: &Path, reclaim: Reclaim, sizes: &[u64]) -> Result<Vec<f64>, Error> {
    let new = |size: &u64| (page_cache(reclaim, Some(size / BLOCK)), 0_u64);
    let mut caches: Vec<_> = sizes.iter().map(new).collect();
    let (mut accesses, mut last) = (0_u64, Vec::new());
    each_access(path, |access| {
        let (file, block) = (FileId(access.file.0), access.block);
        if last.len() <= file.0 as usize {
            last.resize(file.0 as usize + 1, None);
        }
        // What goes on in the page of the read before uses the page no second time: `filemap_read`.
        let goes_on = last[file.0 as usize].replace(block) == Some(block);
        accesses += 1;
        for (cache, hits) in &mut caches {
            // No cache of this one has other pages in one folio.
            *hits += u64::from(!cache.add(file, block, 0, false, None));
            if let Some(folio) = cache.folio(file, block).filter(|_| !goes_on) {
                cache.mark_accessed(folio);
            }
        }
        Ok(())
    })?;
    Ok(caches.into_iter().map(|(_, hits)| hits as f64 / accesses.max(1) as f64).collect())
}
