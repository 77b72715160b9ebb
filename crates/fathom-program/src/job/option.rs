//! The options that are understood, one line each: their names, and what they set.

use std::time::Duration;

use super::value::{Amount, amount, count, number, per_direction, range, switch, time};
use super::{Blocks, DIRECTIONS, Engine, Job, Pattern, Unfit};

/// A job in the making: what can only be settled when all its options are known stands beside it.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) job: Job,
    reads: bool,
    writes: bool,
    mix: u8,
    blocks: [u64; DIRECTIONS],
    ranges: [Option<Blocks>; DIRECTIONS],
    size: Option<Amount>,
    offset: Amount,
    io_size: Option<Amount>,
    /// Where each option was set, by its first name, in the order of the file.
    pub(super) lines: Vec<(&'static str, usize)>,
}

/// Sets what the value says; none is an option without `=`.
type Setter = fn(&mut Draft, &str) -> Result<(), String>;

/// An option under all its names.
pub(super) struct Known {
    pub(super) names: &'static [&'static str],
    /// Whether the name alone means `=1`.
    pub(super) is_flag: bool,
    pub(super) set: Setter,
}

const fn valued(names: &'static [&'static str], set: Setter) -> Known {
    Known { names, is_flag: false, set }
}

const fn flag(names: &'static [&'static str], set: Setter) -> Known {
    Known { names, is_flag: true, set }
}

/// More threads than that are a mistake.
const MOST_THREADS: u32 = 1024;
const SECOND: Duration = Duration::from_secs(1);
const MICROSECOND: Duration = Duration::from_micros(1);

/// Every option; `docs/jobs.md` says of each what it means, and a test that none is missing there.
pub(super) const OPTIONS: &[Known] = &[
    valued(&["rw", "readwrite"], direction),
    valued(&["rwmixread"], |draft, text| percent(text).map(|share| draft.mix = share)),
    valued(&["rwmixwrite"], |draft, text| percent(text).map(|share| draft.mix = 100 - share)),
    valued(&["bs", "blocksize"], blocks),
    valued(&["bsrange", "blocksize_range"], ranges),
    valued(&["size"], |draft, text| amount(text).map(|size| draft.size = Some(size))),
    valued(&["filesize"], |draft, text| number(text).map(|size| draft.job.filesize = Some(size))),
    valued(&["offset"], |draft, text| amount(text).map(|offset| draft.offset = offset)),
    valued(&["io_size", "io_limit"], |draft, text| amount(text).map(|size| draft.io_size = Some(size))),
    valued(&["numjobs"], |draft, text| count(text, MOST_THREADS).map(|count| draft.job.numjobs = count)),
    valued(&["ioengine"], engine),
    valued(&["direct"], |draft, text| switch(text).map(|on| draft.job.direct = on)),
    valued(&["buffered"], |draft, text| switch(text).map(|on| draft.job.direct = !on)),
    valued(&["fsync"], |draft, text| count(text, u32::MAX).map(|every| draft.job.fsync = every)),
    valued(&["fdatasync"], |draft, text| count(text, u32::MAX).map(|every| draft.job.fdatasync = every)),
    valued(&["end_fsync"], |draft, text| switch(text).map(|on| draft.job.end_fsync = on)),
    valued(&["invalidate"], |draft, text| switch(text).map(|on| draft.job.invalidate = on)),
    valued(&["pre_read"], |draft, text| switch(text).map(|on| draft.job.pre_read = on)),
    valued(&["fadvise_hint"], |draft, text| switch(text).map(|on| draft.job.fadvise_hint = on)),
    valued(&["runtime"], |draft, text| time(text, SECOND).map(|time| draft.job.runtime = time)),
    flag(&["time_based"], |draft, text| switch(text).map(|on| draft.job.time_based = on)),
    valued(&["ramp_time"], |draft, text| time(text, SECOND).map(|time| draft.job.ramp_time = time)),
    valued(&["thinktime"], |draft, text| time(text, MICROSECOND).map(|time| draft.job.thinktime = time)),
    valued(&["rate"], rates),
    flag(&["norandommap"], |draft, text| switch(text).map(|on| draft.job.random_map = !on)),
    valued(&["randseed"], |draft, text| number(text).map(|seed| draft.job.seed = seed)),
    flag(&["stonewall", "wait_for_previous"], |draft, text| switch(text).map(|on| draft.job.stonewall = on)),
    valued(&["filename"], filename),
    valued(&["name"], |draft, text| {
        draft.job.name = text.to_owned();
        Ok(())
    }),
    valued(&["description"], |_, _| Ok(())),
    flag(&["thread"], |_, text| switch(text).map(drop)),
    flag(&["group_reporting"], |draft, text| switch(text).map(|on| draft.job.group_reporting = on)),
    valued(&["iodepth"], |_, text| only(text, "1", "these engines have one transfer under way at a time")),
    valued(&["kb_base"], |_, text| only(text, "1024", "sizes are read as fio does by default")),
    valued(&["randrepeat"], |_, text| only(text, "1", "random orders repeat; randseed= gives another one")),
    valued(&["loops"], |_, text| only(text, "1", "use io_size= to go round more often")),
    valued(&["unlink"], |_, text| switch(text).map(drop)),
];

