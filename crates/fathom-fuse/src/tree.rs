//! Directories and files in memory. It knows nothing of FUSE but the numbers of errors.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use fuser::Errno;

/// The number of the root directory.
pub(crate) const ROOT: u64 = 1;

/// Everything there is.
#[derive(Debug)]
pub(crate) struct Tree {
    block: u64,
    nodes: HashMap<u64, Node>,
    next: u64,
    blocks: u64,
}

/// A directory or a file.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) body: Body,
    pub(crate) mode: u16,
    pub(crate) owner: (u32, u32),
    pub(crate) changed: SystemTime,
    parent: u64,
    /// References that the kernel holds.
    known: u64,
    linked: bool,
}

#[derive(Debug)]
pub(crate) enum Body {
    Directory(BTreeMap<OsString, u64>),
    File {
        size: u64,
        /// Space that was handed out, by the number of the block.
        blocks: BTreeMap<u64, Box<[u8]>>,
    },
}

type Result<T> = std::result::Result<T, Errno>;

impl Tree {
    pub(crate) fn new(block_bytes: u32, owner: (u32, u32)) -> Self {
        let root = Node {
            body: Body::Directory(BTreeMap::new()),
            mode: 0o755,
            owner,
            changed: SystemTime::now(),
            parent: ROOT,
            known: 1,
            linked: true,
        };
        Self { block: block_bytes.into(), nodes: HashMap::from([(ROOT, root)]), next: ROOT + 1, blocks: 0 }
    }

    pub(crate) fn node(&self, number: u64) -> Result<&Node> {
        self.nodes.get(&number).ok_or(Errno::ENOENT)
    }

    pub(crate) fn node_mut(&mut self, number: u64) -> Result<&mut Node> {
        self.nodes.get_mut(&number).ok_or(Errno::ENOENT)
    }

