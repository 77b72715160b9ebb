//! The same job files run by fio and here: the same transfers, and the same shape of the report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use fathom::load::{Limits, Needs, Testbed, run_all};
use fathom::report::fio::{Detail, document};
use serde_json::Value;

use super::{Place, fio_within, has_fio, instrument, read};

/// Jobs whose transfers follow from their options alone; the name of each says its place in this list.
const EXACT: &[&str] = &[
    "rw=read\nsize=64k",
    "rw=read\nbs=4k\nsize=10k",
    "rw=write\nbs=4k\nsize=10k",
    "rw=read\nbs=6k\nsize=64k",
    "rw=read\nsize=16k\nio_size=40k",
    "rw=read\nsize=16k\nio_size=6k",
    "rw=randread\nsize=16k\nio_size=2k",
    "rw=randread\nsize=64k\nio_size=100k",
    "rw=randwrite\nsize=64k\nnorandommap",
    "rw=read\nfilesize=64k\nsize=8k",
    "rw=randread\nfilesize=64k\nsize=8k\nio_size=128k",
    "rw=read\nfilesize=64k\noffset=16k",
    "rw=read\nfilesize=32k\noffset=8k\nsize=8k\nio_size=40k",
    "rw=read\noffset=8k\nsize=8k\nnumjobs=3",
    "rw=write\nsize=16k\nfsync=2",
    "rw=write\nsize=20k\nfsync=2\nend_fsync=1",
    "rw=read\nsize=16k\nfsync=1\nend_fsync=1",
    "rw=read\nsize=16k\nrwmixread=30",
    "rw=rw\nsize=16k\nrwmixread=0",
    "rw=rw\nsize=16k\nrwmixwrite=0",
    "rw=read\nsize=16k\nioengine=sync",
    "rw=randwrite\nsize=16k\nioengine=pvsync",
    "rw=randread\nsize=16k\nioengine=mmap",
    "rw=write\nsize=64k\nioengine=vsync",
    "rw=randread\nsize=64k\nioengine=libaio\niodepth=8",
    "rw=write\nsize=64k\nioengine=libaio\niodepth=4\nfsync=2",
    "rw=randwrite\nsize=64k\nioengine=io_uring\niodepth=16\niodepth_batch=4\niodepth_batch_complete_min=2\niodepth_low=4",
    "rw=write\nsize=64k\nioengine=io_uring\niodepth=32\nnumjobs=2\nend_fsync=1",
    "rw=randread\nsize=32k\nioengine=io_uring\niodepth=1000\nfixedbufs\nregisterfiles",
    "rw=read\nsize=16k\nname=other",
    "rw=read\nsize=16k\nfilename=shared\nnumjobs=2",
    "rw=read\nsize=64k\nbsrange=8k-8k",
    "rw=write\nsize=32k\nbs=4k,8k",
    "rw=read\nsize=16k\nloops=3",
    "rw=write\nsize=20k\nloops=2\nfsync=2\nend_fsync=1",
    "rw=randread\nsize=64k\nloops=2\nio_size=20k",
    "rw=randread\nsize=64k\nnumber_ios=5",
    "rw=read\nsize=16k\nnumber_ios=3\nloops=2",
    "rw=read:8k\nsize=64k",
    "rw=write:4k\nsize=20k",
    "rw=read:4k\nsize=24k",
    "rw=randread:4\nsize=64k",
    "rw=randwrite:3\nsize=64k\nnorandommap",
    "rw=read\nsize=16k\noffset_increment=32k\nnumjobs=3",
    "rw=write\nsize=16k\noffset_increment=16k\nnumjobs=2\nfilename=parts",
    "rw=read\nsize=32k\nrate_iops=1000",
    "rw=randread\nsize=64k\nrandom_distribution=zipf:1.2",
    "rw=randread\nsize=64k\nrandom_distribution=pareto:0.3:0.1\nio_size=100k",
    "rw=randwrite\nsize=64k\nrandom_distribution=normal:10",
    "rw=randread\nsize=64k\npercentage_random=40",
    "rw=randread\nsize=64k\npercentage_random=0\nnorandommap",
    "rw=read\nsize=64k\nbssplit=8k/100",
    "rw=write\nsize=16k\nfsync_on_close=1",
    "rw=write\nsize=16k\noverwrite=1\nrefill_buffers\nbuffer_compress_percentage=50",
    "rw=randwrite\nsize=16k\nfallocate=truncate\nzero_buffers",
    "rw=randread\nsize=16k\nrandrepeat=0\nallrandrepeat=1\nnumjobs=2",
    "rw=read\nsize=16k\ncontinue_on_error=all\ndisable_slat=1\npercentile_list=50:99",
    "rw=read\nsize=8k\nstartdelay=100ms",
    "rw=read:-8k\nsize=64k",
    "rw=write:-4k\nsize=20k",
    "rw=read:-12k\nsize=64k\nfsync=2",
    "rw=randread\nsize=64k\nrandom_distribution=zoned:60/10:30/20:10/70",
    "rw=randwrite\nsize=64k\nrandom_distribution=zoned_abs:60/16k:40/48k\nio_size=100k",
    "rw=randread\nsize=64k\nblockalign=512",
    "rw=read\nfilesize=64k\nsize=8k\noffset_increment=11%\nnumjobs=3",
    "rw=read\nfilesize=64k\nsize=8k\noffset=10%\noffset_align=16k",
    "rw=randread\nsize=64k\nstats=0\ngroup_reporting",
    "rw=randwrite:4\nsize=64k\nrw_sequencer=identical\nnorandommap",
    "rw=randread\nsize=64k\nrandom_generator=lfsr",
    "rw=read\nsize=16k\nthinktime=1000\nthinktime_blocks=2\nthinktime_spin=300",
    "rw=write\nsize=16k\nthinktime=500\nthinktime_iotime=1ms\nthinktime_blocks_type=issue",
    "rw=read\nsize=64k\nrate_iops=2000\nrate_process=poisson",
    "rw=write\nsize=64k\nrate=8m\nthinktime=100\nrate_ignore_thinktime=1\nrate_cycle=500",
    "rw=read\nsize=64k\nrate_min=1k\nmax_latency=30s",
    "rw=read\nsize=8k\nstartdelay=10ms-50ms\nnumjobs=2",
    "rw=read\nsize=16k\nnice=1\nprio=5\nprioclass=2\ncpus_allowed=0\ncpus_allowed_policy=split",
    "rw=randwrite\nsize=64k\nioengine=libaio\niodepth=8\nserialize_overlap=1\nnorandommap",
    "rw=randread\nsize=64k\nioengine=io_uring\niodepth=8\niomem=shm\nmax_latency=30s",
    "rw=write\nsize=16k\nignore_error=EIO,EIO\nwrite_hint=short",
    "rw=write\nsize=16k\nname=awaited\n[y1]\nrw=read\nsize=8k\nwait_for=awaited",
    "rw=read\nfilename=parts",
    "rw=read\nfilename=parts\nsize=50%",
    "rw=write:-4k\nsize=43k",
    "rw=read:4k\nsize=7000",
    "rw=randwrite\nsize=10512\nnorandommap",
    "rw=randread\nsize=50k\nbs=16k\nrandom_distribution=normal:20",
    "rw=randwrite\nbs=1k\nsize=4k\nio_size=82512\nioengine=null",
    "rw=write\nbs=1k\nsize=127k\nio_size=64512\nverify=md5",
    "rw=read\nsize=64k\nnrfiles=4",
    "rw=write\nsize=44k\nnrfiles=3\nfsync=3\nend_fsync=1",
    "rw=randread\nsize=64k\nnrfiles=3\nfile_service_type=random\nnumjobs=2",
    "rw=randwrite\nsize=64k\nnrfiles=5\nopenfiles=2\nfile_service_type=sequential",
    "rw=randread\nsize=64k\nnrfiles=8\nopenfiles=3\nfile_service_type=roundrobin:2",
    "rw=randread\nsize=64k\nnrfiles=4\nfile_service_type=zipf:1.2",
    "rw=read\nsize=64k\nnrfiles=4\nfile_service_type=pareto:0.2",
    "rw=randwrite\nsize=64k\nnrfiles=4\nfile_service_type=normal:10",
    "rw=randread\nsize=64k\nnrfiles=4\nnorandommap\nfile_service_type=random:3",
    "rw=randrw\nsize=64k\nnrfiles=4\nbs=8k\nrwmixread=0",
    "rw=read\nsize=64k\nnrfiles=4\nio_size=100k",
    "rw=read\nsize=64k\nnrfiles=4\nio_size=10k",
    "rw=read\nnrfiles=4\nfilesize=8k",
    "rw=read\nnrfiles=4\nfilesize=8k\nsize=12k",
    "rw=read\nfilesize=16k\nsize=64k",
    "rw=read\nnrfiles=4\nfilesize=8k-64k\nsize=16k",
    "rw=write\nnrfiles=6\nfilesize=8k-64k\nio_size=28k",
    "rw=read\nsize=32k\nnrfiles=4\nloops=2",
    "rw=read\nsize=32k\nnrfiles=4\noffset=8k",
    "rw=write\nsize=33k\nnrfiles=2\nbs=512",
    "rw=write\nsize=10k\nfsync=2",
    "rw=randread\nsize=60k\nnrfiles=4\nbs=6k",
    "rw=read\nsize=32k\nfilename=several1:several2",
    "rw=write\nsize=32k\nfilename=third1:third2:third3\nnumjobs=2",
    "rw=randread\nsize=64k\nnrfiles=4\nioengine=libaio\niodepth=8",
    "rw=randwrite\nsize=64k\nnrfiles=4\nioengine=io_uring\niodepth=8\nregisterfiles",
    "rw=randread\nsize=64k\nnrfiles=4\nioengine=mmap",
    "rw=read\nsize=64k\nnrfiles=4\nioengine=sync",
    "rw=write\nsize=32k\ncreate_on_open=1\nnrfiles=2",
    "rw=write\nsize=32k\nunlink_each_loop=1\nloops=3\nnrfiles=2",
    "rw=write\nsize=16k\nunlink=1\nfallocate=keep\nfadvise_hint=random",
    "rw=randwrite\nsize=16k\nfallocate=posix\nfadvise_hint=sequential",
    "rw=write\nsize=16k\nfilename=grows",
    "rw=write\nsize=8k\nfilename=grows\nfile_append=1",
    "rw=read\nfilename=grows",
    "rw=write\nsize=8k\nfile_append=1\nnumjobs=2",
    "rw=write\nsize=16k\nsync=1",
    "rw=randwrite\nsize=16k\nsync=dsync\nwrite_barrier=2\nioengine=libaio\niodepth=2",
    "rw=randrw\nrwmixread=0\nsize=32k\nioengine=pvsync2",
    "rw=read\nsize=32k\nbs=8k\nioengine=splice",
    "rw=write\nsize=300k\nbs=100k\nioengine=splice\nend_fsync=1",
    "rw=write\nsize=16k\nioengine=falloc",
    "rw=randread\nsize=16k\nioengine=falloc",
    "rw=trim\nsize=24k\nbs=4k,4k,8k\nioengine=falloc",
    "rw=randtrim\nsize=24k\nioengine=falloc\nloops=2",
    "rw=trimwrite\nsize=32k\nioengine=falloc",
    "rw=randtrimwrite\nsize=32k\nioengine=falloc\nfsync=3",
    "rw=write\nsize=16k\nioengine=ftruncate",
    "rw=read\nsize=64k\nioengine=null",
    "rw=randwrite\nsize=100g\nnumber_ios=7\nioengine=null\niodepth=8\nnorandommap",
    "rw=write\nnrfiles=20\nfilesize=1k-64k\nsize=20k",
    "rw=randwrite\nnrfiles=20\nfilesize=1k-64k\nnumber_ios=9\nfile_service_type=random",
    "rw=write\nioengine=filecreate\nnrfiles=10",
    "rw=read\nioengine=filecreate\nnrfiles=10\nsize=20k",
    "rw=write\nioengine=filecreate\nnrfiles=10\nfilesize=4k\nopenfiles=1\ncreate_on_open=1\nfallocate=none",
    "rw=write\nioengine=filecreate\nnrfiles=3\nfilesize=16k\nfsync=2",
    "rw=write\nioengine=filecreate\nnrfiles=3\nfilesize=16k\nloops=2\nunlink_each_loop=1",
    "rw=randrw\nrwmixread=100\nioengine=filecreate\nnrfiles=7\nsize=56k\nnumjobs=2",
    "rw=write\nioengine=filestat\nnrfiles=10\nfilesize=4k\nstat_type=lstat",
    "rw=read\nioengine=filestat\nnrfiles=4\nfilesize=16k\nstat_type=statx\nopenfiles=2\nfile_service_type=sequential",
    "rw=randwrite\nioengine=filestat\nnrfiles=10\nsize=40k\nio_size=100k",
    "rw=write\nioengine=filestat\nnrfiles=4\nfilesize=16k\nnumber_ios=3\nrate_iops=1000",
    "rw=write\nioengine=filedelete\nnrfiles=10\nfilesize=4k\nunlink=0",
    "rw=randread\nioengine=filedelete\nnrfiles=10\nfilesize=16k\nnumber_ios=15\nthinktime=100",
    "rw=read\nioengine=filedelete\nnrfiles=10\nfilesize=5k\nnumjobs=2\ndirect=1",
    "rw=write\nsize=16k\nverify=md5",
    "rw=randwrite\nsize=32k\nverify=sha3-512\ndo_verify=0\nioengine=libaio\niodepth=4",
    "rw=write\nsize=32k\nverify=crc32c\nverify_backlog=3\nloops=2",
    "rw=write\nsize=32k\nverify=xxhash\nverify_backlog=4\nverify_backlog_batch=2\nioengine=vsync",
    "rw=randwrite\nsize=64k\nverify=crc64\nverify_backlog=5\nioengine=io_uring\niodepth=4",
    "rw=randwrite\nsize=64k\nverify=pattern\nverify_pattern=0xdead%o\nioengine=sync\nend_fsync=1",
    "rw=write\nsize=64k\nbs=16k\nverify=sha1\nverify_interval=4k\nverify_offset=64\nverify_pattern=7\nioengine=mmap",
    "rw=write\nsize=16k\nio_size=40k\nverify=crc7",
    "rw=write\nsize=16k\nnumber_ios=3\nverify=null\nverify_fatal=1",
    "rw=write\nsize=16k\nverify=meta\nfilename=checked\n[z]\nstonewall\nrw=randread\nsize=16k\nverify=meta\nfilename=checked",
    "rw=read\nsize=64k\nunlink_each_loop=1",
    "rw=randread\nsize=64k\nunlink_each_loop=1\nioengine=mmap",
    "rw=read\nsize=64k\nbs=4k,8k\nbs_is_seq_rand=1",
    "rw=write\nsize=64k\nbs=8k,4k\nbs_is_seq_rand=1",
    "rw=randwrite\nsize=64k\nbs=8k,4k\nbs_is_seq_rand=1",
    "rw=randread\nsize=64k\nbs=8k,4k\nbs_is_seq_rand=1\nnorandommap",
    "rw=read\nsize=64k\nzonemode=strided\nzonesize=4k\nzonerange=8k",
    "rw=read\nsize=64k\nzonemode=strided\nzonesize=8k\nzoneskip=8k",
    "rw=write\nsize=64k\nzonemode=strided\nzonesize=32k\nzonerange=8k\nzoneskip=4k",
    "rw=randread\nsize=64k\nzonemode=strided\nzonesize=32k\nzonerange=8k\nzoneskip=4k\nio_size=128k",
    "rw=randwrite\nsize=64k\nzonemode=strided\nzonesize=8k\nzonerange=16k",
    "rw=randread\nsize=64k\nzonemode=strided\nzonesize=8k\nzonerange=16k\nnorandommap",
    "rw=read\nsize=16k\nflow=1\n[flows]\nrw=read\nsize=32k\nflow=2\nflow_sleep=100",
    "rw=randread\nsize=64k\nlockfile=exclusive\nfilename=locked\nnumjobs=2",
    "rw=randwrite\nsize=64k\nlockfile=readwrite\nfilename=locked\nnumjobs=3\nfsync=4",
    "rw=randread\nsize=64k\nlockfile=readwrite\nioengine=libaio\niodepth=4",
    "rw=randread\nsize=64k\niomem_align=64k\nioengine=libaio\niodepth=4",
    "rw=write\nsize=64k\niomem_align=32k",
    "rw=read\nsize=16k\nverify=md5\ncontinue_on_error=verify",
    "rw=randread\nsize=16k\nverify=crc32c\ncontinue_on_error=all\nioengine=libaio\niodepth=4",
    "rw=write\nsize=16k\nverify=md5\ntrim_percentage=50",
    "rw=write\nsize=16k\nfill_device=1\ncreate_serialize=0\ncreate_fsync=0",
    "rw=randread\nsize=64k\niodepth=8\nioengine=posixaio",
    "rw=read:4k\nsize=64k\noffset=96k",
    "rw=write:-4k\nbs=6k\noffset=48k\nsize=192k\nfsync=1",
    "rw=read:4k\nsize=64k\nioengine=null",
    "rw=read:4k\nfilesize=64k\nioengine=null",
    "rw=read:-8k\noffset=48k\nsize=60k\nnrfiles=3\nloops=2",
    "rw=write:-4k\nbs=6k\nzonemode=strided\nzonesize=48k\nzonerange=96k\nsize=192k",
    "rw=write\nsize=16k\nio_size=48k\nfsync=2",
    "rw=write\nsize=16k\nio_size=48k\nfsync=2\nioengine=libaio",
    "rw=randwrite\nsize=16k\nloops=3\nfsync=2\nnorandommap",
    "rw=write\nbs=1k\nsize=10k\nloops=3\nfsync=1\nverify=md5\nend_fsync=1",
    "rw=write\nsize=96k\nio_size=288k\nfsync=2\nverify=md5",
    "rw=randwrite\nbs=16k\nsize=96k\nio_size=40512\nloops=3",
    "rw=write\nsize=16k\nio_size=40k\nloops=2\nfsync=4",
    "rw=randread\nsize=16k\nio_size=40k\nloops=2\nnorandommap",
    "rw=randread\nsize=96000\nnorandommap\nrandom_generator=lfsr",
    "rw=rw\nsize=64k\nrwmixread=100\nverify=md5",
    "rw=randwrite\nsize=64k\niodepth=4\nioengine=posixaio\nend_fsync=1",
    "rw=randwrite\nsize=64k\niodepth=4\nioengine=posixaio\nverify=crc32c\nnrfiles=2",
    // io_submit_mode=offload with a depth is left out: fio 3.33 waits for itself for ever in a third of such runs.
    "rw=read\nsize=16k\nnumjobs=2\ngroup_reporting\n[y]\nrw=write\nsize=8k\n[z]\nstonewall\nrw=read\nsize=4k",
];

