//! Distribution functions that the tests of significance need.

/// Distribution function of the standard normal, through `erfc` so that the far tails keep
/// their relative accuracy.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Quantile of the standard normal for `0 < p < 1`: the rational approximation 26.2.23 of
/// Abramowitz & Stegun (1964), polished by Newton steps on [`normal_cdf`].
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p).max(f64::MIN_POSITIVE);
    let t = (-2.0 * tail.ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut lower = numerator / denominator - t;
    for _ in 0..3 {
        let density = (-0.5 * lower * lower).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density > 0.0 {
            lower -= (normal_cdf(lower) - tail) / density;
        }
    }
    if p < 0.5 { lower } else { -lower }
}

/// P(X >= k) for X binomial with `n` trials of probability `p`.
pub(crate) fn binomial_upper_tail(n: usize, k: usize, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return if k <= n { 1.0 } else { 0.0 };
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    let (log_p, log_q) = (p.ln(), (-p).ln_1p());
    let sum: f64 = (k..=n).map(|i| (ln_choose(n, i) + i as f64 * log_p + (n - i) as f64 * log_q).exp()).sum();
    sum.min(1.0)
}

/// P(X >= k) where X counts the marked among `drawn` items taken without replacement from
/// `total` items of which `marked` are marked.
pub(crate) fn hypergeometric_upper_tail(total: usize, marked: usize, drawn: usize, k: usize) -> f64 {
    let least = k.max((marked + drawn).saturating_sub(total));
    let all = ln_choose(total, drawn);
    let sum: f64 = (least..=marked.min(drawn))
        .map(|i| (ln_choose(marked, i) + ln_choose(total - marked, drawn - i) - all).exp())
        .sum();
    sum.min(1.0)
}

/// Quantile of Student's t with `freedom` degrees of freedom, for `0.5 <= p < 1`, by bisection
/// on the regularised incomplete beta function.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let upper_tail = |t: f64| 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high) > 1.0 - p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle) > 1.0 - p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Natural logarithm of the binomial coefficient.
pub(crate) fn ln_choose(n: usize, k: usize) -> f64 {
    let ln_factorial = |m: usize| libm::lgamma(m as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// The regularised incomplete beta function I_x(a, b), by Lentz's evaluation of its continued
/// fraction (Press et al., Numerical Recipes, 3rd ed. 2007, section 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    // Lentz's method divides by these; the floor keeps a zero from spreading.
    let floored = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / floored(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / floored(1.0 + even * d);
        c = floored(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / floored(1.0 + odd * d);
        c = floored(1.0 + odd / c);
        result *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, relative: f64) {
        assert!((a - b).abs() <= relative * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn normal_matches_tables() {
        close(normal_quantile(0.975), 1.959_963_985, 1e-8);
        close(normal_quantile(0.001), -3.090_232_306, 1e-8);
        close(normal_cdf(-6.0), 9.865_876e-10, 1e-5);
        assert!(normal_quantile(0.5).abs() < 1e-9);
    }

    #[test]
    fn student_matches_tables() {
        close(student_quantile(0.975, 1.0), 12.706_204_74, 1e-6);
        close(student_quantile(0.975, 10.0), 2.228_138_85, 1e-6);
        close(student_quantile(0.95, 200.0), 1.652_508_1, 1e-6);
    }

    #[test]
    fn tails_match_direct_counts() {
        close(binomial_upper_tail(10, 8, 0.5), 56.0 / 1024.0, 1e-9);
        assert_eq!(binomial_upper_tail(10, 0, 0.5), 1.0);
        assert_eq!(binomial_upper_tail(10, 11, 0.5), 0.0);
        assert_eq!(binomial_upper_tail(3, 1, 0.0), 0.0);
        // Five marked of ten, five drawn, all five marked: one of C(10, 5).
        close(hypergeometric_upper_tail(10, 5, 5, 5), 1.0 / 252.0, 1e-9);
        close(hypergeometric_upper_tail(10, 8, 5, 0), 1.0, 1e-9);
    }
}