    /// Bytes of space that are handed out.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.blocks * self.block
    }

    /// The entry of that name, which the kernel knows from now on.
    pub(crate) fn look_up(&mut self, parent: u64, name: &OsStr) -> Result<u64> {
        let number = self.number(parent, name)?;
        self.node_mut(number)?.known += 1;
        Ok(number)
    }

    /// A new file or directory, which the kernel knows.
    pub(crate) fn add(
        &mut self,
        parent: u64,
        name: &OsStr,
        body: Body,
        mode: u16,
        owner: (u32, u32),
    ) -> Result<u64> {
        let number = self.next;
        let entries = self.entries_mut(parent)?;
        if entries.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        entries.insert(name.to_owned(), number);
        let changed = SystemTime::now();
        self.nodes.insert(number, Node { body, mode, owner, changed, parent, known: 1, linked: true });
        self.next += 1;
        Ok(number)
    }

    /// What a name stands for.
    pub(crate) fn number(&self, parent: u64, name: &OsStr) -> Result<u64> {
        self.entries(parent)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    /// Gives an entry another name in the same directory.
    pub(crate) fn rename(&mut self, parent: u64, from: &OsStr, to: &OsStr) -> Result<()> {
        let entries = self.entries_mut(parent)?;
        let number = entries.remove(from).ok_or(Errno::ENOENT)?;
        entries.insert(to.to_owned(), number);
        Ok(())
    }

    /// Takes a name away; what it stood for goes when the kernel forgets it.
    pub(crate) fn remove(&mut self, parent: u64, name: &OsStr, is_directory: bool) -> Result<()> {
        let number = self.number(parent, name)?;
        match (&self.node(number)?.body, is_directory) {
            (Body::Directory(inside), true) if !inside.is_empty() => return Err(Errno::ENOTEMPTY),
            (Body::Directory(_), false) => return Err(Errno::EISDIR),
            (Body::File { .. }, true) => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.entries_mut(parent)?.remove(name);
        self.node_mut(number)?.linked = false;
        self.forget(number, 0);
        Ok(())
    }

    /// The kernel gives references back.
    pub(crate) fn forget(&mut self, number: u64, references: u64) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.known = node.known.saturating_sub(references);
        if node.known == 0 && !node.linked {
            if let Body::File { blocks, .. } = &node.body {
                self.blocks -= blocks.len() as u64;
            }
            self.nodes.remove(&number);
        }
    }

    /// The names in a directory with their numbers, itself and its parent first.
    pub(crate) fn list(&self, number: u64) -> Result<Vec<(OsString, u64, bool)>> {
        let mut all = vec![(".".into(), number, true), ("..".into(), self.node(number)?.parent, true)];
        for (name, &number) in self.entries(number)? {
            all.push((name.clone(), number, matches!(self.node(number)?.body, Body::Directory(_))));
        }
        Ok(all)
    }

    /// Bytes of a file; fewer where it ends.
    pub(crate) fn read(&self, number: u64, offset: u64, length: usize) -> Result<Vec<u8>> {
        let Body::File { size, blocks } = &self.node(number)?.body else {
            return Err(Errno::EISDIR);
        };
        let length = (length as u64).min(size.saturating_sub(offset)) as usize;
        let mut data = vec![0; length];
        for (at, from, count) in pieces(self.block, offset, length) {
            if let Some(block) = blocks.get(&((offset + at as u64) / self.block)) {
                data[at..at + count].copy_from_slice(&block[from..from + count]);
            }
        }
        Ok(data)
    }

    /// How many blocks a write would take that have no space yet.
    pub(crate) fn new_blocks(&self, number: u64, offset: u64, length: usize) -> Result<u64> {
        let Body::File { blocks, .. } = &self.node(number)?.body else { return Err(Errno::EISDIR) };
        let touched = pieces(self.block, offset, length);
        let new =
            touched.filter(|&(at, ..)| !blocks.contains_key(&((offset + at as u64) / self.block))).count();
        Ok(new as u64)
    }

    pub(crate) fn write(&mut self, number: u64, offset: u64, data: &[u8]) -> Result<()> {
        let (block_bytes, new) = (self.block, self.new_blocks(number, offset, data.len())?);
        let node = self.node_mut(number)?;
        node.changed = SystemTime::now();
        let Body::File { size, blocks } = &mut node.body else { return Err(Errno::EISDIR) };
        for (at, from, count) in pieces(block_bytes, offset, data.len()) {
            let block = blocks
                .entry((offset + at as u64) / block_bytes)
                .or_insert_with(|| vec![0; block_bytes as usize].into_boxed_slice());
            block[from..from + count].copy_from_slice(&data[at..at + count]);
        }
        *size = (*size).max(offset + data.len() as u64);
        self.blocks += new;
        Ok(())
    }

    /// Makes a file shorter or longer.
    pub(crate) fn resize(&mut self, number: u64, to: u64) -> Result<()> {
        let block_bytes = self.block;
        let node = self.node_mut(number)?;
        node.changed = SystemTime::now();
        let Body::File { size, blocks } = &mut node.body else { return Err(Errno::EISDIR) };
        let cut = blocks.split_off(&to.div_ceil(block_bytes));
        if let Some(last) = blocks.get_mut(&(to / block_bytes)) {
            last[(to % block_bytes) as usize..].fill(0);
        }
        *size = to;
        self.blocks -= cut.len() as u64;
        Ok(())
    }

    /// Where data or a hole begins, at `offset` or after it; nothing where there is none.
    pub(crate) fn seek(&self, number: u64, offset: u64, for_data: bool) -> Result<Option<u64>> {
        let Body::File { size, blocks } = &self.node(number)?.body else {
            return Err(Errno::EISDIR);
        };
        if offset >= *size {
            return Ok(None);
        }
        let first = offset / self.block;
        let number = match for_data {
            true => blocks.range(first..).next().map(|(number, _)| *number),
            false => (first..=size / self.block).find(|number| !blocks.contains_key(number)),
        };
        let found = number.map(|number| (number * self.block).max(offset));
        // The end of a file is a hole.
        Ok(if for_data { found } else { Some(found.unwrap_or(*size).min(*size)) })
    }

    fn entries(&self, number: u64) -> Result<&BTreeMap<OsString, u64>> {
        match &self.node(number)?.body {
            Body::Directory(entries) => Ok(entries),
            Body::File { .. } => Err(Errno::ENOTDIR),
        }
    }

    fn entries_mut(&mut self, number: u64) -> Result<&mut BTreeMap<OsString, u64>> {
        match &mut self.node_mut(number)?.body {
            Body::Directory(entries) => Ok(entries),
            Body::File { .. } => Err(Errno::ENOTDIR),
        }
    }
}

