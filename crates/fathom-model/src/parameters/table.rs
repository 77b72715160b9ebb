//! The numbers of a model, one row each: its Rust name; its name in files and on the command line; its unit; the value that
//! is assumed; how a calibration finds it; and what it is.
//!
//! A curve has points in place of the assumed value, each with the size in bytes that it belongs to, the height that is
//! assumed there, and the least height from which a calibration begins its search.

use super::Found::{Assumed, Declared, Fitted, Measured};
use super::Stage::{ColdReads, Distances, FarData, Jumps, NearData, Syncs, Writes};
use super::Unit::{Bytes, Count, Ns, NsPerByte, Share};
use super::{CurveRow, Found, Row, Stage, Unit};

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

macro_rules! rows {
    ($(#[$doc:meta])* $type:ident, $rows:ident: [$row:ident]; $($variant:ident = ($($cell:expr),*), $about:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = $about] $variant,)*
        }

        impl $type {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// What there is to know of it.
            pub const fn row(self) -> &'static $row {
                &$rows[self as usize]
            }
        }

        static $rows: [$row; $type::ALL.len()] = [$($row::new($($cell,)* $about),)*];
    };
}

type Points = &'static [(u32, f64, f64)];

impl Row {
    const fn new(name: &'static str, unit: Unit, assumed: f64, found: Found, about: &'static str) -> Self {
        Self { name, unit, assumed, found, about }
    }
}

impl CurveRow {
    const fn new(name: &'static str, unit: Unit, stage: Stage, points: Points, about: &'static str) -> Self {
        Self { name, unit, stage, points, about }
    }
}

