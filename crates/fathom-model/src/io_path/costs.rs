//! What things cost, taken from the parameters once.

pub(super) mod caches;

use std::ops::Index;

use fathom_net::{Rng, Span};

use self::caches::Caches;
use super::request::Request;
use super::work::Work;
use crate::file_read::PAGE;
use crate::page_writeback::Thresholds;
use crate::parameters::{
    Allocation, Answers, Curve, FreeMemory, Limited, Opening, Parameters, Queued, Scalar, Scalars, Scheduler,
    Works,
};
use crate::read_ahead::Limits;

/// Costs in ns and ns per byte, and the sizes that rules depend on in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    scalars: Scalars,
    /// Whether anything stands between those who ask and the device.
    pub(super) has_queue: bool,
    /// Whether files have places on the device.
    pub(super) has_map: bool,
    pub(super) caches: Caches,
    near: Vec<(f64, f64)>,
    new: Vec<(f64, f64)>,
    /// That of a byte that is read, where a write has none of its own.
    pub(super) device_write_byte: f64,
    /// Requests and bytes a second, of reads and of writes; zero for no limit.
    pub(super) limits: [[f64; 2]; 2],
    pub(super) limited: Limited,
    pub(super) has_jbd2: bool,
    pub(super) limit_slice: u64,
    pub(super) jiffy: u64,
    pub(super) disk_pages: f64,
    pub(super) device_depth: u32,
    pub(super) answers_together: bool,
    /// Whether the device's work is done on a CPU.
    pub(super) works_on_cpu: bool,
    /// Whether a server does one thing at a time.
    pub(super) serves_in_turn: bool,
    /// What an open does to the cached pages of its file.
    pub(super) opening: Opening,
    /// What a new page of the page cache waits for its memory, in ns.
    taken_page: f64,
    /// What a new page of a file waits for memory in the page cache that its server has, in ns.
    servers_page: f64,
}

impl Index<Scalar> for Costs {
    type Output = f64;

    fn index(&self, scalar: Scalar) -> &f64 {
        &self.scalars[scalar]
    }
}

