//! The model's read-ahead, page cache and folios of writes, held against the kernel's tracepoints event by
//! event.
//!
//! Random patterns of reads are made on real files behind several windows, while a private instance of
//! tracefs records what the kernel decides. The model makes the same reads. Time plays no part: what is
//! compared is which pages were missing, which marks were touched, which windows followed and which
//! folios were added. Needs root and tracefs, and before Linux 6.17 probes in the place of its tracepoints
//! (`.ci/kernels`, which runs this on other kernels). Where it can't be run it says so, and with
//! `FATHOM_REQUIRE=all` it fails.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_model::file_read::{Batch, PAGE, Read};
use fathom_model::file_write::write_begin;
use fathom_model::kernel::Kernel;
use fathom_model::page_cache::{FileId, PageCache};
use fathom_model::read_ahead::{Limits, Reader, Step};
use fathom_run::intrusion::Group;
use fathom_scripted::support::require;
use fathom_sys::loop_device::LoopDevice;
use fathom_sys::tracing::{Event, PAGE_ADDED, Trace};
use fathom_sys::{affinity, cache, facts, file, mount};

const FILE_BYTES: u64 = 16 << 20;
const PATTERNS: u64 = 20;
/// Of writes.
const WRITE_PATTERNS: u64 = 6;
const READS: usize = 120;
/// Of reads and of reads and writes in a group of too little memory.
const OVERFLOWING_PATTERNS: u64 = 100;
const OVERFLOWING_WRITE_PATTERNS: u64 = 20;
const OVERFLOWING_USES: u64 = 6_000;
const OVERFLOWING_MEMORY: u64 = 4 << 20;
/// Uses between two syncs.
const DIRTY_USES: u64 = 300;
const LARGEST_READ: u64 = 4 << 20;
const POINTS: [&str; 5] = [
    "readahead/page_cache_sync_ra",
    "readahead/page_cache_async_ra",
    "readahead/page_cache_ra_order",
    "readahead/page_cache_ra_unbounded",
    PAGE_ADDED,
];

/// A trace begins by removing what dead runs left, and must not take another's beginning for that.
static ALONE: Mutex<()> = Mutex::new(());

/// One file system behind one window.
struct Place {
    kind: &'static str,
    mkfs: &'static [&'static str],
    window_kib: u64,
    least_order: u32,
    largest_order: u32,
    /// Advised by POSIX_FADV_RANDOM.
    is_random: bool,
}

const PLACES: [Place; 7] = [
    Place { kind: "ext4", mkfs: &["-q", "-b", "4096"], window_kib: 128, ..ORDINARY },
    Place { kind: "ext4", mkfs: &["-q", "-b", "1024"], window_kib: 64, ..ORDINARY },
    Place { kind: "xfs", mkfs: &["-q"], window_kib: 512, ..ORDINARY },
    Place { kind: "xfs", mkfs: &["-q", "-b", "size=16k"], window_kib: 1024, least_order: 2, ..ORDINARY },
    Place { kind: "ext4", mkfs: &["-q", "-b", "4096"], window_kib: 100, ..ORDINARY },
    Place { kind: "ext4", mkfs: &["-q", "-b", "4096"], window_kib: 0, ..ORDINARY },
    Place { kind: "xfs", mkfs: &["-q"], window_kib: 128, is_random: true, ..ORDINARY },
];
const ORDINARY: Place =
    Place { kind: "", mkfs: &[], window_kib: 0, least_order: 0, largest_order: 9, is_random: false };

/// What was compared, and how much of it was the same.
#[derive(Default)]
struct Tally {
    patterns: u64,
    windows: [u64; 2],
    folios: [u64; 2],
    outcomes: [u64; 2],
    differences: Vec<String>,
}

#[test]
fn the_kernel_reads_ahead_as_the_model_does() {
    let Some(_alone) = alone("trace_agreement") else { return };
    let mut tally = Tally::default();
    for (number, place) in (0..).zip(&PLACES).filter(|(_, place)| place.is_possible()) {
        survey(place, number, &mut tally);
    }
    let shares = [tally.windows, tally.folios, tally.outcomes];
    let [windows, folios, outcomes] = shares.map(|[same, all]| format!("{same} of {all}"));
    let (release, rules, patterns) = (facts::kernel(), kernel().word(), tally.patterns);
    println!(
        "{release}, rules of {rules}: the same in {patterns} patterns are {windows} windows, {folios} folios and {outcomes} misses and hits"
    );
    for difference in tally.differences.iter().take(12) {
        println!("{difference}");
    }
    assert!(shares.iter().all(|[same, all]| same * 1000 >= all * 995 && *all > 0));
}

