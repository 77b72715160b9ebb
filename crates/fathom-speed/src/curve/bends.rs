//! Where curves bend, and why: only as far as the samples and what the system declares carry it.

use fathom_stats::bend::{self, Bends, Half};
use fathom_stats::interval::Estimate;
use fathom_sys::facts;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

use crate::curve::{Operation, Order, Point, Setting, State};
use crate::rounds::ratio;
use fathom_program::units::{Bytes, Nanos};
use fathom_run::instrument::Certificate;

/// The law of one curve: points that differ in nothing but the size of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Family {
    /// The curve's name.
    pub name: String,
    /// What its points have in common; `block_bytes` is zero.
    pub setting: Setting,
    /// What a call costs before its first byte, in ns: the estimate and its 95 % interval.
    pub fixed_ns: Option<[f64; 3]>,
    /// The size of a call at which moving the bytes costs as much as that: the estimate and its 95 % interval.
    pub half_bytes: Option<[f64; 3]>,
    /// The ranges of sizes in which a byte has one cost; more than one where the curve bends again.
    pub prices: Vec<Price>,
    /// The bends in words, each with its reason where there is one; or why nothing is said.
    pub sentences: Vec<String>,
}

/// What a byte costs within a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// The smallest size of the range.
    pub from_bytes: u64,
    /// The largest.
    pub to_bytes: u64,
    /// Time per byte, the call's fixed cost taken out, in ns: the estimate and its 95 % interval.
    pub byte_ns: [f64; 3],
}

/// How much faster sequential cold reads are than random ones of the same size: what read-ahead is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// How many threads.
    pub threads: u32,
    /// One ratio per size of a call.
    pub ratios: Vec<Ratio>,
    /// The size from which on sequential reads are not found to be faster; nothing where they are at every size.
    pub meet_bytes: Option<u64>,
    /// The same in words.
    pub sentence: String,
}

/// A ratio at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Bytes per call.
    pub block_bytes: u64,
    /// Sequential over random: the estimate and its 95 % interval.
    pub ratio: [f64; 3],
}

/// What the system declares that a reason may name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declared {
    /// What an empty system call takes, in ns, as the clock's certificate has it.
    pub system_call_ns: f64,
    /// The processor's data caches: level and bytes.
    pub cpu_caches: Vec<(u32, u64)>,
    /// The page size in bytes.
    pub page_bytes: u64,
    /// The read-ahead window of the mount in bytes.
    pub read_ahead_bytes: Option<u64>,
}

impl Declared {
    /// What is declared of this machine, and of the mount at `path`.
    pub fn of(path: &Path, certificate: &Certificate) -> Self {
        let mount = facts::mount_of(path).ok();
        Self {
            system_call_ns: certificate.system_call_ns,
            cpu_caches: facts::cpu_caches(),
            page_bytes: facts::page_size(),
            read_ahead_bytes: mount
                .and_then(|mount| facts::declared_read_ahead(&mount))
                .map(|(bytes, _)| bytes),
        }
    }
}

/// The law of every curve among the points.
pub fn families(points: &[Point], declared: &Declared, seed: u64) -> Vec<Family> {
    points
        .chunk_by(|a, b| a.setting.family() == b.setting.family())
        .map(|family| of(family, declared, seed))
        .collect()
}

fn of(points: &[Point], declared: &Declared, seed: u64) -> Family {
    let setting = points[0].setting.family();
    let mut family = Family {
        name: setting.name(),
        setting,
        fixed_ns: None,
        half_bytes: None,
        prices: Vec::new(),
        sentences: Vec::new(),
    };
    let times =
        |point: &Point| bend::Point { size: point.setting.block_bytes as f64, times: point.call_times() };
    let usable: Vec<&Point> = points.iter().filter(|point| point.counted().count() >= 4).collect();
    let observed: Vec<bend::Point> = usable.iter().map(|point| times(point)).collect();
    family.sentences.extend(span(points));
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    match bend::fit(&observed, &mut generator) {
        Ok(bends) => describe(&mut family, &bends, &usable, declared),
        Err(reason) => family.sentences.push(format!("whether the curve bends is unknown: {reason}")),
    }
    family
}

/// The rates at the ends and where the median is highest.
fn span(points: &[Point]) -> Option<String> {
    let rate = |point: &Point| Some((point.setting.block_bytes, point.bytes_per_second?));
    let rates: Vec<(u64, f64)> = points.iter().filter_map(rate).collect();
    let fastest = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let words = |&(size, rate): &(u64, f64)| format!("{}/s at {}", Bytes(rate as u64), Bytes(size));
    let [first, .., last] = &rates[..] else { return None };
    let most = match fastest == first || fastest == last {
        true => String::new(),
        false => format!(", and most, {}", words(fastest)),
    };
    Some(format!("{}, {}{most}", words(first), words(last)))
}

fn describe(family: &mut Family, bends: &Bends, points: &[&Point], declared: &Declared) {
    let size = |index: usize| points[index].setting.block_bytes;
    family.prices = bends
        .pieces
        .iter()
        .map(|piece| Price {
            from_bytes: size(piece.first),
            to_bytes: size(piece.last),
            byte_ns: triple(&piece.per_unit),
        })
        .collect();
    family.fixed_ns = (bends.half != Half::Below).then(|| triple(&bends.fixed));
    if let Half::At(half) = &bends.half {
        family.half_bytes = Some(triple(half));
    }
    let beginning = beginning(family, bends, declared);
    family.sentences.push(beginning);
    for pair in bends.pieces.windows(2) {
        let ratio = pair[1].per_unit.value / pair[0].per_unit.value;
        let gap = [size(pair[0].last), size(pair[1].first)];
        let change = match ratio > 1.0 {
            true => format!("{:.2} times as much", ratio),
            false => format!("only {:.2} times as much", ratio),
        };
        let why = reason(&family.setting, gap, ratio > 1.0, declared);
        family.sentences.push(format!(
            "from {} on a byte costs {change} as up to {}{why}",
            Bytes(gap[1]),
            Bytes(gap[0])
        ));
    }
}

