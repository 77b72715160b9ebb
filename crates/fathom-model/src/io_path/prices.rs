//! What things cost, taken from the parameters once.

pub(super) mod caches;

use fathom_net::{Rng, Span};

use self::caches::Caches;
use super::request::Request;
use super::service_times::ServiceTimes;
use crate::file_read::PAGE;
use crate::kernel::Kernel;
use crate::page_writeback::Thresholds;
use crate::parameters::Parameters;
use crate::read_ahead::Limits;

/// A curve in straight lines: at each x the parameter that says how high it is there.
type Points<const N: usize> = [(f64, &'static str); N];
/// The same with the heights themselves.
type Curve<const N: usize> = [(f64, f64); N];

/// Copying near data, by the size of the call in bytes.
const NEAR: Points<6> = [
    (4_096.0, "near_4k"),
    (12_288.0, "near_12k"),
    (16_384.0, "near_16k"),
    (32_768.0, "near_32k"),
    (65_536.0, "near_64k"),
    (262_144.0, "near_256k"),
];
/// A folio that a write makes, by its size in bytes.
const NEW: Points<5> = [
    (4_096.0, "new_page"),
    (8_192.0, "new_8k"),
    (16_384.0, "new_16k"),
    (65_536.0, "new_64k"),
    (262_144.0, "new_256k"),
];

/// Prices in ns and ns per byte, and the sizes that rules depend on in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    pub(super) call: f64,
    pub(super) seek_call: f64,
    pub(super) open_call: f64,
    pub(super) folio: f64,
    pub(super) added_folio: f64,
    pub(super) added_page: f64,
    pub(super) wake: f64,
    pub(super) fresh_page: f64,
    pub(super) zeroed_page: f64,
    pub(super) copied_byte: f64,
    pub(super) write_call: f64,
    pub(super) jumped_write: f64,
    pub(super) jumped_over: f64,
    scattered_sync: f64,
    /// Whether anything stands between those who ask and the device.
    pub(super) has_queue: bool,
    /// Whether files have places on the device.
    pub(super) has_map: bool,
    pub(super) stdio_buffer: u64,
    pub(super) stdio_call: f64,
    pub(super) caches: Caches,
    copy_knee: f64,
    byte_beyond_knee: f64,
    near: Curve<{ NEAR.len() }>,
    new: Curve<{ NEW.len() }>,
    pub(super) dirtied_page: f64,
    pub(super) new_block: f64,
    pub(super) submission: f64,
    pub(super) device_latency: f64,
    pub(super) device_write_latency: f64,
    pub(super) device_write_request: f64,
    pub(super) device_byte: f64,
    pub(super) device_write_byte: f64,
    /// Requests and bytes a second, of reads and of writes; zero for no limit.
    pub(super) limits: [[f64; 2]; 2],
    pub(super) limit_burst: u64,
    pub(super) limit_slice: u64,
    pub(super) limit_spent: f64,
    pub(super) jiffy: u64,
    pub(super) seek: f64,
    pub(super) rotation: f64,
    pub(super) disk_pages: f64,
    pub(super) service_times: ServiceTimes,
    pub(super) device_depth: u32,
    pub(super) device_flush: f64,
    pub(super) journal_commit: f64,
    noise: f64,
}

impl Prices {
    /// The prices of a set of parameters.
    #[must_use]
    pub fn of(parameters: &Parameters) -> Self {
        let value = |name| parameters.value(name);
        let point = |(x, name)| (x, value(name));
        Self {
            call: value("call"),
            seek_call: value("seek_call"),
            open_call: value("open_call"),
            folio: value("folio"),
            added_folio: value("added_folio"),
            added_page: value("added_page"),
            wake: value("wake"),
            fresh_page: value("fresh_page"),
            zeroed_page: value("zeroed_page"),
            copied_byte: value("copied_byte"),
            write_call: value("write_call"),
            jumped_write: value("jumped_write"),
            jumped_over: value("jumped_over"),
            scattered_sync: value("scattered_sync"),
            has_queue: value("scheduler") > 0.0 || value("wbt_lat") > 0.0,
            has_map: value("allocation") > 0.0,
            stdio_buffer: value("stdio_buffer") as u64,
            stdio_call: value("stdio_call"),
            caches: Caches::of(parameters),
            copy_knee: value("copy_knee"),
            byte_beyond_knee: value("byte_beyond_knee"),
            near: NEAR.map(point),
            new: NEW.map(point),
            dirtied_page: value("dirtied_page"),
            new_block: value("new_block"),
            submission: value("submission"),
            device_latency: value("device_latency"),
            device_write_latency: value("device_write_latency"),
            device_write_request: value("device_write_request"),
            device_byte: value("device_byte"),
            device_write_byte: match value("device_write_byte") {
                0.0 => value("device_byte"),
                own => own,
            },
            limits: [
                [value("limit_read_iops"), value("limit_read_rate")],
                [value("limit_write_iops"), value("limit_write_rate")],
            ],
            limit_burst: value("limit_burst") as u64,
            limit_slice: value("limit_slice") as u64,
            limit_spent: value("limit_spent"),
            jiffy: (value("jiffy") as u64).max(1),
            seek: value("seek"),
            rotation: value("rotation"),
            disk_pages: (value("disk") / PAGE as f64).max(1.0),
            service_times: ServiceTimes::default(),
            device_depth: value("device_depth").max(1.0) as u32,
            device_flush: value("device_flush"),
            journal_commit: value("journal_commit"),
            noise: value("noise"),
        }
    }

    /// A time around its mean, in ns. The spread is that of four even draws, near enough to normal and
    /// without the platform's logarithms, whose last bits differ.
    pub fn around(&self, mean: f64, rng: &mut Rng) -> Span {
        if self.noise == 0.0 {
            return Span::round(mean);
        }
        let bits = rng.next_u64();
        let draws: u64 = (0..4).map(|piece| bits >> (16 * piece) & 0xFFFF).sum();
        // Four draws from 0 to 1 have the mean 2 and the variance 1/3.
        let deviations = (draws as f64 / 65_535.0 - 2.0) * 3.0_f64.sqrt();
        Span::round(mean * (1.0 + self.noise * deviations).max(0.1))
    }

    /// From the submission of a request to its first byte, in ns.
    pub(super) fn latency(&self, request: &Request) -> f64 {
        self.submission + if request.is_write { self.device_write_latency } else { self.device_latency }
    }

    /// What a sync takes longer by whether its new blocks lie apart, in ns.
    pub(super) fn scattered(&self, is_scattered: bool) -> f64 {
        if is_scattered { self.scattered_sync } else { 0.0 }
    }

    /// Copying `bytes` of a call that moves `of_call` in all: t(x) of paper E, section 5.5.
    pub(super) fn copying(&self, bytes: u64, of_call: u64) -> f64 {
        let beyond = if self.copy_knee > 0.0 { (of_call as f64 - self.copy_knee).max(0.0) } else { 0.0 };
        let share = bytes as f64 / of_call.max(1) as f64;
        let near = match self.near {
            [(_, 0.0), ..] => of_call as f64 * self.copied_byte,
            near => at(near, of_call as f64),
        };
        share * (near + beyond * self.byte_beyond_knee)
    }

    /// What a write takes to make a folio of so many pages, beside the copy.
    pub(super) fn new_folio(&self, pages: u64) -> f64 {
        at(self.new, (pages * PAGE) as f64)
    }
}

/// How high a curve is: from nothing to its first point, through the others, and beyond the last in proportion. A point at
/// nothing was not measured, and is left out.
fn at(points: impl IntoIterator<Item = (f64, f64)>, x: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for (to, height) in points.into_iter().filter(|(_, height)| *height > 0.0) {
        if x <= to {
            return before.1 + (height - before.1) * (x - before.0) / (to - before.0);
        }
        before = (to, height);
    }
    if before.0 > 0.0 { before.1 * x / before.0 } else { 0.0 }
}

/// The limits of read-ahead that hold for every file.
pub(super) fn limits(parameters: &Parameters) -> Limits {
    let pages = |name| parameters.value(name) as u64 / PAGE;
    let order = |pages: u64| pages.max(1).ilog2();
    Limits {
        // In the order of `KERNELS`.
        kernel: match parameters.value("kernel") as u32 {
            0 => Kernel::V6_18,
            1 => Kernel::V6_6,
            2 => Kernel::V2_6,
            _ => Kernel::Fixed,
        },
        window: pages("readahead"),
        largest_io: pages("largest_io").max(1),
        least_order: order(pages("block")),
        largest_order: order(pages("largest_folio")).max(order(pages("block"))).min(9),
        is_random: false,
        file_pages: 0,
    }
}

/// How much may be dirty. Source: `domain_dirty_limits`.
#[must_use]
pub fn thresholds(parameters: &Parameters) -> Thresholds {
    let threshold = |bytes, ratio| match parameters.value(bytes) {
        0.0 => parameters.value(ratio) / 100.0 * parameters.value("dirtyable"),
        bytes => bytes,
    };
    let pages = |bytes: f64| bytes as u64 / PAGE;
    let limit = pages(threshold("dirty_bytes", "dirty_ratio")).max(2);
    let background = pages(threshold("dirty_background_bytes", "dirty_background_ratio"));
    Thresholds { background: if background >= limit { limit / 2 } else { background }, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Prices {
        Prices::of(&Parameters::assumed().with(settings))
    }

    #[test]
    fn a_curve_goes_through_its_points_and_on_in_proportion() {
        let near = [
            ("near_4k", "100"),
            ("near_12k", "260"),
            ("near_16k", "320"),
            ("near_32k", "900"),
            ("near_64k", "2000"),
            ("near_256k", "8000"),
        ];
        let prices = with(&near);
        for (bytes, took) in [(2_048, 50.0), (4_096, 100.0), (8_192, 180.0), (65_536, 2e3), (524_288, 16e3)] {
            assert_eq!(prices.copying(bytes, bytes), took, "{bytes}");
        }
        assert_eq!(prices.copying(4_096, 8_192), 90.0, "half of a call");
        assert_eq!(with(&[("copied_byte", "0.5")]).copying(8_192, 8_192), 4_096.0, "without points");
        assert_eq!(
            with(&[near[0], near[4]]).copying(34_816, 34_816),
            1_050.0,
            "what was not measured is left out"
        );
    }

    #[test]
    fn a_new_folio_costs_by_its_size() {
        let points = [("new_page", "1000"), ("new_8k", "1500"), ("new_16k", "2500"), ("new_64k", "8500")];
        let prices = with(&[points.as_slice(), &[("new_256k", "32500")]].concat());
        let folio = |pages| prices.new_folio(pages);
        assert_eq!(
            [0, 1, 2, 4, 8, 16, 64, 512].map(folio),
            [0.0, 1_000.0, 1_500.0, 2_500.0, 4_500.0, 8_500.0, 32_500.0, 260_000.0]
        );
    }
}
