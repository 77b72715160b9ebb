//! From many readings to what a figure holds: medians, bands and the longest readings, with a word on what is drawn.

use fathom_stats::quantile::{quantile_sorted, sorted};

use crate::report::figure::{Series, Style};

/// The readings at one place of the horizontal axis, in ns, ascending.
#[derive(Debug, Clone)]
pub(super) struct Readings {
    pub(super) x: f64,
    ns: Vec<f64>,
}

/// A line of medians with its band, the readings far above it, and what that shows of how much.
pub(super) struct Drawn {
    pub(super) line: Series,
    pub(super) outliers: Series,
    pub(super) shown: String,
}

/// The most points of a line, and the most outliers drawn as dots: as many as a reader can tell apart, in a small page.
const MOST_POINTS: usize = 2400;
const MOST_OUTLIERS: usize = 300;
/// With fewer readings the band holds all of them, and none is called far.
const FEWEST_FOR_BAND: usize = 8;
/// Interquartile ranges above the upper quartile from which a reading is far out (Tukey's outer fence).
const FAR: f64 = 3.0;

impl Readings {
    /// The readings at `x`; nothing where there are none.
    pub(super) fn new(x: f64, ns: &[f64]) -> Option<Self> {
        (!ns.is_empty()).then(|| Self { x, ns: sorted(ns) })
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn quantile(&self, share: f64) -> f64 {
        quantile_sorted(&self.ns, share).unwrap_or(f64::NAN)
    }

    pub(super) fn band(&self) -> [f64; 2] {
        match self.ns.len() < FEWEST_FOR_BAND {
            true => [self.quantile(0.0), self.quantile(1.0)],
            false => [self.quantile(0.1), self.quantile(0.9)],
        }
    }

    fn outliers(&self) -> &[f64] {
        if self.ns.len() < FEWEST_FOR_BAND {
            return &[];
        }
        let (lower, upper) = (self.quantile(0.25), self.quantile(0.75));
        let fence = upper + FAR * (upper - lower);
        &self.ns[self.ns.partition_point(|&ns| ns <= fence)..]
    }
}

/// The places of one series in the order of the axis.
pub(super) fn drawn(name: &str, style: Style, places: &[Readings]) -> Drawn {
    let kept = extremes(places);
    let line = Series::within(name, style, kept.iter().map(|place| (place.x, place.median(), place.band())));
    let mut far: Vec<(f64, f64)> =
        places.iter().flat_map(|place| place.outliers().iter().map(|&ns| (place.x, ns))).collect();
    let all = far.len();
    far.sort_by(|a, b| b.1.total_cmp(&a.1));
    far.truncate(MOST_OUTLIERS);
    let outliers = Series::of(format!("{name}: far out"), Style::Dots, far);
    let shown = words(name, places, kept.len(), all, outliers.x.len());
    Drawn { line, outliers, shown }
}

/// All places, or of every few neighbours the one with the lowest and the one with the highest median: a spike
/// among many stays a spike.
fn extremes(places: &[Readings]) -> Vec<&Readings> {
    if places.len() <= MOST_POINTS {
        return places.iter().collect();
    }
    let by_median = |a: &(usize, &Readings), b: &(usize, &Readings)| a.1.median().total_cmp(&b.1.median());
    let pair = |some: &'_ [Readings]| -> [usize; 2] {
        let at = |found: Option<(usize, &Readings)>| found.map_or(0, |(at, _)| at);
        let lowest = at(some.iter().enumerate().min_by(by_median));
        let highest = at(some.iter().enumerate().max_by(by_median));
        [lowest.min(highest), lowest.max(highest)]
    };
    places.chunks(neighbours(places.len())).flat_map(|some| pair(some).map(|at| &some[at])).collect()
}

fn neighbours(places: usize) -> usize {
    (2 * places).div_ceil(MOST_POINTS)
}

fn words(name: &str, places: &[Readings], kept: usize, far: usize, dots: usize) -> String {
    let readings: usize = places.iter().map(|place| place.ns.len()).sum();
    let fewest = places.iter().map(|place| place.ns.len()).min().unwrap_or(0);
    let band = match fewest < FEWEST_FOR_BAND {
        true => "the band reaches from the shortest to the longest",
        false => "the band holds the middle 80 % of them",
    };
    let mut text = format!(
        "{name}: {readings} readings at {} places; the line joins their medians, {band}.",
        places.len()
    );
    if kept < places.len() {
        let group = neighbours(places.len());
        text += &format!(" Of every {group} neighbouring places the quickest and the slowest are drawn.");
    }
    if far > 0 {
        let which = if dots < far { format!("the {dots} longest are crosses") } else { "crosses".to_owned() };
        text += &format!(
            " {far} readings lie far out (more than {FAR} interquartile ranges above the upper quartile): {which}."
        );
    }
    text
}

/// The share of readings that took no longer, in steps; thinned evenly, with every one of the longest kept.
pub(super) fn cumulated(name: &str, ns: &[f64]) -> Series {
    const STEPS: usize = 300;
    const TAIL: usize = 60;
    let ascending = sorted(ns);
    let count = ascending.len();
    let stride = count.div_ceil(STEPS).max(1);
    let drawn = |rank: &usize| rank.is_multiple_of(stride) || rank + TAIL >= count;
    let steps = (0..count).filter(drawn).map(|rank| (ascending[rank], (rank + 1) as f64 / count as f64));
    Series::of(name, Style::Steps, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(count: usize, spike: usize) -> Vec<Readings> {
        let ns = |at| if at == spike { vec![900.0; 10] } else { vec![100.0; 10] };
        (0..count).filter_map(|at| Readings::new(at as f64, &ns(at))).collect()
    }

    #[test]
    fn a_spike_among_many_places_is_drawn_and_what_is_left_out_is_told() {
        let places = flat(100_000, 77_777);
        let drawn = drawn("reads", Style::Line, &places);
        assert!(drawn.line.x.len() <= MOST_POINTS, "{}", drawn.line.x.len());
        let at = drawn.line.x.iter().position(|x| x.0 == 77_777.0).unwrap();
        assert_eq!(drawn.line.y[at].0, 900.0);
        assert!(drawn.shown.contains("Of every 84 neighbouring places"), "{}", drawn.shown);
    }

    #[test]
    fn readings_far_out_are_dots_and_are_counted() {
        let mut ns: Vec<f64> = (0..40).map(|at| 100.0 + f64::from(at)).collect();
        ns.push(5000.0);
        let places = vec![Readings::new(0.0, &ns).unwrap()];
        let drawn = drawn("reads", Style::Line, &places);
        assert_eq!(drawn.outliers.y.len(), 1);
        assert!(drawn.shown.contains("1 readings lie far out"), "{}", drawn.shown);
    }

    #[test]
    fn a_share_grows_to_one_and_keeps_its_tail() {
        let ns: Vec<f64> = (0..10_000).map(f64::from).collect();
        let series = cumulated("x", &ns);
        assert!(series.x.len() < 400);
        assert_eq!((series.x.last().unwrap().0, series.y.last().unwrap().0), (9999.0, 1.0));
        assert_eq!(series.x[series.x.len() - 2].0, 9998.0);
    }
}
