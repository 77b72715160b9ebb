//! Which system calls `fread`, `fwrite` and `fseek` become: `libio/fileops.c` of glibc 2.36, function by function
//! under the names that they have there.
//!
//! Pure: of a stream's buffer it knows how full it is and where reader and writer stand in it, not what it holds. A
//! stream is one that was opened for reading and writing (`r+`), and is buffered in full.
//!
//! ```
//! use fathom_model::stdio::{Asked, Library, Stream};
//! use fathom_program::call::CallKind;
//!
//! let mut stream = Stream::new(4096);
//! let mut fread = |bytes| {
//!     let mut library = Library::on(100_000);
//!     stream.fread(bytes, &mut library);
//!     library.asked
//! };
//! let asked = |offset, bytes| Asked { call: CallKind::Read, offset, bytes };
//! assert_eq!(fread(1_000), [asked(0, 4096)]);
//! assert_eq!(fread(1_000), [], "it is in the buffer");
//! // What the buffer still holds, then a whole block past it, then the buffer again.
//! assert_eq!(fread(8_000), [asked(4096, 4096), asked(8192, 4096)]);
//! ```

use fathom_program::call::CallKind;

/// A stream: what `struct _IO_FILE` says of its buffer, with positions counted from the start of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// `_IO_buf_end`.
    size: u64,
    read_base: u64,
    read_ptr: u64,
    /// The descriptor stands where this points to.
    read_end: u64,
    write_base: u64,
    write_ptr: u64,
    write_end: u64,
    /// `_IO_CURRENTLY_PUTTING`.
    is_putting: bool,
    /// `_IO_EOF_SEEN`.
    is_at_end: bool,
    /// Where the stream believes the descriptor to be, if it does: `_offset`.
    offset: Option<u64>,
    /// Where the descriptor is.
    descriptor: u64,
}

/// A call of the C library under way: the system calls that it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The system calls, in order.
    pub asked: Vec<Asked>,
    /// Bytes that the call copied between the buffer and the caller.
    pub copied: u64,
    /// The length of the file, which writes may extend.
    pub length: u64,
}

/// A system call that a stream makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `read(2)`, `write(2)` or `lseek(2)`.
    pub call: CallKind,
    /// The descriptor's position before the call; for `lseek` the position after it.
    pub offset: u64,
    /// The number of bytes asked for.
    pub bytes: u64,
}

/// Smaller buffers are not worth keeping reads and writes aligned for.
const LEAST_BLOCK: u64 = 128;

impl Library {
    /// A call on a file of this length.
    pub fn on(length: u64) -> Self {
        Self { asked: Vec::new(), copied: 0, length }
    }
}

