//! Model time: whole ticks, so that sums are exact and two events either coincide or do not.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant of model time, in ticks since the start of the simulation.
///
/// What a tick is worth is the modeller's choice (a nanosecond suits an I/O path).
///
/// ```
/// use fathom_net::{Span, Time};
/// let start = Time::ticks(100);
/// assert_eq!(start + Span::ticks(5), Time::ticks(105));
/// assert_eq!(Time::ticks(105) - start, Span::ticks(5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of model time, in ticks. It is unsigned: a negative delay cannot be written.
///
/// ```compile_fail
/// let delay = fathom_net::Span::ticks(-1);
/// ```
///
/// ```
/// use fathom_net::Span;
/// assert_eq!(Span::ticks(3) + Span::ticks(4), Span::ticks(7));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of every simulation.
    pub const ZERO: Self = Self(0);

    /// The end of time: a token stamped with it never becomes available.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ticks` after the start.
    pub const fn ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Ticks since the start.
    pub const fn as_ticks(self) -> u64 {
        self.0
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `ticks`.
    pub const fn ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The nearest whole number of ticks to a real length; negative and NaN become zero.
    ///
    /// ```
    /// assert_eq!(fathom_net::Span::round(2.6), fathom_net::Span::ticks(3));
    /// ```
    pub fn round(ticks: f64) -> Self {
        // The cast truncates and saturates, which is what a delay wants at both ends.
        Self((ticks + 0.5) as u64)
    }

    /// The length in ticks.
    pub const fn as_ticks(self) -> u64 {
        self.0
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    /// The length from `earlier` to `self`; zero when `earlier` is the later one.
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
