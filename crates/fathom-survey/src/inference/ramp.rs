//! The windows that lead from the first one to the steady one, from where the stalls stand.

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
pub fn sizes(stalls: &[usize], first: usize, steady: usize) -> Result<Vec<usize>, String> {
    let starts: Vec<usize> = stalls.iter().copied().filter(|&at| at >= first).collect();
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
    if sizes.last() != Some(&steady) {
        return Err("the windows do not grow to the steady one".to_owned());
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_of_linux_6_18_with_a_window_of_128_kib() {
        // Waits at 0, 4, 16, 48, 64, 96, 128, 192, 256, 384 KiB in reads of 4 KiB.
        let seen = [0, 1, 4, 12, 16, 24, 32, 48, 64, 96, 128, 160];
        assert_eq!(sizes(&seen, 4, 32), Ok(vec![4, 8, 4, 8, 8, 16, 16, 32]));
    }

    #[test]
    fn waits_that_fit_no_ramp_are_refused() {
        assert!(sizes(&[0, 1, 12, 16], 4, 32).is_err(), "no wait where the first window ends");
        assert!(sizes(&[0, 4, 12, 60], 4, 32).is_err(), "a window above the steady one");
        assert!(sizes(&[0, 4, 12], 4, 32).is_err(), "no end");
    }
}