impl Body {
    pub(crate) fn empty_file() -> Self {
        Body::File { size: 0, blocks: BTreeMap::new() }
    }

    pub(crate) fn empty_directory() -> Self {
        Body::Directory(BTreeMap::new())
    }
}

/// A range cut at the borders of blocks: from where in the range, from where in the block, how many bytes.
fn pieces(block: u64, offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < length).then(|| {
            let from = ((offset + at as u64) % block) as usize;
            let piece = (at, from, (block as usize - from).min(length - at));
            at += piece.2;
            piece
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file() -> (Tree, u64) {
        let mut tree = Tree::new(1024, (0, 0));
        let file = tree.add(ROOT, OsStr::new("a"), Body::empty_file(), 0o600, (0, 0)).unwrap();
        (tree, file)
    }

    #[test]
    fn what_is_written_is_read_and_holes_are_zero() {
        let (mut tree, file) = with_file();
        tree.write(file, 1000, &[7; 100]).unwrap();
        tree.write(file, 5000, &[9; 1]).unwrap();
        assert_eq!(tree.allocated_bytes(), 3 * 1024);
        let data = tree.read(file, 990, 9000).unwrap();
        assert_eq!(data.len(), 5001 - 990);
        assert_eq!((data[9], data[10], data[109], data[110], data[4010]), (0, 7, 7, 0, 9));
        assert_eq!(tree.seek(file, 0, true), Ok(Some(0)));
        assert_eq!(tree.seek(file, 0, false), Ok(Some(2048)));
        assert_eq!(tree.seek(file, 2500, true), Ok(Some(4096)));
        assert_eq!(tree.seek(file, 4096, false), Ok(Some(5001)));
        assert_eq!(tree.seek(file, 6000, true), Ok(None));
    }

    #[test]
    fn shorter_files_give_space_back_and_grow_with_zeros() {
        let (mut tree, file) = with_file();
        tree.write(file, 0, &[7; 3000]).unwrap();
        tree.resize(file, 1100).unwrap();
        assert_eq!(tree.allocated_bytes(), 2048);
        tree.resize(file, 3000).unwrap();
        let data = tree.read(file, 0, 3000).unwrap();
        assert_eq!((data[1099], data[1100], data.len()), (7, 0, 3000));
    }

    #[test]
    fn an_unlinked_file_lives_until_it_is_forgotten() {
        let (mut tree, file) = with_file();
        tree.write(file, 0, &[7; 10]).unwrap();
        assert_eq!(tree.remove(ROOT, OsStr::new("a"), true), Err(Errno::ENOTDIR));
        tree.remove(ROOT, OsStr::new("a"), false).unwrap();
        assert_eq!(tree.read(file, 0, 1), Ok(vec![7]));
        tree.forget(file, 1);
        assert_eq!((tree.read(file, 0, 1), tree.allocated_bytes()), (Err(Errno::ENOENT), 0));
    }

    #[test]
    fn a_directory_goes_when_it_is_empty() {
        let (mut tree, _) = with_file();
        let name = OsStr::new("d");
        let inner = tree.add(ROOT, name, Body::empty_directory(), 0o700, (0, 0)).unwrap();
        tree.add(inner, OsStr::new("x"), Body::empty_file(), 0o600, (0, 0)).unwrap();
        assert_eq!(tree.remove(ROOT, name, true), Err(Errno::ENOTEMPTY));
        tree.remove(inner, OsStr::new("x"), false).unwrap();
        tree.remove(ROOT, name, true).unwrap();
        assert_eq!(tree.list(ROOT).unwrap().len(), 3);
        assert_eq!(tree.look_up(ROOT, name), Err(Errno::ENOENT));
    }
}
