//! Speeds: curves, the cost of system calls, Fathom compared with dd and fio, the size of a file that takes a given time.

use std::time::Duration;

use fathom_program::job::JobFile;
use fathom_run::load::Needs;
use fathom_run::machine::linux::Limits;
use fathom_speed::curve::limits::{self, Plan as Past};
use fathom_speed::curve::{self, Choice, Curve, Declared, Operation, Refusal, State};
use fathom_speed::file_size::{self, FileSize, Question};
use fathom_speed::rounds::{Progress, Settings};
use fathom_speed::syscalls::{self, Plan, Syscalls};
use fathom_speed::versus::jobs::{self, JobsVersus};
use fathom_speed::versus::{self, Versus};

use super::{Error, Session};

/// The part of the time that measuring past the limits may take: one in so many.
const PAST_LIMITS: u32 = 3;

/// How curves are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveSettings {
    /// Points are left alone once the 95 % interval of their median is narrower than this share of it.
    pub width: f64,
    /// Whether to go past the memory and the dirty threshold, both made smaller meanwhile.
    pub intrusive: bool,
    /// Whether a curve is complete without the points that the budget or a file's size has no room for.
    pub may_leave_out: bool,
}

/// What Fathom, dd and fio do in turns, and how exactly that is measured.
#[derive(Debug, Clone)]
pub struct VersusSettings {
    /// Bytes per call, each of which is a task.
    pub block_bytes: Vec<u64>,
    /// What is done from which state of the cache.
    pub works: Vec<(Operation, State)>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// As in [`CurveSettings`].
    pub width: f64,
}

impl Session {
    /// Measures throughput and latency at every point of a choice, in rounds until all are settled or the time is up.
    /// Gives the curve, and whether everything that was asked for was measured.
    ///
    /// # Errors
    /// An interrupt, a directory that can't be written, a call that fails.
    pub fn curve(
        &mut self,
        choice: &Choice,
        settings: CurveSettings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Curve, bool), Error> {
        let begun = self.begin()?;
        let max_write = self.left();
        let past = settings.intrusive.then(|| Past::of(choice, max_write));
        let grid = choice.grid(max_write.saturating_sub(past.map_or(0, |plan| plan.writes_bytes())));
        // Rounds end at the deadline by themselves, so that no sample is cut short.
        let mut testbed = self.testbed(&begun, max_write, Limits { max_write, deadline: None })?;
        let past = match past {
            // First, so that what it needs is not written away by more rounds of other points.
            Some(plan) => {
                let time = self.budget.max_time / PAST_LIMITS;
                limits::measure(&mut testbed, &self.path, &plan, self.seed, time)?
            }
            None => limits::Limits::default(),
        };
        let certificate = &begun.instrument.certificate;
        let how = self.exactness(settings.width);
        let run = curve::measure(&mut testbed, &grid.points, certificate, how, progress)?;
        let bytes_written = self.leave(testbed);
        let is_complete = past.refused.is_empty()
            && run.refused.is_empty()
            && run.points.iter().all(|point| point.bytes_per_second.is_some())
            && (grid.refused.is_empty() || settings.may_leave_out);
        let declared = Declared::of(&self.path, certificate);
        let curve = Curve {
            schema: curve::SCHEMA.to_owned(),
            families: curve::families(&run.points, &declared, self.seed),
            read_ahead: curve::worth_of_read_ahead(&run.points),
            points: run.points,
            past_memory: past.memory,
            past_dirty: past.dirty,
            effects: begun.restored.into_iter().chain(past.effects).collect(),
            refused: past.refused.into_iter().chain(grid.refused).chain(run.refused).collect(),
            duration_ns: self.elapsed_ns(),
            bytes_written,
            provenance: begun.provenance,
        };
        Ok((curve, is_complete))
    }