pub(crate) fn here(text: &str, detail: Detail) -> Value {
    tried(text, detail).unwrap()
}

/// The report of the jobs, or what ended them.
pub(crate) fn tried(text: &str, detail: Detail) -> Result<Value, String> {
    let file = read(text).map_err(|mistake| mistake.to_string())?;
    let limits = Limits { max_write: 1 << 30, deadline: None };
    let space = Needs::of(&file.jobs)?.space;
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut testbed = Testbed::at(&std::env::temp_dir(), space, instrument(), limits, interrupt).unwrap();
    let outcomes = run_all(&file.jobs, &mut testbed).map_err(|fault| fault.to_string())?;
    let now = SystemTime::now();
    Ok(serde_json::to_value(document(&file, &outcomes, &[], now, Duration::from_secs(1), detail)).unwrap())
}

pub(crate) fn there(place: &Place, text: &str, format: &str) -> Value {
    tried_there(place, text, format).unwrap_or_else(|said| panic!("no JSON for {text}: {said}"))
}

/// fio's report of the jobs, or what it says in place of one.
pub(crate) fn tried_there(place: &Place, text: &str, format: &str) -> Result<Value, String> {
    tried_within(300, place, text, format).unwrap_or_else(|| panic!("fio did not end within 300 s: {text}"))
}

