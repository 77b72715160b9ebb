//! Which kernel's rules hold.

use crate::choice::choice;

choice! {
    /// A generation of rules. Between two of them the model takes the earlier.
    #[derive(Default)]
    Kernel {
        /// No kernel, but what paper E makes of one: a miss that follows on the last read brings in one window,
        /// always of the same size, and any other what it asks for.
        Fixed = "fixed",
        /// About 2.6.27, the kernel of the paper: pages only, no large folios. Modelled, not validated.
        V2_6 = "2.6",
        /// 6.6: large folios grow with each window, and a window that starts at its own mark is merged with
        /// the next. Modelled, not validated.
        V6_6 = "6.6",
        /// About 6.12 to 6.18: the order of folios belongs to the reader's state. Held against tracepoints.
        #[default]
        V6_18 = "6.18",
    }
}
