//! Paths without harm: a device, a path or a directory that a job names becomes a scratch file.

use std::collections::HashMap;

use super::files::numbered;
use super::option::names;
use super::{Job, is_plain};

/// Gives every path of the jobs a scratch file, the same one for the same path, and says which.
pub(super) fn place(jobs: &mut [Job], directories: &[Option<String>]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut scratch: HashMap<String, String> = HashMap::new();
    for (job, directory) in jobs.iter_mut().zip(directories) {
        let is_path = job.name.starts_with('/') && job.files.count <= 1;
        if job.files.paths.is_empty() && is_path {
            // fio takes a job whose name is a device for one on that device.
            job.files.paths.push(job.name.clone());
        } else if job.files.paths.is_empty() {
            directory.iter().for_each(|directory| {
                notes.push(format!("directory={directory}: the files are scratch files below PATH"));
            });
            name_own(job, directory.as_deref());
            continue;
        }
        for path in &mut job.files.paths {
            *path = within(directory.as_deref(), 0, path);
            if !scratch.contains_key(path) {
                let name = unique(&plain(path), &scratch);
                if name != *path {
                    notes.push(format!("'{path}' is the scratch file '{name}' below PATH"));
                }
                scratch.insert(path.clone(), name);
            }
        }
        job.files.scratch = job.files.paths.iter().map(|path| scratch[path].clone()).collect();
        job.filename = job.files.scratch.first().filter(|_| job.files.scratch.len() == 1).cloned();
    }
    notes
}