rows! {
    /// Parameters that are one number. What is assumed is an ext4 on a quiet virtual disk.
    Scalar, SCALARS: [Row];

    Readahead = ("readahead", Bytes, 131_072.0, Declared), "The largest read-ahead window.";
    LargestIo = ("largest_io", Bytes, 1_048_576.0, Declared), "The largest request that the device takes.";
    Block = ("block", Bytes, 4_096.0, Declared), "The file system's block.";
    LargestFolio = ("largest_folio", Bytes, 2_097_152.0, Assumed), "The largest folio of the page cache; 4096 where the file system makes no large ones.";
    Cache = ("cache", Bytes, 0.0, Assumed), "What the page cache may hold; 0 for no limit.";

    Cpus = ("cpus", Count, 0.0, Declared), "CPUs that threads take turns on; 0 for one for each thread.";
    Crowded = ("crowded", Share, 0.0, Measured), "How much longer work of a CPU takes while all other CPUs work as well, because they share cores and caches.";
    Call = ("call", Ns, 400.0, Fitted(NearData, 20.0)), "Time of a system call that finds everything in place.";
    SeekCall = ("seek_call", Ns, 140.0, Assumed), "Time of lseek.";
    OpenCall = ("open_call", Ns, 4_000.0, Assumed), "Time of open, of close and of the like.";
    Folio = ("folio", Ns, 40.0, Assumed), "Time to find each folio of a read after its first.";
    FreshPage = ("fresh_page", Ns, 500.0, Assumed), "Time of the first access to a page of the caller's buffer.";
    ZeroedPage = ("zeroed_page", Ns, 500.0, Assumed), "Time to make a page of a hole that is not in the page cache.";
    CopiedByte = ("copied_byte", NsPerByte, 0.1, Measured), "Time to copy a byte between the page cache and the caller's buffer; the curve 'near' replaces it.";
    AcrossLines = ("across_lines", Ns, 0.0, Fitted(NearData, 40.0)), "Time that a read of 4 KiB or more takes longer if it begins inside a cache line.";
    CopyKnee = ("copy_knee", Bytes, 0.0, Assumed), "Size of a call beyond which each byte takes 'byte_beyond_knee' longer to copy; 0 for no such size.";
    ByteBeyondKnee = ("byte_beyond_knee", NsPerByte, 0.0, Assumed), "Time that a byte of a call beyond 'copy_knee' takes longer to copy.";
    StdioBuffer = ("stdio_buffer", Bytes, 0.0, Assumed), "Buffer through which jobs read and write by fread and fwrite; 0 for system calls of their own.";
    StdioCall = ("stdio_call", Ns, 15.0, Assumed), "Time of fread, fwrite or fseek without the system calls that they make.";

    FirstCache = ("first_cache", Bytes, 0.0, Declared), "Size of the CPU's first data cache.";
    NearCache = ("near_cache", Bytes, 0.0, Declared), "Size of the largest cache that a CPU has for itself; 0 for a CPU to which all data are near.";
    FarSmall = ("far_small", Share, 0.0, Fitted(Distances, 0.5)), "How much nearer to the full wait calls of up to 16 KiB are, where data are neither near nor wholly far.";
    FarSettles = ("far_settles", Bytes, 16_777_216.0, Fitted(Distances, 1e7)), "Bytes of which each further read brings half of the way from the curve 'far_once' to the curve 'far_of'.";
    FarBuffer = ("far_buffer", NsPerByte, 0.0, Fitted(Distances, 0.02)), "Wait for a byte of a caller's buffer that 'near_cache' has no room for, while the data are near.";
    FarBoth = ("far_both", NsPerByte, 0.0, Fitted(Distances, 0.02)), "Wait for a byte of a caller's buffer that 'near_cache' has no room for, while the data are wholly far.";
    FarSpread = ("far_spread", Share, 0.0, Measured), "Part of the wait for far data that varies from call to call, exponentially.";
    JumpBetween = ("jump_between", Ns, 0.0, Fitted(Jumps, 150.0)), "Time that a jump to far data takes longer if it goes to the inside of a cache line.";

    WriteCall = ("write_call", Ns, 0.0, Fitted(Writes, 150.0)), "Time that a write takes longer for each folio than a read: a handle of the journal, times, locks.";
    JumpedWrite = ("jumped_write", Ns, 0.0, Fitted(Writes, 100.0)), "Time that a write takes longer if it does not begin where the last write to the file ended.";
    JumpedOver = ("jumped_over", Ns, 0.0, Fitted(Writes, 100.0)), "Time that a write over clean data takes longer if it does not begin where the last write to the file ended.";
    WalkedPage = ("walked_page", Ns, 0.0, Fitted(Writes, 1.5)), "Time to look at one page's buffer head in a folio that is written to; a write looks at each twice.";
    WalkedOut = ("walked_out", Ns, 0.0, Fitted(Writes, 3.0)), "Time that a look at a buffer head takes longer if the CPU's first cache no longer holds it.";
    WalkedFar = ("walked_far", Ns, 0.0, Fitted(Writes, 80.0)), "Time that a look at a buffer head takes longer if the CPU's own caches no longer hold it.";
    WalkedFirst = ("walked_first", Ns, 0.0, Measured), "Time that the first write to a folio takes longer for each page, whose buffer head is new or was last changed by write-back.";
    DirtiedPage = ("dirtied_page", Ns, 0.0, Fitted(Writes, 60.0)), "Time to mark a clean page dirty.";
    WriteThrough = ("write_through", Bytes, 0.0, Measured), "Most bytes of one request to a server, where a write waits until the server has what it writes; 0 where writes stay in memory.";
    AskedFirst = ("asked_first", Ns, 0.0, Fitted(Syncs, 1_000.0)), "Time that a server is asked by a request of its own, before it gets what a call writes, whether the file has capabilities.";
    SyncedByte = ("synced_byte", NsPerByte, 0.0, Fitted(Syncs, 0.1)), "Time that a sync takes longer for each byte that its file's writes have passed to a server since the last one.";
    TakenByte = ("taken_byte", NsPerByte, 0.0, Measured), "Time that a byte of new memory takes longer if the host of a virtual machine has taken it and has to bring it back first; 0 where none does.";
    FreshByte = ("fresh_byte", NsPerByte, 0.0, Measured), "Time of a program's first access to a byte of its own memory: fio's reads land in buffers that nothing was in before.";
    NewBlock = ("new_block", Ns, 300.0, Assumed), "Time of the first write into a block of the file.";
    AddedFolio = ("added_folio", Ns, 0.0, Fitted(ColdReads, 20.0)), "Time to make a folio for data that are read from the device.";
    AddedPage = ("added_page", Ns, 0.0, Fitted(ColdReads, 20.0)), "Time that each page of a folio adds when the folio is made for data from the device.";
    Wake = ("wake", Ns, 0.0, Fitted(ColdReads, 10_000.0)), "Time of the CPU to wake up once the device has answered a call that waits for it.";
    QueuedWake = ("queued_wake", Ns, 0.0, Fitted(ColdReads, 10_000.0)), "Time of the CPU to wake up once the device has answered a request that its caller waits for after it has handed it over.";
    QueuedCall = ("queued_call", Ns, 1_000.0, Fitted(ColdReads, 20.0)), "Time that a request takes of its caller's CPU, besides the call and the submission, if the caller goes on meanwhile.";
    ServerNear = ("server_near", Ns, 0.0, Measured), "Time from the beginning of a run for which a server works on the CPU of the thread that waits for it, if both work without a pause; then each request has to wake another CPU.";
    ServerApart = ("server_apart", Ns, 0.0, Measured), "Time that a request takes longer once its server has left the CPU of its caller.";
    AwakeShare = ("awake_share", Share, 1.0, Fitted(ColdReads, 1.0)), "Share of a request's time, besides that of its bytes, where several threads have two requests or more for each CPU under way, so that no CPU sleeps; with a server that leaves its caller's CPU, share of 'server_apart'.";
    AwakeShareOfOne = ("awake_share_of_one", Share, 1.0, Fitted(ColdReads, 1.0)), "As 'awake_share', with one request for each CPU under way.";
    Caller = ("caller", Ns, 0.0, Measured), "Time that a job spends between two calls: its clock and its bookkeeping.";
    CallerWrittenByte = ("caller_written_byte", NsPerByte, 0.0, Measured), "Time that a job spends on each byte before it writes it.";
    AsyncCall = ("async_call", Ns, 0.0, Measured), "Time that a transfer which the page cache serves takes longer if it is submitted and reaped.";
    FioCall = ("fio_call", Ns, 0.0, Measured), "Time that fio spends on each transfer besides its calls, its clock included; 0 where fio was not there.";
    FioAsyncCall = ("fio_async_call", Ns, 0.0, Measured), "Time that fio spends longer on a transfer which the page cache serves if it is submitted and reaped.";
    FioWrittenByte = ("fio_written_byte", NsPerByte, 0.0, Measured), "Time that fio spends on each byte before it writes it.";
    FioRandomMap = ("fio_random_map", Ns, 0.0, Measured), "Time that fio takes longer for a transfer at random if it keeps count of the blocks that it has visited, as it does without 'norandommap'.";
    FioFarBuffer = ("fio_far_buffer", NsPerByte, 0.0, Measured), "Time that a byte takes longer to be copied into fio's buffers where 'near_cache' has no room for them: they begin 16 bytes after a page, and some CPUs then wait for their own writes, whose last 12 bits of the address are nearly those of the data.";
    NullCall = ("null_call", Ns, 110.0, Measured), "Time that a transfer of a job with 'ioengine=null' takes, which is the program's own work alone.";
    NullAsyncCall = ("null_async_call", Ns, 170.0, Measured), "Time that such a transfer takes where several are under way.";
    PosixAioCall = ("posixaio_call", Ns, 7_000.0, Measured), "Time that a transfer of a job with 'ioengine=posixaio' takes longer because a thread of the C library makes it.";
    PageFault = ("page_fault", Ns, 2_000.0, Measured), "Time of a fault that maps a page of a file into memory, with those around it that the page cache holds.";
    WriteFault = ("write_fault", Ns, 2_000.0, Measured), "Time of a fault that lets a page of a file be written in memory, with the rest of its folio if that is not mapped yet.";
    AllocateCall = ("allocate_call", Ns, 5_000.0, Measured), "Time that a transfer of a job with 'ioengine=falloc' takes.";
    TruncateCall = ("truncate_call", Ns, 1_500.0, Measured), "Time that a transfer of a job with 'ioengine=ftruncate' takes.";
    CheckedByte = ("checked_byte", NsPerByte, 0.3, Assumed), "Time that a byte takes of a job with 'verify=': what is written is filled with what can be checked, what was read is compared. It is that of crc32c.";
    Noise = ("noise", Share, 0.05, Assumed), "Standard deviation of each other time, as a share of its mean.";

    Submission = ("submission", Ns, 12_000.0, Fitted(ColdReads, 20.0)), "Time to hand a request to the device.";
    DeviceLatency = ("device_latency", Ns, 80_000.0, Fitted(ColdReads, 20.0)), "Time from the submission of a read to its first byte.";
    DeviceWriteLatency = ("device_write_latency", Ns, 90_000.0, Fitted(Syncs, 20.0)), "Time from the submission of a write to its first byte.";
    // A loop device's own work for a request.
    DeviceWriteRequest = ("device_write_request", Ns, 0.0, Fitted(Syncs, 3_000.0)), "Time of each write during which the device moves no data of other requests.";
    DeviceReadRequest = ("device_read_request", Ns, 0.0, Fitted(ColdReads, 5_000.0)), "Time of each read during which the device moves no data of other requests.";
    DeviceByte = ("device_byte", NsPerByte, 1.0, Fitted(ColdReads, 0.01)), "Time in which the device moves a byte that is read.";
    DeviceWriteByte = ("device_write_byte", NsPerByte, 0.0, Fitted(Syncs, 0.01)), "Time in which the device moves a byte that is written; 0 for that of a byte that is read.";
    WrittenFolio = ("written_folio", Ns, 0.0, Fitted(Syncs, 300.0)), "Time that each folio adds when dirty data are written back: it is looked up, locked, and let go of.";
    WrittenPage = ("written_page", Ns, 0.0, Fitted(Syncs, 100.0)), "Time that each page of a folio adds when dirty data are written back.";
    DirectReadPage = ("direct_read_page", Ns, 0.0, Fitted(ColdReads, 100.0)), "Time that the device takes longer for each page of a read with O_DIRECT, whose pages lie apart in memory.";
    DeviceDepth = ("device_depth", Count, 32.0, Measured), "Reads that the device works at side by side.";
    UnwrittenCall = ("unwritten_call", Ns, 0.0, Fitted(Syncs, 1_000.0)), "Time that its caller spends on a write past the cache if blocks of it were never written: they are mapped, and marked as written once it is done.";
    UnwrittenByte = ("unwritten_byte", NsPerByte, 0.0, Fitted(Syncs, 0.01)), "Time in which the device moves a byte of such a write, in addition to that of any byte: it may have no space for it yet.";
    DeviceFlush = ("device_flush", Ns, 100_000.0, Fitted(Syncs, 20.0)), "Time in which the device makes its write cache durable, or a server answers a sync of a file that was not written to since the last one.";
    Seek = ("seek", Ns, 8e6, Assumed), "Time to move a disk's arm across a third of the disk.";
    Rotation = ("rotation", Ns, 8.3e6, Assumed), "Time of one rotation of the disk.";
    Disk = ("disk", Bytes, 1e12, Assumed), "Length of the disk.";
    LimitReadRate = ("limit_read_rate", Bytes, 0.0, Declared), "Bytes a second that a token bucket lets be read; 0 for no limit.";
    LimitWriteRate = ("limit_write_rate", Bytes, 0.0, Declared), "Bytes a second that a token bucket lets be written; 0 for no limit.";
    LimitReadIops = ("limit_read_iops", Count, 0.0, Declared), "Reads a second that a token bucket lets through; 0 for no limit.";
    LimitWriteIops = ("limit_write_iops", Count, 0.0, Declared), "Writes a second that a token bucket lets through; 0 for no limit.";
    LimitBurst = ("limit_burst", Ns, 1e8, Assumed), "Time for which a token bucket keeps what was not used.";
    LimitSlice = ("limit_slice", Ns, 0.0, Declared), "Time whose share the block layer's throttle lets through at once; 0 for a token bucket.";
    LimitSpent = ("limit_spent", Count, 0.0, Assumed), "Slices of the block layer's throttle that were used up just before.";

    JournalCommit = ("journal_commit", Ns, 200_000.0, Fitted(Syncs, 5_000.0)), "Time that a sync waits for the journal after its data; with jbd2, until its thread writes.";
    JournalBlocks = ("journal_blocks", Count, 4.0, Measured), "Blocks that a change of a file adds to a transaction of jbd2.";
    ScatteredBlocks = ("scattered_blocks", Count, 0.0, Measured), "Blocks that the first block of extents adds to a transaction if new blocks are not contiguous.";
    // A request more of a fast device.
    ScatteredSync = ("scattered_sync", Ns, 0.0, Fitted(Syncs, 20_000.0)), "Time that a sync takes longer if its new blocks are not contiguous.";
    ScatteredExtent = ("scattered_extent", Ns, 0.0, Fitted(Syncs, 2_000.0)), "Time that each further row of contiguous new blocks adds to a sync.";
    LogBytes = ("log_bytes", Bytes, 0.0, Measured), "Bytes that a sync writes besides its data on a file system without jbd2; 0 for 'journal_commit' alone.";
    LogRequests = ("log_requests", Count, 1.0, Measured), "Writes in which a sync writes 'log_bytes'.";
    CommitInterval = ("commit_interval", Ns, 5e9, Assumed), "Age at which a transaction is committed.";

    DirtyBytes = ("dirty_bytes", Bytes, 0.0, Declared), "Dirty data at which writers wait; 0 for 'dirty_ratio'.";
    DirtyBackgroundBytes = ("dirty_background_bytes", Bytes, 0.0, Declared), "Dirty data at which the flusher writes; 0 for 'dirty_background_ratio'.";
    DirtyRatio = ("dirty_ratio", Count, 20.0, Declared), "Dirty data at which writers wait, in percent of 'dirtyable'.";
    DirtyBackgroundRatio = ("dirty_background_ratio", Count, 10.0, Declared), "Dirty data at which the flusher writes, in percent of 'dirtyable'.";
    Dirtyable = ("dirtyable", Bytes, 17_179_869_184.0, Declared), "Memory that may become dirty: free memory and the page cache.";
    DirtyLimit = ("dirty_limit", Bytes, 0.0, Assumed), "Limit of dirty data that was in force before, from which the kernel comes down slowly.";
    WriteBandwidth = ("write_bandwidth", Bytes, 104_857_600.0, Measured), "Bytes a second at which the kernel at first expects the device to write.";
    DirtyWriteback = ("dirty_writeback", Ns, 5e9, Declared), "Time between two looks of the flusher for old data; 0 for never.";
    DirtyExpire = ("dirty_expire", Ns, 30e9, Declared), "Age at which dirty data are old.";
    Queue = ("queue", Count, 256.0, Assumed), "Writes under way at which the flusher waits for the device.";
    Jiffy = ("jiffy", Ns, 4e6, Assumed), "Tick of the kernel's clock, in which pauses of writers are counted.";

    DirectPointers = ("direct_pointers", Count, 12.0, Assumed), "Pointers to blocks in an inode without extents.";
    PointersPerIndirect = ("pointers_per_indirect", Count, 0.0, Assumed), "Pointers in a block of pointers; 0 for as many as fit.";
    ExtentLength = ("extent_length", Bytes, 134_217_728.0, Assumed), "Longest extent.";

    NrRequests = ("nr_requests", Count, 256.0, Assumed), "Requests that the scheduler's queue holds.";
    ReadExpire = ("read_expire", Ns, 5e8, Assumed), "Age at which mq-deadline serves a read out of order.";
    WriteExpire = ("write_expire", Ns, 5e9, Assumed), "Age at which mq-deadline serves a write out of order.";
    FifoBatch = ("fifo_batch", Count, 16.0, Assumed), "Requests that mq-deadline serves in order before it looks at ages again.";
    WritesStarved = ("writes_starved", Count, 2.0, Assumed), "Times that mq-deadline prefers reads to a write that waits.";
    WbtLat = ("wbt_lat", Ns, 0.0, Assumed), "Latency of a read beyond which the block layer lets fewer writes be under way; 0 for never.";
}

