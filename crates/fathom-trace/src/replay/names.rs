//! Which file a path means, as the trace goes on: paths are removed and given to others, and files outlive them.

use std::collections::{HashMap, HashSet};

use super::O_TRUNC;
use crate::operation::{FileId, Files};

/// `O_CREAT` and `O_EXCL` of open(2).
const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
/// `RENAME_NOREPLACE` and `RENAME_EXCHANGE` of renameat2(2).
const RENAME_NOREPLACE: u32 = 1;
const RENAME_EXCHANGE: u32 = 2;

#[derive(Debug, Clone, Copy, Default)]
struct File {
    /// The path that it had before the first operation; none of one that was made later.
    first: Option<FileId>,
    /// The size that it must begin with, and the size that it has got since.
    begins: u64,
    now: u64,
    has_path: bool,
    /// Descriptions that mean it.
    held: u32,
}

/// Files, and the paths that they have.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    paths: &'a [Vec<u8>],
    /// Paths that begin at the root, and those that others lie below.
    has_whole: bool,
    directories: HashSet<&'a [u8]>,
    files: Vec<File>,
    /// What has each path that was seen; none where nothing has it any more.
    now: HashMap<FileId, Option<usize>>,
    none: Option<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        let paths = files.paths();
        let mut directories = HashSet::new();
        for path in paths {
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
            directories.extend(ends.map(|at| &path[..at]));
        }
        Self {
            paths,
            has_whole: paths.iter().any(|path| path.starts_with(b"/")),
            directories,
            ..Self::default()
        }
    }

    /// Size before the first operation of what each path then has; none where nothing has it.
    pub(super) fn sizes_by_path(&self) -> Vec<Option<u64>> {
        let mut sizes = vec![None; self.paths.len()];
        for file in &self.files {
            file.first.into_iter().for_each(|path| sizes[path.0 as usize] = Some(file.begins));
        }
        sizes
    }

    /// The path that a file had before the first operation.
    pub(super) fn first_path(&self, file: usize) -> Option<FileId> {
        self.files[file].first
    }

    /// Size of each file before the first operation.
    pub(super) fn sizes(&self) -> Vec<u64> {
        self.files.iter().map(|file| file.begins).collect()
    }

    fn make(&mut self, path: FileId, first: Option<FileId>) -> usize {
        self.files.push(File { first, has_path: true, ..File::default() });
        self.now.insert(path, Some(self.files.len() - 1));
        self.files.len() - 1
    }

    /// A file that stands for none.
    pub(super) fn none(&mut self) -> usize {
        match self.none {
            Some(none) => none,
            None => *self.none.insert({
                self.files.push(File::default());
                self.files.len() - 1
            }),
        }
    }

    /// What has a path: what had it at first where nothing was heard of it; none where it was taken away.
    pub(super) fn file(&mut self, path: FileId) -> Option<usize> {
        if let Some(file) = self.now.get(&path) {
            return *file;
        }
        Some(self.make(path, Some(path)))
    }

    /// What an open finds, or makes; none where the trace does not say who has made what it finds, or removed what it
    /// does not.
    pub(super) fn open(&mut self, path: FileId, flags: u32) -> Option<usize> {
        let is_new = flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL;
        let file = match self.now.get(&path).copied() {
            Some(Some(_)) if is_new => return None,
            Some(Some(file)) => file,
            Some(None) if flags & O_CREAT == 0 => return None,
            Some(None) => self.make(path, None),
            None if is_new => self.make(path, None),
            None => self.make(path, Some(path)),
        };
        if flags & O_TRUNC != 0 {
            self.files[file].now = 0;
        }
        Some(file)
    }

    /// A description means the file.
    pub(super) fn hold(&mut self, file: usize) {
        self.files[file].held += 1;
    }

    /// A description is closed; gives the file if that was the last that was left of it.
    pub(super) fn release(&mut self, file: usize) -> Option<usize> {
        self.files[file].held = self.files[file].held.saturating_sub(1);
        self.is_gone(file).then_some(file)
    }

    fn is_gone(&self, file: usize) -> bool {
        !self.files[file].has_path && self.files[file].held == 0
    }

    fn take_path(&mut self, file: usize) -> Option<usize> {
        self.files[file].has_path = false;
        self.is_gone(file).then_some(file)
    }

    /// Whether it can be told what a removal or a rename does to a path: not where it is named under a directory that is
    /// not known while others are not.
    fn is_clear(&self, path: FileId) -> bool {
        self.paths.get(path.0 as usize).is_some_and(|path| path.starts_with(b"/") || !self.has_whole)
    }

    /// Takes a path away: from which file, and whether nothing is left of it. None where the trace does not tell.
    pub(super) fn unlink(&mut self, path: FileId) -> Option<(usize, Option<usize>)> {
        let file = if self.is_clear(path) { self.file(path) } else { None }?;
        self.now.insert(path, None);
        Some((file, self.take_path(file)))
    }

    /// Gives the file of one path another: which file, and one of which nothing is left. None where the trace does not
    /// tell, as of directories, and of flags that ask for what is not replayed.
    pub(super) fn rename(&mut self, from: FileId, to: FileId, flags: u32) -> Option<(usize, Option<usize>)> {
        let is_directory = |path: FileId| {
            self.paths.get(path.0 as usize).is_some_and(|path| self.directories.contains(path.as_slice()))
        };
        if [from, to].iter().any(|&path| !self.is_clear(path) || is_directory(path))
            || flags & !(RENAME_NOREPLACE | RENAME_EXCHANGE) != 0
        {
            return None;
        }
        let replaced = match self.now.get(&to) {
            Some(known) => *known,
            None if flags & RENAME_EXCHANGE != 0 => self.file(to),
            None => None,
        };
        if flags & RENAME_NOREPLACE != 0 && replaced.is_some()
            || flags & RENAME_EXCHANGE != 0 && replaced.is_none()
        {
            return None;
        }
        let file = self.file(from)?;
        if file == replaced.unwrap_or(usize::MAX) {
            return None;
        }
        self.now.insert(to, Some(file));
        if flags & RENAME_EXCHANGE != 0 {
            self.now.insert(from, replaced);
            return Some((file, None));
        }
        self.now.insert(from, None);
        Some((file, replaced.and_then(|replaced| self.take_path(replaced))))
    }

    /// A file begins with what is read of it and was not written before.
    pub(super) fn read(&mut self, file: usize, end: u64) {
        let File { first, begins, now, .. } = &mut self.files[file];
        if first.is_some() && end > (*now).max(*begins) {
            *begins = end;
        }
    }

    pub(super) fn written(&mut self, file: usize, end: u64) {
        self.files[file].now = self.files[file].now.max(end);
    }

    pub(super) fn truncated(&mut self, file: usize, size: u64) {
        self.files[file].now = size;
    }
}
