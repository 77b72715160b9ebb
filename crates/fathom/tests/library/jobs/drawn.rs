//! Jobs drawn at random that fio and this run make the same calls of. How many is in FATHOM_JOBS (60), and which in
//! FATHOM_SEED (27); where the directions or sizes are drawn as well, their sums agree.

use fathom::report::fio::Detail;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

use super::behaviour::{counts, tried, tried_there};
use super::{Place, has_fio, read};

/// How many jobs stand in a file, one after the other.
const BATCH: usize = 10;

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

/// What fio counts in another way each time, does for ever, or refuses of files that run here.
fn is_odd(job: &str) -> bool {
    let has = |word: &str| job.contains(word);
    let is_mixed = has("rw=rw") || has("rw=randrw");
    let (has_holes, has_depth) = (has(":4k") || has(":-4k"), has("iodepth="));
    has_depth && has("fsync=")
        || has("registerfiles") && has("nrfiles")
        || is_mixed && (has("verify=") || has("random_distribution") || has("loops="))
        || has_holes && (has_depth || has("offset") || has("percentage_random") || has("nrfiles"))
        || has("zonemode") && has("nrfiles")
        || has("loops=") && has("filesize=")
        || has("verify=") && has("nrfiles") && has("io_size=")
}

/// What both count of an entry. Which transfers of a mix are reads is drawn; then only sums are compared.
fn comparable(job: &str, all: &[u64; 9]) -> [u64; 9] {
    let is_mixed = job.contains("rw=rw") || job.contains("rw=randrw");
    if !is_mixed {
        return *all;
    }
    [all[0] + all[2], all[1] + all[3], 0, 0, 0, 0, 0, all[7] + all[8], 0]
}

fn are_alike(jobs: &[String], mine: &Counts, theirs: &Counts) -> bool {
    let alike = |(mine, theirs): (&Counted, &Counted)| {
        let job = &jobs[mine.0.trim_start_matches('x').parse::<usize>().unwrap()];
        mine.0 == theirs.0 && comparable(job, &mine.1) == comparable(job, &theirs.1)
    };
    mine.len() == theirs.len() && mine.iter().zip(theirs).all(alike)
}

/// An entry's name, and what it counts.
type Counted = (String, [u64; 9]);
type Counts = Vec<Counted>;

/// What is different in the jobs of a file, which run one after the other.
fn compared(place: &Place, jobs: &[String]) -> Vec<String> {
    let text: String =
        jobs.iter().enumerate().map(|(at, job)| format!("[x{at}]\nstonewall\n{job}")).collect();
    let failed = |report: &Value| report["jobs"].as_array().unwrap().iter().any(|job| job["error"] != 0);
    let report = tried_there(place, &text, "json").ok().filter(|report| !failed(report));
    let (mine, theirs) = (tried(&text, Detail::Percentiles), report.as_ref().map(counts));
    match (mine.map(|report| counts(&report)), theirs) {
        (Ok(mine), Some(theirs)) if are_alike(jobs, &mine, &theirs) => Vec::new(),
        // One that ends with an error may end those before it.
        _ if jobs.len() > 1 => {
            jobs.iter().flat_map(|job| compared(place, std::slice::from_ref(job))).collect()
        }
        (Err(_), None) => Vec::new(),
        (Ok(_), None) => vec![format!("fio fails, and here it runs:\n{text}")],
        (Ok(mine), Some(theirs)) => vec![format!("{text}here {mine:?}\nfio  {theirs:?}")],
        (Err(reason), Some(_)) => vec![format!("{text}here: {reason}")],
    }
}

#[test]
fn drawn_jobs_do_the_same() {
    if !has_fio("drawn_jobs_do_the_same") {
        return;
    }
    let place = Place::new("drawn");
    let wanted = from_environment("FATHOM_JOBS", 60);
    let mut dice = Pcg64Mcg::new(from_environment("FATHOM_SEED", 27) as u128);
    let (mut seen, mut wrong) = (0, Vec::new());
    while seen < wanted {
        let is_read = |job: &String| {
            !is_odd(job)
                && read(&format!("[x]\n{job}")).is_ok_and(|file| file.jobs[0].unsupported().is_none())
        };
        let jobs: Vec<String> = std::iter::repeat_with(|| job(&mut dice))
            .filter(is_read)
            .take(BATCH.min(wanted - seen))
            .collect();
        seen += jobs.len();
        wrong.extend(compared(&place, &jobs));
    }
    // Where fio comes to the end of a file in the middle of its draws it may end early.
    assert!(wrong.len() <= wanted / 20, "{} of {wanted} jobs:\n{}", wrong.len(), wrong.join("\n"));
}
