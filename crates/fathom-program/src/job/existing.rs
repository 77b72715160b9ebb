//! Jobs on files that are there: whose bytes they read, and how much of each.

use std::path::{Component, Path};

use super::files::numbered;
use super::paths::within;
use super::{Engine, Files, Job, Region};

/// The files that jobs may read.
pub struct OnFiles<'a> {
    /// The directory that they are in.
    pub directory: &'a str,
    /// How long a file is, by its path below the directory; none where there is no such file.
    pub length: &'a dyn Fn(&str) -> Option<u64>,
    /// The regular files below a directory, by their paths below the one that they are in; in order.
    pub list: &'a dyn Fn(&str) -> Vec<String>,
}

/// The files of a job that are there, and are read alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// The directory that they are in.
    pub directory: String,
    /// Their paths below it and what is read of each: those of the first thread, then of the next.
    pub files: Vec<(String, Region)>,
}

/// Has each job read files that are there; `directories` are the values of `directory=`.
pub(super) fn place(
    jobs: &mut [Job],
    directories: &[Option<String>],
    on: &OnFiles<'_>,
) -> Result<(), String> {
    for (job, directory) in jobs.iter_mut().zip(directories) {
        let named = |reason: String| format!("[{}]: {reason}", job.name);
        let placed = job.on_files(directory.as_deref(), on).map_err(named)?;
        *job = placed;
    }
    Ok(())
}

impl Job {
    fn on_files(&self, directory: Option<&str>, on: &OnFiles<'_>) -> Result<Self, String> {
        if !self.engine.has_files() && self.engine.on_names().is_none() {
            return Ok(self.clone());
        }
        let makes = self.files.unlink_each_loop || self.files.create_only;
        if self.read_percent != 100 || self.order.trim.is_some() || !self.engine.transfers() || makes {
            return Err("--on-files reads files that are there, and this job writes, makes or removes some"
                .to_owned());
        }
        if self.engine == Engine::Mmap {
            return Err("--on-files does not work with ioengine=mmap: if another program shortened the file, the run would crash".to_owned());
        }
        if let Some(directory) = &self.files.opendir {
            let is_all = Path::new(directory) == Path::new(on.directory) || directory == ".";
            let inside = if is_all { String::new() } else { below(directory, on.directory)? };
            let paths = (on.list)(&inside);
            if paths.is_empty() {
                return Err(format!("opendir={directory}: there is no regular file below it"));
            }
            let files = Files { opendir: None, paths, ..self.files.clone() };
            return Self { files, ..self.clone() }.on_files(None, on);
        }
        let mut files = Vec::new();
        for thread in 0..self.numjobs {
            let paths = self.fio_paths(thread, directory);
            for (number, path) in paths.iter().enumerate() {
                let below = below(path, on.directory)?;
                let shown = format!("{}/{below}", on.directory.trim_end_matches('/'));
                let length = (on.length)(&below).ok_or_else(|| {
                    format!("{shown}: --on-files reads regular files, and there is none here")
                })?;
                let region = self.region_on(thread, number, length)?;
                if region.file > length {
                    let end = region.file;
                    return Err(format!(
                        "{shown} has {length} bytes, and the job reads up to {end}: lower size="
                    ));
                }
                files.push((below, region));
            }
        }
        let mut job = self.clone();
        let count = files.len() / self.numjobs.max(1) as usize;
        (job.filename, job.files.count) = (None, count as u32);
        let all = files[..count].iter().map(|(_, region)| region.length).sum();
        job.size = job.size.or(Some(all));
        if let Some(percent) = job.files.io_size_percent {
            job.io_size = Some(super::share(job.size.unwrap_or(all), u64::from(percent)));
        }
        (job.files.size_percent, job.files.offset_percent, job.files.io_size_percent) = (None, None, None);
        job.files.existing = Some(Existing { directory: on.directory.to_owned(), files });
        Ok(job)
    }

    /// The paths of a thread's files as fio names them.
    pub fn fio_paths(&self, thread: u32, directory: Option<&str>) -> Vec<String> {
        let format = self.format();
        let name = |number: u32| numbered(&format, thread, number);
        let (thread, names) = match self.files.paths.as_slice() {
            [] => (thread, (0..self.files.count.max(1)).map(name).collect()),
            paths => (0, paths.to_vec()),
        };
        names.iter().map(|name| within(directory, thread, name)).collect()
    }