#[test]
fn the_kernel_makes_the_folios_of_a_write_as_the_model_does() {
    let Some(_alone) = alone("folios of writes") else { return };
    let (mut same, mut all) = (0, 0);
    let ordinary = |place: &&Place| place.is_possible() && !place.is_random && place.window_kib > 0;
    for place in PLACES.iter().filter(ordinary) {
        let mounted = Mounted::new(place);
        let limits = mounted.limits(place);
        for seed in 0..WRITE_PATTERNS {
            let writes = pattern(seed, FILE_BYTES, limits.window);
            let kernel = folios_of_kernel(&mounted.point.join(format!("written-{seed}")), &writes);
            let model = folios_of_model(limits, &writes);
            same += kernel.iter().zip(&model).filter(|(kernel, model)| kernel == model).count();
            all += kernel.len();
        }
    }
    println!(
        "{}, rules of {}: folios of {same} writes of {all} are the same",
        facts::kernel(),
        kernel().word()
    );
    // xfs writes extent by extent of what earlier writes have reserved, and so in smaller folios now and then.
    assert!(same * 1000 >= all * 995 && all > 0);
}

/// The folios that each write makes of a new file.
fn folios_of_kernel(path: &Path, writes: &[(u64, u64)]) -> Vec<Vec<Step>> {
    let new = file::create_new(path).unwrap();
    let filter = format!("i_ino == {}", fs::metadata(path).unwrap().ino());
    let trace = Trace::start(&[PAGE_ADDED], Some(&filter)).unwrap().of_this_thread().unwrap();
    let buffer = vec![7; LARGEST_READ as usize];
    for &(offset, bytes) in writes {
        trace.mark(0).unwrap();
        file::pwrite(new.as_fd(), &buffer[..bytes as usize], offset).unwrap();
    }
    recorded(trace, 1).remove(0)
}

fn folios_of_model(limits: Limits, writes: &[(u64, u64)]) -> Vec<Vec<Step>> {
    let mut cache = PageCache::new(None);
    let one = |&(offset, bytes): &(u64, u64)| {
        let (mut at, end, mut made) = (offset, offset + bytes, Vec::new());
        while at < end {
            let (folio, is_new) = write_begin(&mut cache, limits, FileId(0), at, end);
            let order = folio.pages.trailing_zeros();
            made.extend(is_new.then_some(Step::Added { first: folio.first, order }));
            at = (folio.first + folio.pages) * PAGE;
        }
        made
    };
    writes.iter().map(one).collect()
}

/// What is done with a file of which only a part fits into memory.
#[derive(Clone, Copy)]
enum Use {
    /// Of one page.
    Read(u64),
    /// Of one page.
    Write(u64),
    /// Of all that is dirty.
    Sync,
}

/// Which pages a phase of a pattern uses.
struct Phase {
    kind: u64,
    /// Its part of the file.
    start: u64,
    pages: u64,
    /// Those of them that are used more often, and how much more.
    hot: u64,
    share: u64,
}

impl Phase {
    fn draw(below: &mut impl FnMut(u64) -> u64) -> Self {
        let all = FILE_BYTES / PAGE;
        let pages = all / 4 + below(all * 3 / 4);
        let hot = 1 + pages * (1 + below(8)) / 16;
        Self { kind: below(7), start: below(all - pages + 1), pages, hot, share: 1 + below(9) }
    }

    fn page(&self, at: u64, below: &mut impl FnMut(u64) -> u64) -> u64 {
        let &Self { kind, start, pages, hot, share } = self;
        let is_hot = below(10) < share;
        start
            + match kind {
                0 if is_hot => below(hot),
                1 => at % pages,
                2 => at % hot,
                // Rounds of a hot set, and scans of the rest.
                3 if at % (2 * pages) < pages => below(hot),
                3 => at % pages,
                4 => (0..1 + share / 3).map(|_| below(pages)).min().unwrap_or_default(),
                // A set that moves on by half of itself, and now and then any page.
                5 if is_hot => (at / (4 * hot) * (hot / 2) + below(hot)) % pages,
                _ => below(pages),
            }
    }
}