    /// Measures what system calls cost on files of these sizes, in rounds; `progress` is told which one begins.
    ///
    /// # Errors
    /// A budget that is too small, an interrupt, a call that fails.
    pub fn syscalls(
        &mut self,
        sizes: Vec<u64>,
        rounds: u32,
        progress: &mut dyn FnMut(u32),
    ) -> Result<Syscalls, Error> {
        let begun = self.begin()?;
        let (seed, max_write, deadline) = (self.seed, self.left(), self.deadline());
        let plan = Plan { sizes, rounds, seed, max_write, deadline };
        let costs =
            syscalls::measure(&self.path, &begun.instrument, &plan, self.watch.interrupt(), progress)?;
        self.bytes_written += costs.bytes_written;
        Ok(Syscalls {
            schema: syscalls::SCHEMA.to_owned(),
            provenance: begun.provenance,
            clock_ns: begun.instrument.certificate.overhead_ns,
            measurements: costs.measurements,
            rounds: costs.rounds,
            duration_ns: self.elapsed_ns(),
            bytes_written: costs.bytes_written,
            caveats: costs.caveats,
        })
    }

    /// Lets Fathom, dd and fio do the same in turns.
    ///
    /// # Errors
    /// An interrupt, a directory that can't be written, a call that fails.
    pub fn versus(
        &mut self,
        settings: &VersusSettings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Versus, Error> {
        let begun = self.begin()?;
        let (file_bytes, max_write) = (settings.file_bytes, self.left());
        let (tasks, missing) = versus::programs(&settings.block_bytes, &settings.works);
        let (tasks, unaffordable) = versus::affordable(tasks, file_bytes, max_write);
        let mut testbed = self.testbed(&begun, file_bytes, Limits { max_write, deadline: None })?;
        let how = self.exactness(settings.width);
        let measured = versus::measure(&mut testbed, &tasks, file_bytes, how, progress)?;
        let bytes_written = self.leave(testbed);
        let absent = |name: &str| Refusal { what: name.to_owned(), reason: "it is not installed".to_owned() };
        let mut refused: Vec<Refusal> = missing.into_iter().map(absent).chain(unaffordable).collect();
        let mut entries = Vec::new();
        for (entry, reason) in measured {
            // A budget that ends after some rounds leaves what they gave, with the interval that it has.
            let reason = reason.filter(|_| entry.samples.is_empty());
            refused.extend(reason.map(|reason| Refusal { what: entry.command.clone(), reason }));
            entries.push(entry);
        }
        Ok(Versus {
            schema: versus::SCHEMA.to_owned(),
            provenance: begun.provenance,
            file_bytes,
            entries,
            refused,
            duration_ns: self.elapsed_ns(),
            bytes_written,
        })
    }

    /// Lets Fathom and fio run each job of a file by itself, in turns; `width` is as in [`CurveSettings`].
    ///
    /// # Errors
    /// Jobs that can't be run, that fio is not installed, a budget that is too small, an interrupt.
    pub fn versus_jobs(
        &mut self,
        file: &JobFile,
        width: f64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<JobsVersus, Error> {
        let needs = Needs::of(&file.jobs).map_err(Error::Failed)?;
        self.afford("the jobs", needs.writes)?;
        let begun = self.begin()?;
        let mut testbed =
            self.testbed(&begun, needs.space, Limits { max_write: self.left(), deadline: None })?;
        let (fio, contests, refused) = jobs::measure(&mut testbed, file, self.exactness(width), progress)?;
        let bytes_written = self.leave(testbed);
        Ok(JobsVersus {
            schema: jobs::SCHEMA.to_owned(),
            provenance: begun.provenance,
            fio,
            jobs: contests,
            refused,
            duration_ns: self.elapsed_ns(),
            bytes_written,
        })
    }

    /// Until when and how exactly rounds are measured.
    fn exactness(&self, width: f64) -> Settings {
        Settings { deadline: self.deadline(), width, seed: self.seed }
    }

    /// Finds the size of a file that takes so long to read by blocks, `cold` or from the page cache.
    ///
    /// # Errors
    /// An interrupt, and what making, writing and reading the file gives.
    pub fn file_size(&mut self, time: Duration, block: u64, cold: bool) -> Result<FileSize, Error> {
        self.watch();
        let question = Question { time, block, cold, max_write: self.left(), deadline: self.deadline() };
        Ok(file_size::find(&self.path, question, &self.watch)?)
    }
}
