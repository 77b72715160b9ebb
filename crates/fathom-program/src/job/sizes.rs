//! Sizes that fio takes from what is there: a scratch file in place of a device has none of its own.

use super::{Engine, Job, JobFile};
use crate::call::CallKind;
use crate::units::Bytes;

/// What such a file has at most, and all of them together.
const ONE: u64 = 1 << 30;
const ALL: u64 = 8 << 30;

/// Gives jobs without a size, or with a share of one, a size: that of another job on the same file, or else the same for
/// all; says which.
pub(super) fn settle(jobs: &mut [Job]) -> Vec<String> {
    let needs_none =
        |job: &Job| job.engine == Engine::Cpuio || job.engine.on_names() == Some(CallKind::Create);
    for job in jobs.iter_mut().filter(|job| needs_none(job)) {
        if job.size.is_none() && job.filesize.is_none() {
            job.filesize = Some(job.least_block());
        }
    }
    // Sizes may follow from where a job appends, and where one appends from sizes.
    append(jobs);
    let is_open = |job: &Job| {
        let files = &job.files;
        let shares = [files.size_percent, files.offset_percent, files.io_size_percent];
        let is_unsized = job.size.is_none() && job.filesize.is_none();
        let is_share = shares.iter().any(Option::is_some);
        (is_unsized || is_share) && job.filesize.is_none()
    };
    let known = |name: &Option<String>, jobs: &[Job]| {
        let name = format!("file.{}", name.as_ref()?);
        let sized = jobs.iter().filter(|job| !is_open(job));
        let threads = sized.flat_map(|job| (0..job.numjobs).filter_map(|thread| job.files_of(thread).ok()));
        threads.flatten().filter(|file| file.name == name).map(|file| file.region.file).max()
    };
    let mut names: Vec<&Option<String>> =
        jobs.iter().filter(|job| is_open(job)).map(|job| &job.filename).collect();
    let alone: u64 = jobs
        .iter()
        .filter(|job| is_open(job) && job.filename.is_none())
        .map(|job| u64::from(job.numjobs) * u64::from(job.file_count()))
        .sum();
    names.retain(|name| name.is_some());
    names.sort();
    names.dedup();
    let common = (ALL / (names.len() as u64 + alone).max(1)).min(ONE) >> 20 << 20;
    // Where its last thread begins behind that, the same follows there.
    let own = |job: &Job| {
        let threads = u64::from(job.numjobs.saturating_sub(1));
        let increase = if job.order.increment.1 { 0 } else { job.order.increment.0.saturating_mul(threads) };
        let last = job.offset.saturating_add(increase);
        if last < common { common } else { (last >> 20 << 20).saturating_add(common) }
    };
    let sizes: Vec<Option<u64>> =
        jobs.iter().map(|job| is_open(job).then(|| known(&job.filename, jobs).unwrap_or(own(job)))).collect();
    let settled = jobs.iter_mut().zip(sizes).filter_map(|(job, size)| Some((job, size?)));
    // Where blocks or the offset do not fit, the size stays open, and running the job asks the user for it.
    let fitting = settled.filter_map(|(job, size)| {
        let taken = take(job.clone(), size);
        taken.fits().is_ok().then(|| *job = taken)?;
        let name = &job.name;
        Some(format!(
            "[{name}] has no size of its own: its files have {} MiB; size= says otherwise",
            size >> 20
        ))
    });
    let notes = fitting.collect();
    jobs.iter_mut().for_each(increase);
    append(jobs);
    jobs.iter_mut().for_each(|job| job.files.append = false);
    notes
}

/// What the offset of each further thread is larger by, where that is a share of the file.
fn increase(job: &mut Job) {
    let Ok(region) = job.region() else { return };
    if let (percent, true) = job.order.increment {
        job.order.increment.0 = (u128::from(region.file) * u128::from(percent) / 100) as u64;
    }
}

/// Jobs that append begin where the jobs before them have the file end: fio lays all files out before the first job runs.
fn append(jobs: &mut [Job]) {
    for at in 0..jobs.len() {
        if !jobs[at].files.append {
            continue;
        }
        let names = jobs[at].file_names(0);
        let before = jobs[..at].iter().flat_map(|job| (0..job.numjobs).map(move |thread| (job, thread)));
        let files = before.flat_map(|(job, thread)| job.files_of(thread).unwrap_or_default());
        let ends = files.filter(|file| names.contains(&file.name)).map(|file| file.region.file);
        jobs[at].offset = ends.max().unwrap_or(0);
    }
}