/// Uses of single pages, of ten so many writes, in one to three phases.
fn overflowing(seed: u64, writes: u64) -> Vec<Use> {
    let mut below = draws(seed);
    let length = OVERFLOWING_USES / (1 + below(3));
    let (mut phase, mut uses) = (Phase::draw(&mut below), Vec::new());
    for at in 0..OVERFLOWING_USES {
        if at % length == 0 {
            phase = Phase::draw(&mut below);
        }
        let page = phase.page(at % length, &mut below);
        uses.push(if below(10) < writes { Use::Write(page) } else { Use::Read(page) });
        if writes > 0 && below(DIRTY_USES) == 0 {
            uses.push(Use::Sync);
        }
    }
    uses.push(Use::Sync);
    uses
}

#[test]
fn the_kernel_keeps_about_the_pages_that_the_model_keeps() {
    let Some(_alone) = alone("kept pages") else { return };
    compare_hits("ext4", OVERFLOWING_PATTERNS, 0, 995);
}

#[test]
fn the_kernel_keeps_about_the_written_pages_that_the_model_keeps() {
    let Some(_alone) = alone("kept written pages") else { return };
    // A reclaim on two lists that looks at a single page and finds it dirty wakes the flusher, which takes its time.
    let least = if facts::keeps_generations() { 990 } else { 980 };
    // On ext4 written pages have buffers, which are charged to the group, so that fewer pages fit later on.
    compare_hits("xfs", OVERFLOWING_WRITE_PATTERNS, 3, least);
}

/// Makes patterns in a group of too little memory, and on the model. Of 1,000 uses of all of them at least so many hit both or
/// neither.
fn compare_hits(kind: &'static str, patterns: u64, writes: u64, least: usize) {
    // What one CPU adds, another one that reclaims does not see at once.
    let _pinned = affinity::pin_to_current_cpu();
    let place = Place { kind, mkfs: &["-q"], ..ORDINARY };
    let mounted = Mounted::new(&place);
    let limits = mounted.limits(&place);
    let path = mounted.point.join("file");
    fs::write(&path, vec![7; FILE_BYTES as usize]).unwrap();
    let (new, lists): (fn(_) -> _, _) = match facts::keeps_generations() {
        true => (PageCache::of_generations, "generations"),
        false => (PageCache::new, "two lists"),
    };
    let all = (patterns * OVERFLOWING_USES) as usize;
    let [mut same, mut kernel_missed, mut model_missed, mut fitted] = [0; 4];
    let mut shares = Vec::new();
    for seed in 0..patterns {
        let uses = overflowing(seed, writes);
        let (kernel, fit) = hits_of_kernel(&path, &uses);
        let model = hits_of_model(new(Some(fit)), limits, &uses);
        let missed = |hits: &[bool]| hits.iter().filter(|hit| !**hit).count();
        let pairs = uses.iter().zip(kernel.iter().zip(&model)).filter(|(one, _)| !matches!(one, Use::Sync));
        let both = pairs.filter(|(_, (kernel, model))| kernel == model).count();
        (same, fitted) = (same + both, fitted + fit as usize);
        (kernel_missed, model_missed) = (kernel_missed + missed(&kernel), model_missed + missed(&model));
        shares.push(100.0 * both as f64 / OVERFLOWING_USES as f64);
    }
    shares.sort_by(f64::total_cmp);
    println!(
        "{}, {lists}, {patterns} patterns, {writes} of 10 are writes, {} pages fit: of {all} the kernel missed {kernel_missed} and the model {model_missed}; {same} are the same, {:.2} %; a pattern's least are {:.1?}",
        facts::kernel(),
        fitted / patterns as usize,
        100.0 * same as f64 / all as f64,
        &shares[..5]
    );
    assert!(same * 1000 >= all * least);
}

/// Which uses hit the kernel's cache in a group of little memory, and how many pages of the file fit.
fn hits_of_kernel(path: &Path, uses: &[Use]) -> (Vec<bool>, u64) {
    let opened = File::options().read(true).write(true).open(path).unwrap();
    cache::evict(&opened, 0, 0).unwrap();
    let filter = format!("i_ino == {}", opened.metadata().unwrap().ino());
    let trace = Trace::start(&[PAGE_ADDED], Some(&filter)).unwrap().of_this_thread().unwrap();
    let mut buffer = vec![7; PAGE as usize];
    let group = Group::of_memory(OVERFLOWING_MEMORY).unwrap();
    // Since 6.12 a reclaim on two lists goes by counts that are up to two seconds old, and that reading this renews.
    let is_late = !facts::keeps_generations() && kernel() >= Kernel::V6_12;
    let counts = is_late.then(|| File::open(group.directory().join("memory.stat")).unwrap());
    for (at, one) in uses.iter().enumerate() {
        trace.mark(0).unwrap();
        match *one {
            Use::Read(page) => opened.read_exact_at(&mut buffer, page * PAGE).unwrap(),
            Use::Write(page) => opened.write_all_at(&buffer, page * PAGE).unwrap(),
            Use::Sync => opened.sync_data().unwrap(),
        }
        if let Some(counts) = counts.as_ref().filter(|_| at % 8 == 0) {
            counts.read_at(&mut buffer, 0).unwrap();
        }
    }
    let fit = resident(path) + room(group.directory());
    drop(group);
    let steps = recorded(trace, 1).remove(0);
    (steps.iter().map(Vec::is_empty).collect(), fit)
}