    /// What a thread reads of a file of so many bytes. Without a size that is all of it from the offset on.
    fn region_on(&self, thread: u32, number: usize, length: u64) -> Result<Region, String> {
        let is_whole = self.size.is_none() && self.filesize.is_none();
        let mut job = Self { filesize: if is_whole { Some(length) } else { self.filesize }, ..self.clone() };
        if let Some(percent) = self.files.offset_percent {
            job.offset = super::share(length, u64::from(percent)).next_multiple_of(self.alignment());
        }
        if let (percent, true) = self.order.increment {
            job.order.increment.0 = super::share(length, percent);
        }
        let region = job
            .files_of(thread)?
            .get(number)
            .map_or_else(|| job.region_of(thread), |file| Ok(file.region))?;
        let Some(percent) = self.files.size_percent else { return Ok(region) };
        let least = self.least_block();
        let part = super::share(length, u64::from(percent)) / least * least;
        let length = part.min(region.length);
        Ok(Region { length, file: region.offset + length, ..region })
    }
}

/// A path below a directory, without that.
fn below(path: &str, directory: &str) -> Result<String, String> {
    let rest = Path::new(path);
    let rest = rest.strip_prefix(directory).unwrap_or(rest);
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match rest.to_str().filter(|rest| is_plain && !rest.is_empty()) {
        Some(rest) => Ok(rest.to_owned()),
        None => Err(format!("'{path}' is not below {directory}, and --on-files reads there alone")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(job: Job, directory: Option<&str>) -> Result<Job, String> {
        let length = |path: &str| match path {
            "a" | "d/a" | "x.0.0" => Some(64 << 10),
            "b" | "x.1.0" => Some(40 << 10),
            _ => None,
        };
        let mut jobs = [job];
        let list = |path: &str| match path {
            "" => ["a", "b", "d/a"].map(str::to_owned).to_vec(),
            "d" => vec!["d/a".to_owned()],
            _ => Vec::new(),
        };
        let on = OnFiles { directory: "/data", length: &length, list: &list };
        place(&mut jobs, &[directory.map(str::to_owned)], &on)?;
        Ok(jobs[0].clone())
    }

    fn on(paths: &[&str]) -> Job {
        let mut job = Job::named("x");
        job.files.paths = paths.iter().map(|path| (*path).to_owned()).collect();
        job
    }

    fn lengths(job: &Job) -> Vec<u64> {
        let files = (0..job.numjobs).flat_map(|thread| job.files_of(thread).unwrap());
        files.map(|file| file.region.length >> 10).collect()
    }

    #[test]
    fn files_give_the_sizes_that_a_job_does_not() {
        let both = placed(on(&["a", "/data/b"]), None).unwrap();
        assert_eq!((lengths(&both), both.transfer()), (vec![64, 40], Ok(Some(104 << 10))));
        assert_eq!(both.file_names(0), ["a", "b"]);
        let own = placed(Job { numjobs: 2, ..on(&[]) }, None).unwrap();
        assert_eq!((lengths(&own), own.file_names(1)), (vec![64, 40], vec!["x.1.0".to_owned()]));
        let part = placed(Job { size: Some(8 << 10), offset: 4096, ..on(&["a"]) }, Some("d")).unwrap();
        assert_eq!((lengths(&part), part.file_names(0)), (vec![8], vec!["d/a".to_owned()]));
        let mut share = on(&["a"]);
        (share.files.size_percent, share.files.offset_percent) = (Some(25), Some(50));
        let region = placed(share, None).unwrap().files_of(0).unwrap()[0].region;
        assert_eq!((region.offset, region.length), (32 << 10, 16 << 10));
    }

    #[test]
    fn all_files_below_a_directory_are_read() {
        let all = |directory: &str| {
            let mut job = Job::named("x");
            job.files.opendir = Some(directory.to_owned());
            placed(job, None)
        };
        for directory in ["/data", "/data/", "."] {
            let job = all(directory).unwrap();
            let lengths: Vec<u64> = job.files_of(0).unwrap().iter().map(|file| file.region.length).collect();
            assert_eq!((job.size, lengths), (Some(168 << 10), vec![64 << 10, 40 << 10, 64 << 10]));
            assert_eq!(job.unsupported(), None);
        }
        assert_eq!(all("d").unwrap().files.existing.unwrap().files[0].0, "d/a");
        assert_eq!(all("e").unwrap_err(), "[x]: opendir=e: there is no regular file below it");
        assert!(all("/etc").unwrap_err().contains("is not below /data"));
    }

    #[test]
    fn what_is_not_there_or_would_be_changed_is_refused() {
        let refused = |job| placed(job, None).unwrap_err();
        assert!(refused(Job { read_percent: 99, ..on(&["a"]) }).contains("this job writes"));
        assert!(refused(Job { engine: Engine::Mmap, ..on(&["a"]) }).contains("ioengine=mmap"));
        assert!(refused(Job { engine: Engine::Filedelete, ..on(&["a"]) }).contains("removes"));
        assert_eq!(
            refused(on(&["c"])),
            "[x]: /data/c: --on-files reads regular files, and there is none here"
        );
        assert!(refused(Job { size: Some(1 << 20), ..on(&["b"]) }).contains("lower size="));
        assert!(refused(on(&["../b"])).contains("is not below /data"));
        assert!(refused(on(&["/etc/passwd"])).contains("is not below /data"));
    }
}
