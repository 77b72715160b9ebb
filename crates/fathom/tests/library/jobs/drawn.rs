//! Jobs drawn at random that fio and this run make the same calls of. How many is in FATHOM_JOBS (60), and which in
//! FATHOM_SEED (27); where the directions or sizes are drawn as well, their sums agree.

use std::collections::BTreeMap;
use std::sync::Mutex;

use fathom::report::fio::Detail;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

use super::behaviour::{counts, tried, tried_within};
use super::{Place, has_fio, read};

/// How many jobs stand in a file, one after the other.
const BATCH: usize = 10;
/// How long fio may take for a file, whose jobs take some tenths of a second each.
const SECONDS: u32 = 25;
/// How many files are tried at the same time.
const WORKERS: usize = 4;

pub(crate) fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

fn any<'a>(dice: &mut Pcg64Mcg, of: &[&'a str]) -> &'a str {
    of.choose(dice).unwrap()
}

/// Engines that have many transfers under way, and what says how.
fn asynchronous(dice: &mut Pcg64Mcg) -> String {
    let engine = any(dice, &["libaio", "io_uring", "posixaio"]);
    let depth = any(dice, &["1", "2", "7", "16", "100"]);
    let mut text = format!("ioengine={engine}\niodepth={depth}\n");
    let batches = [
        "",
        "iodepth_batch=4\n",
        "iodepth_batch_complete_min=2\n",
        "iodepth_low=1\n",
        "serialize_overlap=1\n",
    ];
    if engine != "posixaio" {
        text += any(dice, &batches);
        text += any(dice, &["", "direct=1\n"]);
    }
    if engine == "io_uring" {
        text += any(dice, &["", "fixedbufs\n", "registerfiles\n", "nonvectored=1\n", "force_async=2\n"]);
    }
    text
}

fn size(dice: &mut Pcg64Mcg, most: u32) -> String {
    let unit = any(dice, &["k", "k", "k", "000", "512"]);
    format!("{}{unit}", dice.random_range(1..=most))
}

/// What is transferred, where, and in what order.
fn transfers(dice: &mut Pcg64Mcg) -> String {
    let orders =
        ["read", "write", "randread", "randwrite", "rw", "randrw", "read:4k", "write:-4k", "randread:4"];
    let rw = any(dice, &orders);
    // Where blocks of several sizes go in random orders is drawn.
    let blocks = ["512", "1k", "4k", "4k", "6k", "8k", "16k", "4k,8k"];
    let is_plain = ["read", "write"].contains(&rw);
    let mut text = format!("rw={rw}\nbs={}\n", any(dice, if is_plain { &blocks } else { &blocks[..7] }));
    for _ in 0..dice.random_range(0..3) {
        text += &match dice.random_range(0..12) {
            0 => format!("io_size={}\n", size(dice, 200)),
            1 => format!("offset={}k\n", 48 * dice.random_range(0..4)),
            2 => format!("filesize={}k\n", dice.random_range(1..400)),
            3 => format!("number_ios={}\n", dice.random_range(1..20)),
            4 => format!("loops={}\n", dice.random_range(1..4)),
            5 => format!("offset_increment={}k\n", 48 * dice.random_range(0..4)),
            6 => format!("rwmixread={}\n", any(dice, &["0", "100", "30"])),
            7 => format!("random_distribution={}\n", any(dice, &["zipf:1.1", "pareto:0.3", "normal:20"])),
            8 => format!("percentage_random={}\n", dice.random_range(0..=100)),
            9 => "zonemode=strided\nzonesize=48k\nzonerange=96k\n".to_owned(),
            10 => format!("random_generator={}\n", any(dice, &["lfsr", "tausworthe64"])),
            _ => "norandommap\n".to_owned(),
        };
    }
    // Where fio comes to a part of a block that no block fits into, it may end; when it comes there is drawn.
    let is_drawn = [":4k", ":-4k", "randread:4", "percentage_random", "zonemode", "loops"]
        .iter()
        .any(|word| text.contains(word));
    let size = if is_drawn { format!("{}k", 96 * dice.random_range(1..4)) } else { size(dice, 200) };
    format!("{text}size={size}\n")
}

/// Files, syncs, pauses and checks.
fn conduct(dice: &mut Pcg64Mcg) -> String {
    let files = [
        "nrfiles=3\n",
        "nrfiles=4\nopenfiles=2\n",
        "nrfiles=3\nfile_service_type=random\n",
        "filename=one\n",
    ];
    match dice.random_range(0..14) {
        0 => format!("fsync={}\n", dice.random_range(1..9)),
        1 => format!("fsync={}\nend_fsync=1\n", dice.random_range(1..9)),
        2 => "end_fsync=1\n".to_owned(),
        3 => "fsync_on_close=1\n".to_owned(),
        4 | 5 => any(dice, &files).to_owned(),
        6 => format!("numjobs={}\n", dice.random_range(1..4)),
        7 => format!("verify={}\n", any(dice, &["md5", "crc32c", "sha256", "xxhash"])),
        8 => "overwrite=1\n".to_owned(),
        9 => "thinktime=100\nthinktime_blocks=3\n".to_owned(),
        10 => format!("fallocate={}\n", any(dice, &["none", "posix", "keep", "truncate"])),
        11 => "sync=1\n".to_owned(),
        12 => "group_reporting\n".to_owned(),
        _ => "rate_iops=2000\n".to_owned(),
    }
}

