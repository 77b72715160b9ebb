//! What a job says beyond the plain order of its transfers, in groups; the default of each group is fio's.

use std::time::Duration;

use super::{Blocks, Existing};

/// What stands for reads, for writes and for trims.
pub type Each<T> = [T; 3];

/// Requests that are under way at once, for asynchronous engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// `iodepth`: the most requests under way.
    pub most: u32,
    /// `iodepth_batch`: how many are submitted by one call; zero for as many as there is room for.
    pub submit: u32,
    /// `iodepth_batch_complete_min`: how many a reaping call waits for; zero for none.
    pub reap_least: u32,
    /// `iodepth_batch_complete_max`: how many a reaping call takes at most; zero for `reap_least`.
    pub reap_most: u32,
    /// `iodepth_low`: submitting begins again when only so many are left; zero for `most`.
    pub low: u32,
    /// `serialize_overlap`: a request waits for those under way that touch the same bytes.
    pub serialize_overlap: bool,
    /// `io_submit_mode=offload`: other threads submit and reap.
    pub offload: bool,
}

/// Options of single engines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineOptions {
    /// `hipri`: completions are polled for.
    pub hipri: bool,
    /// `hipri_percentage`: how many of a hundred requests are polled for, where not all.
    pub hipri_percentage: Option<u8>,
    /// `fixedbufs`: buffers are registered with the ring.
    pub fixedbufs: bool,
    /// `registerfiles`: files are registered with the ring.
    pub registerfiles: bool,
    /// `sqthread_poll`: a kernel thread submits.
    pub sqthread_poll: bool,
    /// `sqthread_poll_cpu`: the CPU of that thread.
    pub sqthread_poll_cpu: Option<u32>,
    /// `nonvectored=0`: the ring's vectored requests are used.
    pub vectored: bool,
    /// `uncached`: `RWF_UNCACHED`.
    pub uncached: bool,
    /// `nowait`: `RWF_NOWAIT`.
    pub nowait: bool,
    /// `force_async`: every N-th request has `IOSQE_ASYNC`; zero for none.
    pub force_async: u32,
    /// `userspace_reap`: libaio's ring is read without a call.
    pub userspace_reap: bool,
    /// `thp`: the mapping is advised to use huge pages.
    pub huge_pages: bool,
    /// `cmdprio*`: requests with a priority of their own.
    pub priorities: Priorities,
    /// `stat_type`: the call of filestat and dirstat; none for `stat`.
    pub stat_type: Option<String>,
    /// `cpuload`, `cpuchunks`, `exit_on_io_done`: percent, time of a burst, end with the other jobs.
    pub cpu: (u32, Duration, bool),
    /// `cpumode=qsort`, which fio sorts numbers for.
    pub sorts: bool,
}

impl EngineOptions {
    /// How long `cpuio` keeps the CPU busy at once.
    pub fn burst(&self) -> Duration {
        if self.cpu.1.is_zero() { Duration::from_millis(50) } else { self.cpu.1 }
    }
}

/// `cmdprio*`: which requests have an I/O priority of their own; reads, writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Priorities {
    /// `cmdprio_percentage`: so many of a hundred.
    pub percent: [u8; 2],
    /// `cmdprio_class`: zero for the real-time class.
    pub class: [u8; 2],
    /// `cmdprio`: the priority in its class.
    pub level: [u8; 2],
    /// `cmdprio_bssplit`: of requests of a size so many of a hundred, perhaps with a class and a priority of their own.
    pub splits: [Vec<PrioritySplit>; 2],
    /// What is wrong with `cmdprio_bssplit`, which fio takes too until the job begins.
    pub trouble: Option<String>,
}

/// A size in bytes, a percentage, and a class and a priority.
pub type PrioritySplit = (u64, u8, Option<(u8, u8)>);

impl Priorities {
    /// The priorities that a request of so many bytes may have, as `ioprio_set(2)` numbers them, each with its percentage.
    pub fn of(&self, side: usize, bytes: u64) -> impl Iterator<Item = (u8, u16)> + '_ {
        let number = |(class, level): (u8, u8)| u16::from(class) << 13 | u16::from(level);
        let usual = number((if self.class[side] == 0 { 1 } else { self.class[side] }, self.level[side]));
        let splits = self.splits[side].iter().filter(move |(size, ..)| *size == bytes);
        let splits = splits.map(move |(_, percent, own)| (*percent, own.map_or(usual, number)));
        let plain = (self.percent[side] > 0).then_some((self.percent[side], usual));
        plain.into_iter().chain(splits)
    }
}

