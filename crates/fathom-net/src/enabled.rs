//! The set of transitions that may fire now, by priority.

use crate::rng::Rng;

/// Where a transition is not in the set.
const ABSENT: u32 = u32::MAX;

/// Enabled transitions: constant time to enter, leave and pick.
#[derive(Clone, Debug)]
pub(crate) struct EnabledSet {
    /// Members of each priority level, highest level first.
    levels: Vec<Vec<u32>>,
    /// Level of each transition.
    level: Box<[u32]>,
    /// Index of each transition in its level, or `ABSENT`.
    position: Vec<u32>,
}

impl EnabledSet {
    /// An empty set over transitions whose levels are `level` (0 fires first).
    pub(crate) fn new(level: &[u32]) -> Self {
        let levels = level.iter().max().map_or(0, |&highest| highest as usize + 1);
        Self { levels: vec![Vec::new(); levels], level: level.into(), position: vec![ABSENT; level.len()] }
    }

    #[inline]
    pub(crate) fn contains(&self, transition: u32) -> bool {
        self.position[transition as usize] != ABSENT
    }

    #[inline]
    pub(crate) fn set(&mut self, transition: u32, enabled: bool) {
        if enabled == self.contains(transition) {
            return;
        }
        let level = &mut self.levels[self.level[transition as usize] as usize];
        if enabled {
            self.position[transition as usize] = level.len() as u32;
            level.push(transition);
        } else {
            let gap = std::mem::replace(&mut self.position[transition as usize], ABSENT);
            level.swap_remove(gap as usize);
            if let Some(&moved) = level.get(gap as usize) {
                self.position[moved as usize] = gap;
            }
        }
    }

    /// The members that may fire: those of the highest priority present.
    #[inline]
    pub(crate) fn eligible(&self) -> &[u32] {
        self.levels.iter().find(|level| !level.is_empty()).map_or(&[], Vec::as_slice)
    }

    /// One of the eligible, each as likely as any other. Draws only when there is a choice.
    #[inline]
    pub(crate) fn pick(&self, rng: &mut Rng) -> Option<u32> {
        match self.eligible() {
            [] => None,
            [only] => Some(*only),
            several => Some(several[rng.below(several.len() as u64) as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_evenly_among_the_highest_priority() {
        let (mut set, mut rng) = (EnabledSet::new(&[1, 0, 0, 0, 1]), Rng::new(1));
        for transition in 0..5 {
            set.set(transition, true);
        }
        set.set(2, false);
        let mut picks = [0; 5];
        for _ in 0..10_000 {
            picks[set.pick(&mut rng).unwrap() as usize] += 1;
        }
        assert_eq!((picks[0], picks[2], picks[4]), (0, 0, 0));
        assert!((4_700..5_300).contains(&picks[1]), "{picks:?}");
        set.set(1, false);
        set.set(3, false);
        assert_eq!(set.eligible().len(), 2);
    }
}