fn job(dice: &mut Pcg64Mcg) -> String {
    let engine = match dice.random_range(0..2) {
        0 => asynchronous(dice),
        _ => {
            let plain = ["psync", "sync", "pvsync", "vsync", "pvsync2", "mmap", "null", "splice"];
            format!("ioengine={}\n", any(dice, &plain))
        }
    };
    let more: String = (0..dice.random_range(0..3)).map(|_| conduct(dice)).collect();
    format!("{}{engine}{more}", transfers(dice))
}

/// An entry's name, and what it counts.
type Counted = (String, [u64; 9]);
type Counts = Vec<Counted>;

/// Where the syncs stand in what is counted.
const SYNCS: usize = 4;

/// Why the counts of a job are not fio's, where fio itself has no other answer: each is a rule that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// fio asks for syncs by what has completed, which differs until its queue is full. All else agrees.
    SyncsAtDepth,
    /// Those syncs use up `number_ios` in fio, which transfers less then.
    SyncsUseUpTransfers,
    /// fio's answers to other random numbers differ, and the one here lies among them.
    Drawn,
    /// fio's `mmap` takes no blocks that are not whole pages together with `fsync`.
    PartsOfPages,
    /// fio reads blocks of a mix again before they are written, and finds them wrong.
    UnwrittenBlocks,
    /// fio does not end, and nothing in the job makes it last.
    Endless,
    /// fio fails where it closes a file that is registered.
    RegisteredFiles,
    /// fio has no stretches with `openfiles=`, and refuses the second thread for what it has made of them.
    StretchesOfSecondThread,
}

fn is_mixed(job: &str) -> bool {
    job.contains("rw=rw") || job.contains("rw=randrw")
}

/// Which transfers of a mix are reads is drawn: then only sums are compared.
fn comparable(job: &str, counts: &Counts, has_syncs: bool) -> Counts {
    let of = |(name, all): &Counted| {
        let mut all = *all;
        if is_mixed(job) {
            all = [all[0] + all[2], all[1] + all[3], 0, 0, 0, 0, 0, all[7] + all[8], 0];
        }
        if !has_syncs {
            all[SYNCS] = 0;
        }
        (name.clone(), all)
    };
    counts.iter().map(of).collect()
}

/// Whether fio has more of nothing but syncs.
fn does_less(job: &str, theirs: &Counts, mine: &Counts) -> bool {
    let [theirs, mine] = [theirs, mine].map(|counts| comparable(job, counts, false));
    theirs.iter().zip(&mine).all(|(their, own)| their.1.iter().zip(&own.1).all(|(their, own)| their <= own))
}

/// Why fio fails where the job runs here.
fn failing(job: &str, error: u64) -> Option<Reason> {
    let has = |word: &str| job.contains(word);
    let has_parts = ["bs=512", "bs=1k", "bs=6k"].iter().any(|&blocks| has(blocks));
    match error {
        0 if has("zonemode") && has("openfiles=") && has("numjobs=") => Some(Reason::StretchesOfSecondThread),
        1 if has("registerfiles") && has("nrfiles=") => Some(Reason::RegisteredFiles),
        1 if has("ioengine=mmap") && has("fsync=") && has_parts => Some(Reason::PartsOfPages),
        84 if is_mixed(job) && has("verify=") => Some(Reason::UnwrittenBlocks),
        _ => None,
    }
}

/// How often fio is asked again at once, with other random numbers, and how many times that is done before an answer counts as none
/// of fio's: one that is off by two deviations lies beyond 24 others in every second case, and beyond 120 in one of twenty.
const ASKED: usize = 24;
const TIMES: usize = 5;

/// Whether every count lies between the least and the most that fio has with other random numbers. Where a distribution may draw
/// the part of a block at the end of a file, fio may end early each time: then a count may be above those that differ.
fn is_among(place: &Place, job: &str, mine: &Counts, theirs: &Counts, has_syncs: bool) -> bool {
    let section = |at: usize| format!("[x{at}]\nstonewall\nthread\n{job}randrepeat=0\n");
    let text: String = (0..ASKED).map(section).collect();
    let ends_early = job.contains("random_distribution");
    let mut answers = theirs.clone();
    (0..TIMES).any(|_| {
        let Some(Ok(report)) = tried_within(300, place, &text, "json") else { return false };
        answers.extend(comparable(job, &counts(&report), has_syncs));
        let answers: Vec<&[Counted]> = answers.chunks(mine.len()).collect();
        let fits = |entry: usize, field: usize, count: u64| {
            let all = || answers.iter().map(|answer| answer[entry].1[field]);
            let (least, most) = (all().min().unwrap(), all().max().unwrap());
            (least..=most).contains(&count) || ends_early && least < most && most < count
        };
        answers.iter().all(|answer| answer.len() == mine.len())
            && mine.iter().enumerate().all(|(entry, (_, counted))| {
                counted.iter().enumerate().all(|(field, &count)| fits(entry, field, count))
            })
    })
}