/// What is so of the smallest calls.
fn beginning(family: &Family, bends: &Bends, declared: &Declared) -> String {
    let first = family.prices[0];
    let rate = Bytes((1e9 / first.byte_ns[0]) as u64);
    let fixed = || {
        let [low, high] = [bends.fixed.interval.low, bends.fixed.interval.high];
        format!("{} ({} to {})", Nanos(bends.fixed.value), Nanos(low), Nanos(high))
    };
    match &bends.half {
        Half::At(half) => format!(
            "a call costs {} before its first byte{}; up to {} a call ({} to {}) that is more than its bytes cost, which move at {rate}/s",
            fixed(),
            source_of_fixed(&family.setting, declared),
            Bytes(half.value as u64),
            Bytes(half.interval.low as u64),
            Bytes(half.interval.high as u64)
        ),
        Half::Below => format!(
            "no bend at small calls: already at {} most of a call is its bytes, at {rate}/s",
            Bytes(first.from_bytes)
        ),
        Half::Above => format!(
            "a call costs {}{} whatever it moves, up to {}",
            fixed(),
            source_of_fixed(&family.setting, declared),
            Bytes(first.to_bytes)
        ),
        Half::Unclear => {
            "these sizes do not show where the bytes begin to take longer than the call itself".to_owned()
        }
    }
}

/// What is known of the part that does not depend on the size.
fn source_of_fixed(setting: &Setting, declared: &Declared) -> String {
    match (setting.state, setting.order) {
        (State::Cached | State::Empty, _) if declared.system_call_ns > 0.0 => {
            format!(", of which an empty system call is {}", Nanos(declared.system_call_ns))
        }
        (State::Cold | State::Direct, Order::Random) if setting.operation == Operation::Read => {
            ", the wait for the device".to_owned()
        }
        _ => String::new(),
    }
}

/// What the system declares in this gap between two sizes; nothing where it declares nothing there.
///
/// A cache that overflows makes bytes slower, a request of its own size makes them cheaper.
fn reason(setting: &Setting, gap: [u64; 2], is_dearer: bool, declared: &Declared) -> String {
    let is_in = |bytes: u64| gap[0] <= bytes && bytes <= gap[1];
    let is_cold = setting.state == State::Cold;
    if is_cold && setting.operation == Operation::Overwrite && is_in(declared.page_bytes) {
        return format!(
            "; what is smaller than a page, {}, must read the page first",
            Bytes(declared.page_bytes)
        );
    }
    let window = declared.read_ahead_bytes.filter(|&bytes| is_cold && !is_dearer && is_in(bytes));
    let cache = declared.cpu_caches.iter().find(|&&(_, bytes)| !is_cold && is_dearer && is_in(bytes));
    match (window, cache) {
        (Some(bytes), _) => format!("; the read-ahead window declared here, {}, lies between", Bytes(bytes)),
        (_, Some(&(level, bytes))) => {
            format!("; the processor's L{level} cache, {}, lies between", Bytes(bytes))
        }
        _ => "; nothing that the system declares lies between".to_owned(),
    }
}

/// What read-ahead is worth, for every file and number of threads with cold reads in both orders.
pub fn worth_of_read_ahead(points: &[Point]) -> Vec<Worth> {
    let cold = |point: &&Point, order: Order| {
        let Setting { operation, state, .. } = point.setting;
        operation == Operation::Read && state == State::Cold && point.setting.order == order
    };
    let sequential: Vec<&Point> = points.iter().filter(|point| cold(point, Order::Sequential)).collect();
    let groups = sequential.chunk_by(|a, b| a.setting.family() == b.setting.family());
    groups
        .filter_map(|group| {
            let ratios: Vec<Ratio> = group
                .iter()
                .filter_map(|one| {
                    let twin = Setting { order: Order::Random, ..one.setting };
                    let random = points.iter().find(|point| point.setting == twin)?;
                    let ratio = ratio(&random.call_times(), &one.call_times())?;
                    Some(Ratio { block_bytes: one.setting.block_bytes, ratio })
                })
                .collect();
            let Setting { file_bytes, threads, .. } = group[0].setting;
            let first = *ratios.first()?;
            let apart = ratios.iter().rposition(|one| one.ratio[1] > 1.0);
            let meet = ratios.get(apart.map_or(0, |index| index + 1)).map(|one| one.block_bytes);
            let sentence = sentence(&first, meet);
            Some(Worth { file_bytes, threads, ratios, meet_bytes: meet, sentence })
        })
        .collect()
}

fn sentence(first: &Ratio, meet: Option<u64>) -> String {
    let start = format!(
        "read-ahead makes sequential cold reads {:.1} ({:.1} to {:.1}) times as fast as random ones at {}",
        first.ratio[0],
        first.ratio[1],
        first.ratio[2],
        Bytes(first.block_bytes)
    );
    match meet {
        Some(size) if size == first.block_bytes => {
            "sequential cold reads do not differ measurably from random ones".to_owned()
        }
        Some(size) => format!("{start}, and no measurably faster from {} on", Bytes(size)),
        None => format!("{start}, and still faster at the largest size"),
    }
}

fn triple(estimate: &Estimate) -> [f64; 3] {
    [estimate.value, estimate.interval.low, estimate.interval.high]
}
