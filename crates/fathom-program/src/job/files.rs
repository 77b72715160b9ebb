//! The files of a job's threads: their names, and the part of each that is worked on.

use super::*;
use crate::dice::Dice;

/// A file of a job's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFile {
    /// Its name in the private directory. A file that one job names after another's own is that one, as in fio.
    pub name: String,
    /// The part that is worked on.
    pub region: Region,
}

/// What a job's files hold before it runs. As in fio: files that are read get data, those that are only written get space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Nothing; or it has no files.
    Empty,
    /// A hole of their full length.
    Hole,
    /// Space for all of it; `fallocate=keep` leaves them empty all the same.
    Allocated {
        /// Whether they stay empty.
        keeps_size: bool,
    },
    /// Data.
    Filled,
}

impl Job {
    /// What its files hold before it runs.
    pub fn layout(&self) -> Layout {
        let is_read = self.does(Direction::Read) || self.engine == Engine::Mmap;
        match self.files.fallocate.as_deref() {
            _ if !self.engine.has_files() || self.files.create_on_open => Layout::Empty,
            _ if is_read || self.files.overwrite || self.order.trim.is_some() => Layout::Filled,
            Some("truncate") => Layout::Hole,
            keeps if self.allocate => Layout::Allocated { keeps_size: keeps.is_some() },
            _ => Layout::Empty,
        }
    }

    /// How many files each thread has.
    pub fn file_count(&self) -> u32 {
        match self.files.scratch.len() {
            0 | 1 if self.filename.is_some() => 1,
            0 | 1 => self.files.count.max(1),
            several => several as u32,
        }
    }

    /// The names of a thread's files.
    pub fn file_names(&self, thread: u32) -> Vec<String> {
        if let Some(files) = self.existing(thread) {
            return files.iter().map(|(path, _)| path.clone()).collect();
        }
        match &self.filename {
            Some(name) => vec![format!("file.{name}")],
            None if self.files.scratch.len() > 1 => {
                self.files.scratch.iter().map(|name| format!("file.{name}")).collect()
            }
            None => {
                let format = self.own_format();
                (0..self.file_count()).map(|number| numbered(&format, thread, number)).collect()
            }
        }
    }

    /// The names of the files that its threads have of their own, with `$jobnum` and `$filenum` for their numbers.
    pub fn own_format(&self) -> String {
        match self.files.own.as_str() {
            "" => format!("file.{}.$jobnum.$filenum", self.name.replace('/', "_")),
            own => format!("file.{own}"),
        }
    }

    /// `filename_format` of this job, in which the numbers of thread and file are open.
    pub(super) fn format(&self) -> String {
        let format = self.files.format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
        format.replace("$jobname", &self.name).replace("$clientuid", "localhost")
    }

    /// The files of a thread. As in fio, `size` is split evenly and the first ones get a block more where it does not
    /// divide; each has `filesize` where that is given, or what is drawn from its range.
    ///
    /// # Errors
    /// As [`region`](Self::region).
    pub fn files_of(&self, thread: u32) -> Result<Vec<ThreadFile>, String> {
        if let Some(files) = self.existing(thread) {
            let file = |(name, region): &(String, Region)| ThreadFile { name: name.clone(), region: *region };
            return Ok(files.iter().map(file).collect());
        }
        if let Some(log) = &self.replay.log {
            let file = |(number, name)| ThreadFile { name, region: log.region(number) };
            return Ok(self.file_names(thread).into_iter().enumerate().map(file).collect());
        }
        let region = self.region_of(thread)?;
        let count = u64::from(self.file_count());
        let least = self.least_block();
        let longer = match (self.filesize, self.size) {
            (None, Some(size)) => size % count / least,
            _ => 0,
        };
        let mut names = self.file_names(thread);
        let file = |(number, name): (usize, String)| {
            let extra = if (number as u64) < longer { least } else { 0 };
            let length = match self.files.sizes {
                Some(range) => self.drawn_size(range, thread, number).saturating_sub(region.offset),
                None => region.length + extra,
            };
            // A name counts as a block at least.
            let length = if self.engine.on_names().is_some() { length.max(least) } else { length };
            let region = Region { length, file: region.offset + length, ..region };
            ThreadFile { name, region }
        };
        let files: Vec<ThreadFile> = names.drain(..).enumerate().map(file).collect();
        let is_empty = self.files.sizes.is_some() && files.iter().all(|file| file.region.length < least);
        match is_empty && self.engine.transfers() {
            true => Err(format!(
                "none of the sizes that are drawn holds a block of {least} bytes: raise filesize="
            )),
            false => Ok(files),
        }
    }

