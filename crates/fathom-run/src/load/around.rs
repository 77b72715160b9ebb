//! What a reader of jobs wants to know of this machine and its files.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fathom_program::job::Surroundings;
use fathom_sys::{affinity, below, facts};

/// The facts of this machine that job files may refer to.
pub fn surroundings(variable: &dyn Fn(&str) -> Option<String>) -> Surroundings<'_> {
    Surroundings {
        page_size: facts::page_size(),
        cpus: affinity::online_cpus() as u64,
        memory_mib: facts::memory_bytes() >> 20,
        variable,
        file: &|path| {
            let bytes = std::fs::read(input(Path::new(path))).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        },
        path: "",
        on_files: None,
        added: &[],
    }
}

/// The file to read for a path on the command line: as in fio, `-` is standard input.
pub fn input(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

/// The regular files below a directory `path` of the directory `directory`, by their paths below it, in order. Links are not
/// followed.
pub fn files_below(directory: &Path, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::from(path)];
    while let Some(inside) = left.pop() {
        let entries = std::fs::read_dir(directory.join(&inside)).into_iter().flatten().flatten();
        for entry in entries {
            let path = inside.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(path),
                Ok(kind) if kind.is_file() => found.extend(path.to_str().map(str::to_owned)),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The length of a regular file below a directory; none if there is no such file that can be read.
pub fn length_below(directory: &Path, path: &str) -> Option<u64> {
    let file = below::open_below(directory, Path::new(path), false).ok()?;
    fathom_sys::file::status(file.as_fd()).ok()
}
