//! How many requests were under way, and how many one call handed over or took, in fio's classes.

/// How many requests were under way, and how many were submitted and completed at once, counted in fio's classes. Depths begin at
/// 1, 2, 4 and so on to 64; batches end at 0, 4, 8 and so on to 64, and the last class is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// Requests, by the number of requests under way after they were submitted.
    pub under_way: [u64; 7],
    /// Calls that submit requests, by how many they submit.
    pub submitted: [u64; 7],
    /// Calls that take results, by how many they take.
    pub completed: [u64; 7],
}

impl Levels {
    /// The levels of transfers that were made one after the other.
    pub fn one_by_one(transfers: u64) -> Self {
        let at = |class: usize| std::array::from_fn(|index| if index == class { transfers } else { 0 });
        Self { under_way: at(0), submitted: at(1), completed: at(1) }
    }

    /// Counts a call that submitted requests, and the requests under way after it.
    #[inline]
    pub(crate) fn submit(&mut self, requests: u32, under_way: u32) {
        self.under_way[depth_class(under_way)] += u64::from(requests);
        self.submitted[batch_class(requests)] += 1;
    }

    /// So many results were taken together.
    #[inline]
    pub(crate) fn complete(&mut self, results: u32) {
        self.completed[batch_class(results)] += 1;
    }

    /// Adds others to these.
    pub fn add(&mut self, other: &Self) {
        let of = [
            (&mut self.under_way, &other.under_way),
            (&mut self.submitted, &other.submitted),
            (&mut self.completed, &other.completed),
        ];
        for (mine, theirs) in of {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

/// 1, 2 and 3, 4 to 7, and so on.
fn depth_class(under_way: u32) -> usize {
    under_way.max(1).ilog2().min(6) as usize
}

/// 0, 1 to 4, 5 to 8, 9 to 16, and so on.
fn batch_class(requests: u32) -> usize {
    match requests {
        0 => 0,
        1..=4 => 1,
        more => ((more - 1).ilog2() as usize).min(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_fios() {
        let depths = [1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 1000].map(depth_class);
        assert_eq!(depths, [0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6]);
        let batches = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 1000].map(batch_class);
        assert_eq!(batches, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }
}
