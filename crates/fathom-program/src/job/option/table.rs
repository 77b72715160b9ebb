//! Every option that fio 3.33 has, one line each: its names, what values it takes, and what it does here.

use super::Draft;
use super::kind::{BOOL, FLAG, INT, Kind, LONG, MICROS, PERCENT, SECONDS, SHARE, Value, numbers};
use super::text::{self, milliseconds};
use crate::job::{Blocks, Others, PatternPart};

/// An option under all its names.
pub(in super::super) struct Known {
    /// The names, with spaces between them.
    names: &'static str,
    pub(super) kind: Kind,
    pub(in super::super) meaning: Meaning,
    /// What it does, why it does nothing, or why it is refused.
    pub(super) about: &'static str,
    /// The engines that have it; none for all.
    pub(in super::super) engines: &'static [&'static str],
    /// Whether fio reads it before the others of its section (positive), or after them.
    pub(in super::super) priority: i32,
    /// Whether a part of a list may be left out, which keeps what was there.
    pub(super) is_per_direction: bool,
}

/// What becomes of an option.
#[derive(Clone, Copy)]
pub(in super::super) enum Meaning {
    /// It sets something.
    Sets(fn(&mut Draft, &Value<'_>)),
    /// It sets something, unless its value is wrong.
    Reads(fn(&mut Draft, &Value<'_>) -> Result<(), String>),
    /// It is accepted, and changes nothing that is timed.
    Nothing,
    /// It is an error.
    Refused,
}

impl Known {
    pub(in super::super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split(' ')
    }

    /// The first of its names.
    pub(in super::super) fn name(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    /// Whether it may stand without a value.
    pub(in super::super) fn is_flag(&self) -> bool {
        self.kind == FLAG
    }

    /// Whether only some engines have it.
    pub(in super::super) fn is_private(&self) -> bool {
        !self.engines.is_empty()
    }

    /// Whether a refused option says that what it is for is not wanted.
    pub(super) fn is_off(&self, text: Option<&str>) -> bool {
        matches!(self.kind, Kind::Switch { .. } | Kind::Numbers { .. })
            && text.is_some_and(|text| text.trim() == "0")
    }

    const fn of(self, engines: &'static [&'static str]) -> Self {
        Self { engines, ..self }
    }

    const fn priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    const fn per_direction(self) -> Self {
        Self { is_per_direction: true, ..self }
    }
}

const fn option(names: &'static str, kind: Kind, about: &'static str, meaning: Meaning) -> Known {
    Known { names, kind, meaning, about, engines: &[], priority: 0, is_per_direction: false }
}

const fn sets(
    names: &'static str,
    kind: Kind,
    about: &'static str,
    set: fn(&mut Draft, &Value<'_>),
) -> Known {
    option(names, kind, about, Meaning::Sets(set))
}

const fn reads(
    names: &'static str,
    kind: Kind,
    about: &'static str,
    read: fn(&mut Draft, &Value<'_>) -> Result<(), String>,
) -> Known {
    option(names, kind, about, Meaning::Reads(read))
}

const fn nothing(names: &'static str, kind: Kind, about: &'static str) -> Known {
    option(names, kind, about, Meaning::Nothing)
}

const fn refused(names: &'static str, kind: Kind, about: &'static str) -> Known {
    option(names, kind, about, Meaning::Refused)
}

const RING: &[&str] = &["io_uring"];
const QUEUES: &[&str] = &["libaio", "io_uring"];
const CPUIO: &[&str] = &["cpuio"];
const MEMORY: &[&str] = &["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"];
const CHECKS: &[&str] = &[
    "0",
    "md5",
    "crc64",
    "crc32",
    "crc32c-intel",
    "crc32c",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];
const DIRECTIONS: &[&str] = &[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];
const COMMAND: &str = "a job file runs no commands, which could do anything with your files: run yours before and after fathom run";
const ZONED: &str = "needs a zoned block device";
const MERGE: &str = "block traces are not merged here: use fathom trace";
const FLOAT: Kind = Kind::Fractions(20, f64::MAX);

fn put<const N: usize, T: Copy>(mine: &mut [T; N], given: [Option<T>; 3]) {
    for (mine, given) in mine.iter_mut().zip(given) {
        *mine = given.unwrap_or(*mine);
    }
}

/// Every option; `docs/jobs.md` shows this table, and a test that it does.
#[rustfmt::skip]
pub(super) const OPTIONS: &[Known] = &[
    // What is transferred.
    reads("rw readwrite", Kind::Choice(DIRECTIONS), "the order and the directions; `randread:N` draws a new offset for every N-th transfer, `read:N` skips N bytes after each", text::direction),
    sets("rwmixread", PERCENT, "percentage of reads in a mix, drawn for each transfer (50); the last of the two holds", |d, v| d.mix = v.int() as u8),
    sets("rwmixwrite", PERCENT, "percentage of writes in a mix (50)", |d, v| d.mix = 100 - v.int() as u8),
    sets("bs blocksize", numbers(1, i64::MAX), "bytes per transfer (4k)", |d, v| put(&mut d.blocks, v.each())).per_direction(),
    sets("bsrange blocksize_range", Kind::Ranges, "any multiple of LOW up to HIGH; holds against `bs`", |d, v| {
        put(&mut d.ranges, v.each_range().map(|range| range.map(|(least, most)| Some(Blocks { least, most }))));
    }),
    reads("bssplit", Kind::Text, "`4k/60:64k/40`: block sizes with percentages, for each direction behind a comma", text::block_split),
    sets("bs_unaligned blocksize_unaligned", FLAG, "blocks of a range have any length", |d, v| d.job.order.unaligned = v.on()),
    sets("bs_is_seq_rand", BOOL, "the first block size is for sequential transfers, the second for random ones", |d, v| d.job.order.sizes_by_order = v.on()),
    sets("ba blockalign", numbers(1, i64::MAX), "random offsets are multiples of this (the least block); implies `norandommap`", |d, v| {
        put(&mut d.job.order.align, v.each());
        d.job.random_map = false;
    }).per_direction(),
    sets("rw_sequencer", Kind::Choice(&["sequential", "identical"]), "whether the transfers of a run `rw=randread:N` follow each other or repeat one offset", |d, v| d.job.order.identical = v.text == "identical"),
    sets("size", SHARE, "how much each thread transfers, and the length of the part of the file that it uses; in percent: of `filesize`", |d, v| d.size = v.first()),
    sets("io_size io_limit", SHARE, "how much each thread transfers, in more or less than one pass (`size`)", |d, v| d.io_size = v.first()),
    sets("filesize", numbers(1, i64::MAX), "the file's length; the whole of it is then used, and `size` is only how much is transferred; LOW-HIGH draws it", |d, v| {
        d.job.filesize = Some(v.long());
        d.job.files.sizes = Some((v.long().min(v.second()), v.long().max(v.second()))).filter(|(low, high)| low != high);
    }),
    sets("offset fileoffset", SHARE, "where the used part begins (0); in percent it is rounded up to a block", |d, v| d.offset = v.first()),
    sets("offset_increment", SHARE, "added to the offset for each further thread", |d, v| d.job.order.increment = (v.long(), v.first().is_some_and(|n| n.is_percent))),
    sets("offset_align", INT, "the offset is rounded up to a multiple of it", |d, v| d.job.order.offset_align = v.long()),
    sets("fill_device fill_fs", BOOL, "write until there is no space; without `size` that ends at the size of the scratch file", |d, v| d.job.files.fill_device = v.on()),
    sets("number_ios", LONG, "end after this many transfers", |d, v| d.job.course.number_ios = v.long()),
    // Random orders.
    sets("norandommap", FLAG, "random blocks may come again within a pass; otherwise each comes once", |d, v| d.job.random_map = !v.on()),
    nothing("softrandommap", BOOL, "a random map always has the memory that it needs"),
    sets("randseed", LONG, "decides random orders", |d, v| d.job.seed = v.long()),
    sets("randrepeat", BOOL, "0: another random order in each run", |d, v| d.job.order.unrepeatable = !v.on()),
    sets("allrandrepeat", BOOL, "all random numbers are the same in each run", |d, v| d.job.order.all_repeatable = v.on()),
    sets("random_generator", Kind::Choice(&["tausworthe", "lfsr", "tausworthe64"]), "`lfsr` visits each block once without a map; the generator itself is not fio's", |d, v| d.job.order.generator = Some(text_of(v)).filter(|name| name == "lfsr")),
    reads("random_distribution", Kind::Choice(&["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"]), "`zipf:THETA`, `pareto:H`, `normal:DEVIATION`, each with `:CENTER`; `zoned:ACCESSES/SIZE:...`; implies `norandommap`", text::distribution),
    sets("percentage_random", PERCENT, "percentage of random transfers that are random; the others follow the last one", |d, v| put(&mut d.job.order.percentage_random, v.each().map(|n| n.map(|n| n as u8)))).per_direction(),
    refused("percentage_sequential", Kind::Gone, "fio no longer has it"),
    // Files.
    sets("filename", Kind::Text, "the files, with `:` between them; a device or a path becomes a scratch file below PATH, which the run says", |d, v| d.job.files.paths = text::names(v.text)).priority(-1),
    sets("directory", Kind::Text, "where the files are wanted; they are scratch files below PATH", |d, v| d.directory = Some(text_of(v))),
    sets("filename_format", Kind::Text, "names from `$jobname`, `$jobnum`, `$filenum`: without `$jobnum` all threads share a file", |d, v| d.job.files.format = Some(text_of(v)).filter(|text| text != "$jobname.$jobnum.$filenum")).priority(-1),
    nothing("unique_filename", BOOL, "it is for clients of a fio server"),
    sets("lockfile", Kind::Choice(&["none", "exclusive", "readwrite"]), "threads lock a file for each transfer", |d, v| d.job.files.lock = Some(text_of(v)).filter(|text| text != "none")).priority(1),
    sets("opendir", Kind::Text, "all files below a directory, in the order of their paths; only with `--on-files`", |d, v| d.job.files.opendir = Some(text_of(v))),
    sets("nrfiles nr_files", INT, "number of files of each thread, among which `size` is split (1)", |d, v| d.job.files.count = v.int().max(1)),
    sets("openfiles", INT, "how many are in use at once: the next one when one is done (all)", |d, v| d.job.files.open = v.int()),
    reads("file_service_type", Kind::Choice(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]), "which file is next, `:N` after N transfers", text::file_service),
    sets("fallocate", Kind::Choice(&["none", "native", "posix", "keep", "truncate", "0", "1"]), "how space is allocated for files that are only written (`native`)", |d, v| {
        d.job.allocate = !matches!(v.text, "none" | "0" | "truncate");
        d.job.files.fallocate = Some(text_of(v)).filter(|text| matches!(text.as_str(), "keep" | "truncate"));
    }),
    sets("fadvise_hint", Kind::Choice(&["0", "1", "random", "sequential"]), "tell the kernel that the order is sequential or random: more read-ahead, or none (1)", |d, v| {
        d.job.fadvise_hint = v.text != "0";
        d.hint = Some(text_of(v)).filter(|text| text.len() > 1);
    }),
    sets("file_append", BOOL, "begin at the end of the file", |d, v| d.job.files.append = v.on()),
    sets("overwrite", BOOL, "files that are only written are laid out with data first", |d, v| d.job.files.overwrite = v.on()),
    sets("create_serialize", BOOL, "0: threads lay files out at the same time", |d, v| d.job.files.create_at_once = !v.on()),
    sets("create_fsync", BOOL, "0: a file that was laid out is not synced", |d, v| d.job.files.create_unsynced = !v.on()),
    sets("create_on_open", BOOL, "files that are only written are not laid out, but grow from nothing", |d, v| d.job.files.create_on_open = v.on()),
    sets("create_only", BOOL, "files are laid out, and nothing else is done", |d, v| d.job.files.create_only = v.on()),
    nothing("allow_file_create", BOOL, "the files are scratch files and always made"),
    nothing("allow_mounted_write", BOOL, "no device is written"),
    nothing("unlink", BOOL, "scratch files are removed at the end in any case"),
    sets("unlink_each_loop", BOOL, "files that are only written are made anew for each loop and pass", |d, v| d.job.files.unlink_each_loop = v.on()),
    sets("pre_read", BOOL, "read the used part into the cache first, and do not invalidate", |d, v| d.job.pre_read = v.on()),
    sets("invalidate", BOOL, "drop the file's clean pages before each pass (1)", |d, v| d.job.invalidate = v.on()),
    // Engines.
    reads("ioengine", Kind::Text, "the system calls: `psync` (pread, pwrite), `sync` (lseek, read, write), `pvsync`, `pvsync2`, `vsync`, `mmap`, `posixaio`, `splice`, `null`, `libaio`, `io_uring`, `cpuio`, `falloc`, `ftruncate`, `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete` (one call for each file or directory, whose latency is the one reported; the blocks of `size` are counted and not made)", text::engine).priority(2),
    sets("direct", BOOL, "O_DIRECT", |d, v| d.job.direct = v.on()),
    sets("buffered", BOOL, "the opposite of `direct`", |d, v| d.job.direct = !v.on()),
    refused("atomic", BOOL, "fio 3.33 opens files with a flag that Linux never got; later versions write with `RWF_ATOMIC`, which needs direct=1 and a device that has it"),
    sets("iodepth", numbers(1, u32::MAX as i64), "the most requests under way (1)", |d, v| d.job.depth.most = v.int()),
    sets("iodepth_batch iodepth_batch_submit", INT, "how many requests one call submits (1)", |d, v| d.job.depth.submit = v.int()),
    sets("iodepth_batch_complete_min iodepth_batch_complete", INT, "how many completions a call waits for (1)", |d, v| d.job.depth.reap_least = v.int()),
    sets("iodepth_batch_complete_max", INT, "how many completions a call takes at most", |d, v| d.job.depth.reap_most = v.int()),
    sets("iodepth_low", INT, "submit again when no more than this many are under way", |d, v| d.job.depth.low = v.int()),
    sets("serialize_overlap", BOOL, "a request waits for those that touch the same bytes", |d, v| d.job.depth.serialize_overlap = v.on()),
    sets("io_submit_mode", Kind::Choice(&["inline", "offload"]), "`offload`: other threads submit requests and take completions", |d, v| d.job.depth.offload = v.text == "offload"),
    sets("hipri", FLAG, "completions are polled for", |d, v| d.job.engine_options.hipri = v.on()).of(&["pvsync2", "io_uring"]),
    sets("hipri_percentage", PERCENT, "percentage of requests that are polled for", |d, v| d.job.engine_options.hipri_percentage = Some(v.int() as u8)).of(&["pvsync2"]),
    sets("uncached", INT, "`RWF_UNCACHED`", |d, v| d.job.engine_options.uncached = v.on()).of(&["pvsync2", "io_uring"]),
    sets("nowait", BOOL, "`RWF_NOWAIT`", |d, v| d.job.engine_options.nowait = v.on()).of(&["pvsync2", "libaio", "io_uring"]),
    sets("fixedbufs", FLAG, "buffers are registered with the ring", |d, v| d.job.engine_options.fixedbufs = v.on()).of(RING),
    sets("registerfiles", FLAG, "files are registered with the ring", |d, v| d.job.engine_options.registerfiles = v.on()).of(RING),
    sets("sqthread_poll", FLAG, "a kernel thread submits", |d, v| d.job.engine_options.sqthread_poll = v.on()).of(RING),
    sets("sqthread_poll_cpu", INT, "the CPU of that thread", |d, v| d.job.engine_options.sqthread_poll_cpu = Some(v.int())).of(RING),
    sets("nonvectored", numbers(-1, u32::MAX as i64), "0: vectored requests", |d, v| d.job.engine_options.vectored = !v.on()).of(RING),
    sets("force_async", INT, "every N-th request has `IOSQE_ASYNC`", |d, v| d.job.engine_options.force_async = v.int()).of(RING),
    sets("userspace_reap", FLAG, "the ring is read without a call", |d, v| d.job.engine_options.userspace_reap = v.on()).of(&["libaio"]),
    sets("cmdprio_percentage", PERCENT, "percentage of requests with a priority of their own", |d, v| put(&mut d.job.engine_options.priorities.percent, v.each().map(|n| n.map(|n| n as u8)))).of(QUEUES),
    sets("cmdprio_class", numbers(1, 3), "the class of that priority (1)", |d, v| put(&mut d.job.engine_options.priorities.class, v.each().map(|n| n.map(|n| n as u8)))).of(QUEUES),
    sets("cmdprio", numbers(0, 7), "that priority", |d, v| put(&mut d.job.engine_options.priorities.level, v.each().map(|n| n.map(|n| n as u8)))).of(QUEUES),
    sets("cmdprio_bssplit", Kind::Text, "`4k/10:64k/50/2/0`: percentages, and perhaps classes and priorities, for single block sizes", text::priority_splits).of(QUEUES),
    sets("thp", INT, "the mapping is advised to use huge pages", |d, v| d.job.engine_options.huge_pages = v.on()).of(&["mmap"]),
    sets("stat_type", Kind::Choice(&["stat", "lstat", "statx"]), "the system call", |d, v| d.job.engine_options.stat_type = Some(text_of(v)).filter(|text| text != "stat")).of(&["filestat", "dirstat"]),
    sets("cpuload", INT, "the percentage of a CPU that is kept busy", |d, v| d.job.engine_options.cpu.0 = v.int()).of(CPUIO),
    sets("cpuchunks", INT, "microseconds of one burst (50000)", |d, v| d.job.engine_options.cpu.1 = std::time::Duration::from_micros(v.long())).of(CPUIO),
    sets("cpumode", Kind::Choice(&["noop", "qsort"]), "what fio keeps the CPU busy with: the same loop here", |d, v| d.job.engine_options.sorts = v.text == "qsort").of(CPUIO),
    sets("exit_on_io_done", BOOL, "end with the other jobs", |d, v| d.job.engine_options.cpu.2 = v.on()).of(CPUIO),
    // What must be durable.
    sets("fsync", INT, "after every N writes, just before the next transfer; none after the last", |d, v| d.job.fsync = v.int()),
    sets("fdatasync", INT, "the same with fdatasync", |d, v| d.job.fdatasync = v.int()),
    sets("end_fsync", BOOL, "fsync at the end; its time counts, the call does not", |d, v| d.job.end_fsync = v.on()),
    sets("fsync_on_close", BOOL, "fsync when a file is closed", |d, v| d.job.durability.on_close = v.on()),
    nothing("write_barrier", INT, "barriers: no engine here has any, as in fio"),
    reads("sync_file_range", Kind::Choices(&["wait_before", "write", "wait_after"]), "sync_file_range with these flags after every `:N` writes", text::file_range),
    reads("sync", Kind::Choice(&["none", "0", "sync", "1", "dsync"]), "O_SYNC or O_DSYNC", text::open_sync),
    sets("write_hint", Kind::Choice(&["none", "short", "medium", "long", "extreme"]), "how long written data will live", |d, v| d.job.buffers.life = Some(text_of(v)).filter(|text| text != "none")),
    // When.
    sets("runtime timeout", SECONDS, "stop after this time, if the transfers have not ended before", |d, v| d.job.runtime = v.time()),
    sets("time_based", FLAG, "start again until `runtime` is over", |d, v| d.job.time_based = v.on()),
    sets("ramp_time", SECONDS, "run for this time before anything counts", |d, v| d.job.ramp_time = v.time()),
    sets("startdelay", SECONDS, "wait this long before the start; LOW-HIGH draws the time", |d, v| d.job.course.start_delay = (v.time(), std::time::Duration::from_micros(v.second()))),
    sets("loops", INT, "how often to do everything (1)", |d, v| d.job.course.loops = v.int().max(1)),
    sets("numjobs", INT, "threads, each with a file of its own unless `filename` is given (1)", |d, v| d.job.numjobs = v.int()),
    sets("stonewall wait_for_previous", FLAG, "begin when all jobs above have ended", |d, v| d.job.stonewall = v.on()),
    sets("wait_for", Kind::Text, "begin when the job of this name has ended", |d, v| d.job.course.wait_for = Some(text_of(v))),
    sets("exitall", FLAG, "the end of any job ends others: those of its `exit_what`", |d, v| d.job.course.exitall = v.on()),
    sets("exit_what", Kind::Choice(&["group", "stonewall", "all"]), "which others the end of this job ends: those of its group, those that run, or all", |d, v| d.job.course.exit_what = match v.text { "stonewall" => Others::Running, "all" => Others::All, _ => Others::Group }),
    sets("exitall_on_error", FLAG, "an error ends all jobs", |d, v| d.job.course.exitall_on_error = v.on()),
    sets("continue_on_error", Kind::Choice(&["none", "read", "write", "io", "verify", "all", "0", "1"]), "errors that do not end the job", |d, v| text::continues(&mut d.job.course, v.text)),
    reads("ignore_error", Kind::Text, "errors by number or name that do not count: READS,WRITES,VERIFIES", text::ignored),
    sets("thinktime", MICROS, "wait after each transfer", |d, v| d.job.thinktime = v.time()),
    sets("thinktime_spin", MICROS, "the part of it that the CPU is busy for", |d, v| d.job.thinking.spin = v.time()),
    sets("thinktime_blocks", INT, "number of transfers between two waits (1)", |d, v| d.job.thinking.blocks = v.int().max(1)),
    sets("thinktime_blocks_type", Kind::Choice(&["complete", "issue"]), "which transfers are counted", |d, v| d.job.thinking.by_issue = v.text == "issue"),
    sets("thinktime_iotime", SECONDS, "time between two waits", |d, v| d.job.thinking.iotime = v.time()),
    sets("rate", LONG, "most bytes per second of each direction; the direction that is due first goes first", |d, v| put(&mut d.job.rate, v.each())).per_direction(),
    sets("rate_min ratemin", LONG, "a job below it fails", |d, v| put(&mut d.job.rates.least, v.each())).per_direction(),
    sets("rate_iops", INT, "most transfers per second", |d, v| put(&mut d.job.rates.iops, v.each().map(|n| n.map(|n| n as u32)))).per_direction(),
    sets("rate_iops_min", INT, "a job below it fails", |d, v| put(&mut d.job.rates.least_iops, v.each().map(|n| n.map(|n| n as u32)))).per_direction(),
    sets("rate_process", Kind::Choice(&["linear", "poisson"]), "when rated transfers begin", |d, v| d.job.rates.poisson = v.text == "poisson"),
    sets("rate_cycle ratecycle", INT, "milliseconds over which least rates are averaged (1000)", |d, v| d.job.rates.cycle = milliseconds(v)),
    sets("rate_ignore_thinktime", BOOL, "time spent waiting for `thinktime` is not made up for", |d, v| d.job.rates.ignore_thinktime = v.on()),
    sets("max_latency", MICROS, "a longer transfer ends the job", |d, v| put(&mut d.job.latency.most, v.each().map(|n| n.map(std::time::Duration::from_micros)))).per_direction(),
    sets("latency_target", MICROS, "search the largest depth that holds this latency", |d, v| d.job.latency.target = v.time()),
    sets("latency_window", MICROS, "for how long it must hold", |d, v| d.job.latency.window = v.time()),
    sets("latency_percentile", Kind::Fractions(1, 100.0), "for how many of a hundred transfers (100)", |d, v| d.job.latency.percentile = v.fractions.first().copied().unwrap_or(100.0)),
    sets("latency_run", BOOL, "go on adjusting the depth", |d, v| d.job.latency.goes_on = v.on()),
    reads("steadystate ss", Kind::Choice(&["iops", "iops_slope", "bw", "bw_slope"]), "`iops:1%`: end when the rate is steady", text::steady_state),
    sets("steadystate_duration ss_dur", SECONDS, "for so long", |d, v| d.steady_times[0] = v.time()),
    sets("steadystate_ramp_time ss_ramp", SECONDS, "what is left out at first", |d, v| d.steady_times[1] = v.time()),
    sets("flow_id", INT, "jobs of one flow share transfers", |d, v| d.job.placement.flow.1 = v.int()),
    sets("flow", numbers(0, 1000), "by these weights", |d, v| d.job.placement.flow.0 = v.int()),
    sets("flow_sleep", INT, "microseconds to wait when ahead", |d, v| d.job.placement.flow.2 = std::time::Duration::from_micros(v.long())),
    nothing("flow_watermark", Kind::Ignored, "fio ignores it, too"),
    // What is written, and whether it is there.
    sets("verify", Kind::Choice(CHECKS), "what is written is read again and compared; 0: not", |d, v| d.verify.method = Some(super::kind::word(v.text)).filter(|method| *method != "0").unwrap_or_default().to_owned()),
    sets("do_verify", BOOL, "0: blocks are made ready for it, and not read", |d, v| d.verify.no_reading = !v.on()),
    sets("verify_only", FLAG, "nothing is written: what an earlier run wrote is compared", |d, v| d.verify.only = v.on()),
    nothing("verifysort", Kind::Ignored, "fio ignores it, too"),
    nothing("verifysort_nr", Kind::Ignored, "fio ignores it, too"),
    sets("verify_interval", numbers(80, u32::MAX as i64), "bytes between two headers", |d, v| d.verify.interval = v.int()),
    sets("verify_offset", numbers(40, u32::MAX as i64), "where in a block the header is", |d, v| d.verify.offset = v.int()),
    reads("verify_pattern", Kind::Text, "hexadecimal, decimal, \"text\" and %o, one after the other", |d, v| pattern(v, true).map(|parts| d.verify.pattern = parts)),
    sets("verify_fatal", BOOL, "the first mismatch ends the job", |d, v| d.verify.fatal = v.on()),
    sets("verify_dump", BOOL, "a block that mismatches is kept", |d, v| d.verify.dump = v.on()),
    sets("verify_async", INT, "number of threads that compare", |d, v| d.verify.threads = v.int()),
    nothing("verify_async_cpus", Kind::Text, "where those threads run"),
    sets("verify_backlog", LONG, "compare after this many written blocks", |d, v| d.verify.backlog.0 = v.long()),
    sets("verify_backlog_batch", INT, "how many of them", |d, v| d.verify.backlog.1 = v.int()),
    sets("experimental_verify", BOOL, "another way of keeping what was written", |d, v| d.verify.experimental = v.on()),
    nothing("verify_state_load", BOOL, "no earlier run has left its state: all is compared"),
    nothing("verify_state_save", BOOL, "scratch files do not outlive the run"),
    sets("trim_percentage", PERCENT, "percentage of written blocks that are trimmed before they are compared", |d, v| d.verify.trims.0 = v.int() as u8),
    sets("trim_verify_zero", BOOL, "0: trimmed blocks need not be zeros", |d, v| d.verify.trims_not_zero = !v.on()),
    sets("trim_backlog", LONG, "trim after this many written blocks", |d, v| d.verify.trims.1 = v.long()),
    sets("trim_backlog_batch", INT, "how many of them", |d, v| d.verify.trims.2 = v.int()),
    sets("zero_buffers", FLAG, "zeros are written", |d, v| d.job.buffers.zero = v.on()),
    sets("refill_buffers", FLAG, "new data for each write", |d, v| d.job.buffers.refill = v.on()),
    sets("scramble_buffers", BOOL, "0: the same data is written again", |d, v| d.job.buffers.same = !v.on()),
    reads("buffer_pattern", Kind::Text, "this pattern is written", |d, v| pattern(v, false).map(|parts| d.job.buffers.pattern = parts)),
    sets("buffer_compress_percentage", PERCENT, "how far the data can be compressed", |d, v| d.job.buffers.compress.0 = v.int() as u8),
    sets("buffer_compress_chunk", INT, "in pieces of this many bytes (512)", |d, v| d.job.buffers.compress.1 = v.int()),
    sets("dedupe_percentage", PERCENT, "percentage of buffers that are repeated", |d, v| d.job.buffers.dedupe = v.int() as u8),
    sets("dedupe_mode", Kind::Choice(&["repeat", "working_set"]), "the last buffer, or one of a set", |d, v| d.job.buffers.dedupe_set = (v.text == "working_set").then_some(5)),
    sets("dedupe_working_set_percentage", PERCENT, "the size of the set", |d, v| d.job.buffers.dedupe_set = d.job.buffers.dedupe_set.map(|_| v.int() as u8)),
    sets("dedupe_global", BOOL, "all jobs draw from one set", |d, v| d.job.buffers.dedupe_global = v.on()),
    sets("mem iomem", Kind::Choice(MEMORY), "where buffers are allocated; `shmhuge` and `mmaphuge` in huge pages", |d, v| d.job.buffers.memory = Some(text_of(v)).filter(|text| text.contains("huge"))),
    sets("iomem_align mem_align", INT, "the alignment of buffers", |d, v| d.job.buffers.align = v.int()),
    nothing("hugepage-size", INT, "huge pages have the machine's size"),
    nothing("lockmem", LONG, "no memory is taken from the machine"),
    // Where threads run.
    nothing("thread", FLAG, "threads are threads always; fio's default are processes"),
    reads("cpus_allowed", Kind::Text, "`0-3,5`: the CPUs of the job", text::cpus),
    sets("cpumask", numbers(i32::MIN as i64, u32::MAX as i64), "the same as a mask", text::cpu_mask),
    sets("cpus_allowed_policy", Kind::Choice(&["shared", "split"]), "`split`: one CPU for each thread", |d, v| d.job.placement.split = v.text == "split").priority(1),
    sets("numa_cpu_nodes", Kind::Text, "the nodes of the job", |d, v| d.job.placement.numa[0] = Some(text_of(v))),
    reads("numa_mem_policy", Kind::Text, "the NUMA node of its memory", text::numa_memory),
    sets("nice", numbers(-20, 19), "its niceness", |d, v| d.job.placement.nice = v.long() as i8),
    sets("prio", numbers(0, 7), "its I/O priority", |d, v| d.job.placement.priority = Some((v.int() as u8, d.job.placement.priority.map_or(2, |(_, class)| class)))),
    sets("prioclass", numbers(0, 3), "the class of that priority", |d, v| d.job.placement.priority = Some((d.job.placement.priority.map_or(0, |(priority, _)| priority), v.int() as u8))),
    refused("cgroup", Kind::Text, "it needs groups of the first version of cgroups, which fio makes in /cgroup"),
    nothing("cgroup_weight", numbers(100, 1000), "without a group it weighs nothing"),
    nothing("cgroup_nodelete", BOOL, "groups are removed at the end in any case"),
    nothing("uid", INT, "jobs run as the user who runs fathom"),
    nothing("gid", INT, "jobs run as the user who runs fathom"),
    sets("ioscheduler", Kind::Text, "has no effect, and the run says so: it would change the device for everybody", |d, v| {
        d.notes.push(format!("ioscheduler={} has no effect: it would change the device for everybody", v.text));
    }),
    refused("exec_prerun", Kind::Text, COMMAND),
    refused("exec_postrun", Kind::Text, COMMAND),
    nothing("threads", INT, "it is for a profile"),
    nothing("block", INT, "it is for a profile"),
    nothing("numruns", INT, "it is for a profile"),
    nothing("dir", Kind::Text, "it is for a profile"),
    refused("profile", Kind::Text, "a profile is a set of jobs inside fio, which no file describes"),
    // Zones.
    sets("zonemode", Kind::Choice(&["none", "strided", "zbd"]), "`strided`: some of each stretch of the file; `zbd` is refused by what it needs", |d, v| (d.zoned, d.strided) = (v.text == "zbd", v.text == "strided")),
    sets("zonesize", LONG, "the bytes of a stretch that are used", |d, v| d.job.order.strides[0] = v.long()),
    sets("zonerange", LONG, "the length of a stretch", |d, v| d.job.order.strides[1] = v.long()),
    sets("zoneskip", LONG, "bytes to skip between two stretches", |d, v| d.job.order.strides[2] = v.long()),
    refused("zonecapacity", LONG, ZONED),
    refused("read_beyond_wp", BOOL, ZONED),
    refused("max_open_zones", numbers(0, 4096), ZONED),
    refused("job_max_open_zones", numbers(0, 4096), ZONED),
    refused("ignore_zone_limits", BOOL, ZONED),
    refused("zone_reset_threshold", Kind::Fractions(1, 1.0), ZONED),
    refused("zone_reset_frequency", Kind::Fractions(1, 1.0), ZONED),
    refused("gpu_dev_id", INT, "needs a GPU"),
    refused("cmd_type", Kind::Choice(&["nvme"]), "needs an NVMe character device"),
    // Logs of transfers.
    sets("read_iolog", Kind::Text, "replay such a log, of version 2 or 3, on scratch files", |d, v| d.job.course.iologs[0] = Some(text_of(v))),
    sets("write_iolog", Kind::Text, "write such a log, of version 3", |d, v| d.job.course.iologs[1] = Some(text_of(v))),
    nothing("read_iolog_chunked", BOOL, "a log is read as fast as it is used"),
    sets("replay_no_stall", BOOL, "as fast as possible", |d, v| d.job.replay.no_stall = v.on()),
    sets("replay_redirect", Kind::Text, "all of a log is done to one file, a scratch file as well", |d, v| d.job.replay.redirect = Some(text_of(v))),
    sets("replay_scale", INT, "offsets are divided by it", |d, v| d.job.replay.scale = v.int()),
    reads("replay_align", INT, "offsets are multiples of it", |d, v| {
        d.job.replay.align = v.int();
        if v.int().is_power_of_two() { Ok(()) } else { Err(format!("{} is not a power of two", v.int())) }
    }),
    sets("replay_time_scale", numbers(1, u32::MAX as i64), "percentage by which times are scaled", |d, v| d.job.replay.time_scale = v.int()),
    reads("replay_skip", Kind::Text, "what is not replayed", |d, v| {
        d.job.replay.skip = v.text.trim().split(',').map(str::to_owned).collect();
        let unknown = d.job.replay.skip.iter().find(|kind| !["read", "write", "trim", "sync"].contains(&kind.as_str()));
        unknown.map_or(Ok(()), |kind| Err(format!("'{kind}' is none of read, write, trim, sync")))
    }),
    refused("merge_blktrace_file", Kind::Text, MERGE),
    refused("merge_blktrace_scalars", FLOAT, MERGE),
    refused("merge_blktrace_iters", FLOAT, MERGE),
    // Logs and reports.
    sets("write_bw_log", Kind::TextOrNone, "log bandwidth", |d, v| text::log_name(&mut d.job.logs.bandwidth, v)),
    sets("write_lat_log", Kind::TextOrNone, "log latencies", |d, v| text::log_name(&mut d.job.logs.latency, v)),
    sets("write_iops_log", Kind::TextOrNone, "log transfers per second", |d, v| text::log_name(&mut d.job.logs.iops, v)),
    sets("write_hist_log", Kind::TextOrNone, "log histograms of completion latencies, in fio's bins", |d, v| text::log_name(&mut d.job.logs.histogram, v)),
    nothing("log_entries", numbers(1024, 1 << 20), "a log grows as it needs"),
    sets("log_avg_msec", INT, "milliseconds that one line of a log averages", |d, v| d.job.logs.average = milliseconds(v)),
    sets("log_hist_msec", INT, "milliseconds between two histograms; without it `write_hist_log` is empty", |d, v| d.job.logs.histogram_every = milliseconds(v)),
    sets("log_hist_coarseness", INT, "0 to 6: each step makes one bin of two", |d, v| d.job.logs.coarseness = v.int()),
    sets("log_max_value", BOOL, "the most instead of the average", |d, v| d.job.logs.most = v.on()),
    sets("log_offset", BOOL, "with offsets", |d, v| d.job.logs.offset = v.on()),
    sets("log_prio", BOOL, "with priorities", |d, v| d.job.logs.priority = v.on()),
    nothing("log_compression", numbers(1024, 512 << 20), "a log grows in memory and is written when the jobs have ended"),
    nothing("log_compression_cpus", Kind::Text, "no log is compressed"),
    nothing("log_store_compressed", BOOL, "a log is written as text, which needs no `fio --inflate-log`"),
    sets("log_unix_epoch", BOOL, "times since 1970", |d, v| d.job.logs.epoch = v.on().then_some(0)),
    sets("log_alternate_epoch", BOOL, "times of a clock", |d, v| d.job.logs.epoch = v.on().then_some(d.job.logs.epoch.unwrap_or(0))).priority(1),
    sets("log_alternate_epoch_clock_id", INT, "the number of that clock, as `clock_gettime` has it", |d, v| d.job.logs.epoch = d.job.logs.epoch.map(|_| v.int())),
    sets("per_job_logs", BOOL, "0: no number in the names of logs", |d, v| d.job.logs.shared = !v.on()),
    sets("bwavgtime", INT, "milliseconds of one sample of the bandwidth (500)", |d, v| d.job.reporting.sampled_every[0] = milliseconds(v)),
    sets("iopsavgtime", INT, "milliseconds of one sample of the transfers per second (500)", |d, v| d.job.reporting.sampled_every[1] = milliseconds(v)),
    sets("group_reporting", FLAG, "threads are reported together with the entry before them, if that is of the same group", |d, v| d.job.group_reporting = v.on()),
    sets("new_group", FLAG, "a new group of the report begins", |d, v| d.job.course.new_group = v.on()),
    sets("stats", BOOL, "0: the job is not reported", |d, v| d.job.reporting.silent = !v.on()),
    sets("clat_percentiles", BOOL, "percentiles of completion latencies (1)", |d, v| d.job.reporting.percentiles_of[1] = v.on()),
    sets("lat_percentiles", BOOL, "percentiles of whole latencies", |d, v| d.job.reporting.percentiles_of[2] = v.on()),
    sets("slat_percentiles", BOOL, "percentiles of submission latencies", |d, v| d.job.reporting.percentiles_of[0] = v.on()),
    sets("percentile_list", Kind::Fractions(20, 100.0), "which percentiles, with `:` between them", text::percentiles),
    sets("significant_figures", numbers(1, 10), "digits in fio's normal text (4)", |d, v| d.job.reporting.figures = v.int() as u8),
    nothing("block_error_percentiles", BOOL, "errors of trims are not counted by block"),
    sets("disk_util", BOOL, "0: nothing is said of the device in fio's formats", |d, v| d.job.reporting.no_disk_util = !v.on()),
    sets("disable_slat", BOOL, "submission latencies are left out of fio's formats", |d, v| d.job.reporting.disabled[0] = v.on()),
    sets("disable_clat", BOOL, "completion latencies are left out of them", |d, v| d.job.reporting.disabled[1] = v.on()),
    sets("disable_lat", BOOL, "whole latencies are left out of them", |d, v| d.job.reporting.disabled[2] = v.on()),
    sets("disable_bw_measurement disable_bw", BOOL, "has no effect on the samples, as in fio", |d, v| d.job.reporting.disabled[3] = v.on()),
    sets("gtod_reduce", BOOL, "fio's formats have no latencies", |d, v| if v.on() { d.job.reporting.disabled = [true; 4]; d.job.reporting.percentiles_of = [false; 3] }),
    nothing("gtod_cpu", INT, "each transfer reads the clock itself"),
    nothing("clocksource", Kind::Choice(&["gettimeofday", "clock_gettime", "cpu"]), "the clock is chosen and certified here"),
    sets("unified_rw_reporting", Kind::Choice(&["none", "mixed", "both", "0", "1", "2"]), "directions are reported together, or both ways", |d, v| d.job.reporting.unified = match v.text { "mixed" | "1" => 1, "both" | "2" => 2, _ => 0 }),
    nothing("error_dump", BOOL, "errors are always reported"),
    sets("kb_base", Kind::Choice(&["1024", "1000"]), "what `k` is, from the option behind it on", |d, v| {
        d.kb_base = if v.text == "1000" { 1000 } else { 1024 };
        d.job.reporting.kb_base = d.kb_base as u32;
    }).priority(1),
    sets("unit_base", Kind::Choice(&["0", "8", "1"]), "1: rates in bits", |d, v| d.job.reporting.unit_base = if v.text == "1" { 1 } else { 8 }).priority(1),
    sets("name", Kind::Text, "what the job is called", |d, v| d.job.name = text_of(v)),
    nothing("description", Kind::Text, "a remark"),
    refused("rwmixcycle", Kind::Gone, "fio no longer has it"),
];

fn text_of(value: &Value<'_>) -> String {
    value.text.to_owned()
}

fn pattern(value: &Value<'_>, has_offsets: bool) -> Result<Vec<PatternPart>, String> {
    text::pattern(value.text, has_offsets)
}
