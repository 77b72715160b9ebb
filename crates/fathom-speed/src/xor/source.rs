//! What can be folded: files and devices of known size, and streams that end when they end.

use std::fs::{File, Metadata};
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use fathom_sys::{Error, cache};

use super::fold::fold_slice;
use super::{Folding, Method, Request};
use crate::transfer::{filled, opened};
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::watch::Watch;

/// Bytes that are read from a stream before they are folded.
const STREAM_BUFFER: usize = 1 << 20;

/// Parts of a large file whose pages are looked for in the cache, and their bytes.
const LOOKS: u64 = 64;
const LOOK: u64 = 256 << 10;

pub(super) enum Source {
    /// A regular file or a block device: any part can be read at any time.
    Whole(Whole),
    /// A pipe, a terminal, or a file of `/proc` that does not tell its size.
    Stream(Stream),
}

/// Something of known size.
pub(super) struct Whole {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Bytes, as they were when it was opened.
    pub(super) size: u64,
    before: Metadata,
}

pub(super) struct Stream {
    path: PathBuf,
    file: File,
}

pub(super) fn open(path: &Path) -> Result<Source, Fault> {
    let failed = |operation| move |error: std::io::Error| Error::from_io(operation, path, &error);
    let mut file = opened(path)?;
    let before = file.metadata().map_err(failed("stat"))?;
    let kind = before.file_type();
    let size = match kind {
        kind if kind.is_block_device() => {
            file.seek(SeekFrom::End(0)).map_err(failed("seek to the end of"))?
        }
        kind if kind.is_file() => before.len(),
        _ => 0,
    };
    let path = path.to_owned();
    Ok(match size {
        // Files of /proc say that they are empty and are not: reading to the end serves both.
        0 => Source::Stream(Stream { path, file }),
        _ => Source::Whole(Whole { path, file, size, before }),
    })
}

impl Whole {
    /// The share of its pages that are in the page cache, of those that are looked at; nothing where the kernel
    /// does not tell.
    ///
    /// Looking at a page of its own folio takes 55 ns (AMD EPYC): at all of a cached GiB a fifth of what reading it does.
    pub(super) fn cached_share(&self) -> Option<f64> {
        let page = fathom_sys::facts::page_size();
        let (mut cached, mut looked_at) = (0, 0);
        for part in looked_at_of(self.size, page) {
            let length = part.end - part.start;
            cached += cache::cachestat(self.file.as_fd(), part.start, length).ok()?.nr_cache;
            looked_at += length.div_ceil(page);
        }
        Some((cached as f64 / looked_at as f64).min(1.0))
    }

    /// Fails where somebody wrote to the file or changed its size since it was opened: what was folded is
    /// then of no state that the file ever was in.
    pub(super) fn is_unchanged(&self) -> Result<(), Fault> {
        let now = self.file.metadata().map_err(|error| Error::from_io("stat", &self.path, &error))?;
        let changed = |what: String| {
            let path = self.path.display();
            Err(Fault::Unsupported(format!(
                "{path} {what} while it was read: try again when no program writes to it"
            )))
        };
        if self.before.is_file() && now.len() != self.size {
            let verb = if now.len() < self.size { "shrank" } else { "grew" };
            return changed(format!("{verb} from {} to {} bytes", self.size, now.len()));
        }
        let written = |about: &Metadata| (about.mtime(), about.mtime_nsec());
        if self.before.is_file() && written(&now) != written(&self.before) {
            return changed("was written to".to_owned());
        }
        Ok(())
    }

    /// Why reading found the end at `offset`: the file was cut off, or it has less than it says, as those of sysfs.
    pub(super) fn ended(&self, offset: u64) -> Fault {
        self.is_unchanged().err().unwrap_or_else(|| {
            let path = self.path.display();
            Fault::Unsupported(format!(
                "{path} is said to have {} bytes and ends after {offset}: read it by a pipe, as in 'cat FILE | fathom xor -'",
                self.size
            ))
        })
    }

    /// Why the byte at `offset` could not be had: the file was cut off, or the device failed.
    pub(super) fn lost(&self, offset: u64) -> Fault {
        match self.is_unchanged() {
            Err(changed) => changed,
            Ok(()) => Fault::System(Error::new("read", &self.path, fathom_sys::file::Errno::IO).at(offset)),
        }
    }
}

/// All of a small file; of a larger one the middles of equal parts.
fn looked_at_of(size: u64, page: u64) -> impl Iterator<Item = Range<u64>> {
    let looks = if size <= LOOKS * LOOK { 1 } else { LOOKS };
    let length = if looks == 1 { size } else { LOOK };
    let step = size / looks;
    (0..looks).map(move |look| {
        let start = (look * step + (step - length) / 2) / page * page;
        start..start + length
    })
}

impl Stream {
    pub(super) fn fold(mut self, request: Request, watch: &Watch) -> Result<Folding, Fault> {
        if let Some(method @ (Method::Mmap | Method::Direct)) = request.method {
            return Err(Fault::Unsupported(format!(
                "{} has no size, so that it can only be read to its end: use --method read instead of {method}",
                self.path.display()
            )));
        }
        let mut buffer = vec![0; STREAM_BUFFER];
        let (mut word, mut bytes) = (0, 0);
        loop {
            // Words must not be torn by short reads.
            let filled = filled(&mut self.file, &mut buffer)
                .map_err(|error| Error::from_io("read", &self.path, &error).at(bytes))?;
            word ^= fold_slice(&buffer[..filled]);
            bytes += filled as u64;
            watch.advance(filled as u64)?;
            if filled < buffer.len() {
                break;
            }
        }
        let reason =
            format!("it has no size: it is read to its end, {} at a time", Bytes(STREAM_BUFFER as u64));
        Ok(Folding {
            word,
            bytes,
            method: Method::Read,
            threads: 1,
            reason,
            cached_share: None,
            trials: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_lie_in_the_file_and_all_over_it() {
        for size in [1, 4096, LOOKS * LOOK, LOOKS * LOOK + 1, (1 << 30) + 3, 1 << 43] {
            let parts: Vec<Range<u64>> = looked_at_of(size, 4096).collect();
            assert!(parts.iter().all(|part| part.start % 4096 == 0 && part.start < part.end), "{size}");
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{size}");
            assert!(parts.last().is_some_and(|part| part.end <= size), "{size}");
            let looked_at: u64 = parts.iter().map(|part| part.end - part.start).sum();
            assert_eq!(looked_at, size.min(LOOKS * LOOK), "{size}");
        }
    }
}