/// The files of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// `filename`, `directory`: the paths of the files as they are wanted; none where each thread has files of its own.
    pub paths: Vec<String>,
    /// The names of `paths` in the scratch directory, in the same order.
    pub scratch: Vec<String>,
    /// `filename_format` where it is not the default.
    pub format: Option<String>,
    /// The names in the scratch directory of files that no path names, with `$jobnum` and `$filenum` in them; empty for those
    /// that follow from the job's name.
    pub own: String,
    /// `opendir`: all files below this directory.
    pub opendir: Option<String>,
    /// Files that are there and are read alone, in place of scratch files.
    pub existing: Option<Existing>,
    /// `nrfiles`: how many files `size` is split among, for each thread; zero for one.
    pub count: u32,
    /// `openfiles`: how many are in use at once, the next one when one is done; zero for all.
    pub open: u32,
    /// `file_service_type`: which of the files is next.
    pub service: FileService,
    /// `filesize=LOW-HIGH`: the sizes are drawn from this range of bytes.
    pub sizes: Option<(u64, u64)>,
    /// `size=N%`: of what is there or free, where no file size is given.
    pub size_percent: Option<u8>,
    /// `offset=N%`: where no file size is given.
    pub offset_percent: Option<u8>,
    /// `io_size=N%`: of the size, where that is not known.
    pub io_size_percent: Option<u8>,
    /// `fill_device`: write until there is no space.
    pub fill_device: bool,
    /// `file_append`: begin at the end of the file.
    pub append: bool,
    /// `overwrite`: files that are written are laid out with data first.
    pub overwrite: bool,
    /// `create_on_open`: files are not laid out.
    pub create_on_open: bool,
    /// `create_only`: files are laid out, and nothing else is done.
    pub create_only: bool,
    /// `create_serialize=0`: threads lay files out at the same time.
    pub create_at_once: bool,
    /// `create_fsync=0`: a file that was laid out is not synced.
    pub create_unsynced: bool,
    /// `unlink_each_loop`: files are removed after each loop.
    pub unlink_each_loop: bool,
    /// `lockfile`: `exclusive` or `readwrite`.
    pub lock: Option<String>,
    /// `fadvise_hint` where it names the order itself: `random` or `sequential`.
    pub hint: Option<String>,
    /// `fallocate` where it is neither `none` nor the default.
    pub fallocate: Option<String>,
}

/// Which of several files is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileService {
    /// One after the other, so many transfers in each.
    RoundRobin(u32),
    /// The next only when the last is done.
    Sequential,
    /// Drawn uniformly, so many transfers in each.
    Random(u32),
    /// Drawn from a distribution.
    Drawn(Distribution),
}

// No distribution is not a number: the reader refuses them.
impl Eq for FileService {}

impl Default for FileService {
    fn default() -> Self {
        Self::RoundRobin(1)
    }
}

/// How random offsets are distributed.
#[derive(Debug, Clone, PartialEq, Copy, Default)]
pub enum Distribution {
    /// Alike everywhere.
    #[default]
    Uniform,
    /// `zipf:theta[:center]`.
    Zipf(f64, Option<f64>),
    /// `pareto:h[:center]`.
    Pareto(f64, Option<f64>),
    /// `normal:deviation[:center]`, in percent.
    Normal(f64, Option<f64>),
    /// `zoned`: the shares are in `Order::zones`, in percent.
    Zoned,
    /// `zoned_abs`: the same, in bytes.
    ZonedBytes,
}

impl Eq for Distribution {}

/// Where transfers go, beyond sequential and random.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// `rw=randread:N`: a new random offset for every N-th transfer only.
    pub every: u32,
    /// `rw=read:N`: bytes that are skipped after each transfer; negative to go backwards.
    pub skip: i64,
    /// `rw_sequencer=identical`: every transfer of a run goes to the same offset.
    pub identical: bool,
    /// `blockalign`: random offsets are multiples of this; zero for the least block.
    pub align: Each<u64>,
    /// `bs_unaligned`: blocks of a range have any length.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: the block sizes are for sequential and random transfers instead.
    pub sizes_by_order: bool,
    /// `bssplit`: block sizes with the percentage of each; empty where there is none.
    pub splits: Each<Vec<(u64, u8)>>,
    /// `random_distribution`.
    pub distribution: Distribution,
    /// `random_distribution=zoned`: percent of accesses, and percent of the file or bytes.
    pub zones: Vec<(u8, u64)>,
    /// `percentage_random`: how many of a hundred transfers are random.
    pub percentage_random: Each<u8>,
    /// `random_generator` where it is not `tausworthe`.
    pub generator: Option<String>,
    /// `randrepeat=0`: another order in each run.
    pub unrepeatable: bool,
    /// `allrandrepeat`: all random numbers are the same in each run.
    pub all_repeatable: bool,
    /// `offset_increment`: added to the offset for each further thread, in bytes; where the second is true it was a share of
    /// the file, and the offset is rounded up to a block.
    pub increment: (u64, bool),
    /// `offset_align`: the offset is rounded up to a multiple of it.
    pub offset_align: u64,
    /// `zonesize`, `zonerange`, `zoneskip` of `zonemode=strided`, in bytes.
    pub strides: [u64; 3],
    /// `rw=trim` and its kin, with the blocks that are trimmed.
    pub trim: Option<(Trim, Blocks)>,
}

