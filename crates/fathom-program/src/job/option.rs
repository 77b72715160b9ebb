//! One option of a job file: found in the table, read by its type, and set.

mod kind;
mod table;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

pub(super) use self::table::{Known, Meaning};
pub use self::text::list;
pub(in crate::job) use self::text::names;
pub(super) use self::text::refused_engine;
use super::value::Number;
use super::{Blocks, Buffers, Engine, Job, LatencyTarget, SteadyState, Trim, Unfit, Verify};

/// A job in the making: what can only be settled when all its options are known stands next to it.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) job: Job,
    reads: bool,
    writes: bool,
    trim: Option<Trim>,
    mix: u8,
    blocks: [u64; 3],
    ranges: [Option<Blocks>; 3],
    size: Option<Number>,
    offset: Option<Number>,
    io_size: Option<Number>,
    verify: Verify,
    steady: Option<(bool, bool, f64, bool)>,
    steady_times: [Duration; 2],
    pub(super) directory: Option<String>,
    /// `fadvise_hint` where it names the order itself.
    hint: Option<String>,
    /// `zonemode`.
    zoned: bool,
    strided: bool,
    pub(super) kb_base: i64,
    /// Where each option was set, by its first name, in the order of the file; in a job, zero for those of global sections.
    pub(super) lines: Vec<(&'static str, usize)>,
    /// What to say of it.
    pub(super) notes: Vec<String>,
}

/// Sets an option, and gives the row of the table.
pub(super) fn set(draft: &mut Draft, key: &str, text: Option<&str>) -> Result<&'static Known, String> {
    let row = known(key).ok_or_else(|| {
        format!("there is no option '{key}'{}", nearest(key, table::OPTIONS.iter().flat_map(Known::names)))
    })?;
    let said = |reason: String| format!("{key}: {reason}");
    if let Meaning::Refused = row.meaning
        && !row.kind.read(text, draft.kb_base).is_ok_and(|_| row.is_off(text))
    {
        return Err(format!("{key} is not supported: {}", row.about));
    }
    let value = row.kind.read(text, draft.kb_base).map_err(said)?;
    if let Some(number) = value.taken_for() {
        let unit = if row.kind.words().starts_with("time") { " us" } else { "" };
        draft
            .notes
            .push(format!("{key}={}: fio takes this for {number}{unit}, and so it is here", value.text));
    }
    match row.meaning {
        _ if value.is_void() && !row.is_per_direction => {
            draft.notes.push(format!("{key}={}: fio leaves this as it was, and so it is here", value.text));
        }
        Meaning::Sets(set) => set(draft, &value),
        Meaning::Reads(read) => read(draft, &value).map_err(said)?,
        Meaning::Nothing | Meaning::Refused => {}
    }
    Ok(row)
}

/// `: did you mean ...?` for the name that differs in the fewest letters, if that is not more than half of them.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    // A name may be as long as a line of a file.
    let start: String = wrong.chars().take(64).collect();
    let closest = names.map(|name| (distance(&start, name), name)).min();
    match closest {
        Some((letters, name)) if letters <= wrong.len().div_ceil(2) => format!(": did you mean {name}?"),
        _ => String::new(),
    }
}

/// How many letters of one name must be put in, taken out or changed to make another of it.
pub fn distance(a: &str, b: &str) -> usize {
    strsim::levenshtein(a, b)
}

/// The options by all their names.
static BY_NAME: LazyLock<HashMap<&str, &Known>> = LazyLock::new(|| {
    table::OPTIONS.iter().flat_map(|row| row.names().map(move |name| (name, row))).collect()
});

/// The option of this name.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    BY_NAME.get(name).copied()
}

/// Every name of every option, and whether it may stand without a value.
pub(super) fn all_names() -> impl Iterator<Item = (&'static str, bool)> {
    table::OPTIONS.iter().flat_map(|row| row.names().map(|name| (name, row.is_flag())))
}

