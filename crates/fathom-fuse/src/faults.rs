//! Counting calls, and saying which of them go wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use fuser::Errno;

use crate::plan::{Call, Fault, Happens, When};

/// The calls so far.
#[derive(Debug, Default)]
pub(crate) struct Count {
    calls: BTreeMap<Call, u64>,
    written: u64,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fate {
    /// The answer comes this much later.
    pub(crate) hang: Duration,
    /// It moves half of its bytes.
    pub(crate) short: bool,
    /// It fails.
    pub(crate) error: Option<Errno>,
}

impl Count {
    /// Counts a call that is to write `bytes`, and tells its fate.
    pub(crate) fn fate(&mut self, faults: &[Fault], call: Call, bytes: u64) -> Fate {
        let count = self.calls.entry(call).or_default();
        *count += 1;
        let total = self.written + bytes;
        let mut fate = Fate::default();
        for fault in faults.iter().filter(|fault| fault.call == call) {
            let met = match fault.when {
                When::Nth(nth) => *count == nth,
                When::From(nth) => *count >= nth,
                When::AfterBytes(most) => total > most,
            };
            if met {
                match fault.happens {
                    Happens::Fails(error) => fate.error = Some(error),
                    Happens::Short => fate.short = true,
                    Happens::Hang(time) => fate.hang += time,
                }
            }
        }
        if fate.error.is_none() {
            self.written = total;
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn each_kind_of_call_is_counted_for_itself() {
        let plan: Plan = "eio=read@2,short=write@2+,enospc=100".parse().unwrap();
        let mut count = Count::default();
        let mut fate = |call, bytes| count.fate(&plan.faults, call, bytes);
        assert_eq!(fate(Call::Read, 0), Fate::default());
        assert_eq!(fate(Call::Write, 60), Fate::default());
        assert_eq!(fate(Call::Read, 0).error, Some(Errno::EIO));
        assert_eq!(fate(Call::Read, 0), Fate::default());
        let full = fate(Call::Write, 60);
        assert_eq!((full.error, full.short), (Some(Errno::ENOSPC), true));
        assert_eq!(fate(Call::Write, 40), Fate { short: true, ..Fate::default() });
    }
}