/// What a job that trims does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// `trim`, `randtrim`: nothing else.
    Only,
    /// `trimwrite`, `randtrimwrite`: each block is trimmed, then written.
    BeforeWrite,
}

/// When data must be durable, beyond `fsync` and `fdatasync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Durability {
    /// `sync`: how files are opened.
    pub open: OpenSync,
    /// `fsync_on_close`.
    pub on_close: bool,
    /// `sync_file_range`: its flags (wait before, write, wait after), after so many writes.
    pub range: Option<([bool; 3], u32)>,
}

/// How files are opened for synchronous writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenSync {
    /// They are not.
    #[default]
    No,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// Bounds on the rate, beyond `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// `rate_iops`: transfers per second; zero for no bound.
    pub iops: Each<u32>,
    /// `rate_min`: a job that moves less bytes per second fails.
    pub least: Each<u64>,
    /// `rate_iops_min`: a job that makes less transfers per second fails.
    pub least_iops: Each<u32>,
    /// `rate_process=poisson`.
    pub poisson: bool,
    /// `rate_cycle`: the time over which `least` is averaged.
    pub cycle: Duration,
    /// `rate_ignore_thinktime`: time spent waiting for `thinktime` is not made up for.
    pub ignore_thinktime: bool,
}

/// Waiting between transfers, beyond `thinktime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thinking {
    /// `thinktime_spin`: the part of it that the CPU is busy for.
    pub spin: Duration,
    /// `thinktime_blocks`: once in so many transfers; zero for each, or for `iotime` alone where that is given.
    pub blocks: u32,
    /// `thinktime_blocks_type=issue`: submitted ones are counted instead of completed ones.
    pub by_issue: bool,
    /// `thinktime_iotime`: the time between two waits.
    pub iotime: Duration,
}

/// What is written is read again and compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verify {
    /// `verify`: the checksum, as fio names it; `pattern` for the pattern alone; `null` for none that is compared.
    pub method: String,
    /// `verify_pattern`.
    pub pattern: Vec<PatternPart>,
    /// `do_verify=0`: the writes are made ready for it, and not read.
    pub no_reading: bool,
    /// `verify_only`: nothing is written, what an earlier run wrote is compared.
    pub only: bool,
    /// `verify_interval`: bytes between two headers; zero for the block.
    pub interval: u32,
    /// `verify_offset`: where in a block the header is.
    pub offset: u32,
    /// `verify_fatal`: the first mismatch ends the job.
    pub fatal: bool,
    /// `verify_dump`: a block that mismatches is kept.
    pub dump: bool,
    /// `verify_async`: threads that compare.
    pub threads: u32,
    /// `verify_backlog`, `verify_backlog_batch`: after so many written blocks so many are read.
    pub backlog: (u64, u32),
    /// `experimental_verify`.
    pub experimental: bool,
    /// `trim_percentage`, `trim_backlog`, `trim_backlog_batch`.
    pub trims: (u8, u64, u32),
    /// `trim_verify_zero=0`.
    pub trims_not_zero: bool,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// `%o`: the block's offset in eight bytes.
    Offset,
}

impl Depth {
    /// The same with the number that each zero stands for, none above the most requests under way but `reap_most`. Source:
    /// `fixup_options` of fio's `init.c`.
    #[must_use]
    pub fn resolved(self) -> Self {
        let most = self.most.max(1);
        let or_most = |number| if number == 0 { most } else { most.min(number) };
        let reap_least = self.reap_least.min(most);
        let reap_most = self.reap_most.max(reap_least).max(1);
        Self { most, submit: or_most(self.submit), reap_least, reap_most, low: or_most(self.low), ..self }
    }
}

impl Default for Depth {
    fn default() -> Self {
        Self {
            most: 1,
            submit: 1,
            reap_least: 1,
            reap_most: 0,
            low: 0,
            serialize_overlap: false,
            offload: false,
        }
    }
}

impl Default for Order {
    fn default() -> Self {
        Self {
            every: 1,
            skip: 0,
            identical: false,
            align: [0; 3],
            unaligned: false,
            sizes_by_order: false,
            splits: Default::default(),
            distribution: Distribution::Uniform,
            zones: Vec::new(),
            percentage_random: [100; 3],
            generator: None,
            unrepeatable: false,
            all_repeatable: false,
            increment: (0, false),
            offset_align: 0,
            strides: [0; 3],
            trim: None,
        }
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            iops: [0; 3],
            least: [0; 3],
            least_iops: [0; 3],
            poisson: false,
            cycle: Duration::from_secs(1),
            ignore_thinktime: false,
        }
    }
}
