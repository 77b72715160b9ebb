//! fio jobs as plain values: what each of some threads does to a file, in fio's words and with fio's meaning.
//!
//! `docs/jobs.md` lists the options that are understood. A job does nothing by itself:
//! `load` of `fathom-run` runs it.
//!
//! ```
//! use fathom_program::job::{Blocks, Job, Pattern};
//!
//! let job = Job {
//!     pattern: Pattern::Random,
//!     blocks: [Blocks::fixed(4096); 2],
//!     size: Some(1 << 20),
//!     ..Job::named("random-reads")
//! };
//! assert_eq!(job.region().unwrap().length, 1 << 20);
//! ```

mod benchmark;
mod command_line;
mod conduct;
mod engine;
mod existing;
mod fields;
mod file;
mod files;
mod iolog;
mod option;
mod paths;
mod sizes;
mod support;
mod value;

use std::time::Duration;

pub use crate::call::{DIRECTIONS, Direction};

pub use self::benchmark::{Benchmark, Program, Rate};
pub use self::command_line::{CommandLine, Output, parse_command, words_of};
pub use self::conduct::*;
pub use self::engine::Engine;
pub use self::existing::{Existing, OnFiles};
pub use self::fields::*;
pub use self::file::{JobFile, Mistake, Section, Surroundings, parse};
pub use self::files::{Layout, ThreadFile};
pub use self::iolog::{IoLog, LogAction, LogEntry};
pub use self::option::{distance, list, markdown as option_table};

/// One job: some threads that do the same to files of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it is called in reports, and its files are named after.
    pub name: String,
    /// The file that all its threads share; without one each thread has its own.
    pub filename: Option<String>,
    /// The order of the offsets.
    pub pattern: Pattern,
    /// How many of a hundred transfers read; the others write.
    pub read_percent: u8,
    /// How much one transfer moves: reads, writes.
    pub blocks: [Blocks; 2],
    /// Bytes that each thread transfers, and the length of the part of the file that it does so in.
    pub size: Option<u64>,
    /// Bytes that a file has, where that is not what the offset and the size come to.
    pub filesize: Option<u64>,
    /// Where the part of the file begins, in bytes.
    pub offset: u64,
    /// Bytes that each thread transfers, where that is not the size.
    pub io_size: Option<u64>,
    /// How many threads.
    pub numjobs: u32,
    /// The system calls that transfer.
    pub engine: Engine,
    /// Past the page cache.
    pub direct: bool,
    /// `fsync(2)` after so many writes; zero for never.
    pub fsync: u32,
    /// `fdatasync(2)` after so many writes; zero for never.
    pub fdatasync: u32,
    /// `fsync(2)` after the last write.
    pub end_fsync: bool,
    /// Drop the file's clean pages from the cache before each pass over it.
    pub invalidate: bool,
    /// Read the file into the cache before the first pass, and do not invalidate.
    pub pre_read: bool,
    /// Set space aside for a file that is only written; otherwise it grows as it is written.
    pub allocate: bool,
    /// Tell the kernel whether the order will be sequential or random.
    pub fadvise_hint: bool,
    /// Stop after so long; zero for no limit.
    pub runtime: Duration,
    /// Go on until the runtime is over, however often that passes over the file.
    pub time_based: bool,
    /// Run for so long before anything counts.
    pub ramp_time: Duration,
    /// Wait for so long after each transfer.
    pub thinktime: Duration,
    /// The most bytes per second: reads, writes; zero for no limit.
    pub rate: [u64; 2],
    /// Visit every block of a random pass once before any is visited again.
    pub random_map: bool,
    /// Decides random orders.
    pub seed: u64,
    /// Begin when all jobs before it have ended.
    pub stonewall: bool,
    /// Report all threads of its group as one, where threads are reported at all.
    pub group_reporting: bool,
    /// Requests that are under way at once.
    pub depth: Depth,
    /// Options of its engine.
    pub engine_options: EngineOptions,
    /// Its files, where they are not just one by its name or one for each thread.
    pub files: Files,
    /// Where transfers go, beyond sequential and random.
    pub order: Order,
    /// When data must be durable, beyond `fsync` and `fdatasync`.
    pub durability: Durability,
    /// Bounds on the rate, beyond `rate`.
    pub rates: Rates,
    /// Waiting between transfers, beyond `thinktime`.
    pub thinking: Thinking,
    /// What is written is read again and compared.
    pub verify: Option<Verify>,
    /// How latencies steer the depth, and what is too long.
    pub latency: LatencyTarget,
    /// The job ends once its rate is steady.
    pub steady_state: Option<SteadyState>,
    /// Where and how urgently its threads run.
    pub placement: Placement,
    /// When it begins and ends, beyond size and runtime.
    pub course: Course,
    /// How a log of transfers is replayed.
    pub replay: Replay,
    /// What is logged while it runs.
    pub logs: Logs,
    /// What is reported of it.
    pub reporting: Reporting,
    /// What it writes.
    pub buffers: Buffers,
    /// What was written in the job file for it, option and value, in order.
    pub written: Vec<(String, String)>,
}