/// The same; none where fio takes longer than so many seconds.
pub(crate) fn tried_within(
    seconds: u32,
    place: &Place,
    text: &str,
    format: &str,
) -> Option<Result<Value, String>> {
    let path = place.write("run.fio", text);
    let said = fio_within(seconds, place, &["--disk_util=0", &format!("--output-format={format}")], &path);
    for entry in std::fs::read_dir(&place.0).unwrap().flatten() {
        std::fs::remove_file(entry.path()).unwrap();
    }
    let (_, said) = said?;
    // Warnings stand before the JSON.
    let report = said.find("{\n").ok_or_else(|| said.clone()).and_then(|start| {
        let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
        values.next().ok_or("nothing")?.map_err(|error| format!("{error}: {said}"))
    });
    Some(report)
}

/// Name, then bytes and calls of each direction, the syncs, bytes and calls of trims, and the latencies of reads and writes,
/// of each entry. fio leaves `fdatasync(2)` out of its count of syncs, and here it is in.
pub(crate) fn counts(report: &Value) -> Vec<(String, [u64; 9])> {
    let of = |job: &Value| {
        let number = |side: &str, key: &str| job[side][key].as_u64().unwrap();
        let all = [
            number("read", "io_bytes"),
            number("read", "total_ios"),
            number("write", "io_bytes"),
            number("write", "total_ios"),
            number("sync", "total_ios"),
            number("trim", "io_bytes"),
            number("trim", "total_ios"),
            job["read"]["clat_ns"]["N"].as_u64().unwrap(),
            job["write"]["clat_ns"]["N"].as_u64().unwrap(),
        ];
        (job["jobname"].as_str().unwrap().to_owned(), all)
    };
    report["jobs"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_same_jobs_do_the_same() {
    if !has_fio("the_same_jobs_do_the_same") {
        return;
    }
    let place = Place::new("exact");
    let jobs = EXACT.iter().enumerate().map(|(index, options)| format!("[x{index}]\nstonewall\n{options}\n"));
    let text = format!("[global]\nioengine=psync\n{}", jobs.collect::<String>());
    let (here, there) = (counts(&here(&text, Detail::Percentiles)), counts(&there(&place, &text, "json")));
    assert!(here.len() > EXACT.len() && here.len() == there.len(), "{here:?}\n{there:?}");
    let differing: Vec<_> = here.iter().zip(&there).filter(|(mine, fios)| mine != fios).collect();
    assert!(
        differing.is_empty(),
        "job, bytes and calls read, written, syncs; here and in fio: {differing:?}"
    );
}

#[test]
fn a_job_that_burns_a_cpu_does_so_once_in_a_cycle() {
    // Ten cycles of 10 ms; fewer where other programs have the CPU.
    let text = "[x]\nioengine=cpuio\ncpuload=20\ncpuchunks=2000\nruntime=95ms\ntime_based\n";
    let burnt = |report: &Value| counts(report)[0].1[1];
    assert!((1..=10).contains(&burnt(&here(text, Detail::Percentiles))));
    if has_fio("a_job_that_burns_a_cpu_does_so_once_in_a_cycle") {
        assert!((1..=10).contains(&burnt(&there(&Place::new("burn"), text, "json"))));
    }
}

#[test]
fn requests_that_read_where_a_file_has_not_grown_to_move_nothing() {
    for engine in ["libaio", "io_uring", "posixaio"] {
        let text = format!("[x]\nrw=randrw\nsize=1m\ncreate_on_open=1\niodepth=4\nioengine={engine}\n");
        let is_short = |report: &Value| {
            let [read, reads, written, writes, ..] = counts(report)[0].1;
            assert_eq!((reads + writes, written), (256, writes * 4096), "{engine}");
            read > 0 && read < reads * 4096
        };
        assert!(is_short(&here(&text, Detail::Percentiles)), "{engine}");
        if has_fio("requests_that_read_where_a_file_has_not_grown_to_move_nothing") {
            assert!(is_short(&there(&Place::new("grows"), &text, "json")), "fio's {engine}");
        }
    }
}

#[test]
fn threads_that_offload_do_what_a_queue_does() {
    let of = |how: &str| {
        let text =
            format!("[x]\nrw=randwrite\nsize=64k\niodepth=4\nfsync=5\nend_fsync=1\nnrfiles=2\n{how}\n");
        counts(&here(&text, Detail::Percentiles))
    };
    let offloaded = of("io_submit_mode=offload");
    assert_eq!(offloaded[0].1[2..4], [65536, 16]);
    assert_eq!(offloaded, of("ioengine=libaio"));
}

#[test]
fn writes_and_the_reads_that_verify_them_are_timed_apart() {
    let text = "[x]\nrw=write\nsize=64k\nverify=crc32c\nrate_iops=,100\n";
    let times = |report: Value| {
        let of = |side: &str| report["jobs"][0][side]["runtime"].as_u64().unwrap();
        [of("write"), of("read")]
    };
    let [written, read] = times(here(text, Detail::Percentiles));
    assert!(written >= 150 && read < written / 2, "{written} ms and {read} ms");
    if has_fio("writes_and_the_reads_that_verify_them_are_timed_apart") {
        let [written, read] = times(there(&Place::new("apart"), text, "json"));
        assert!(written >= 150 && read < written / 2, "fio: {written} ms and {read} ms");
    }
}

/// Every key with its path and the kind of its value; what depends on the data in a map is one key.
fn shape(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let is_data = path.ends_with("bins") || path.ends_with("options");
                shape(inner, &format!("{path}/{}", if is_data { "*" } else { key }), found);
            }
            "object"
        }
        Value::Array(all) => {
            all.iter().for_each(|inner| shape(inner, &format!("{path}[]"), found));
            "array"
        }
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "whole",
        Value::String(_) => "text",
        _ => "other",
    };
    found.insert(format!("{path}: {kind}"));
}

