//! What a model is made of: numbers with their intervals and where they come from, and choices between parts.
//!
//! A number is a scalar, or a point of a curve; [`Scalar`], [`Curve`] and [`CHOICES`] list all that there are, one row each.
//! Code names them by their type, and only who sets them from outside by a word.
//!
//! ```
//! use fathom_model::parameters::{Device, Parameters, Scalar};
//!
//! let mut parameters = Parameters::assumed();
//! parameters.set("readahead", "1M")?;
//! assert_eq!(parameters[Scalar::Readahead], 1_048_576.0);
//! parameters.set("far_of", "4M:0.2,8M:0.4")?;
//! parameters.set("device", "plain_queue")?;
//! assert_eq!(parameters.choices.device, Device::PlainQueue);
//! assert!(parameters.set("readahaed", "1M").unwrap_err().contains("did you mean 'readahead'"));
//! # Ok::<(), String>(())
//! ```

mod choices;
mod listed;
mod table;
mod typed;

use std::ops::Index;

use serde::{Deserialize, Serialize};

use crate::choice::choice;

pub use self::choices::{
    Allocation, Answers, CHOICES, ChoiceRow, Choices, Device, Eviction, FreeMemory, Journal, Limited,
    Opening, Queued, Reclaim, Runner, Scheduler, Syncs, Works,
};
pub use self::listed::page;
pub use self::table::{Curve, Scalar};
pub use self::typed::{ALIASES, Named, named, names};

/// Every parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The parts of the model, chosen by words.
    pub choices: Choices,
    /// By [`Number::index`].
    numbers: Vec<Parameter>,
}

/// The values of all scalars, without their origins.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalars([f64; Scalar::ALL.len()]);

/// The value of a number, with its interval and origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The value, in the number's unit.
    pub value: f64,
    /// The interval of 95 % confidence, if it is known.
    pub interval: Option<[f64; 2]>,
    /// The origin of the value.
    pub origin: Origin,
}

choice! {
    /// The origin of a value.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Origin {
        /// Measured on the machine that is modelled.
        Measured = "measured",
        /// Declared by the kernel.
        Declared = "declared",
        /// Neither measured nor declared.
        Assumed = "assumed",
        /// Set by the user to see the effect.
        Set = "set",
    }
}

/// One number: a scalar, or the height of a curve at one of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A scalar.
    Scalar(Scalar),
    /// A curve, and the index of one of its points.
    Point(Curve, usize),
}

/// Everything about a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The name of the scalar in files and on the command line.
    pub name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The value in a model of which nothing is known.
    pub assumed: f64,
    /// How a calibration finds it.
    pub found: Found,
    /// What the scalar is, in one sentence.
    pub about: &'static str,
}

/// Everything about a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveRow {
    /// The name of the curve in files and on the command line.
    pub name: &'static str,
    /// The unit of its heights.
    pub unit: Unit,
    /// The stage of a calibration that fits its heights.
    pub stage: Stage,
    /// The points of the curve: a size in bytes, the height there in a model of which nothing is known, and the least height from
    /// which a calibration begins its search.
    pub points: &'static [(u32, f64, f64)],
    /// What the curve is, in one sentence.
    pub about: &'static str,
}

/// How a calibration finds a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// A stage fits the number to its jobs, and begins its search at this value or above.
    Fitted(Stage, f64),
    /// The number is measured directly, without a fit.
    Measured,
    /// The kernel declares the number, or a survey finds it.
    Declared,
    /// No calibration finds the number.
    Assumed,
}

choice! {
    /// The stages of a calibration in their order. Each fits one group of numbers.
    Stage {
        /// System calls, and copies of data that the CPU's caches hold.
        NearData = "calls and near data",
        /// Copies of data that the CPU's caches do not hold.
        FarData = "far data",
        /// How the cost of copies depends on the bytes that are read over and over.
        Distances = "distance of cached data",
        /// Reads of far data at random.
        Jumps = "random reads of far data",
        /// The device, and reads that wait for it.
        ColdReads = "device and cold reads",
        /// Writes into the page cache.
        Writes = "writes",
        /// Write-back, sync and journal.
        Syncs = "write-back, sync and journal",
    }
}

choice! {
    /// What a number counts.
    Unit {
        /// Bytes; typed with K, M, G and T for powers of 1,024.
        Bytes = "bytes",
        /// Nanoseconds; typed with ns, us, ms and s.
        Ns = "ns",
        /// Nanoseconds per byte.
        NsPerByte = "ns_per_byte",
        /// A number of things.
        Count = "count",
        /// A share of one.
        Share = "share",
    }
}

/// The smallest and the largest value of any number.
pub const BOUNDS: [f64; 2] = [0.0, 1e18];

impl Curve {
    /// The points of the curve as numbers.
    pub fn numbers(self) -> impl DoubleEndedIterator<Item = Number> {
        (0..self.row().points.len()).map(move |point| Number::Point(self, point))
    }
}