impl Stream {
    /// A newly opened stream with a buffer of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self {
            size: size.max(1),
            read_base: 0,
            read_ptr: 0,
            read_end: 0,
            write_base: 0,
            write_ptr: 0,
            write_end: 0,
            is_putting: false,
            is_at_end: false,
            offset: None,
            descriptor: 0,
        }
    }

    /// The byte of the file that is read or written next.
    pub fn position(&self) -> u64 {
        let at = if self.is_putting { self.write_ptr } else { self.read_ptr };
        self.descriptor + at - self.read_end
    }

    /// Reads `bytes` bytes, or those up to the end of the file. Source: `_IO_file_xsgetn`.
    pub fn fread(&mut self, bytes: u64, library: &mut Library) {
        let mut want = bytes;
        while want > 0 {
            let have = want.min(self.read_end - self.read_ptr);
            self.read_ptr += have;
            library.copied += have;
            want -= have;
            if want == 0 {
                return;
            }
            if want < self.size {
                if !self.underflow(library) {
                    return;
                }
                continue;
            }
            self.setg(0);
            self.setp();
            let count = self.read(self.whole_blocks(want), library);
            if count == 0 {
                self.is_at_end = true;
                return;
            }
            want -= count;
            self.offset = self.offset.map(|offset| offset + count);
        }
    }

    /// Writes `bytes` bytes. Source: `_IO_new_file_xsputn`.
    pub fn fwrite(&mut self, bytes: u64, library: &mut Library) {
        let room = bytes.min(self.write_end - self.write_ptr);
        self.write_ptr += room;
        library.copied += room;
        let left = bytes - room;
        if left == 0 {
            return;
        }
        self.overflow(library);
        let direct = self.whole_blocks(left);
        if direct > 0 {
            self.do_write(direct, library);
        }
        self.put(left - direct, library);
    }

    /// Moves to a byte of the file. Source: `_IO_new_file_seekoff` with SEEK_SET.
    pub fn fseek(&mut self, to: u64, library: &mut Library) {
        let must_be_exact = self.read_base == self.read_end && self.write_base == self.write_ptr;
        if self.is_putting {
            self.switch_to_get_mode(library);
        }
        if let Some(offset) = self.offset {
            let start = offset - self.read_end;
            if (start..offset).contains(&to) {
                (self.read_base, self.read_ptr, self.is_at_end) = (0, to - start, false);
                self.setp();
                // Somebody else may have moved the descriptor.
                self.seek(offset, library);
                return;
            }
        }
        // To the beginning of a block, and what lies before the byte is read with it.
        let delta = to & (self.size - 1);
        self.seek(to - delta, library);
        let wanted = if must_be_exact { delta } else { self.size };
        let count = if delta == 0 { 0 } else { self.read(wanted, library) };
        if count < delta {
            self.seek(to, library);
            self.setg(0);
        } else {
            (self.read_base, self.read_ptr, self.read_end) = (0, delta, count);
        }
        self.setp();
        (self.offset, self.is_at_end) = (Some(self.descriptor), false);
    }

    /// Writes out the buffer, or moves back over bytes that were read too much. Source: `_IO_new_file_sync`.
    pub fn fflush(&mut self, library: &mut Library) {
        self.write_pending(library);
        if self.read_ptr != self.read_end {
            self.seek(self.descriptor + self.read_ptr - self.read_end, library);
            self.read_end = self.read_ptr;
        }
        self.offset = None;
    }

    /// Writes out the buffer before the stream is closed. Source: `_IO_new_file_close_it`.
    pub fn fclose(&mut self, library: &mut Library) {
        if self.is_putting {
            self.write_pending(library);
        }
    }

    /// As much as goes past the buffer.
    fn whole_blocks(&self, bytes: u64) -> u64 {
        if self.size >= LEAST_BLOCK { bytes - bytes % self.size } else { bytes }
    }

    /// Fills the buffer; gives whether anything is left of the file. Source: `_IO_new_file_underflow`.
    fn underflow(&mut self, library: &mut Library) -> bool {
        if self.is_putting {
            self.switch_to_get_mode(library);
        }
        if self.read_ptr < self.read_end {
            return true;
        }
        if self.is_at_end {
            return false;
        }
        self.setg(0);
        self.setp();
        self.read_end = self.read(self.size, library);
        if self.read_end == 0 {
            (self.is_at_end, self.offset) = (true, None);
            return false;
        }
        self.offset = self.offset.map(|offset| offset + self.read_end);
        true
    }

    /// Turns to writing where the stream has read before, and writes what is in the buffer. Source:
    /// `_IO_new_file_overflow` with EOF.
    fn overflow(&mut self, library: &mut Library) {
        if !self.is_putting {
            if self.read_ptr == self.size {
                (self.read_end, self.read_ptr) = (0, 0);
            }
            (self.write_base, self.write_ptr, self.write_end) = (self.read_ptr, self.read_ptr, self.size);
            (self.read_base, self.read_ptr) = (self.read_end, self.read_end);
            self.is_putting = true;
        }
        self.write_pending(library);
    }

    /// Puts bytes into the buffer and writes it as often as it is full. Source: `_IO_default_xsputn`.
    fn put(&mut self, bytes: u64, library: &mut Library) {
        let mut left = bytes;
        library.copied += bytes;
        loop {
            let room = left.min(self.write_end - self.write_ptr);
            self.write_ptr += room;
            left -= room;
            if left == 0 {
                return;
            }
            self.write_pending(library);
        }
    }

    /// Source: `_IO_switch_to_get_mode`.
    fn switch_to_get_mode(&mut self, library: &mut Library) {
        self.write_pending(library);
        self.read_base = 0;
        self.read_end = self.read_end.max(self.write_ptr);
        self.read_ptr = self.write_ptr;
        (self.write_base, self.write_end) = (self.write_ptr, self.write_ptr);
        self.is_putting = false;
    }

    fn write_pending(&mut self, library: &mut Library) {
        if self.write_ptr > self.write_base {
            self.do_write(self.write_ptr - self.write_base, library);
        }
    }

    /// Source: `new_do_write`.
    fn do_write(&mut self, bytes: u64, library: &mut Library) {
        if self.read_end != self.write_base {
            self.seek(self.descriptor + self.write_base - self.read_end, library);
            self.offset = Some(self.descriptor);
        }
        library.asked.push(Asked { call: CallKind::Write, offset: self.descriptor, bytes });
        self.descriptor += bytes;
        library.length = library.length.max(self.descriptor);
        self.offset = self.offset.map(|offset| offset + bytes);
        self.setg(0);
        (self.write_base, self.write_ptr, self.write_end) = (0, 0, self.size);
    }

    /// Nothing to read, up to a place in the buffer: `_IO_setg`.
    fn setg(&mut self, at: u64) {
        (self.read_base, self.read_ptr, self.read_end) = (at, at, at);
    }

    /// No room to write: `_IO_setp`.
    fn setp(&mut self) {
        (self.write_base, self.write_ptr, self.write_end) = (0, 0, 0);
    }

    fn read(&mut self, bytes: u64, library: &mut Library) -> u64 {
        library.asked.push(Asked { call: CallKind::Read, offset: self.descriptor, bytes });
        let count = bytes.min(library.length.saturating_sub(self.descriptor));
        self.descriptor += count;
        count
    }

    fn seek(&mut self, to: u64, library: &mut Library) {
        self.descriptor = to;
        library.asked.push(Asked { call: CallKind::Seek, offset: to, bytes: 0 });
    }
}