/// The table of options as `docs/jobs.md` shows it.
pub fn markdown() -> String {
    let mut text = "| option | value | meaning |\n|---|---|---|\n".to_owned();
    for row in table::OPTIONS {
        let names: Vec<String> = row.names().map(|name| format!("`{name}`")).collect();
        let of = match row.engines {
            [] => String::new(),
            engines => format!(" (`{}`)", engines.join("`, `")),
        };
        let class = match row.meaning {
            Meaning::Refused => "**refused**: ",
            Meaning::Nothing => "*changes nothing that is timed*: ",
            _ => "",
        };
        text += &format!("| {}{of} | {} | {class}{} |\n", names.join(", "), row.kind.words(), row.about);
    }
    text
}

impl Draft {
    /// fio's defaults.
    pub(super) fn new() -> Self {
        Self {
            job: Job::named(""),
            reads: true,
            writes: false,
            trim: None,
            mix: 50,
            blocks: [4096; 3],
            ranges: [None; 3],
            size: None,
            offset: None,
            io_size: None,
            verify: Verify::default(),
            steady: None,
            steady_times: [Duration::ZERO; 2],
            directory: None,
            hint: None,
            zoned: false,
            strided: false,
            kb_base: 1024,
            lines: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The job, with its shares turned into bytes, and what is to be said of it.
    pub(super) fn finish(mut self) -> Result<(Job, Vec<String>), Unfit> {
        self.job.read_percent = match (self.reads, self.writes) {
            (true, true) => self.mix,
            (reads, _) => u8::from(reads) * 100,
        };
        let blocks: [Blocks; 3] =
            std::array::from_fn(|side| self.ranges[side].unwrap_or(Blocks::fixed(self.blocks[side])));
        self.job.blocks = [blocks[0], blocks[1]];
        if self.trim == Some(Trim::Only) {
            self.job.blocks[1] = blocks[2];
        }
        self.job.order.trim = self.trim.map(|trim| (trim, blocks[2]));
        let verifies =
            !self.verify.method.is_empty() || !self.verify.pattern.is_empty() && !self.said("verify");
        // fio verifies no reads of a mix, also where they are all of it.
        if verifies && !(self.reads && self.writes && self.mix == 100) {
            let method = if self.verify.method.is_empty() { "pattern" } else { &self.verify.method };
            self.job.verify = Some(Verify { method: method.to_owned(), ..self.verify.clone() });
        }
        let [duration, ramp] = self.steady_times;
        self.job.steady_state =
            self.steady.filter(|_| !duration.is_zero()).map(|(bandwidth, slope, limit, percent)| {
                SteadyState { bandwidth, slope, limit, percent, duration, ramp }
            });
        self.job.files.hint = self.hint.take();
        if self.zoned {
            return Err(Unfit::by(&["zonemode"], "zonemode=zbd needs a zoned block device"));
        }
        self.stretches()?;
        self.shares()?;
        self.without_effect();
        self.rates()?;
        self.job.fits()?;
        Ok((self.job, self.notes))
    }

    fn said(&self, option: &str) -> bool {
        self.lines.iter().any(|(name, _)| *name == option)
    }

    /// Stretches of a file need a size, and have none without `zonemode`.
    fn stretches(&mut self) -> Result<(), Unfit> {
        let options = &["zonemode", "zonesize"];
        match (self.strided, self.job.order.strides[0]) {
            (false, 1..) => Err(Unfit::by(options, "zonesize= needs zonemode=strided")),
            (true, 0) => Err(Unfit::by(options, "zonemode=strided needs zonesize=")),
            (false, 0) => {
                self.job.order.strides = [0; 3];
                Ok(())
            }
            (true, 1..) => Ok(()),
        }
    }

    /// A share is one of the file where the file's size is given; of what else the run has to find out.
    fn shares(&mut self) -> Result<(), Unfit> {
        let job = &mut self.job;
        let least = job.directions().map(|side| job.blocks[side as usize].least).min().unwrap_or(1).max(1);
        let part = |percent: i64, of: u64| super::share(of, percent as u64);
        match self.offset {
            None => {}
            Some(Number { value, is_percent: false, .. }) => job.offset = value as u64,
            Some(Number { value, .. }) => match job.filesize {
                Some(file) => job.offset = part(value, file).next_multiple_of(job.alignment()),
                None => job.files.offset_percent = Some(value as u8),
            },
        }
        match (self.size, job.filesize) {
            (None, _) => {}
            (Some(Number { value, is_percent: false, .. }), _) => {
                job.size = (value > 0).then_some(value as u64);
            }
            (Some(Number { value, .. }), Some(file)) => {
                // Unlike one in bytes, such a size bounds the part of the file that is used.
                job.filesize = None;
                job.size = Some((part(value, file) / least * least).min(file.saturating_sub(job.offset)));
            }
            (Some(Number { value, .. }), None) => job.files.size_percent = Some(value as u8),
        }
        match self.io_size {
            None => {}
            Some(Number { value, is_percent: false, .. }) => {
                job.io_size = (value > 0).then_some(value as u64);
            }
            Some(Number { value, .. }) => match job.size {
                Some(size) => job.io_size = Some(part(value, size)),
                None if job.filesize.is_some() => job.io_size = Some(part(value, job.placed()?.length)),
                None => job.files.io_size_percent = Some(value as u8),
            },
        }
        Ok(())
    }

    /// Takes back what has no effect in fio either, and says so.
    fn without_effect(&mut self) {
        let job = &mut self.job;
        let engine = job.engine.name();
        if job.depth.most > 1 && !job.engine.is_asynchronous() && !job.depth.offload {
            let most = job.depth.most;
            self.notes.push(format!(
                "iodepth={most} has no effect with ioengine={engine}, which has one transfer under way at a time"
            ));
            job.depth = super::Depth::default();
        }
        if job.engine == Engine::Libaio && !job.direct && job.depth.most > 1 {
            self.notes.push(
                "ioengine=libaio without direct=1 has one transfer under way at a time in effect: \
                 the kernel does it when it is submitted"
                    .to_owned(),
            );
        }
        if job.direct && job.engine == Engine::Mmap {
            job.direct = false;
            self.notes
                .push("direct=1 has no effect with ioengine=mmap, which works on the page cache; fio syncs after each transfer".to_owned());
        }
        if job.time_based && job.runtime.is_zero() {
            job.time_based = false;
            self.notes.push("time_based has no effect without runtime=".to_owned());
        }
        if job.order.distribution != super::Distribution::Uniform {
            job.random_map = false;
        }
        if job.reporting.disabled != [false; 4] {
            self.notes.push(
                "gtod_reduce=, disable_lat= and similar options: all latencies are measured, and only left out of fio's formats"
                    .to_owned(),
            );
        }
        let plain = Buffers { life: None, memory: None, align: 0, ..Buffers::default() };
        if (Buffers { life: None, memory: None, align: 0, ..job.buffers.clone() }) != plain {
            self.notes.push("options of buffer contents have no effect: Fathom writes its own".to_owned());
        }
        if job.latency.target.is_zero() {
            job.latency = LatencyTarget { most: job.latency.most, ..LatencyTarget::default() };
        }
    }

    /// What fio finds contradictory in rates.
    fn rates(&self) -> Result<(), Unfit> {
        let (job, rates) = (&self.job, &self.job.rates);
        let bytes = job.rate.iter().any(|&rate| rate > 0);
        let both = |a: bool, iops: &[u32; 3]| a && iops.iter().any(|&rate| rate > 0);
        if both(bytes, &rates.iops) || both(rates.least.iter().any(|&rate| rate > 0), &rates.least_iops) {
            return Err(Unfit::by(&["rate", "rate_iops"], "rate and rate_iops exclude each other"));
        }
        let too_high = |most: u64, least: u64| most > 0 && most < least;
        let bytes = job.rate.iter().zip(&rates.least).any(|(&most, &least)| too_high(most, least));
        let iops = rates.iops.iter().zip(&rates.least_iops).any(|(&most, &least)| most > 0 && most < least);
        if bytes || iops {
            let options = &["rate_min", "rate_iops_min", "rate", "rate_iops"];
            return Err(Unfit::by(options, "the least rate is above the most"));
        }
        Ok(())
    }
}
