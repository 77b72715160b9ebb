//! Whether what is written waits in memory as dirty data: what every question about writeback takes for granted.

use super::prelude::*;
use super::silence::{Answer, Silence, inconclusive};

const FILE: &str = "dirtied";
/// Another program may have everything written between a write and the look at it.
const TRIES: u32 = 3;

/// Whether a byte that is written makes data dirty and a sync makes them clean, as `cachestat(2)` counts; why not.
pub(super) fn tried(witness: &mut dyn Witness) -> Answer<()> {
    witness.provide(&ScratchFile::filled(FILE, witness.declared().page_size))?;
    for _ in 0..TRIES {
        witness.sync(FILE)?;
        let before = witness.is_dirty(FILE)?;
        witness.write(FILE, 0..1)?;
        match (before, witness.is_dirty(FILE)?) {
            (Some(false), Some(true)) => return Ok(()),
            (None, _) | (_, None) => {
                return inconclusive("this kernel has no cachestat(2), of Linux 6.5");
            }
            (Some(true), _) => {
                return inconclusive("data are dirty here even after they were synced");
            }
            (Some(false), Some(false)) => {}
        }
    }
    let reason = "nothing gets dirty here: each write goes to the file system's server before it returns";
    Err(Silence::not_applicable(reason).into())
}
