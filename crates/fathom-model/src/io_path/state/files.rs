//! The files: what the kernel knows of each besides its pages.

use crate::bit_set::BitSet;
use crate::file_read::PAGE;
use crate::io_path::CallKind;
use crate::page_cache::FileId;
use crate::read_ahead::{Advice, Reader};

/// All files, by number.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// Bytes of a block.
    block: u64,
    files: Vec<File>,
}

/// One file.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Its length in bytes.
    pub(crate) size: u64,
    /// Whether its reads go past the cache.
    pub(crate) is_direct: bool,
    /// The advice given for it.
    pub(crate) advice: Advice,
    /// What follows each write before it returns: `O_SYNC`, `O_DSYNC`.
    pub(crate) syncs: Option<CallKind>,
    /// The thread that holds the lock of its inode to write.
    pub(crate) writer: Option<u32>,
    /// The readers, by descriptor.
    readers: Vec<Reader>,
    /// The blocks that were ever written.
    blocks: BitSet,
    /// Bytes that were written since its last sync.
    pub(crate) unsynced: u64,
    /// The jiffy of its last write.
    mtime: u64,
}

/// What a write changes of a file itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extended {
    /// Whether the file is longer.
    pub(crate) is_longer: bool,
    /// Whether the time of the last write is another. A time that is the same to the jiffy is no change.
    pub(crate) is_later: bool,
    /// Blocks written for the first time.
    pub(crate) new_blocks: u64,
}

impl File {
    /// Takes the lock of the inode for a thread, where several have the file open. Returns whether the thread may write.
    pub(crate) fn lock(&mut self, thread: u32) -> bool {
        self.readers.len() < 2 || *self.writer.get_or_insert(thread) == thread
    }
}

impl Files {
    /// No file yet, on a file system of blocks of so many bytes.
    pub(crate) fn new(block: u64) -> Self {
        Self { block, files: Vec::new() }
    }

    /// Adds an empty file.
    pub(crate) fn add(&mut self) -> FileId {
        self.files.push(File::default());
        FileId(self.files.len() as u32 - 1)
    }

    /// Every file.
    pub(crate) fn all(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    pub(crate) fn get(&self, file: FileId) -> &File {
        &self.files[file.0 as usize]
    }

    pub(crate) fn of(&mut self, file: FileId) -> &mut File {
        &mut self.files[file.0 as usize]
    }

    /// The reader of a descriptor.
    pub(crate) fn reader(&mut self, file: FileId, descriptor: u32) -> &mut Reader {
        let readers = &mut self.of(file).readers;
        let at = descriptor as usize;
        if at >= readers.len() {
            readers.resize_with(at + 1, Reader::default);
        }
        &mut readers[at]
    }

    /// A new descriptor takes the place of one.
    pub(crate) fn open(&mut self, file: FileId, descriptor: u32, advice: Advice, is_direct: bool) {
        *self.reader(file, descriptor) = Reader::default();
        let file = self.of(file);
        (file.is_direct, file.advice) = (is_direct, advice);
    }

    /// The bytes from `position` to `end` are written at a jiffy.
    pub(crate) fn write(&mut self, file: FileId, [position, end]: [u64; 2], jiffy: u64) -> Extended {
        let (first_block, end_block) = (position / self.block, end.div_ceil(self.block));
        let file = self.of(file);
        let is_longer = end > file.size;
        file.size = end.max(file.size);
        file.unsynced += end - position;
        let new_blocks = file.blocks.insert(first_block, end_block);
        let is_later = std::mem::replace(&mut file.mtime, jiffy) != jiffy;
        Extended { is_longer, is_later, new_blocks }
    }

    /// Whether no block of the pages from `first` to before `end` was ever written.
    pub(crate) fn is_hole(&self, file: FileId, first: u64, end: u64) -> bool {
        let written = self.get(file).blocks.next(first * PAGE / self.block);
        written.is_none_or(|block| block >= (end * PAGE).div_ceil(self.block))
    }
}