    /// The files of a thread that are there, where it reads such ones.
    fn existing(&self, thread: u32) -> Option<&[(String, Region)]> {
        let files = &self.files.existing.as_ref()?.files;
        let count = files.len() / self.numjobs.max(1) as usize;
        files.get(thread as usize * count..(thread as usize + 1) * count)
    }

    /// A size from a range, in whole blocks.
    fn drawn_size(&self, (low, high): (u64, u64), thread: u32, number: usize) -> u64 {
        let mut dice = Dice::new(self.seed ^ (u64::from(thread) << 32) ^ number as u64);
        let size = low + dice.below(high - low);
        size - size % self.least_block()
    }

    /// What offsets that are shares of a file are rounded up to, in bytes: `offset_align`, or the least block.
    pub(super) fn alignment(&self) -> u64 {
        match self.order.offset_align {
            0 => self.least_block(),
            align => align,
        }
    }

    /// The smallest block of the directions that it transfers in, in bytes.
    pub fn least_block(&self) -> u64 {
        self.directions().map(|side| self.blocks[side as usize].least).min().unwrap_or(1).max(1)
    }

    /// What the kernel is told of the order of the offsets to come.
    pub fn expected_order(&self) -> Option<Pattern> {
        let order = match self.files.hint.as_deref() {
            Some("random") => Pattern::Random,
            Some("sequential") => Pattern::Sequential,
            _ => self.pattern,
        };
        self.fadvise_hint.then_some(order)
    }
}

/// A name of a format.
pub(super) fn numbered(format: &str, thread: u32, number: u32) -> String {
    format.replace("$jobnum", &thread.to_string()).replace("$filenum", &number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(job: &Job) -> Vec<u64> {
        job.files_of(0).unwrap().iter().map(|file| file.region.length).collect()
    }

    #[test]
    fn a_size_is_split_and_the_first_files_get_what_is_over() {
        let mut job = Job { size: Some(40 << 10), ..Job::named("x") };
        assert_eq!(job.file_names(1), ["file.x.1.0"]);
        job.files.count = 3;
        assert_eq!(job.file_names(1), ["file.x.1.0", "file.x.1.1", "file.x.1.2"]);
        // A third of 40 KiB are 13653 bytes, and what is over is less than a block.
        assert_eq!(lengths(&job), [13653; 3]);
        job.blocks = [Blocks::fixed(1); DIRECTIONS];
        assert_eq!(lengths(&job), [13654, 13653, 13653]);
        job.filesize = Some(8 << 10);
        assert_eq!(lengths(&job), [8 << 10; 3]);
        job.files.scratch = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(job.file_names(7), ["file.a", "file.b"]);
    }

    #[test]
    fn files_are_laid_out_for_what_is_done_with_them() {
        let job = Job { size: Some(4096), ..Job::named("x") };
        assert_eq!(job.layout(), Layout::Filled);
        assert_eq!(Job { engine: Engine::Null, ..job.clone() }.layout(), Layout::Empty);
        let mut writes = Job { read_percent: 0, ..job };
        assert_eq!(writes.layout(), Layout::Allocated { keeps_size: false });
        assert_eq!(Job { allocate: false, ..writes.clone() }.layout(), Layout::Empty);
        writes.files.fallocate = Some("keep".to_owned());
        assert_eq!(writes.layout(), Layout::Allocated { keeps_size: true });
        (writes.files.fallocate, writes.allocate) = (Some("truncate".to_owned()), false);
        assert_eq!(writes.layout(), Layout::Hole);
        writes.files.overwrite = true;
        assert_eq!(writes.layout(), Layout::Filled);
        writes.files.create_on_open = true;
        assert_eq!(writes.layout(), Layout::Empty);
    }

    #[test]
    fn sizes_are_drawn_from_their_range_in_blocks() {
        let mut job = Job { filesize: Some(4096), ..Job::named("x") };
        (job.files.count, job.files.sizes) = (100, Some((4096, 65536)));
        let drawn = lengths(&job);
        assert!(drawn.iter().all(|size| (4096..65536).contains(size) && size % 4096 == 0), "{drawn:?}");
        assert!(drawn.iter().collect::<std::collections::BTreeSet<_>>().len() > 8, "{drawn:?}");
        assert_eq!(drawn, lengths(&job));
    }

    #[test]
    fn files_whose_size_is_drawn_below_a_block_are_empty() {
        let mut job = Job { filesize: Some(1024), ..Job::named("x") };
        (job.files.count, job.files.sizes) = (20, Some((1024, 16 << 10)));
        assert!(lengths(&job).contains(&0) && job.check() == Ok(()), "{:?}", lengths(&job));
        job.files.sizes = Some((1024, 4096));
        assert!(job.files_of(0).unwrap_err().contains("none of the sizes"));
        job.files.sizes = Some((1024, 2048));
        assert!(job.check().unwrap_err().contains("does not fit into 2048 bytes"));
    }
}