/// The order of a job's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One block after the other; reads and writes each with a position of their own.
    Sequential,
    /// Blocks drawn at random.
    Random,
}

/// How much one transfer moves, in bytes: any multiple of the least up to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// What of a file one pass of a job covers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// How long the file must be.
    pub file: u64,
}

/// More threads than that are a mistake.
const MOST_THREADS: u32 = 1024;

/// Larger blocks than any device or file system takes at once; each thread has a buffer of this size at most.
const LARGEST_BLOCK: u64 = 1 << 30;

impl Blocks {
    /// Always the same.
    pub const fn fixed(bytes: u64) -> Self {
        Self { least: bytes, most: bytes }
    }
}

impl Job {
    /// A job with all of fio's defaults: sequential reads of 4 KiB by `psync` in one thread.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            filename: None,
            pattern: Pattern::Sequential,
            read_percent: 100,
            blocks: [Blocks::fixed(4096); DIRECTIONS],
            size: None,
            filesize: None,
            offset: 0,
            io_size: None,
            numjobs: 1,
            engine: Engine::Psync,
            direct: false,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            invalidate: true,
            pre_read: false,
            allocate: true,
            fadvise_hint: true,
            runtime: Duration::ZERO,
            time_based: false,
            ramp_time: Duration::ZERO,
            thinktime: Duration::ZERO,
            rate: [0; DIRECTIONS],
            random_map: true,
            seed: 0,
            stonewall: false,
            group_reporting: false,
            depth: Depth::default(),
            engine_options: EngineOptions::default(),
            files: Files::default(),
            order: Order::default(),
            durability: Durability::default(),
            rates: Rates::default(),
            thinking: Thinking::default(),
            verify: None,
            latency: LatencyTarget::default(),
            steady_state: None,
            placement: Placement::default(),
            course: Course::default(),
            replay: Replay::default(),
            logs: Logs::default(),
            reporting: Reporting::default(),
            buffers: Buffers::default(),
            written: Vec::new(),
        }
    }

    /// The most that one transfer moves, in bytes.
    pub fn largest_block(&self) -> u64 {
        let used = |side: usize| self.order.sizes_by_order.then_some(self.blocks[side].most);
        let by_order = [0, 1].into_iter().filter_map(used).max();
        let largest =
            self.directions().map(|direction| self.blocks[direction as usize].most).max().unwrap_or(1);
        largest.max(by_order.unwrap_or(0))
    }

    /// Whether it only writes, into files that each run makes anew.
    pub fn is_new(&self) -> bool {
        !self.does(Direction::Read) && self.filesize.is_none()
    }

    /// Whether it ever transfers in this direction.
    pub fn does(&self, direction: Direction) -> bool {
        match direction {
            Direction::Read => self.read_percent > 0,
            Direction::Write => self.read_percent < 100,
        }
    }

    /// The directions that it transfers in.
    pub fn directions(&self) -> impl Iterator<Item = Direction> + '_ {
        [Direction::Read, Direction::Write].into_iter().filter(|&direction| self.does(direction))
    }

    /// The part of its file that it works on.
    ///
    /// With a file size given the part reaches to the end of the file, and the size is only how much
    /// is transferred; otherwise the file is as long as offset and size make it.
    ///
    /// # Errors
    /// One sentence where no size is given or the offset is past the end of the file.
    pub fn region(&self) -> Result<Region, String> {
        self.placed().map_err(|unfit| unfit.reason)
    }

    fn placed(&self) -> Result<Region, Unfit> {
        let too_long = || Unfit::by(&["offset", "size"], "offset and size exceed any file");
        let missing = || Unfit::by(&[], "size= is missing: say how much of a file to transfer");
        let file = match (self.filesize, self.size) {
            (Some(file), _) => file,
            (None, size) => {
                let size = size.ok_or_else(missing)? / u64::from(self.file_count());
                self.offset.checked_add(size).ok_or_else(too_long)?
            }
        };
        if self.offset >= file {
            let reason = format!("offset={} is past the end of the file of {file} bytes", self.offset);
            return Err(Unfit::by(&["offset", "size", "filesize"], reason));
        }
        Ok(Region { offset: self.offset, length: file - self.offset, file })
    }

    /// The part of its file that one of its threads works on: each further one begins `offset_increment` later.
    ///
    /// # Errors
    /// As [`region`](Self::region).
    pub fn region_of(&self, thread: u32) -> Result<Region, String> {
        let (increment, is_share) = self.order.increment;
        let further = u64::from(thread).checked_mul(increment);
        let offset = further.and_then(|further| self.offset.checked_add(further));
        let offset = offset.filter(|offset| i64::try_from(*offset).is_ok());
        let offset = offset.ok_or("offset_increment= exceeds any file")?;
        let offset = if is_share { offset.next_multiple_of(self.alignment()) } else { offset };
        Self { offset, ..self.clone() }.region()
    }

    /// Bytes that each thread transfers in all its loops unless time ends it; none where it goes on until then.
    ///
    /// # Errors
    /// As [`files_of`](Self::files_of).
    pub fn transfer(&self) -> Result<Option<u64>, String> {
        let bytes = self.transfer_of_loop()?;
        Ok(bytes.map(|bytes| bytes.saturating_mul(self.loops_of_size())))
    }

    /// How often all is to be done.
    pub(crate) fn loop_count(&self) -> u64 {
        u64::from(self.course.loops.max(1))
    }

    /// How often the bytes of a loop are transferred; where passes are counted, all of them are one loop.
    pub(crate) fn loops_of_size(&self) -> u64 {
        if self.counts_passes() { 1 } else { self.loop_count() }
    }

    /// Whether a pass of a job that verifies ends where its files do, and not after its size: all loops together then transfer
    /// their bytes. fio counts the bytes of a pass where they are queued alone. Source: `io_queue_event` of its `backend.c`.
    pub(crate) fn passes_to_the_end(&self) -> bool {
        self.verify.is_some() && !self.is_queued() && !self.time_based && self.io_size.is_none()
    }

    /// What fio bounds the bytes of all loops by, where a loop has `bytes`: with `io_size` so many for each.
    pub(crate) fn most_issued(&self, bytes: u64) -> u64 {
        match self.io_size {
            Some(all) => all.saturating_mul(self.loop_count()),
            None => bytes.saturating_mul(self.loops_of_size()),
        }
    }

    /// Whether the passes of its size are counted: by `loops`, or as `io_size` is more or less than one.
    pub(crate) fn counts_passes(&self) -> bool {
        let goes_round = self.time_based || self.verify.is_some() || self.course.iologs[0].is_some();
        (self.io_size.is_some() || self.loop_count() > 1) && !goes_round && !self.files.create_only
    }

    /// Whether no pass ends before all is transferred, as blocks may come again or transfers go round. Source: `do_io` of fio's
    /// `backend.c`, which counts what it has issued in a pass for engines with a queue alone.
    pub(crate) fn goes_on(&self) -> bool {
        let order = &self.order;
        let may_repeat = !self.random_map && order.generator.is_none()
            || order.distribution != Distribution::Uniform
            || order.every > 1;
        match self.pattern {
            Pattern::Random => may_repeat && (!self.is_queued() || self.does(Direction::Write)),
            Pattern::Sequential => order.skip != 0 && !self.is_queued(),
        }
    }

    /// Bytes that each thread transfers in one loop; otherwise as [`transfer`](Self::transfer).
    ///
    /// # Errors
    /// As [`region`](Self::region).
    pub(crate) fn transfer_of_loop(&self) -> Result<Option<u64>, String> {
        let all = self.all_bytes(0)?;
        let size = self.size_of(all);
        let (loops, block) = (self.loop_count(), self.largest_block());
        let bytes = match self.io_size {
            _ if !self.counts_passes() => self.io_size.unwrap_or(size),
            // fio loops over the size, and on until it comes within a block of `io_size`.
            Some(bytes) if bytes > size && size > 0 && !self.goes_on() => {
                let passes = loops.max(bytes.saturating_sub(block) / size + 1);
                size.saturating_mul(passes).min(bytes.saturating_mul(loops))
            }
            bytes => bytes.unwrap_or(size).saturating_mul(loops),
        };
        Ok(match (self.files.create_only, self.time_based) {
            (true, _) => Some(0),
            (false, true) => None,
            (false, false) => Some(bytes),
        })
    }

    /// The bytes of a pass, of files that have so many.
    pub(crate) fn size_of(&self, all: u64) -> u64 {
        self.size.map_or(all, |size| size.min(all))
    }

    /// The bytes of the parts of a thread's files that it works on.
    fn all_bytes(&self, thread: u32) -> Result<u64, String> {
        Ok(self.files_of(thread)?.iter().fold(0, |sum: u64, file| sum.saturating_add(file.region.length)))
    }

    /// Whether a bound on its rate makes it wait.
    pub fn is_paced(&self) -> bool {
        self.rate != [0; DIRECTIONS] || self.rates.iops != [0; 3]
    }

    /// Whether it passes over its region more than once.
    ///
    /// # Errors
    /// As [`region`](Self::region).
    pub fn loops(&self) -> Result<bool, String> {
        Ok(self.time_based || self.transfer_of_loop()? > Some(self.all_bytes(0)?))
    }

    /// Checks what the engine relies on.
    ///
    /// # Errors
    /// One sentence that names the first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.region()?;
        self.unsupported().map_or(Ok(()), Err)?;
        self.fits().map_err(|unfit| unfit.reason)?;
        self.transfer().map(drop)
    }

    /// Checks what contradicts itself, and names the options that are to blame.
    fn fits(&self) -> Result<(), Unfit> {
        let unless = |is_wrong: bool, options, reason: &str| match is_wrong {
            true => Err(Unfit::by(options, reason)),
            false => Ok(()),
        };
        unless(self.numjobs == 0, &["numjobs"], "numjobs=0 leaves nothing to do")?;
        let threads = self.numjobs;
        unless(
            threads > MOST_THREADS,
            &["numjobs"],
            &format!("numjobs={threads} is more than {MOST_THREADS}"),
        )?;
        let percent = self.read_percent;
        unless(percent > 100, &["rwmixread"], &format!("rwmixread={percent} is more than 100"))?;
        let contradicts = self.direct && self.engine == Engine::Mmap;
        let reason = "direct=1 makes no sense with ioengine=mmap, which works on the page cache";
        unless(contradicts, &["direct", "buffered", "ioengine"], reason)?;
        let endless = self.time_based && self.runtime.is_zero();
        unless(endless, &["time_based", "runtime"], "time_based needs runtime=")?;
        let region = match (self.size, self.filesize) {
            (None, None) => None,
            _ => Some(self.placed()?),
        };
        let too_long = region.is_some_and(|region| region.file > i64::MAX as u64);
        unless(too_long, &["offset", "size", "filesize"], "the file would be larger than any file can be")?;
        for direction in self.directions() {
            let Blocks { least, most } = self.blocks[direction as usize];
            let reason = format!("blocks of {least} to {most} bytes: there must be 1 to {LARGEST_BLOCK}");
            unless(least == 0 || most < least || most > LARGEST_BLOCK, &["bs", "bsrange"], &reason)?;
            let Some(region) = region.filter(|_| self.engine.transfers()) else { continue };
            // Of files whose sizes are drawn, those below a block are empty.
            let longest = self.files.sizes.map_or(region.file, |(_, most)| most) - region.offset;
            let reason = format!("a block of {least} bytes does not fit into {longest} bytes");
            unless(least > longest, &["bs", "bsrange", "size", "filesize", "offset"], &reason)?;
        }
        // fio looks at the blocks of both directions here, whether they are used or not.
        let (size, least) = (self.size.unwrap_or(u64::MAX), self.blocks[0].least.min(self.blocks[1].least));
        let reason = format!("size={size} is less than a block of {least} bytes");
        unless(size < least, &["bs", "bsrange", "size"], &reason)?;
        let unplain = self.filename.iter().find(|name| !is_plain(name));
        unplain.map_or(Ok(()), |name| {
            Err(Unfit::by(&["filename"], format!("'{name}' is not a plain file name")))
        })
    }
}

/// So many percent of some bytes.
fn share(bytes: u64, percent: u64) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

/// Why a job can't be run as it is.
struct Unfit {
    /// The options that the reason is about; none where one is missing.
    options: &'static [&'static str],
    /// One sentence.
    reason: String,
}

impl Unfit {
    fn by(options: &'static [&'static str], reason: impl Into<String>) -> Self {
        Self { options, reason: reason.into() }
    }
}

/// Whether a name stays in the directory that it is used in, and is not one of Fathom's own.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}
