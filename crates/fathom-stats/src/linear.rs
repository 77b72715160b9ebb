//! Straight lines by least squares.

use crate::distribution::student_quantile;
use crate::interval::{Estimate, Interval};

/// A line fitted by [`least_squares`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Growth of y per unit of x.
    pub slope: Estimate,
    /// Largest absolute residual, in the unit of y.
    pub max_residual: f64,
}

/// The line through (`x[i]`, `y[i]`) with the smallest sum of squared residuals, with Student
/// intervals at `level`. Exact if the residuals are independent and normal with one variance.
///
/// `None` if the slices differ in length, hold fewer than 3 points, all x are equal, or `level`
/// is not between 0 and 1. Source: Draper & Smith, Applied Regression Analysis, 3rd ed. 1998,
/// chapter 1.
///
/// ```
/// use fathom_stats::linear::least_squares;
/// let line = least_squares(&[0.0, 1.0, 2.0, 3.0], &[1.0, 3.0, 5.0, 7.0], 0.95).unwrap();
/// assert_eq!(line.slope.value, 2.0);
/// assert_eq!(line.max_residual, 0.0);
/// ```
pub fn least_squares(x: &[f64], y: &[f64], level: f64) -> Option<Line> {
    let count = x.len() as f64;
    if x.len() != y.len() || x.len() < 3 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / count, y.iter().sum::<f64>() / count);
    let squares: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if squares <= 0.0 {
        return None;
    }
    let slope = products / squares;
    // Residuals about the means: the intercept may lie far outside the data and cost digits.
    let residual = |(x, y): (&f64, &f64)| (y - mean_y) - slope * (x - mean_x);
    let residual_squares: f64 = x.iter().zip(y).map(|p| residual(p).powi(2)).sum();
    let residual_sd = (residual_squares / (count - 2.0)).sqrt();
    let t = student_quantile(0.5 + 0.5 * level, count - 2.0);
    let error = t * residual_sd / squares.sqrt();
    let interval = Interval { low: slope - error, high: slope + error };
    Some(Line {
        slope: Estimate { value: slope, interval, level },
        max_residual: x.iter().zip(y).map(|p| residual(p).abs()).fold(0.0, f64::max),
    })
}

/// Intercept and slope of the line whose residuals, each as a share of its y, have the smallest sum of
/// squares: the line for data whose noise multiplies, from a few points to thousands.
///
/// `None` if the slices differ in length, hold fewer than 2 points or a y that is not positive, or
/// all x are equal. Source: weighted least squares with weights 1/y², Draper & Smith, Applied
/// Regression Analysis, 3rd ed. 1998, section 9.2.
///
/// ```
/// use fathom_stats::linear::relative_line;
/// let (intercept, slope) = relative_line(&[1.0, 2.0, 4.0], &[5.0, 7.0, 11.0]).unwrap();
/// assert!((intercept - 3.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9);
/// ```
pub fn relative_line(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    if x.len() != y.len() || x.len() < 2 || y.iter().any(|&y| y.is_nan() || y <= 0.0) {
        return None;
    }
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 { x.iter().zip(y).map(|(&x, &y)| term(x, y)).sum() };
    let weights = sum(&|_, y| 1.0 / (y * y));
    let mean_x = sum(&|x, y| x / (y * y)) / weights;
    let mean_y = sum(&|_, y| 1.0 / y) / weights;
    let squares = sum(&|x, y| ((x - mean_x) / y).powi(2));
    let products = sum(&|x, y| (x - mean_x) * (y - mean_y) / (y * y));
    (squares > 0.0).then(|| (mean_y - products / squares * mean_x, products / squares))
}

#[cfg(test)]
mod tests;
