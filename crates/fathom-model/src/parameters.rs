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
    Opening, Queued, Runner, Scheduler, Syncs,
};
pub use self::listed::page;
pub use self::table::{Curve, Scalar};
pub use self::typed::{ALIASES, Named, named, names};

/// Every parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Which parts it has.
    pub choices: Choices,
    /// By [`Number::index`].
    numbers: Vec<Parameter>,
}

/// The values of all scalars, without where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalars([f64; Scalar::ALL.len()]);

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The value, in the number's unit.
    pub value: f64,
    /// Where it lies with 95 % confidence, if that is known.
    pub interval: Option<[f64; 2]>,
    /// Where it comes from.
    pub origin: Origin,
}

choice! {
    /// Where a value comes from.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Origin {
        /// From samples of the machine that is modelled.
        Measured = "measured",
        /// The kernel says so.
        Declared = "declared",
        /// It was neither measured nor declared.
        Assumed = "assumed",
        /// It was set to see what would be if.
        Set = "set",
    }
}

/// One number: a scalar, or the height of a curve at one of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A scalar.
    Scalar(Scalar),
    /// A curve, and which of its points.
    Point(Curve, usize),
}

/// What there is to know of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The value of a model of which nothing is known.
    pub assumed: f64,
    /// How a calibration finds it.
    pub found: Found,
    /// What it is, in one sentence.
    pub about: &'static str,
}

/// What there is to know of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveRow {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// The unit of its heights.
    pub unit: Unit,
    /// The stage of a calibration that fits its heights.
    pub stage: Stage,
    /// Its points: a size in bytes, the height there of a model of which nothing is known, and the least height from which a
    /// calibration begins its search.
    pub points: &'static [(u32, f64, f64)],
    /// What it is, in one sentence.
    pub about: &'static str,
}

/// How a calibration finds a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// A stage fits it to its jobs, and begins its search at this value or above.
    Fitted(Stage, f64),
    /// It is read off the runs without a fit.
    Measured,
    /// The kernel declares it, or a survey finds it.
    Declared,
    /// It is not found.
    Assumed,
}

choice! {
    /// The stages of a calibration, each of which fits one group of numbers, in their order.
    Stage {
        /// System calls, and copies of data that the CPU's caches hold.
        NearData = "calls and near data",
        /// Copies of data that they do not hold.
        FarData = "far data",
        /// How far data are, by how many bytes are read over and over.
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
        /// Pieces.
        Count = "count",
        /// A share of one.
        Share = "share",
    }
}

/// The least and the most that a number may be.
pub const BOUNDS: [f64; 2] = [0.0, 1e18];

impl Curve {
    /// Its points as numbers.
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

    /// Its name, by which `fathom.model/1` knows it, too: of a point the curve's with the size, as in `far_of_4m`.
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

    /// What there is to know of it; of a point what its curve is.
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

    /// The value of a model of which nothing is known.
    pub const fn assumed(self) -> Parameter {
        Parameter { value: self.row().assumed, interval: None, origin: Origin::Assumed }
    }

    /// The size that a point belongs to; 0 of a scalar.
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
    /// A model of which nothing is known.
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

    /// The points of a curve, each with its size in bytes and its height.
    pub fn curve(&self, curve: Curve) -> Vec<(f64, f64)> {
        curve.numbers().map(|point| (f64::from(point.bytes()), self.number(point).value)).collect()
    }

    /// Every number with its value, in the order of [`Number::all`].
    pub fn iter(&self) -> impl Iterator<Item = (Number, Parameter)> {
        Number::all().zip(self.numbers.iter().copied())
    }

    /// Puts another parameter in place of a number's; a value beyond [`BOUNDS`] is brought back to them.
    pub fn put(&mut self, number: impl Into<Number>, parameter: Parameter) {
        let [least, most] = BOUNDS;
        debug_assert!(!parameter.value.is_nan());
        let value = parameter.value.max(least).min(most);
        self.numbers[number.into().index()] = Parameter { value, ..parameter };
    }

    /// Sets a number to see what would be if.
    pub fn put_value(&mut self, number: impl Into<Number>, value: f64) {
        self.put(number, Parameter { value, interval: None, origin: Origin::Set });
    }
}

impl Parameter {
    /// The parameter itself, where it is sound.
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
