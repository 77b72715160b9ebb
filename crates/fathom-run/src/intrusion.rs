//! What is changed for everybody on the machine, and its return: settings of the kernel, and groups with limits.
//!
//! Nothing here happens unasked: the lab is asked for by name, everything else by `--intrusive`. What stood
//! there is noted before it is changed and put back on every way out, by the next run where one was killed.

mod dirty;
mod group;
mod setting;

pub use self::dirty::{limit_dirty_data, set_flusher};
pub use self::group::Group;
pub use self::setting::{Change, Settings};
pub use self::setting::{abandon, restore_leftovers};