fn hits_of_model(mut cache: PageCache, limits: Limits, uses: &[Use]) -> Vec<bool> {
    let (mut reader, mut dirty) = (Reader::default(), BTreeSet::new());
    let one = |one: &Use| {
        let mut steps = Vec::new();
        match *one {
            Use::Read(page) => {
                let mut read = Read::new(FileId(0), page * PAGE, PAGE, &reader);
                while read.turn(&mut cache, &mut reader, limits, FILE_BYTES, None, &mut steps) != Batch::Done
                {
                }
            }
            Use::Write(page) => {
                let (start, end) = (page * PAGE, (page + 1) * PAGE);
                let (folio, is_new) = write_begin(&mut cache, limits, FileId(0), start, end);
                cache.set_dirty(folio, true);
                dirty.insert(page);
                steps.extend(is_new.then_some(Step::Added { first: page, order: 0 }));
            }
            Use::Sync => {}
        }
        // A reclaim has woken the flusher, which takes no time here.
        if matches!(one, Use::Sync) || cache.wants_writeback() {
            for is_on_its_way in [true, false] {
                for &page in &dirty {
                    let folio = cache.folio(FileId(0), page).expect("a dirty page stays");
                    cache.set_dirty(folio, false);
                    cache.set_writeback(FileId(0), page, 1, is_on_its_way);
                }
            }
            dirty.clear();
        }
        steps.is_empty()
    };
    uses.iter().map(one).collect()
}

/// The right to mount and to trace in a test of this name, while no other test does; none where that is not possible.
fn alone(name: &str) -> Option<MutexGuard<'static, ()>> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let possible = possible();
    if !require(name, possible.is_ok(), &possible.err().unwrap_or_default()) {
        return None;
    }
    mount::enter_private_namespace().unwrap();
    Some(alone)
}

fn possible() -> Result<(), String> {
    if facts::user_id() != 0 {
        return Err("mounting and tracing need root".to_owned());
    }
    Trace::start(&POINTS, None).map(drop).map_err(|error| error.to_string())
}

/// Whose rules hold here.
fn kernel() -> Kernel {
    Kernel::of_release(&facts::kernel())
}

impl Place {
    /// Blocks may be larger than pages since 6.12.
    fn is_possible(&self) -> bool {
        self.least_order == 0 || kernel() >= Kernel::V6_12
    }
}

/// A place that is mounted, and gone when it is dropped.
struct Mounted {
    device: LoopDevice,
    point: PathBuf,
}

impl Mounted {
    fn new(place: &Place) -> Self {
        let device = LoopDevice::over_nameless_file(Path::new("/dev/shm"), 512 << 20, 512).unwrap();
        let (program, words) = (format!("mkfs.{}", place.kind), place.mkfs.iter().copied());
        assert!(Command::new(program).args(words).arg(device.path()).status().unwrap().success());
        // Tests run side by side.
        let name = format!("fathom-agreement-{}-{}", std::process::id(), device.name());
        let point = std::env::temp_dir().join(name);
        fs::create_dir_all(&point).unwrap();
        mount::mount(&device.path().display().to_string(), &point, place.kind, "").unwrap();
        Self { device, point }
    }

