//! The windows that lead from the first one to the steady one, from where the stalls stand.

use super::stalls::{ELEVATED_TIMES, Stalls};

/// Window sizes in reads, from the first window to the first of the steady size.
///
/// Read-ahead is set off when the reader touches the marked page of a window. The first window's
/// mark stands somewhere inside it; that of every later one stands at its start
/// (`page_cache_async_ra` and `page_cache_ra_order` of `mm/readahead.c`: `async_size` is the whole
/// size). So behind the first window, whose length `first` is known from elsewhere, each stall
/// is the start of a window, and differences are sizes.
///
/// # Errors
/// One sentence where the stalls do not fit that picture.
pub fn sizes(stalls: &Stalls, first: usize, steady: usize) -> Result<Vec<usize>, String> {
    let starts: Vec<usize> = stalls.positions.iter().copied().filter(|&at| at >= first).collect();
    if starts.first() != Some(&first) {
        return Err("no read waits where the first window ends".to_owned());
    }
    let mut sizes = vec![first];
    for pair in starts.windows(2).take_while(|_| first != steady) {
        let size = pair[1] - pair[0];
        if size > steady {
            return Err("a gap between stalls is longer than the steady window".to_owned());
        }
        sizes.push(size);
        if size == steady {
            break;
        }
    }
    let end: usize = sizes.iter().sum();
    if sizes.last() != Some(&steady) {
        return Err("the windows do not grow to the steady one".to_owned());
    }
    if let Some(doubtful) = stalls.ambiguous.iter().find(|&&at| at < end) {
        return Err(format!("the rounds disagree on whether read {doubtful} waits"));
    }
    // Beside reads that wait for a device which can't keep up, those that only set off a window pass for hits.
    let doubtful =
        |&at: &usize| stalls.times[at] >= ELEVATED_TIMES && stalls.positions.binary_search(&at).is_err();
    if let Some(doubtful) = (first..end.min(stalls.count)).find(doubtful) {
        return Err(format!("read {doubtful} is neither quick nor slow"));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(positions: &[usize]) -> Stalls {
        Stalls {
            positions: positions.to_vec(),
            ambiguous: Vec::new(),
            times: vec![1.0; 512],
            count: 512,
            samples: 0,
        }
    }

    #[test]
    fn the_ramp_of_linux_6_18_with_a_window_of_128_kib() {
        // Stalls at 0, 4, 16, 48, 64, 96, 128, 192, 256, 384 KiB in reads of 4 KiB.
        let seen = stalls(&[0, 1, 4, 12, 16, 24, 32, 48, 64, 96, 128, 160]);
        assert_eq!(sizes(&seen, 4, 32), Ok(vec![4, 8, 4, 8, 8, 16, 16, 32]));
    }

    #[test]
    fn a_first_window_of_the_steady_size_is_the_whole_ramp() {
        assert_eq!(sizes(&stalls(&[0, 1, 2, 4, 6, 8]), 2, 2), Ok(vec![2]));
    }

    #[test]
    fn a_missing_or_doubtful_stall_is_no_ramp() {
        assert!(sizes(&stalls(&[0, 1, 12, 16]), 4, 32).is_err());
        assert!(sizes(&stalls(&[0, 4, 12, 60]), 4, 32).is_err());
        assert!(sizes(&stalls(&[0, 4, 12]), 4, 32).is_err());
        let mut slow = stalls(&[0, 1, 4, 12, 16, 24, 32, 48, 64, 96]);
        slow.times[20] = 9.0;
        assert!(sizes(&slow, 4, 32).unwrap_err().contains("read 20"));
        let doubtful = Stalls { ambiguous: vec![20], ..stalls(&[0, 1, 4, 12, 16, 24, 32, 48, 64, 96]) };
        assert!(sizes(&doubtful, 4, 32).unwrap_err().contains("read 20"));
    }
}