#[test]
fn the_report_has_the_keys_of_fios() {
    if !has_fio("the_report_has_the_keys_of_fios") {
        return;
    }
    let place = Place::new("shape");
    // The last two have latencies by priority, and end when they are steady.
    let text = "[global]\nioengine=psync\nsize=64k\n[x]\nrw=randrw\nfsync=2\n[y]\nstonewall\nrw=read\nnumjobs=2\n\
                [prios]\nstonewall\nioengine=libaio\niodepth=4\nrw=randrw\nsize=1m\ncmdprio_percentage=50\ncmdprio_class=2\ncmdprio=3\n\
                [steady]\nstonewall\nrw=randread\ntime_based\nruntime=9\nss=iops:5000%\nss_dur=2\n";
    for (format, detail) in [("json", Detail::Percentiles), ("json+", Detail::Bins)] {
        let (mut mine, mut fios) = (BTreeSet::new(), BTreeSet::new());
        shape(&here(text, detail), "", &mut mine);
        shape(&there(&place, text, format), "", &mut fios);
        let more: Vec<_> = mine.difference(&fios).collect();
        let less: Vec<_> = fios.difference(&mine).collect();
        assert!(more.is_empty() && less.is_empty(), "{format}: only here {more:?}, only in fio {less:?}");
    }
}