    /// Sets the window, and gives all that the rules need.
    fn limits(&self, place: &Place) -> Limits {
        let queue = PathBuf::from(format!("/sys/block/{}/queue", self.device.name()));
        fs::write(queue.join("read_ahead_kb"), place.window_kib.to_string()).unwrap();
        let has_large_folios = place.kind == "xfs" || kernel() >= Kernel::V6_18;
        Limits {
            kernel: kernel(),
            window: place.window_kib / 4,
            largest_io: io_pages(&queue),
            least_order: place.least_order,
            largest_order: if has_large_folios { place.largest_order } else { 0 },
            is_random: place.is_random,
            file_pages: FILE_BYTES / PAGE,
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = mount::unmount(&self.point);
        let _ = fs::remove_dir(&self.point);
    }
}

/// Mounts a place and makes its patterns there.
fn survey(place: &Place, number: u64, tally: &mut Tally) {
    let mounted = Mounted::new(place);
    let limits = mounted.limits(place);
    compare(place, &mounted.point.join("file"), limits, number, tally);
}

/// `bdi->io_pages`: the largest request that the device takes.
fn io_pages(queue: &Path) -> u64 {
    let kib = fs::read_to_string(queue.join("max_sectors_kb")).unwrap();
    kib.trim().parse::<u64>().unwrap() / 4
}

/// Makes every pattern twice, once on the kernel and once on the model.
fn compare(place: &Place, path: &Path, limits: Limits, number: u64, tally: &mut Tally) {
    // Not a whole number of windows, or of pages.
    let size = FILE_BYTES - 4096 * number - 100 * (number % 3);
    let limits = Limits { file_pages: size.div_ceil(PAGE), ..limits };
    fs::write(path, vec![7; size as usize]).unwrap();
    let seeds = (0..PATTERNS).map(|pattern| 1_000 * number + pattern);
    let patterns: Vec<_> = seeds.map(|seed| pattern(seed, size, limits.window)).collect();
    let kernel = on_kernel(path, place.is_random, &patterns);
    for (pattern, (reads, kernel)) in patterns.iter().zip(&kernel).enumerate() {
        let model = on_model(limits, size, reads);
        tally.patterns += 1;
        assert_eq!(kernel.len(), model.len());
        let mut is_first = true;
        for (at, (kernel, model)) in kernel.iter().zip(&model).enumerate() {
            tally.compare(kernel, model);
            if kernel != model && std::mem::take(&mut is_first) {
                let same = kernel.iter().zip(model).take_while(|(kernel, model)| kernel == model).count();
                let [kernel, model] =
                    [kernel, model].map(|steps| steps[same..].iter().take(6).collect::<Vec<_>>());
                tally.differences.push(format!(
                    "{} window {} KiB pattern {pattern} read {at} {:?}, after {same} steps:\n  kernel {kernel:?}\n  model  {model:?}",
                    place.kind, place.window_kib, reads[at]
                ));
            }
        }
    }
}

impl Tally {
    fn compare(&mut self, kernel: &[Step], model: &[Step]) {
        let number = |step: &Step| match step {
            Step::Miss { .. } => 2,
            Step::Added { .. } => 1,
            _ => 0,
        };
        let of = |steps: &[Step], kind: usize| -> Vec<Step> {
            steps.iter().filter(|step| number(step) == kind).copied().collect()
        };
        let Self { windows, folios, outcomes, .. } = self;
        for (kind, counts) in [windows, folios, outcomes].into_iter().enumerate() {
            let (kernel, model) = (of(kernel, kind), of(model, kind));
            // A read without a miss is an outcome too: a hit.
            let whole = kernel.len().max(model.len()).max(usize::from(kind == 2));
            let same = kernel.iter().zip(&model).filter(|(kernel, model)| kernel == model).count();
            let both_hit = kind == 2 && kernel.is_empty() && model.is_empty();
            counts[0] += same as u64 + u64::from(both_hit);
            counts[1] += whole as u64;
        }
    }
}

/// Reads as programs make them: a few streams, jumps, backward steps, large and unaligned requests.
fn pattern(seed: u64, size: u64, window: u64) -> Vec<(u64, u64)> {
    let mut below = draws(seed);
    let mut streams: Vec<u64> = (0..1 + below(4)).map(|_| below(size)).collect();
    if below(2) == 0 {
        streams[0] = 0;
    }
    let mut reads = Vec::with_capacity(READS);
    while reads.len() < READS {
        let bytes = match below(8) {
            0 => 1 + below(3 * window.max(1) * PAGE),
            1 => 1 + below(2000),
            2 | 3 => PAGE * (1 + below(window / 2 + 1)),
            _ => PAGE << below(3),
        };
        let stream = below(streams.len() as u64) as usize;
        let mut offset = match below(10) {
            0 => below(size),
            1 => streams[stream].saturating_sub(below(64 * PAGE)),
            2 => streams[stream] + PAGE * below(40),
            _ => streams[stream],
        };
        for _ in 0..1 + below(12) {
            offset = if offset < size { offset } else { below(size) };
            reads.push((offset, bytes));
            offset += bytes;
        }
        streams[stream] = offset;
    }
    reads.truncate(READS);
    reads
}

fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    }
}

