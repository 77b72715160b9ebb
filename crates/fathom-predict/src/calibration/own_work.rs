//! What needs no fit: how CPUs slow each other down, and what the programs do themselves.

use fathom_program::job;
use fathom_run::fault::Fault;
use fathom_run::load::{self, Site};
use fathom_stats::quantile;

use super::put_middle;
use crate::model::{Model, Runner, Scalar};
use crate::single_runs::{self, SingleRuns};

/// How many runs all of this makes where fio is installed.
pub(super) const OTHER_RUNS: usize = 45;

/// How much longer cached reads of a program take while every CPU makes some.
pub(super) fn crowded(model: &mut Model, by: Runner, site: &mut Site) -> Result<(), Fault> {
    const ROUNDS: usize = 3;
    let cpus = model.parameters[Scalar::Cpus] as u32;
    if cpus < 2 {
        return Ok(());
    }
    let words = "rw=read\nbs=4k\nsize=256k\npre_read=1\ninvalidate=0\ntime_based\nruntime=100ms\n";
    let mut jobs = written_jobs(&format!("[alone]\n{words}[together]\n{words}numjobs={cpus}\n"))?;
    single_runs::run(&mut jobs, &[by], ROUNDS, 1, site)?;
    let [alone, together] = [0, 1].map(|at| jobs[at].by(by));
    let longer = alone
        .iter()
        .zip(together)
        .map(|(alone, together)| (f64::from(cpus) * alone.rate / together.rate - 1.0).max(0.0));
    put_middle(model, Scalar::Crowded, &longer.collect::<Vec<_>>());
    Ok(())
}

/// Jobs of a text of fio's.
fn written_jobs(text: &str) -> Result<Vec<SingleRuns>, Fault> {
    let file = job::parse(text, &load::surroundings(&|_| None));
    Ok(SingleRuns::of(&file.map_err(|mistake| Fault::Unsupported(mistake.reason))?))
}

/// What Fathom and fio do themselves for each transfer, the one where it is installed: by reads in order of a file that the CPU's
/// caches hold, one after the other and by submissions.
pub(super) fn programs_own_work(model: &mut Model, site: &mut Site) -> Result<(), Fault> {
    const ROUNDS: usize = 3;
    const WRITTEN: u64 = 16 << 10;
    // By time, since fio opens its files again for each of several loops.
    let near = "rw=read\nbs=4k\nsize=512k\npre_read=1\ninvalidate=0\nfilename=near\n";
    let words = format!("{near}time_based\nruntime=100ms\n");
    let aio = format!("[async]\n{words}ioengine=libaio\n[posix]\n{words}ioengine=posixaio\n");
    let passes = format!("{near}loops=1000\n");
    let mapped = format!("[passes]\n{passes}[mapped]\n{passes}ioengine=mmap\n");
    let null = "ioengine=null\nrw=read\nbs=4k\nsize=1g\n";
    let deep = format!("[null at depth]\n{null}iodepth=16\n");
    let text = format!(
        "[plain]\n{words}{aio}[null]\n{null}{deep}[null writes]\nioengine=null\nrw=write\nbs={WRITTEN}\nsize=1g\n{mapped}"
    );
    let mut jobs = written_jobs(&text)?;
    let programs = single_runs::programs();
    single_runs::run(&mut jobs[..2], programs, ROUNDS, 1, site)?;
    let by = if programs.contains(&Runner::Fio) { Runner::Fio } else { Runner::Fathom };
    single_runs::run(&mut jobs[2..], &[by], ROUNDS, 1, site)?;
    let took_for = |name: &str, by: Runner, bytes: u64| -> Vec<f64> {
        let runs = jobs.iter().filter(|one| one.job.name == name).flat_map(|one| one.by(by));
        runs.map(|run| bytes as f64 / run.rate * 1e9).collect()
    };
    let took = |name: &str, by: Runner| took_for(name, by, 4096);
    let longer = |than: &[f64], all: Vec<f64>| -> Vec<f64> {
        let least = quantile::median(than);
        all.into_iter().filter_map(|one| Some((one - least?).max(0.0))).collect()
    };
    let [own, fios] = [Runner::Fathom, Runner::Fio].map(|by| ["plain", "async"].map(|name| took(name, by)));
    put_middle(model, Scalar::AsyncCall, &longer(&own[0], own[1].clone()));
    put_middle(model, Scalar::FioAsyncCall, &longer(&fios[0], fios[1].clone()));
    let caller = model.parameters[Scalar::Caller];
    let besides = longer(&own[0], fios[0].clone()).into_iter().map(|more| caller + more);
    put_middle(model, Scalar::FioCall, &besides.collect::<Vec<_>>());
    let own = if by == Runner::Fio { &fios } else { &own };
    put_middle(model, Scalar::PosixAioCall, &longer(&own[0], took("posix", by)));
    put_middle(model, Scalar::NullCall, &took("null", by));
    put_middle(model, Scalar::NullAsyncCall, &took("null at depth", by));
    if by == Runner::Fio {
        let faults = faults(&took("passes", by), &took("mapped", by), model.parameters[Scalar::Call]);
        put_middle(model, Scalar::PageFault, &faults);
    }
    let written = longer(&took("null", Runner::Fio), took_for("null writes", Runner::Fio, WRITTEN));
    let of_byte = written.into_iter().map(|ns| ns / WRITTEN as f64);
    put_middle(model, Scalar::FioWrittenByte, &of_byte.collect::<Vec<_>>());
    Ok(())
}

/// What a fault takes, in ns, from reads of 4 KiB by calls and of mapped memory, which fio maps anew for each pass over a file: one
/// fault maps 16 pages, and there is no call.
fn faults(by_calls: &[f64], of_mapped: &[f64], call: f64) -> Vec<f64> {
    const PAGES: f64 = 16.0;
    let usual = quantile::median(by_calls).unwrap_or(f64::NAN);
    of_mapped.iter().map(|mapped| ((mapped - usual + call) * PAGES).max(0.0)).collect()
}
