//! Paths without harm: a device, a path or a directory that a job names becomes a scratch file.

use std::collections::HashMap;

use super::{Job, is_plain};

/// Gives every path of the jobs a scratch file, the same one for the same path, and says which.
pub(super) fn place(jobs: &mut [Job], directories: &[Option<String>]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for (job, directory) in jobs.iter_mut().zip(directories) {
        let is_path = job.name.starts_with('/') && job.files.count <= 1;
        if job.files.paths.is_empty() && is_path {
            // fio takes a job whose name is a device for one on that device.
            job.files.paths.push(job.name.clone());
        } else if job.files.paths.is_empty() {
            directory.iter().for_each(|directory| {
                notes.push(format!("directory={directory}: the files are scratch files below PATH"));
            });
            share_by_format(job);
            continue;
        }
        for path in &mut job.files.paths {
            if let Some(directory) = directory {
                *path = format!("{}/{path}", directory.trim_end_matches('/'));
            }
            if !names.contains_key(path) {
                let name = unique(&plain(path), &names);
                if name != *path {
                    notes.push(format!("'{path}' is the scratch file '{name}' below PATH"));
                }
                names.insert(path.clone(), name);
            }
        }
        job.files.scratch = job.files.paths.iter().map(|path| names[path].clone()).collect();
        job.filename = job.files.scratch.first().filter(|_| job.files.scratch.len() == 1).cloned();
    }
    notes
}

/// A format without the number of the thread gives all threads one file.
fn share_by_format(job: &mut Job) {
    let Some(format) = job.files.format.as_ref().filter(|format| !format.contains("$jobnum")) else { return };
    if job.files.count <= 1 {
        let name =
            format.replace("$jobname", &job.name).replace("$filenum", "0").replace("$clientuid", "localhost");
        job.filename = Some(plain(&name));
    }
}

/// A plain name that reminds of a path: `/dev/sdb` is `dev_sdb`.
fn plain(path: &str) -> String {
    if is_plain(path) {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let name = parts.join("_").replace('\0', "_");
    let name = name.trim_start_matches('.');
    let end = name.char_indices().map(|(at, _)| at).take_while(|&at| at < 200).last().unwrap_or(0);
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
        let mut jobs = [job("a"), job("a"), Job::named("own")];
        let directories = [Some("/mnt/x/".to_owned()), Some("/mnt/y".to_owned()), Some("/mnt".to_owned())];
        let notes = place(&mut jobs, &directories);
        assert_eq!(jobs[0].filename.as_deref(), Some("mnt_x_a"));
        assert_eq!(jobs[1].filename.as_deref(), Some("mnt_y_a"));
        assert_eq!(jobs[2].filename, None);
        assert!(notes[2].starts_with("directory=/mnt: "));
    }
}