/// What is different in the jobs of a file, which run one after the other: the reason, or what it looks like.
fn compared(place: &Place, jobs: &[String]) -> Vec<Result<Reason, String>> {
    let text: String =
        jobs.iter().enumerate().map(|(at, job)| format!("[x{at}]\nstonewall\nthread\n{job}")).collect();
    let error_of = |report: &Value| {
        report["jobs"].as_array().unwrap().iter().map(|job| job["error"].as_u64().unwrap()).max()
    };
    let answer = tried_within(SECONDS, place, &text, "json");
    if answer.is_none() && jobs.len() == 1 {
        let mine = tried(&text, Detail::Percentiles).map(|_| Reason::Endless);
        return vec![mine.map_err(|reason| format!("{text}here: {reason}"))];
    }
    let report = answer.and_then(Result::ok);
    let error = report.as_ref().and_then(error_of);
    let theirs = report.as_ref().filter(|_| error == Some(0)).map(counts);
    let mine = tried(&text, Detail::Percentiles).map(|report| counts(&report));
    if jobs.len() > 1 {
        let is_same = mine.as_ref().ok().is_some_and(|mine| Some(mine) == theirs.as_ref());
        // One that ends with an error may end those before it.
        let each = |job: &String| compared(place, std::slice::from_ref(job));
        return if is_same { Vec::new() } else { jobs.iter().flat_map(each).collect() };
    }
    let job = &jobs[0];
    let has = |word: &str| job.contains(word);
    let found = match (mine, theirs) {
        (Err(_), None) => return Vec::new(),
        (Ok(_), None) => failing(job, error.unwrap_or(0))
            .ok_or(format!("fio fails ({error:?}), and here it runs:\n{text}")),
        (Err(reason), Some(_)) => Err(format!("{text}here: {reason}")),
        (Ok(mine), Some(theirs)) => {
            let alike = |has_syncs| comparable(job, &mine, has_syncs) == comparable(job, &theirs, has_syncs);
            let is_deep = has("iodepth=") && !has("iodepth=1\n") && has("fsync=");
            match (alike(true), is_deep && alike(false)) {
                (true, _) => return Vec::new(),
                (false, true) => Ok(Reason::SyncsAtDepth),
                (false, false) if is_deep && has("number_ios=") && does_less(job, &theirs, &mine) => {
                    Ok(Reason::SyncsUseUpTransfers)
                }
                (false, false) => {
                    let of = |counts| comparable(job, counts, !is_deep);
                    let same =
                        is_among(place, job, &of(&mine), &of(&theirs), !is_deep).then_some(Reason::Drawn);
                    same.ok_or(format!("{text}here {mine:?}\nfio  {theirs:?}"))
                }
            }
        }
    };
    vec![found]
}

#[test]
fn drawn_jobs_do_the_same() {
    if !has_fio("drawn_jobs_do_the_same") {
        return;
    }
    let wanted = from_environment("FATHOM_JOBS", 60);
    let mut dice = Pcg64Mcg::new(from_environment("FATHOM_SEED", 27) as u128);
    let is_read =
        |job: &String| read(&format!("[x]\n{job}")).is_ok_and(|file| file.jobs[0].unsupported().is_none());
    let jobs: Vec<String> = std::iter::repeat_with(|| job(&mut dice)).filter(is_read).take(wanted).collect();
    // Most of the time goes by in fio's start and end.
    let batches = Mutex::new(jobs.chunks(BATCH));
    let worker = |number: usize| {
        let place = Place::new(&format!("drawn-{number}"));
        let next = || batches.lock().unwrap().next();
        std::iter::from_fn(next).flat_map(|batch| compared(&place, batch)).collect::<Vec<_>>()
    };
    let worker = &worker;
    let differing = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(move || worker(number))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let (mut wrong, mut reasons) = (Vec::new(), BTreeMap::<Reason, usize>::new());
    let count = differing.len();
    for one in differing {
        match one {
            Ok(reason) => *reasons.entry(reason).or_default() += 1,
            Err(text) => wrong.push(text),
        }
    }
    let line = format!("{wanted} drawn jobs: {count} differ, {reasons:?}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    assert!(wrong.is_empty(), "{} of {wanted} jobs:\n{}", wrong.len(), wrong.join("\n"));
}
