//! Which requests are not treated like the others: `cmdprio*` and `force_async`.

use fathom_program::call::Call;
use fathom_program::job::{EngineOptions, Priorities};
use fathom_sys::queue::Treatment;

/// Decides it request by request.
pub(super) struct Treatments {
    priorities: Priorities,
    /// That of the thread, which the others have.
    common: u16,
    /// Every so many; zero for none.
    forced: u32,
    prepared: u32,
    /// A number of 64 bits for the next request that may have a priority: the golden ratio's multiples, which are spread
    /// evenly.
    drawn: u64,
}

impl Treatments {
    /// None where all requests are alike.
    pub(super) fn of(options: &EngineOptions, thread: Option<(u8, u8)>) -> Option<Self> {
        let is_needed = options.force_async > 0 || options.priorities != Priorities::default();
        let (priorities, forced) = (options.priorities.clone(), options.force_async);
        let common = thread.map_or(0, |(level, class)| u16::from(class) << 13 | u16::from(level));
        is_needed.then_some(Self { priorities, common, forced, prepared: 0, drawn: 0 })
    }

    /// How the next request is treated, and the priority that it has in the end.
    pub(super) fn next(&mut self, call: &Call) -> (Treatment, u16) {
        let mut treatment = Treatment::default();
        if let Some(direction) = call.kind.direction() {
            self.drawn = self.drawn.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let drawn = ((u128::from(self.drawn) * 100) >> 64) as u32;
            let mut below = 0;
            for (percent, priority) in self.priorities.of(direction as usize, call.bytes) {
                below += u32::from(percent);
                if drawn < below {
                    treatment.priority = priority;
                    break;
                }
            }
        }
        if self.forced > 0 {
            self.prepared = (self.prepared + 1) % self.forced;
            treatment.is_forced = self.prepared == 0;
        }
        (treatment, if treatment.priority == 0 { self.common } else { treatment.priority })
    }
}

#[cfg(test)]
mod tests {
    use fathom_program::call::{CallKind, FileId};

    use super::*;

    #[test]
    fn requests_have_priorities_by_their_shares() {
        let mut options = EngineOptions { force_async: 3, ..EngineOptions::default() };
        assert!(Treatments::of(&EngineOptions::default(), None).is_none());
        options.priorities.percent = [30, 0];
        options.priorities.level = [4, 0];
        options.priorities.splits[1] = vec![(4096, 20, None), (4096, 50, Some((2, 7))), (8192, 100, None)];
        let mut treatments = Treatments::of(&options, Some((5, 2))).unwrap();
        assert_eq!(treatments.next(&Call::new(CallKind::Fsync, FileId(0))).1, 2 << 13 | 5);
        let mut count = |kind, bytes, priority: u16| {
            let call = Call::new(kind, FileId(0)).at(0, bytes);
            (0..1000).filter(|_| treatments.next(&call).0.priority == priority).count()
        };
        // The real-time class is 1, best effort is 2.
        assert!(count(CallKind::Pread, 4096, 1 << 13 | 4).abs_diff(300) < 5);
        assert!(count(CallKind::Pwrite, 4096, 1 << 13).abs_diff(200) < 5);
        assert!(count(CallKind::Pwrite, 4096, 2 << 13 | 7).abs_diff(500) < 5);
        assert_eq!(count(CallKind::Pwrite, 8192, 1 << 13), 1000);
        assert_eq!(count(CallKind::Fsync, 0, 0), 1000);
        let mut forced = Treatments::of(&options, None).unwrap();
        let call = Call::new(CallKind::Fsync, FileId(0));
        let every_third: Vec<bool> = (0..6).map(|_| forced.next(&call).0.is_forced).collect();
        assert_eq!(every_third, [false, false, true, false, false, true]);
    }
}