impl JobFile {
    /// Makes files that would take `space` smaller, all by the same factor, so that they fit into `room`; notes that.
    pub fn shrink(&mut self, space: u64, room: u64) {
        for job in &mut self.jobs {
            // Nothing becomes smaller than that: it is little, and holds a block.
            let unit = job.largest_block().max(1 << 20);
            let shrunk = |bytes: u64| {
                let share = u128::from(bytes) * u128::from(room) / u128::from(space.max(1));
                (share as u64 / unit * unit).max(bytes.min(unit))
            };
            job.size = job.size.map(shrunk);
            job.filesize = job.filesize.map(shrunk);
            job.files.sizes = job.files.sizes.map(|(low, high)| (shrunk(low), shrunk(high)));
            job.offset = shrunk(job.offset);
            job.order.increment.0 = shrunk(job.order.increment.0);
        }
        let share = (room as f64 / space as f64) * 100.0;
        self.notes.push(format!(
            "the files would take {}, and {} are free for them: their sizes are {share:.2} % of what the jobs say",
            Bytes(space),
            Bytes(room)
        ));
    }
}

/// Shares are worked out as where the file's size is given: they fall on blocks.
fn take(mut job: Job, file: u64) -> Job {
    let least = job.least_block();
    job.files.fill_device = false;
    let part = |percent: u8, of: u64| (u128::from(of) * u128::from(percent) / 100) as u64;
    if let Some(percent) = job.files.offset_percent.take() {
        job.offset = part(percent, file).div_ceil(least) * least;
    }
    let rest = file.saturating_sub(job.offset);
    match job.files.size_percent.take() {
        Some(percent) => {
            let one = (part(percent, file) / least * least).min(rest);
            job.size = Some(one * u64::from(job.file_count()));
        }
        None if job.size.is_none() => job.filesize = Some(file),
        None => {}
    }
    if let Some(percent) = job.files.io_size_percent.take() {
        job.io_size = Some(part(percent, job.size.unwrap_or(rest)));
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Blocks;

    fn on(name: &str) -> Job {
        Job { filename: Some(name.to_owned()), ..Job::named("x") }
    }

    #[test]
    fn files_without_a_size_get_one() {
        let share = |percent| {
            let mut job = on("a");
            job.files.size_percent = Some(percent);
            job
        };
        let mut jobs =
            [on("a"), share(25), Job { size: Some(1 << 20), ..on("b") }, on("b"), Job::named("none")];
        let notes = settle(&mut jobs);
        assert_eq!(notes.len(), 4, "{notes:?}");
        let lengths = jobs.each_ref().map(|job| job.region().map(|region| region.length));
        let [a, share, sized, same, none] = lengths;
        assert_eq!((a, share), (Ok(1 << 30), Ok(1 << 28)));
        assert_eq!((sized, same), (Ok(1 << 20), Ok(1 << 20)));
        assert_eq!(none, Ok(1 << 30));
        let mut again = [Job { size: Some(3 << 20), ..Job::named("w") }, on("w.0.0")];
        settle(&mut again);
        assert_eq!(
            again[1].region().map(|region| region.length),
            Ok(3 << 20),
            "what another job calls its own"
        );
        let mut far = [Job { offset: 124 << 30, ..on("d") }];
        settle(&mut far);
        assert_eq!(far[0].region().map(|region| region.length), Ok(1 << 30));
    }

    #[test]
    fn files_shrink_alike_and_keep_whole_blocks() {
        let sized = |size| Job { size: Some(size), ..Job::named("x") };
        let offset = Job { offset: 100 << 30, ..sized(100 << 30) };
        let mut file = JobFile { jobs: vec![sized(200 << 30), offset], ..JobFile::default() };
        file.shrink(400 << 30, 30 << 30);
        assert_eq!(file.jobs[0].size, Some(15 << 30));
        assert_eq!((file.jobs[1].offset, file.jobs[1].size), (7680 << 20, Some(7680 << 20)));
        let note = "the files would take 400 GiB, and 30 GiB are free for them: their sizes are 7.50 % of what the jobs say";
        assert_eq!(file.notes, [note]);
        let (blocks, far) = ([Blocks::fixed(4 << 20); 2], Job { offset: 1 << 40, ..sized(4096) });
        let mut little = JobFile { jobs: vec![Job { blocks, ..sized(8 << 20) }, far], ..JobFile::default() };
        little.shrink(1 << 40, 1 << 30);
        let regions = [0, 1].map(|at: usize| little.jobs[at].region().unwrap());
        assert_eq!((regions[0].length, regions[1].offset, regions[1].length), (4 << 20, 1 << 30, 4096));
    }
}