/// A name within the directory that fio takes of a list: files that a path names are in the first one, those of threads in each in
/// turn.
pub(super) fn within(directories: Option<&str>, thread: u32, name: &str) -> String {
    let directories = directories.map(names).unwrap_or_default();
    match directories.get(thread as usize % directories.len().max(1)) {
        Some(directory) => format!("{}/{name}", directory.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

/// Files that no path names are called what fio calls them, so that another job may name them: `filename=write.0.0`.
/// A format without the number of the thread gives all threads one file, or one in each directory of a list.
fn name_own(job: &mut Job, directory: Option<&str>) {
    if job.files.format.is_none() && directory.is_none() {
        return;
    }
    let mut format = job.format();
    if job.files.count > 1 && !format.contains("$filenum") {
        format += ".$filenum";
    }
    let several = directory.map_or(1, |list| names(list).len());
    if several > 1 && job.numjobs as usize <= several && !format.contains("$jobnum") {
        format = format!("$jobnum.{format}");
    }
    let own = flat(&format!("{}/{format}", directory.unwrap_or_default()));
    // The numbers are at the end as a rule.
    let start = own.char_indices().map(|(at, _)| at).find(|at| own.len() - at <= LONGEST).unwrap_or(0);
    job.files.own = own[start..].trim_start_matches('.').to_owned();
    if job.files.count <= 1 && !job.files.own.contains("$jobnum") {
        job.filename = Some(numbered(&job.files.own, 0, 0));
    }
}

/// Bytes of a name: file systems take 255 of them, and numbers follow.
const LONGEST: usize = 200;

/// A path as one name, which may be too long.
fn flat(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    parts.join("_").replace('\0', "_").trim_start_matches('.').to_owned()
}

/// A plain name that reminds of a path: `/dev/sdb` is `dev_sdb`.
fn plain(path: &str) -> String {
    if is_plain(path) {
        return path.to_owned();
    }
    let name = flat(path);
    let end = name.char_indices().map(|(at, _)| at).take_while(|&at| at < LONGEST).last().unwrap_or(0);
    let end = end + name[end..].chars().next().map_or(0, char::len_utf8);
    if end == 0 { "file".to_owned() } else { name[..end].to_owned() }
}

fn unique(name: &str, taken: &HashMap<String, String>) -> String {
    let is_taken = |name: &str| taken.values().any(|other| other == name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(path: &str) -> Job {
        let mut job = Job::named("x");
        job.files.paths = vec![path.to_owned()];
        job
    }

    #[test]
    fn a_path_is_one_scratch_file_for_all_jobs() {
        let mut jobs = [job("/dev/sdb"), job("/dev/sdb"), job("plain"), job("dev_sdb"), job("../..")];
        let notes = place(&mut jobs, &[None, None, None, None, None]);
        let names: Vec<&str> = jobs.iter().map(|job| job.filename.as_deref().unwrap()).collect();
        assert_eq!(names, ["dev_sdb", "dev_sdb", "plain", "dev_sdb_2", "file"]);
        assert_eq!(notes[0], "'/dev/sdb' is the scratch file 'dev_sdb' below PATH");
        assert_eq!(notes.len(), 3);
    }

    #[test]
    fn a_directory_is_part_of_the_path() {
        let mut jobs = [job("a"), job("a"), Job::named("own"), job("a")];
        let directories = ["/mnt/x/", "/mnt/y", "/mnt", "/mnt/y:/mnt/z"].map(|name| Some(name.to_owned()));
        let notes = place(&mut jobs, &directories);
        assert_eq!(jobs[0].filename.as_deref(), Some("mnt_x_a"));
        assert_eq!(jobs[1].filename.as_deref(), Some("mnt_y_a"));
        assert_eq!(jobs[2].filename, None);
        assert!(notes[2].starts_with("directory=/mnt: "));
        assert_eq!(jobs[3].filename.as_deref(), Some("mnt_y_a"), "as in fio the first of a list");
        assert_eq!(jobs[2].file_names(1), ["file.mnt_own.1.0"]);
    }

    #[test]
    fn threads_take_the_directories_of_a_list_in_turn() {
        let job = Job { numjobs: 3, ..Job::named("r") };
        let paths = [0, 1, 2].map(|thread| job.fio_paths(thread, Some("/a:/b/")).remove(0));
        assert_eq!(paths, ["/a/r.0.0", "/b/r.1.0", "/a/r.2.0"]);
        assert_eq!(within(Some("/a\\:b"), 1, "f"), "/a:b/f");
    }

    #[test]
    fn a_file_that_a_job_names_may_be_the_own_one_of_another() {
        let (write, read) = (Job::named("write"), job("write.0.0"));
        let mut jobs = [write.clone(), read.clone(), write, read];
        place(&mut jobs, &[None, None, Some("/d".to_owned()), Some("/d/".to_owned())]);
        let names = jobs.each_ref().map(|job| job.file_names(0)[0].clone());
        assert_eq!(names, ["file.write.0.0", "file.write.0.0", "file.d_write.0.0", "file.d_write.0.0"]);
        let formed = |name: &str, format: &str, count| {
            let mut job = Job::named(name);
            (job.files.format, job.files.count) = (Some(format.to_owned()), count);
            job
        };
        let mut jobs = [formed("a", "data.$jobnum", 1), formed("b", "data.$jobnum", 1), formed("c", "c", 2)];
        place(&mut jobs, &[None, None, None]);
        assert_eq!(
            jobs.each_ref().map(|job| job.file_names(3)[0].clone()),
            ["file.data.3", "file.data.3", "file.c.0"]
        );
        // In a list of directories the same name is another file for each thread.
        let mut jobs = [2, 3].map(|numjobs| Job { numjobs, ..formed("d", "d", 1) });
        place(&mut jobs, &[Some("/a:/b".to_owned()), Some("/a".to_owned())]);
        let names = jobs.each_ref().map(|job| [0, 1].map(|thread| job.file_names(thread)[0].clone()));
        assert_eq!(names, [["file.a:_b_0.d", "file.a:_b_1.d"], ["file.a_d", "file.a_d"]]);
        let (mut long, deep) = (Job::named("x"), format!("/{}", "d".repeat(300)));
        place(std::slice::from_mut(&mut long), &[Some(deep)]);
        assert!(long.file_names(7)[0].len() < 255 && long.file_names(7)[0].ends_with("d_x.7.0"));
    }
}