/// What the kernel does for each read of each pattern; the file is cold before each pattern.
fn on_kernel(path: &Path, is_random: bool, patterns: &[Vec<(u64, u64)>]) -> Vec<Vec<Vec<Step>>> {
    cache::evict(file::open_readable(path).unwrap(), 0, 0).unwrap();
    let inode = fs::metadata(path).unwrap().ino();
    let trace = Trace::start(&POINTS, Some(&format!("i_ino == {inode}"))).unwrap().of_this_thread().unwrap();
    let mut buffer = vec![0; LARGEST_READ as usize];
    for (number, reads) in patterns.iter().enumerate() {
        let opened = file::open_readable(path).unwrap();
        cache::evict(&opened, 0, 0).unwrap();
        if is_random {
            cache::advise(&opened, 0, 0, cache::Advice::Random).unwrap();
        }
        for &(offset, bytes) in reads {
            trace.mark(number as u64).unwrap();
            file::pread(opened.as_fd(), &mut buffer[..bytes as usize], offset).unwrap();
        }
    }
    recorded(trace, patterns.len())
}

/// The steps after each mark, by the number of the mark.
fn recorded(trace: Trace, patterns: usize) -> Vec<Vec<Vec<Step>>> {
    let recorded = trace.finish().unwrap();
    assert_eq!(recorded.lost, 0);
    let mut seen: Vec<Vec<Vec<Step>>> = vec![Vec::new(); patterns];
    let mut current = 0;
    for record in recorded.records {
        match record.event {
            Event::Mark(number) => {
                current = number as usize;
                seen[current].push(Vec::new());
            }
            event => seen[current].last_mut().expect("a mark comes first").extend(step(&event)),
        }
    }
    seen
}

/// Pages of a file that are cached.
fn resident(path: &Path) -> u64 {
    let (file, bytes) = (file::open_readable(path).unwrap(), fs::metadata(path).unwrap().len() as usize);
    cache::mincore(file, 0, bytes, PAGE as usize).unwrap().into_iter().map(u64::from).sum()
}

/// Pages that a memory group may still take: the counters of pages, which, unlike `memory.stat`, are always up to date.
fn room(group: &Path) -> u64 {
    let bytes = |names: [&str; 2]| -> u64 {
        let text = names.iter().find_map(|name| fs::read_to_string(group.join(name)).ok()).unwrap();
        text.trim().parse().unwrap()
    };
    let limit = bytes(["memory.max", "memory.limit_in_bytes"]);
    limit.saturating_sub(bytes(["memory.current", "memory.usage_in_bytes"])) / PAGE
}

fn step(event: &Event) -> Option<Step> {
    match event {
        Event::PageAdded { offset, bytes, .. } => {
            Some(Step::Added { first: offset / PAGE, order: (bytes / PAGE).trailing_zeros() })
        }
        Event::Other(name, text) => {
            let field = |key: &str| {
                let word = text.split_whitespace().find_map(|word| word.strip_prefix(key));
                word.and_then(|value| value.strip_prefix('=')?.parse::<u64>().ok()).unwrap_or(u64::MAX)
            };
            let index = field("index");
            Some(match *name {
                "page_cache_sync_ra" => Step::Miss { index, request: field("req_count") },
                "page_cache_async_ra" => Step::Mark { index, request: field("req_count") },
                "page_cache_ra_order" => Step::Window {
                    index,
                    order: field("order") as u32,
                    size: field("size"),
                    async_size: field("async_size"),
                },
                _ => Step::Pages { index, count: field("nr_to_read"), lookahead: field("lookahead_size") },
            })
        }
        _ => None,
    }
}

fn on_model(limits: Limits, size: u64, reads: &[(u64, u64)]) -> Vec<Vec<Step>> {
    let mut cache = PageCache::new(None);
    let mut reader = Reader::default();
    let one = |&(offset, bytes): &(u64, u64)| {
        let mut steps = Vec::new();
        let mut read = Read::new(FileId(0), offset, bytes, &reader);
        while read.turn(&mut cache, &mut reader, limits, size, None, &mut steps) != Batch::Done {}
        steps
    };
    reads.iter().map(one).collect()
}
