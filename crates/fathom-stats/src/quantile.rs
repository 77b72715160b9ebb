//! Quantiles and robust spread of a slice.
//!
//! Values are ordered by [`f64::total_cmp`]. All functions expect finite values; an empty slice
//! gives `None`.

/// The median, in the unit of `values`. `None` for an empty slice.
///
/// For an even count it is the mean of the two middle values.
///
/// ```
/// assert_eq!(fathom_stats::quantile::median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
/// ```
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// The median of a slice that may be reordered: no copy, linear time (selection, Hoare 1961).
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower + 0.5 * (upper - lower))
}

/// The mean of the central half of the values, which are reordered; `None` for an empty slice.
///
/// As robust as the quartiles: up to a quarter of the values on either side may be anything. Where
/// a clock's ticks are as coarse as the spread, it still resolves fractions of a tick, which the
/// median can't. Its standard error under normality is 1.1 times that of the mean, the median's is
/// 1.25 times. Source: Tukey 1977, "Exploratory data analysis" (midmean); a quarter of the count is
/// rounded down.
///
/// ```
/// assert_eq!(fathom_stats::quantile::midmean_in_place(&mut [9.0, 2.0, 3.0, 100.0]), Some(6.0));
/// ```
pub fn midmean_in_place(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let aside = values.len() / 4;
    let central = &values[aside..values.len() - aside];
    (!central.is_empty()).then(|| central.iter().sum::<f64>() / central.len() as f64)
}

/// The `p`-quantile of type 7: linear interpolation between order statistics, with the smallest
/// value at 0 and the largest at 1 (Hyndman & Fan 1996, "Sample quantiles in statistical
/// packages"). `p` is clamped to 0..=1. `None` for an empty slice.
///
/// ```
/// assert_eq!(fathom_stats::quantile::quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
/// ```
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    quantile_sorted(&sorted(values), p)
}

/// [`quantile`] of values that are already in ascending order.
pub fn quantile_sorted(ascending: &[f64], p: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let index = place.floor() as usize;
    let lower = ascending[index];
    let upper = ascending[(index + 1).min(last)];
    Some(lower + (place - index as f64) * (upper - lower))
}

/// The median absolute deviation from the median, in the unit of `values`. `None` for an empty
/// slice.
///
/// It is not scaled: multiply by [`MAD_TO_SIGMA`] for a standard deviation under normality.
/// Source: Hampel 1974, "The influence curve and its role in robust estimation".
///
/// ```
/// assert_eq!(fathom_stats::quantile::mad(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.0));
/// ```
pub fn mad(values: &[f64]) -> Option<f64> {
    mad_in_place(&mut values.to_vec())
}

/// [`mad`] of a slice that may be overwritten: no copy.
pub fn mad_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = median_in_place(values)?;
    for value in values.iter_mut() {
        *value = (*value - middle).abs();
    }
    median_in_place(values)
}

/// A copy of `values` in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    ascending
}

/// Standard deviations per median absolute deviation of a normal distribution: 1/Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_slices_have_no_quantiles() {
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(mad(&[]), None);
    }

    #[test]
    fn one_value_is_every_quantile() {
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        assert_eq!(mad(&[7.0]), Some(0.0));
    }

    #[test]
    fn median_agrees_with_type_seven() {
        for count in 1..40 {
            let values: Vec<f64> = (0..count).map(|i| f64::from((i * 37) % 41)).collect();
            assert_eq!(median(&values), quantile(&values, 0.5));
        }
    }

    #[test]
    fn quantile_clamps_its_argument() {
        assert_eq!(quantile(&[1.0, 2.0], -1.0), Some(1.0));
        assert_eq!(quantile(&[1.0, 2.0], 2.0), Some(2.0));
    }

    #[test]
    fn large_values_do_not_overflow() {
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }
}