impl Costs {
    /// The costs of a set of parameters.
    #[must_use]
    pub fn of(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar];
        let taken_page = match parameters.choices.free_memory {
            FreeMemory::There => 0.0,
            FreeMemory::Taken => value(Scalar::TakenByte) * PAGE as f64,
        };
        Self {
            scalars: parameters.scalars(),
            has_queue: parameters.choices.scheduler != Scheduler::None || value(Scalar::WbtLat) > 0.0,
            has_map: parameters.choices.allocation != Allocation::None,
            caches: Caches::of(parameters),
            near: parameters.curve(Curve::Near),
            new: parameters.curve(Curve::New),
            device_write_byte: match value(Scalar::DeviceWriteByte) {
                0.0 => value(Scalar::DeviceByte),
                own => own,
            },
            limits: [
                [value(Scalar::LimitReadIops), value(Scalar::LimitReadRate)],
                [value(Scalar::LimitWriteIops), value(Scalar::LimitWriteRate)],
            ],
            limited: parameters.choices.limited,
            has_jbd2: parameters.choices.journal.is_jbd2(),
            limit_slice: value(Scalar::LimitSlice) as u64,
            jiffy: (value(Scalar::Jiffy) as u64).max(1),
            disk_pages: (value(Scalar::Disk) / PAGE as f64).max(1.0),
            device_depth: value(Scalar::DeviceDepth).max(1.0) as u32,
            answers_together: parameters.choices.answers == Answers::Together,
            works_on_cpu: parameters.choices.works == Works::OnCpu,
            serves_in_turn: parameters.choices.queued == Queued::InTurn,
            opening: parameters.choices.opening,
            taken_page,
            servers_page: if parameters.writes_wait_for_server() { taken_page } else { 0.0 },
        }
    }

    /// A random time with this mean, in ns. Its spread is that of four uniform draws, which is nearly normal and needs no
    /// logarithms, whose last bits differ between platforms.
    pub fn around(&self, mean: f64, rng: &mut Rng) -> Span {
        if self[Scalar::Noise] == 0.0 {
            return Span::round(mean);
        }
        let bits = rng.next_u64();
        let draws: u64 = (0..4).map(|piece| bits >> (16 * piece) & 0xFFFF).sum();
        // Four draws from 0 to 1 have the mean 2 and the variance 1/3.
        let deviations = (draws as f64 / 65_535.0 - 2.0) * 3.0_f64.sqrt();
        Span::round(mean * (1.0 + self[Scalar::Noise] * deviations).max(0.1))
    }

    /// From the submission of a request to its first byte, in ns.
    pub(super) fn latency(&self, request: &Request) -> f64 {
        let handing_over = if request.is_submitted { 0.0 } else { self[Scalar::Submission] };
        let latency =
            if request.is_write { self[Scalar::DeviceWriteLatency] } else { self[Scalar::DeviceLatency] };
        // Its server works on another CPU then, which has to be woken.
        let apart = if request.is_near { 0.0 } else { self[Scalar::ServerApart] };
        let asks = request.asks_first && self[Scalar::AskedFirst] > 0.0;
        handing_over + latency + apart * if asks { 2.0 } else { 1.0 }
    }

    /// How long a request keeps a device that does nothing else meanwhile, in ns.
    pub(super) fn serving(&self, request: &Request) -> f64 {
        let of = if request.is_write { Scalar::DeviceWriteRequest } else { Scalar::DeviceReadRequest };
        let asking = if request.asks_first { self[Scalar::AskedFirst] } else { 0.0 };
        self[of] + asking + self.moving(request)
    }

    /// Moving a request's data, in ns.
    pub(super) fn moving(&self, request: &Request) -> f64 {
        let byte = if request.is_write { self.device_write_byte } else { self[Scalar::DeviceByte] };
        let pages = request.pages as f64;
        let new = match request.is_unwritten {
            true => request.bytes() as f64 * self[Scalar::UnwrittenByte] + pages * self.servers_page,
            false => 0.0,
        };
        let apart = match request.folios {
            0 if request.is_direct && !request.is_write => pages * self[Scalar::DirectReadPage],
            0 => 0.0,
            folios => folios as f64 * self[Scalar::WrittenFolio] + pages * self[Scalar::WrittenPage],
        };
        request.bytes() as f64 * byte + new + apart
    }

    /// What a sync takes longer if its new blocks lie apart in so many rows, in ns.
    pub(super) fn scattered(&self, rows: u64) -> f64 {
        match rows.checked_sub(1) {
            Some(more) => self[Scalar::ScatteredSync] + more as f64 * self[Scalar::ScatteredExtent],
            None => 0.0,
        }
    }

    /// Copying `bytes` of a call that moves `of_call` in all: t(x) of paper E, section 5.5.
    pub(super) fn copying(&self, bytes: u64, of_call: u64) -> f64 {
        let beyond = if self[Scalar::CopyKnee] > 0.0 {
            (of_call as f64 - self[Scalar::CopyKnee]).max(0.0)
        } else {
            0.0
        };
        let share = bytes as f64 / of_call.max(1) as f64;
        let near = match self.near[..] {
            [(_, 0.0), ..] => of_call as f64 * self[Scalar::CopiedByte],
            _ => at(self.near.iter().copied(), of_call as f64),
        };
        share * (near + beyond * self[Scalar::ByteBeyondKnee])
    }

    /// What the next copy of a call takes, in ns, without waits.
    pub(super) fn working(&self, work: &Work) -> f64 {
        self.copying(work.copied, work.call.bytes) + work.owed_ns as f64
    }

    /// What a write takes to make a folio of so many pages, besides the copy.
    pub(super) fn new_folio(&self, pages: u64) -> f64 {
        at(self.new.iter().copied(), (pages * PAGE) as f64)
            + pages as f64 * (self.taken_page + self.servers_page)
    }

    /// What a read takes to make folios for data from the device.
    pub(super) fn added(&self, folios: u64, pages: u64) -> f64 {
        let page = self[Scalar::AddedPage] + self.taken_page;
        folios as f64 * self[Scalar::AddedFolio] + pages as f64 * page
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
    let pages = |scalar| parameters[scalar] as u64 / PAGE;
    let order = |pages: u64| pages.max(1).ilog2();
    Limits {
        kernel: parameters.choices.kernel,
        window: pages(Scalar::Readahead),
        largest_io: pages(Scalar::LargestIo).max(1),
        least_order: order(pages(Scalar::Block)),
        largest_order: order(pages(Scalar::LargestFolio)).max(order(pages(Scalar::Block))).min(9),
        is_random: false,
        file_pages: 0,
    }
}

/// The thresholds of dirty data. Source: `domain_dirty_limits`.
#[must_use]
pub fn thresholds(parameters: &Parameters) -> Thresholds {
    let threshold = |bytes, ratio| match parameters[bytes] {
        0.0 => parameters[ratio] / 100.0 * parameters[Scalar::Dirtyable],
        bytes => bytes,
    };
    let pages = |bytes: f64| bytes as u64 / PAGE;
    let limit = pages(threshold(Scalar::DirtyBytes, Scalar::DirtyRatio)).max(2);
    let background = pages(threshold(Scalar::DirtyBackgroundBytes, Scalar::DirtyBackgroundRatio));
    Thresholds { background: if background >= limit { limit / 2 } else { background }, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Costs {
        Costs::of(&Parameters::assumed().with(settings))
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
        let costs = with(&near);
        for (bytes, took) in [(2_048, 50.0), (4_096, 100.0), (8_192, 180.0), (65_536, 2e3), (524_288, 16e3)] {
            assert_eq!(costs.copying(bytes, bytes), took, "{bytes}");
        }
        assert_eq!(costs.copying(4_096, 8_192), 90.0, "half of a call");
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
        let costs = with(&[points.as_slice(), &[("new_256k", "32500")]].concat());
        let folio = |pages| costs.new_folio(pages);
        assert_eq!(
            [0, 1, 2, 4, 8, 16, 64, 512].map(folio),
            [0.0, 1_000.0, 1_500.0, 2_500.0, 4_500.0, 8_500.0, 32_500.0, 260_000.0]
        );
    }
}