impl From<Scalar> for Number {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl Number {
    /// Every number: the scalars, and then the points of each curve.
    pub fn all() -> impl Iterator<Item = Self> {
        let scalars = Scalar::ALL.iter().copied().map(Self::Scalar);
        scalars.chain(Curve::ALL.iter().flat_map(|curve| curve.numbers()))
    }

    /// The name of the number, which `fathom.model/1` uses as well. A point has the curve's name with the size, as in `far_of_4m`.
    pub fn name(self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.row().name.to_owned(),
            Self::Point(Curve::New, 0) => "new_page".to_owned(),
            Self::Point(Curve::Jump, 0) => "jump".to_owned(),
            Self::Point(curve, _) => {
                format!("{}_{}", curve.row().name, typed::size(self.bytes()).to_lowercase())
            }
        }
    }

    /// Everything about the number; for a point, about its curve.
    pub const fn row(self) -> Row {
        match self {
            Self::Scalar(scalar) => *scalar.row(),
            Self::Point(curve, point) => {
                let CurveRow { name, unit, stage, points, about } = *curve.row();
                let (_, assumed, least) = points[point];
                Row { name, unit, assumed, found: Found::Fitted(stage, least), about }
            }
        }
    }

    /// The value in a model of which nothing is known.
    pub const fn assumed(self) -> Parameter {
        Parameter { value: self.row().assumed, interval: None, origin: Origin::Assumed }
    }

    /// The size in bytes that a point belongs to; 0 for a scalar.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Scalar(_) => 0,
            Self::Point(curve, point) => curve.row().points[point].0,
        }
    }

    /// Its place among all.
    fn index(self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar as usize,
            Self::Point(curve, point) => {
                let before = Curve::ALL[..curve as usize].iter().map(|curve| curve.row().points.len());
                Scalar::ALL.len() + before.sum::<usize>() + point
            }
        }
    }
}

impl Parameters {
    /// The parameters of a model of which nothing is known.
    pub fn assumed() -> Self {
        Self { choices: Choices::default(), numbers: Number::all().map(Number::assumed).collect() }
    }

    /// A number's value, interval and origin.
    pub fn number(&self, number: impl Into<Number>) -> Parameter {
        self.numbers[number.into().index()]
    }

    /// The values of all scalars.
    pub fn scalars(&self) -> Scalars {
        Scalars(std::array::from_fn(|at| self.numbers[at].value))
    }

    /// Whether a write waits until a server has what it writes.
    pub fn writes_wait_for_server(&self) -> bool {
        self[Scalar::WriteThrough] > 0.0
    }

    /// The points of a curve, each with its size in bytes and its height.
    pub fn curve(&self, curve: Curve) -> Vec<(f64, f64)> {
        curve.numbers().map(|point| (f64::from(point.bytes()), self.number(point).value)).collect()
    }

    /// Every number with its value, in the order of [`Number::all`].
    pub fn iter(&self) -> impl Iterator<Item = (Number, Parameter)> {
        Number::all().zip(self.numbers.iter().copied())
    }

    /// Sets a number's value, interval and origin; a value beyond [`BOUNDS`] is brought back to them.
    pub fn put(&mut self, number: impl Into<Number>, parameter: Parameter) {
        let [least, most] = BOUNDS;
        debug_assert!(!parameter.value.is_nan());
        let value = parameter.value.max(least).min(most);
        self.numbers[number.into().index()] = Parameter { value, ..parameter };
    }

    /// Sets a number's value to see the effect.
    pub fn put_value(&mut self, number: impl Into<Number>, value: f64) {
        self.put(number, Parameter { value, interval: None, origin: Origin::Set });
    }
}

impl Parameter {
    /// Returns the parameter if it is valid.
    ///
    /// # Errors
    /// One sentence: its value is beyond [`BOUNDS`], or outside of its interval.
    pub fn checked(self, name: &str) -> Result<Self, String> {
        let Self { value, interval, .. } = self;
        let [least, most] = BOUNDS;
        let is_within = interval.is_none_or(|[low, high]| low <= value && value <= high);
        if least <= value && value <= most && is_within {
            return Ok(self);
        }
        Err(format!("'{name}' is {value}: give a number from zero or more to {most:e}, within the interval"))
    }
}

impl Index<Scalar> for Parameters {
    type Output = f64;

    fn index(&self, scalar: Scalar) -> &f64 {
        &self.numbers[scalar as usize].value
    }
}

impl Index<Scalar> for Scalars {
    type Output = f64;

    fn index(&self, scalar: Scalar) -> &f64 {
        &self.0[scalar as usize]
    }
}

#[cfg(test)]
impl Parameters {
    /// The same with some of them set as somebody types them.
    pub(crate) fn with(mut self, settings: &[(&str, &str)]) -> Self {
        settings.iter().for_each(|(name, value)| self.set(name, value).unwrap());
        self
    }
}
