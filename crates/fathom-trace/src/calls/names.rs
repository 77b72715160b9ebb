//! Which files the paths mean that calls name: working directories, and what becomes of removed and renamed files.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use super::{Call, Description, Processes, Thread, Under};
use crate::operation::{FileId, Files};

impl Processes {
    /// The directory that a process works in.
    pub(crate) fn work_in(&mut self, process: u32, directory: Vec<u8>) {
        self.directories.insert(process, directory);
    }

    /// The path that a call names. What the tracer says of the working directory is kept.
    pub(super) fn path<'a>(
        &mut self,
        call: &'a Call,
        thread: &Thread,
        files: &Files,
    ) -> Option<Cow<'a, [u8]>> {
        self.whole(call.path.as_deref()?, &call.under, thread, files)
    }

    /// A path from the root on where it is known under what it is named, as it was named where the working directory is
    /// not known; none where it is named under a descriptor that is not known.
    pub(super) fn whole<'a>(
        &mut self,
        path: &'a [u8],
        under: &Under,
        thread: &Thread,
        files: &Files,
    ) -> Option<Cow<'a, [u8]>> {
        if let Under::HereIs(directory) = under
            && self.directories.get(&thread.process).map(Vec::as_slice) != Some(directory)
        {
            self.directories.insert(thread.process, directory.to_vec());
        }
        if path.first() == Some(&b'/') {
            return Some(normal(Cow::Borrowed(path)));
        }
        let table = thread.table.borrow();
        let directory = match under {
            Under::Here | Under::HereIs(_) => self.directories.get(&thread.process).map(Vec::as_slice),
            Under::Directory(directory) => Some(directory.as_ref()),
            Under::Descriptor(number) => Some(files.path(table.get(number)?.description.get().file)),
        };
        Some(normal(
            directory.map_or(Cow::Borrowed(path), |directory| Cow::Owned([directory, b"/", path].concat())),
        ))
    }

    /// What has a path loses it.
    pub(super) fn unname(&mut self, file: FileId) {
        self.sizes.remove(&file);
        for entry in self.descriptions(|one| one == file) {
            entry.set(Description { is_nameless: true, ..entry.get() });
        }
    }

    /// What has the path `old` has the path `new` from here on, and so has what lies below it.
    pub(super) fn rename(&mut self, old: FileId, new: FileId, exchanges: bool, files: &mut Files) {
        if old == new {
            return;
        }
        let below = [files.path(old), b"/"].concat();
        let moved = self.descriptions(|file| file == old || files.path(file).starts_with(&below));
        let replaced = self.descriptions(|file| file == new);
        let [size, replaced_size] = [old, new].map(|file| self.sizes.remove(&file));
        self.sizes.extend(size.map(|size| (new, size)));
        for entry in moved {
            let path = [files.path(new), &files.path(entry.get().file)[below.len() - 1..]].concat();
            entry.set(Description { file: files.id(&path), ..entry.get() });
        }
        if exchanges {
            self.sizes.extend(replaced_size.map(|size| (old, size)));
            replaced.iter().for_each(|entry| entry.set(Description { file: old, ..entry.get() }));
        } else {
            replaced.iter().for_each(|entry| entry.set(Description { is_nameless: true, ..entry.get() }));
        }
    }

    /// The open descriptions, each once, of files that have a name.
    fn descriptions(&self, is_meant: impl Fn(FileId) -> bool) -> Vec<Rc<Cell<Description>>> {
        let mut found: Vec<Rc<Cell<Description>>> = Vec::new();
        for thread in self.threads.values() {
            for entry in thread.table.borrow().values() {
                let Description { file, is_nameless, .. } = entry.description.get();
                if !is_nameless
                    && is_meant(file)
                    && !found.iter().any(|one| Rc::ptr_eq(one, &entry.description))
                {
                    found.push(Rc::clone(&entry.description));
                }
            }
        }
        found
    }
}

/// A path without `//`, `.` and `..`: the way in which the kernel names files where no link stands in between.
fn normal(path: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let parts = || path.split(|&byte| byte == b'/');
    let is_whole = path.first() == Some(&b'/');
    if parts().skip(usize::from(is_whole)).all(is_plain) {
        return path;
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in parts() {
        match part {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            b".." if is_whole => {}
            part => kept.push(part),
        }
    }
    let joined = kept.join(&b'/');
    Cow::Owned(if is_whole { [b"/", joined.as_slice()].concat() } else { joined })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_as_the_kernel_names_them() {
        for (named, normal_one) in [
            ("/a/b", "/a/b"),
            ("/a//./b/../c", "/a/c"),
            ("/../a", "/a"),
            ("./a", "a"),
            ("../a/..", ".."),
            ("/", "/"),
        ] {
            assert_eq!(normal(Cow::Borrowed(named.as_bytes())), normal_one.as_bytes(), "{named}");
        }
    }
}
