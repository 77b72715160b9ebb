//! A figure as a plain value: what is drawn, not how. The page draws it, its table and its exports from this alone.

use serde::{Serialize, Serializer};

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figure {
    /// Names it within its page: `block_size-1`.
    pub(super) id: String,
    /// What it shows, a few words.
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// What was measured.
    pub(super) series: Vec<Series>,
    /// What was inferred, shown or declared.
    pub(super) marks: Vec<Mark>,
    /// How much of the data is drawn, and what a point, a band and a dot stand for.
    #[serde(skip)]
    pub(super) shown: String,
}

/// One axis.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) quantity: Quantity,
    /// Whether it is logarithmic at first.
    pub(super) log: bool,
    /// Whether a reader may switch.
    pub(super) switch: bool,
    /// What is in the frame at first; everything where there is none.
    pub(super) range: Option<[Rounded; 2]>,
    /// What stands at 0, 1, 2 and so on, where the axis names things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
}

/// What an axis counts, which decides its ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Bytes,
    BytesPerSecond,
    Nanoseconds,
    Share,
    /// So many times as much.
    Times,
    /// Pieces.
    Count,
    NanosecondsPerByte,
    /// Nothing: each number has a name.
    Name,
}

/// What was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) style: Style,
    pub(super) x: Vec<Rounded>,
    pub(super) y: Vec<Rounded>,
    /// The lower and upper edge at each point; empty where there is none. Along the axis that has no names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) low: Vec<Rounded>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) high: Vec<Rounded>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Style {
    /// A line, with a band between the edges.
    #[default]
    Line,
    /// A line with a marker at each point, and error bars between the edges.
    Points,
    /// A marker at each point with error bars, and no line.
    Estimates,
    /// A step at each point: a share that grows.
    Steps,
    /// Markers that no line joins: a few quantiles.
    Markers,
    /// Dots that no line joins: single readings.
    Dots,
    /// The same as many of them as there are, and more than one kind.
    Specks,
    /// Bars from zero.
    Bars,
}

/// What was inferred from the series, or is said elsewhere.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) origin: Origin,
    #[serde(flatten)]
    pub(super) shape: Shape,
}

/// Where a mark comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    Timing,
    Witness,
    Declared,
    /// Readings of a known kind, to compare with.
    Reference,
}

/// What a mark looks like.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub(super) enum Shape {
    /// Upright lines: the teeth of a comb, a change point.
    At { x: Vec<Rounded> },
    /// An upright band: an interval on the horizontal axis.
    Between { x: [Rounded; 2] },
    /// A level line.
    Level { y: Rounded },
    /// A level band: an interval on the vertical axis.
    Levels { y: [Rounded; 2] },
    /// A fitted line.
    Curve { x: Vec<Rounded>, y: Vec<Rounded> },
}

/// A number of which a figure needs four digits; whole numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounded(pub(super) f64);

impl Serialize for Rounded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            return serializer.serialize_none();
        }
        if value.fract() == 0.0 && value.abs() < 1e15 {
            return serializer.serialize_i64(value as i64);
        }
        let places = 3 - value.abs().log10().floor() as i32;
        let scale = 10_f64.powi(places.min(300));
        let rounded = (value * scale).round() / scale;
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

impl Figure {
    /// An empty figure.
    pub(super) fn new(id: String, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let (series, marks) = (Vec::new(), Vec::new());
        Self { id, title: title.into(), x, y, series, marks, shown: String::new() }
    }

    /// An empty figure of the throughput of jobs of these names.
    pub(super) fn throughput(jobs: Vec<String>) -> Self {
        let rate = Axis::new("bytes per second", Quantity::BytesPerSecond).log();
        Self::new("rates".to_owned(), "Throughput", rate, Axis::of_names(jobs))
    }

    /// One more series, unless it has no point.
    pub(super) fn draw(&mut self, series: Series) {
        if !series.x.is_empty() {
            self.series.push(series);
        }
    }
}

impl Axis {
    /// A linear axis.
    pub(super) fn new(label: impl Into<String>, quantity: Quantity) -> Self {
        Self { label: label.into(), quantity, log: false, switch: true, range: None, names: Vec::new() }
    }

    /// An axis of things that have names; upright it begins at the top.
    pub(super) fn of_names(names: Vec<String>) -> Self {
        Self { names, ..Self::new("", Quantity::Name).fixed() }
    }

    /// The same, logarithmic at first.
    pub(super) fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// The same without a switch: it has zeros, or is a share.
    pub(super) fn fixed(self) -> Self {
        Self { switch: false, ..self }
    }
}

impl Series {
    /// An empty series.
    pub(super) fn new(name: impl Into<String>, style: Style) -> Self {
        Self { name: name.into(), style, ..Self::default() }
    }

    /// A series of these points.
    pub(super) fn of(
        name: impl Into<String>,
        style: Style,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let mut series = Self::new(name, style);
        points.into_iter().for_each(|(x, y)| series.push(x, y));
        series
    }

    /// A series of these points with their edges.
    pub(super) fn within(
        name: impl Into<String>,
        style: Style,
        points: impl IntoIterator<Item = (f64, f64, [f64; 2])>,
    ) -> Self {
        let mut series = Self::new(name, style);
        points.into_iter().for_each(|(x, y, edges)| series.push_within(x, y, edges));
        series
    }

    /// One more point.
    pub(super) fn push(&mut self, x: f64, y: f64) {
        self.x.push(Rounded(x));
        self.y.push(Rounded(y));
    }

    /// One more point with its edges.
    pub(super) fn push_within(&mut self, x: f64, y: f64, [low, high]: [f64; 2]) {
        self.push(x, y);
        self.low.push(Rounded(low));
        self.high.push(Rounded(high));
    }
}

impl Mark {
    /// A mark.
    pub(super) fn new(name: impl Into<String>, origin: Origin, shape: Shape) -> Self {
        Self { name: name.into(), origin, shape }
    }

    /// Upright lines at these places.
    pub(super) fn at(name: impl Into<String>, origin: Origin, x: impl IntoIterator<Item = f64>) -> Self {
        Self::new(name, origin, Shape::At { x: x.into_iter().map(Rounded).collect() })
    }

    /// A level line.
    pub(super) fn level(name: impl Into<String>, origin: Origin, y: f64) -> Self {
        Self::new(name, origin, Shape::Level { y: Rounded(y) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits_and_whole_ones_all() {
        let written = |value: f64| serde_json::to_string(&Rounded(value)).unwrap();
        assert_eq!(
            [123_456_789.0, 1234.5678, 0.000_123_456, -12.345_6, 0.0, f64::NAN].map(written),
            ["123456789", "1235", "0.0001235", "-12.35", "0", "null"]
        );
    }
}