rows! {
    /// Parameters that depend on a size in bytes: straight lines through points.
    Curve, CURVES: [CurveRow];

    // Search: 40 GB/s.
    Near = ("near", Ns, NearData, &[(4 * KIB, 0.0, 100.0), (12 * KIB, 0.0, 300.0), (16 * KIB, 0.0, 400.0),
            (32 * KIB, 0.0, 800.0), (64 * KIB, 0.0, 1_600.0), (256 * KIB, 0.0, 6_400.0)]),
        "Time to copy near data, by the size of the call; 0 for 'copied_byte', and beyond the last point in proportion.";
    // Search: 20 GB/s.
    Far = ("far", Ns, FarData, &[(KIB, 0.0, 50.0), (2 * KIB, 0.0, 100.0), (4 * KIB, 0.0, 200.0), (6 * KIB, 0.0, 300.0),
            (8 * KIB, 0.0, 400.0), (16 * KIB, 0.0, 800.0), (64 * KIB, 0.0, 3_200.0), (256 * KIB, 0.0, 13_000.0)]),
        "Wait of a read for data that are wholly far, by the size of the call; beyond the last point in proportion.";
    FarOf = ("far_of", Share, Distances, &[(MIB, 0.0, 0.05), (1_536 * KIB, 0.0, 0.05), (2 * MIB, 0.16, 0.05),
            (4 * MIB, 0.33, 0.05), (8 * MIB, 0.5, 0.05), (16 * MIB, 0.67, 0.05), (32 * MIB, 0.83, 0.05), (64 * MIB, 0.92, 0.05)]),
        "Share of the wait for wholly far data, by how many bytes are read many times over; 1 from 128 MiB on.";
    FarOnce = ("far_once", Share, Distances, &[(4 * MIB, 0.7, 0.5), (16 * MIB, 0.95, 0.5)]),
        "Share of the wait for wholly far data at the second read, by how many bytes are read twice; 1 from 128 MiB on.";
    // Search: a line that is not in the caches, and its page.
    Jump = ("jump", Ns, Jumps, &[(512, 0.0, 150.0), (2 * KIB, 0.0, 300.0), (4 * KIB, 0.0, 300.0), (8 * KIB, 0.0, 300.0),
            (16 * KIB, 0.0, 300.0)]),
        "Wait of a read that jumps to far data, besides the wait for them, by the size of the call; even beyond its ends.";
    JumpOf = ("jump_of", Share, Jumps, &[(4 * MIB, 0.33, 0.5), (16 * MIB, 0.67, 0.5)]),
        "Share of the wait for a jump, by how many bytes are read many times over; 1 from 64 MiB on.";
    New = ("new", Ns, Writes, &[(4 * KIB, 1_300.0, 1_000.0), (8 * KIB, 1_450.0, 1_500.0), (16 * KIB, 1_750.0, 2_500.0),
            (64 * KIB, 3_550.0, 9_000.0), (256 * KIB, 10_750.0, 35_000.0)]),
        "Time of the first write into a folio of the page cache, by the folio's size; beyond the last point in proportion.";
}