/// fio's script turns the bins into a table, and finds every latency in it again.
#[test]
fn fios_script_reads_the_bins() {
    if !has_fio("fios_script_reads_the_bins") {
        return;
    }
    let place = Place::new("script");
    let report = here("[x]\nrw=randrw\nsize=256k\n[y]\nrw=write\nsize=64k\n", Detail::Bins);
    let path = place.write("report.json", &report.to_string());
    for more in [&[][..], &["--validate"]] {
        let output = std::process::Command::new("fio_jsonplus_clat2csv")
            .args([path.as_os_str(), place.0.join("table.csv").as_os_str()])
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let table = std::fs::read_to_string(place.0.join("table_job0.csv")).unwrap();
    assert!(table.starts_with("nsec, ") && table.lines().count() > 2, "{table}");
}

/// What the shares and percentiles say follows from the counts.
#[test]
fn the_report_is_consistent() {
    let report = here("[x]\nrw=randread\nsize=1m\nnumjobs=2\ngroup_reporting\n", Detail::Percentiles);
    let job = &report["jobs"][0];
    let read = &job["read"];
    assert_eq!((read["total_ios"].as_u64(), read["clat_ns"]["N"].as_u64()), (Some(512), Some(512)));
    let shares =
        ["latency_ns", "latency_us", "latency_ms"].iter().flat_map(|key| job[*key].as_object().unwrap());
    let sum: f64 = shares.map(|(_, share)| share.as_f64().unwrap()).sum();
    assert!((sum - 100.0).abs() < 1e-6, "{sum}");
    let percentiles = read["clat_ns"]["percentile"].as_object().unwrap();
    let median = percentiles["50.000000"].as_u64().unwrap();
    assert!(
        median >= read["clat_ns"]["min"].as_u64().unwrap()
            && median <= read["clat_ns"]["max"].as_u64().unwrap()
    );
    let (bytes, kib) = (read["bw_bytes"].as_u64().unwrap(), read["bw"].as_u64().unwrap());
    assert_eq!(bytes >> 10, kib);
    assert_eq!(report["jobs"].as_array().unwrap().len(), 1, "one entry for the group");
}