/// Options that people meet in job files and that would be dangerous or pointless here, with the reason.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("directory", "jobs run in a private directory below the PATH of the command line: remove the line"),
    ("exec_prerun", "a job file runs no commands"),
    ("exec_postrun", "a job file runs no commands"),
];

impl Draft {
    /// fio's defaults.
    pub(super) fn new() -> Self {
        Self {
            job: Job::named(""),
            reads: true,
            writes: false,
            mix: 50,
            blocks: [4096; DIRECTIONS],
            ranges: [None; DIRECTIONS],
            size: None,
            offset: Amount::Bytes(0),
            io_size: None,
            lines: Vec::new(),
        }
    }

    /// The job, with its shares turned into bytes.
    ///
    /// A share needs to know of what: the file's size for `size` and `offset`, the size for `io_size`.
    pub(super) fn finish(self) -> Result<Job, Unfit> {
        let mut job = self.job;
        job.read_percent = match (self.reads, self.writes) {
            (true, true) => self.mix,
            (reads, _) => u8::from(reads) * 100,
        };
        for (side, blocks) in job.blocks.iter_mut().enumerate() {
            *blocks = self.ranges[side].unwrap_or(Blocks::fixed(self.blocks[side]));
        }
        let least = job.directions().map(|side| job.blocks[side as usize].least).min().unwrap_or(1).max(1);
        let file = job.filesize;
        let share = |percent: u64, what: &'static [&'static str]| match file {
            Some(file) => Ok((u128::from(file) * u128::from(percent) / 100) as u64),
            None => {
                let what_for = format!("{}={percent}% is a share of the file: add filesize=", what.concat());
                Err(Unfit::by(what, what_for))
            }
        };
        job.offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => share(percent, &["offset"])?.div_ceil(least).saturating_mul(least),
        };
        job.size = match self.size {
            None => None,
            Some(Amount::Bytes(bytes)) => Some(bytes),
            Some(Amount::Percent(percent)) => {
                // Unlike one in bytes, such a size bounds the part of the file that is used.
                let size = share(percent, &["size"])? / least * least;
                let room = job.filesize.unwrap_or(0).saturating_sub(job.offset);
                job.filesize = None;
                Some(size.min(room))
            }
        };
        job.io_size = match self.io_size {
            None => None,
            Some(Amount::Bytes(bytes)) => Some(bytes),
            Some(Amount::Percent(percent)) => {
                let whole = job.size.unwrap_or(job.placed()?.length);
                Some((u128::from(whole) * u128::from(percent) / 100) as u64)
            }
        };
        job.fits()?;
        Ok(job)
    }
}

fn direction(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (pattern, reads, writes) = match text {
        "read" => (Pattern::Sequential, true, false),
        "write" => (Pattern::Sequential, false, true),
        "rw" | "readwrite" => (Pattern::Sequential, true, true),
        "randread" => (Pattern::Random, true, false),
        "randwrite" => (Pattern::Random, false, true),
        "randrw" => (Pattern::Random, true, true),
        _ => return Err(format!("'{text}' is none of read, write, rw, randread, randwrite, randrw")),
    };
    (draft.job.pattern, draft.reads, draft.writes) = (pattern, reads, writes);
    Ok(())
}

fn percent(text: &str) -> Result<u8, String> {
    count(text, 100).map(|percent| percent as u8)
}

fn blocks(draft: &mut Draft, text: &str) -> Result<(), String> {
    for (mine, given) in draft.blocks.iter_mut().zip(per_direction(text, number)?) {
        *mine = given.unwrap_or(*mine);
    }
    Ok(())
}

/// A range holds against `bs`, whichever stands first.
fn ranges(draft: &mut Draft, text: &str) -> Result<(), String> {
    for (mine, given) in draft.ranges.iter_mut().zip(per_direction(text, range)?) {
        *mine = given.map(|(least, most)| Blocks { least, most }).or(*mine);
    }
    Ok(())
}

fn rates(draft: &mut Draft, text: &str) -> Result<(), String> {
    for (mine, given) in draft.job.rate.iter_mut().zip(per_direction(text, number)?) {
        *mine = given.unwrap_or(*mine);
    }
    Ok(())
}

fn engine(draft: &mut Draft, text: &str) -> Result<(), String> {
    draft.job.engine = match text {
        "psync" => Engine::Psync,
        "sync" => Engine::Sync,
        "pvsync" => Engine::Pvsync,
        "mmap" => Engine::Mmap,
        _ => return Err(format!("'{text}' is none of psync, sync, pvsync, mmap")),
    };
    Ok(())
}

fn filename(draft: &mut Draft, text: &str) -> Result<(), String> {
    if !super::is_plain(text) || text.contains([':', '\\']) {
        return Err(format!(
            "'{text}' is not one plain file name: jobs work on files of their own below the PATH of the command line"
        ));
    }
    draft.job.filename = Some(text.to_owned());
    Ok(())
}

fn only(text: &str, value: &str, reason: &str) -> Result<(), String> {
    if text == value { Ok(()) } else { Err(format!("only {value} is supported: {reason}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_option() {
        let documentation = include_str!("../../../../docs/jobs.md");
        for name in OPTIONS.iter().flat_map(|known| known.names) {
            assert!(documentation.contains(&format!("`{name}`")), "docs/jobs.md says nothing of {name}");
        }
        for (name, _) in REFUSED {
            assert!(documentation.contains(name) || name.starts_with("exec_"), "docs/jobs.md: {name}");
        }
    }
}
