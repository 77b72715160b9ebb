//! What needs no fit: how CPUs slow each other down, what the programs do themselves, and what a host does that takes free memory.

use std::time::{Duration, Instant};
use std::{slice, thread};

use fathom_program::job::{self, Direction, Job};
use fathom_run::fault::Fault;
use fathom_run::load::{self, Testbed};
use fathom_stats::quantile;
use fathom_sys::{facts, memory};

use super::{put_measured, put_middle, simulated, without_noise};
use crate::model::{LIMITS, Model, Opening, PAGE, Parameters, Runner, Scalar};
use crate::prediction::{TAKEN_AT_ONCE, finds_cached, other_memory};
use crate::single_runs::{self, SingleRuns};
use crate::trial::{self, Trial, spare_memory};

/// How many runs all of this makes where fio is installed.
pub(super) const OTHER_RUNS: usize = 64;

/// How much longer cached reads of a program take while every CPU makes some, as shares; none where there is only one.
pub(super) fn crowded(cpus: u32, by: Runner, testbed: &mut Testbed) -> Result<Vec<f64>, Fault> {
    const ROUNDS: usize = 3;
    if cpus < 2 {
        return Ok(Vec::new());
    }
    let words = "rw=read\nbs=4k\nsize=256k\npre_read=1\ninvalidate=0\ntime_based\nruntime=100ms\n";
    let mut jobs = written_jobs(&format!("[alone]\n{words}[together]\n{words}numjobs={cpus}\n"))?;
    single_runs::run(&mut jobs, &[by], ROUNDS, 1, testbed)?;
    let [alone, together] = [0, 1].map(|at| jobs[at].by(by));
    let longer = alone
        .iter()
        .zip(together)
        .map(|(alone, together)| (f64::from(cpus) * alone.rate / together.rate - 1.0).max(0.0));
    Ok(longer.collect())
}

/// Jobs of a text of fio's.
fn written_jobs(text: &str) -> Result<Vec<SingleRuns>, Fault> {
    let file = job::parse(text, &load::surroundings(&|_| None));
    Ok(SingleRuns::of(&file.map_err(|mistake| Fault::Unsupported(mistake.reason))?))
}

/// What the writes of 'null writes' are long.
const WRITTEN: u64 = 16 << 10;

/// Runs that show what Fathom and fio do themselves for each transfer, the one where it is installed: reads in order of a file that
/// the CPU's caches hold, one after the other and by submissions.
pub(super) fn programs_own_work(
    model: &Model,
    programs: &[Runner],
    testbed: &mut Testbed,
) -> Result<Vec<SingleRuns>, Fault> {
    const ROUNDS: [usize; 2] = [3, 2];
    // By time, since fio opens its files again for each of several loops.
    let near = "rw=read\nbs=4k\nsize=512k\npre_read=1\ninvalidate=0\nfilename=near\n";
    let words = format!("{near}time_based\nruntime=100ms\n");
    let aio = format!("[async]\n{words}ioengine=libaio\n[posix]\n{words}ioengine=posixaio\n");
    let passes = format!("{near}loops=1000\n");
    // fio opens its files again for each pass over them, which must find them cached.
    let by_passes = programs[0] == Runner::Fio && model.parameters.choices.opening == Opening::Keeps;
    let mapped = match by_passes {
        true => format!("[passes]\n{passes}[mapped]\n{passes}ioengine=mmap\n"),
        false => String::new(),
    };
    let large = format!(
        "rw=read\nbs={FAR_BUFFER}\nsize=16m\npre_read=1\ninvalidate=0\nfilename=large\ntime_based\nruntime=100ms\n"
    );
    let buffers = match programs[0] {
        Runner::Fio => format!("[buffers]\n{large}[aligned]\n{large}iomem_align=4k\n"),
        Runner::Fathom => String::new(),
    };
    let null = "ioengine=null\nrw=read\nbs=4k\nsize=1g\n";
    let deep = format!("[null at depth]\n{null}iodepth=16\n");
    let text = format!(
        "[plain]\n{words}{aio}[null]\n{null}{deep}[null writes]\nioengine=null\nrw=write\nbs={WRITTEN}\nsize=1g\n{mapped}{buffers}"
    );
    let mut jobs = written_jobs(&text)?;
    single_runs::run(&mut jobs[..2], programs, ROUNDS[0], 1, testbed)?;
    single_runs::run(&mut jobs[2..], &programs[..1], ROUNDS[1], 1, testbed)?;
    jobs.extend(whole_transfers(programs[0], by_passes, testbed)?);
    Ok(jobs)
}

/// The block of reads into buffers that no CPU's own caches have room for.
const FAR_BUFFER: u64 = 4 << 20;

/// The pages of a file that is mapped to be written, and how long they are read in before that counts.
const WRITABLE_PAGES: u64 = 256;
const RAMP_MS: u64 = 100;

/// Runs of transfers that are little else than a change of a file's blocks, or a fault: between two passes over a mapped file fio has
/// it written to the device, so that each write makes a fault again.
fn whole_transfers(by: Runner, by_passes: bool, testbed: &mut Testbed) -> Result<Vec<SingleRuns>, Fault> {
    const ROUNDS: usize = 2;
    let mut text = "[falloc]\nioengine=falloc\nrw=randwrite\nbs=4k\nsize=32m\n\
                  [ftruncate]\nioengine=ftruncate\nrw=write\nbs=4k\nsize=64m\n"
        .to_owned();
    if by_passes {
        text += &format!(
            "[writable]\nioengine=mmap\nrw=randwrite\nbs=4k\nsize={}\ntime_based\nramp_time={RAMP_MS}ms\nruntime=60ms\n",
            WRITABLE_PAGES * PAGE
        );
    }
    let mut jobs = written_jobs(&text)?;
    single_runs::run(&mut jobs, &[by], ROUNDS, 1, testbed)?;
    Ok(jobs)
}

/// The share of the writes below whose latency shows what the first write to a folio takes: a good part of them are first ones.
const FIRST: f64 = 0.9;
const AT_RANDOM: &str = "[global]\nfilename=kept\nsize=64m\npre_read=1\ninvalidate=0\n\
    [first writes]\nrw=randwrite\nbs=4k\nio_size=640k\nend_fsync=1\n\
    [each once]\nrw=randread\nbs=8k\ntime_based\nruntime=100ms\n\
    [any]\nrw=randread\nbs=8k\ntime_based\nruntime=100ms\nnorandommap\n";

/// Runs at random over data that the cache holds: of a few writes, each after a sync, and of reads, of each block once and of any;
/// none where the cache holds nothing.
pub(super) fn at_random(model: &Model, by: Runner, testbed: &mut Testbed) -> Result<Vec<SingleRuns>, Fault> {
    const ROUNDS: usize = 3;
    let mut jobs = cached_at_random(model, by)?;
    single_runs::run(&mut jobs, &[by], ROUNDS, 1, testbed)?;
    Ok(jobs)
}

/// Those of the jobs whose data the program that runs them finds in the cache.
fn cached_at_random(model: &Model, by: Runner) -> Result<Vec<SingleRuns>, Fault> {
    let mut found = model.parameters.clone();
    found.choices.runner = by;
    let mut jobs = written_jobs(AT_RANDOM)?;
    jobs.retain(|one| finds_cached(&one.job, &found));
    Ok(jobs)
}

/// Takes from such runs by how much longer the first writes to a folio take, and fio's reads of blocks that it has to keep count of.
pub(super) fn put_at_random(model: &mut Model, by: Runner, jobs: &[SingleRuns]) {
    for one in jobs.iter().filter(|one| one.job.does(Direction::Write)) {
        let took: Vec<f64> = one.by(by).iter().filter_map(|run| run.latency_ns(FIRST)).collect();
        put_middle(model, Scalar::WalkedFirst, &longer_for_page(model, &one.job, &took));
    }
    if by == Runner::Fio {
        let [any, once] = ["any", "each once"].map(|name| took(jobs, name, by));
        put_middle(model, Scalar::FioRandomMap, &longer(&any, once));
    }
}

/// What a transfer took in each run that a program made of the job of this name, in ns.
fn took(jobs: &[SingleRuns], name: &str, by: Runner) -> Vec<f64> {
    let of = |one: &SingleRuns| {
        let bytes = one.job.blocks[Direction::Read as usize].most as f64;
        one.by(by).iter().map(|run| bytes / run.rate * 1e9).collect::<Vec<_>>()
    };
    jobs.iter().filter(|one| one.job.name == name).flat_map(of).collect()
}

/// By how much the times of some runs are longer than the middle of others.
fn longer(than: &[f64], all: Vec<f64>) -> Vec<f64> {
    let least = quantile::median(than);
    all.into_iter().filter_map(|one| Some((one - least?).max(0.0))).collect()
}

/// By how much longer than in the model the first writes of a job took for each page of a folio, in ns; nothing where folios are
/// single pages, since there is nothing to walk through.
fn longer_for_page(model: &Model, job: &Job, took_ns: &[f64]) -> Vec<f64> {
    const TRIED_NS: f64 = 100.0;
    let latency = |of_page: f64| {
        let mut tried = without_noise(model);
        put_measured(&mut tried, Scalar::WalkedFirst, of_page);
        simulated(job, &tried).map(|outcome| outcome.latency_ns(FIRST))
    };
    let Some((plain, longer)) = latency(0.0).zip(latency(TRIED_NS)) else { return Vec::new() };
    match (longer - plain) / TRIED_NS {
        pages if pages > 1.0 => took_ns.iter().map(|took| ((took - plain) / pages).max(0.0)).collect(),
        _ => Vec::new(),
    }
}

/// Takes from such runs what `by` does for each transfer besides the calls, whose times the model knows.
pub(super) fn put_own_work(model: &mut Model, by: Runner, jobs: &[SingleRuns]) {
    let took = |name: &str, by: Runner| took(jobs, name, by);
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
    let faults = faults(&took("passes", by), &took("mapped", by), model.parameters[Scalar::Call]);
    put_middle(model, Scalar::PageFault, &faults);
    let written = longer(&took("null", Runner::Fio), took("null writes", Runner::Fio));
    let of_byte = written.into_iter().map(|ns| ns / WRITTEN as f64);
    put_middle(model, Scalar::FioWrittenByte, &of_byte.collect::<Vec<_>>());
    let far = longer(&took("aligned", Runner::Fio), took("buffers", Runner::Fio));
    put_middle(model, Scalar::FioFarBuffer, &far.iter().map(|ns| ns / FAR_BUFFER as f64).collect::<Vec<_>>());
    put_middle(model, Scalar::AllocateCall, &took("falloc", by));
    put_middle(model, Scalar::TruncateCall, &took("ftruncate", by));
    // Each page is read in by itself during the ramp, if there is time for that.
    let read_in_ns = WRITABLE_PAGES as f64 * model.parameters[Scalar::DeviceLatency];
    if let Some(passes) = quantile::median(&took("passes", by))
        && read_in_ns < RAMP_MS as f64 * 1e6
    {
        let besides = passes - model.parameters[Scalar::Call];
        let faults = took("writable", by).into_iter().map(|took| (took - besides).max(0.0));
        put_middle(model, Scalar::WriteFault, &faults.collect::<Vec<_>>());
    }
}

/// For how long a server works on the CPU of a job's thread, from a run's beginning on, and how much faster it answers meanwhile: by
/// direct reads, one after the other. Nothing where the first reads of a run take as long as the others.
pub(super) fn near_server(model: &mut Model, by: Runner, testbed: &mut Testbed) -> Result<(), Fault> {
    const ROUNDS: usize = 3;
    const MS: [u32; 3] = [30, 100, 500];
    let is_held = LIMITS.iter().any(|limit| model.parameters[*limit] > 0.0);
    if is_held {
        return Ok(());
    }
    let direct = |ms: u32| {
        format!(
            "[{ms} ms]\nbs=4k\ntime_based\nrw=randread\nsize=64m\ndirect=1\nfilename=checks\nruntime={ms}ms\n"
        )
    };
    let mut jobs = written_jobs(&MS.map(direct).concat())?;
    single_runs::run(&mut jobs, &[by], ROUNDS, 1, testbed)?;
    let rates = |at: usize| jobs[at].by(by).iter().map(|run| run.rate).collect::<Vec<_>>();
    let Some((until, rates_by_then)) = near([0, 1, 2].map(rates), MS.map(f64::from)) else { return Ok(()) };
    let [near, apart] = rates_by_then.map(|rate| PAGE as f64 / rate * 1e9);
    put_measured(model, Scalar::ServerNear, until * 1e6);
    put_measured(model, Scalar::ServerApart, apart - near);
    Ok(())
}

/// Until when runs are faster, from the rates of runs of three lengths, of which the first is over by then; with their rate until
/// then and after it. None if the shortest runs are not all much faster than the longest.
fn near(rates: [Vec<f64>; 3], lengths: [f64; 3]) -> Option<(f64, [f64; 2])> {
    const MUCH: f64 = 1.5;
    let slowest = rates[0].iter().copied().reduce(f64::min)?;
    let fastest = rates[2].iter().copied().reduce(f64::max)?;
    let middle = |at: usize| quantile::median(&rates[at]);
    let [near, some, most] = [middle(0)?, middle(1)? * lengths[1], middle(2)? * lengths[2]];
    let apart = (most - some) / (lengths[2] - lengths[1]);
    let until = (some - apart * lengths[1]) / (near - apart);
    let is_clear = slowest > MUCH * fastest && apart > 0.0 && (lengths[0]..lengths[1]).contains(&until);
    is_clear.then_some((until, [near, apart]))
}

/// What a fault takes, in ns, from reads of 4 KiB by calls and of mapped memory, which fio maps anew for each pass over a file: one
/// fault maps 16 pages, and there is no call.
fn faults(by_calls: &[f64], of_mapped: &[f64], call: f64) -> Vec<f64> {
    const PAGES: f64 = 16.0;
    let usual = quantile::median(by_calls).unwrap_or(f64::NAN);
    of_mapped.iter().map(|mapped| ((mapped - usual + call) * PAGES).max(0.0)).collect()
}

/// What a byte of new memory waits for the host of a virtual machine, if it has taken some of what is free here: by first accesses to
/// memory, and by first accesses again once that has been given back, which finds it there.
pub(super) fn taken_memory(model: &mut Model) {
    const MOST: u64 = 1 << 30;
    // A kernel reports what is free every two seconds: `PAGE_REPORTING_DELAY`.
    const UNTIL_TAKEN: Duration = Duration::from_millis(2_500);
    let bytes = (spare_memory() / 8).min(MOST) as usize;
    let later = facts::returns_free_memory().then_some(UNTIL_TAKEN);
    for wait in [Duration::ZERO].into_iter().chain(later) {
        thread::sleep(wait);
        let first = first_accesses(bytes);
        let again = first_accesses(first.len().min(ENOUGH) * PIECE);
        if let Some(ns) = taken(&first, &again) {
            return put_measured(model, Scalar::TakenByte, ns / PIECE as f64);
        }
    }
}

/// Leaves out the runs of a job that met such memory, if others did not: they took about as much longer as that makes them, and that is
/// more than the job takes.
pub(super) fn leave_out_taken(parameters: &Parameters, trial: &mut Trial) {
    if other_memory(parameters, slice::from_ref(&trial.job)).is_none() {
        return;
    }
    let Some(least) = trial.runs.iter().map(|run| run.elapsed_ns).min() else { return };
    trial.runs.retain(|run| {
        let waits = parameters[Scalar::TakenByte] * trial::bytes(run);
        waits < least as f64 || ((run.elapsed_ns - least) as f64) < 0.5 * waits
    });
}

/// What a program's first access to a byte of its own memory takes: of small pages, which programs before it have given back.
pub(super) fn fresh_memory(model: &mut Model) {
    let took = |_| {
        let mut mapping = memory::Mapping::fresh(PIECE).ok()?;
        Some(touch(mapping.bytes()) / PIECE as f64)
    };
    put_middle(model, Scalar::FreshByte, &(0..ENOUGH).filter_map(took).collect::<Vec<_>>());
}

/// Touches each page of a piece of memory, and returns how long that took, in ns.
fn touch(piece: &mut [u8]) -> f64 {
    let began = Instant::now();
    piece.iter_mut().step_by(PAGE as usize).for_each(|byte| *byte = 1);
    began.elapsed().as_nanos() as f64
}

/// What is touched at a time.
const PIECE: usize = TAKEN_AT_ONCE as usize;
/// So many pieces that were slow are enough.
const ENOUGH: usize = 32;
/// No piece that is there takes so long, in ns: zeroing its pages and faults take 200 to 600 us.
const SLOW: f64 = 3e6;

/// What first accesses to all pages of each piece of memory take, in ns, until enough are slow. The pages are large: small ones come
/// from what programs have just given back, which no host has taken yet.
fn first_accesses(bytes: usize) -> Vec<f64> {
    let mut took = Vec::new();
    let Ok(mut mapping) = memory::Mapping::fresh_large(bytes.max(PIECE)) else { return took };
    let mut slow = 0;
    for piece in mapping.bytes().chunks_exact_mut(PIECE) {
        took.push(touch(piece));
        slow += usize::from(took.last().is_some_and(|ns| *ns > SLOW));
        if slow == ENOUGH {
            break;
        }
    }
    took
}

/// What a piece takes longer whose memory was taken, in ns: none unless a good many took much longer than pieces take again.
fn taken(first: &[f64], again: &[f64]) -> Option<f64> {
    const FEWEST: usize = 8;
    const MUCH: f64 = 4.0;
    let usual = quantile::median(again)?;
    let slow: Vec<f64> = first.iter().copied().filter(|ns| *ns > SLOW.max(MUCH * usual)).collect();
    (slow.len() >= FEWEST).then(|| quantile::median(&slow)).flatten().map(|slow| slow - usual)
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    #[test]
    fn a_host_that_takes_free_memory_is_found_and_noise_is_not() {
        let mut generator = Pcg64Mcg::seed_from_u64(7);
        let mut around =
            |mean: f64| mean * (0.7 + 0.6 * (f64::from(generator.next_u32()) / f64::from(u32::MAX)));
        // So many pieces of a hundred are slow, by so much; and how much is found.
        for (slow, longer, found) in
            [(100, 12e6, true), (20, 12e6, true), (3, 12e6, false), (0, 0.0, false), (100, 0.5e6, false)]
        {
            let mut pieces = |slow: usize| {
                (0..100).map(|at| around(0.4e6 + if at < slow { longer } else { 0.0 })).collect::<Vec<_>>()
            };
            let found_ns = super::taken(&pieces(slow), &pieces(0));
            assert_eq!(found_ns.is_some(), found, "{slow} {longer} {found_ns:?}");
            assert!(found_ns.is_none_or(|ns| (ns / longer - 1.0).abs() < 0.2), "{found_ns:?}");
        }
        // A slow machine, on which nothing is taken; nothing at all.
        let slow = (0..100).map(|_| around(4e6)).collect::<Vec<_>>();
        assert_eq!(super::taken(&slow, &slow), None);
        assert_eq!(super::taken(&[], &[]), None);
    }

    #[test]
    fn a_run_that_met_taken_memory_is_left_out_where_others_did_not() {
        use super::{Model, PAGE, Trial, leave_out_taken};
        use fathom_program::job::Job;
        use fathom_run::load::{Outcome, Transfers};
        let mut model = Model::assumed();
        model.set("taken_byte=2.2").unwrap();
        // Writes of 8 KiB wait 18 us for such memory.
        let left = |job: Job, took_us: &[u64]| {
            let run = |us: &u64| {
                let mut transfers = [Transfers::default(), Transfers::default()];
                transfers[1].bytes = 1_000 * 2 * PAGE;
                Outcome { transfers, elapsed_ns: us * 1_000_000, ..Outcome::nothing(1.0) }
            };
            let mut trial =
                Trial { job, runs: took_us.iter().map(run).collect(), disturbed: 0, refusal: None };
            leave_out_taken(&model.parameters, &mut trial);
            trial.runs.len()
        };
        let writes = Job { read_percent: 0, ..Job::named("writes") };
        assert_eq!(left(writes.clone(), &[5, 24, 5, 7]), 3, "one of four");
        assert_eq!(left(writes.clone(), &[23, 24, 22, 24]), 4, "none found free memory");
        assert_eq!(left(writes.clone(), &[5, 6, 9, 5]), 4, "noise is less");
        assert_eq!(left(writes.clone(), &[100, 180, 120, 100]), 4, "what takes longer anyway, as syncs do");
        assert_eq!(left(Job { direct: true, ..writes }, &[5, 24, 5, 7]), 4, "no memory is needed");
    }

    #[test]
    fn what_an_open_drops_tells_nothing_of_what_programs_do_at_random() {
        let mut model = super::Model::assumed();
        let mut jobs = |opening: &str, by| {
            model.set(&format!("opening={opening}")).unwrap();
            super::cached_at_random(&model, by).unwrap().len()
        };
        use super::Runner::{Fathom, Fio};
        assert_eq!(
            [jobs("keeps", Fio), jobs("drops", Fathom), jobs("drops", Fio), jobs("bypasses", Fio)],
            [3, 3, 0, 0]
        );
    }

    #[test]
    fn the_first_writes_to_folios_take_longer_by_what_is_planted_and_otherwise_by_nothing() {
        let mut generator = Pcg64Mcg::seed_from_u64(7);
        let mut around =
            |mean: f64| mean * (0.9 + 0.2 * (f64::from(generator.next_u32()) / f64::from(u32::MAX)));
        let job = &super::written_jobs(super::AT_RANDOM).unwrap()[0].job;
        let model = super::Model::assumed();
        for planted in [0.0, 20.0, 70.0] {
            let mut machine = super::without_noise(&model);
            super::put_measured(&mut machine, super::Scalar::WalkedFirst, planted);
            let latency = super::simulated(job, &machine).unwrap().latency_ns(super::FIRST);
            // One of five was disturbed.
            let took: Vec<f64> =
                (0..5).map(|run| around(latency) * if run == 3 { 3.0 } else { 1.0 }).collect();
            let found = super::longer_for_page(&model, job, &took);
            let middle = super::quantile::median(&found).unwrap();
            assert!((middle - planted).abs() < 2.0 + 0.12 * planted, "{middle} {planted}");
        }
        // Where each page has a folio of its own nothing is said.
        let mut small = model;
        super::put_measured(&mut small, super::Scalar::LargestFolio, super::PAGE as f64);
        assert!(super::longer_for_page(&small, job, &[1e6; 5]).is_empty());
    }

    #[test]
    fn a_server_that_leaves_its_callers_cpu_is_found() {
        const MS: [f64; 3] = [30.0, 200.0, 800.0];
        let mut generator = Pcg64Mcg::seed_from_u64(7);
        let mut around =
            |mean: f64| mean * (0.93 + 0.14 * (f64::from(generator.next_u32()) / f64::from(u32::MAX)));
        // Per ms: so many bytes until then, and so many after it.
        let mut runs = |until: f64, [near, apart]: [f64; 2]| {
            MS.map(|ms| -> Vec<f64> {
                let rate = (near * until.min(ms) + apart * (ms - until).max(0.0)) / ms;
                (0..4).map(|_| around(rate)).collect()
            })
        };
        let mut found = 0;
        for until in [45.0, 60.0, 90.0, 120.0, 150.0] {
            for _ in 0..20 {
                let Some((end, [near, apart])) = super::near(runs(until, [400.0, 80.0]), MS) else {
                    continue;
                };
                found += 1;
                assert!((end / until - 1.0).abs() < 0.4, "{end} for {until}");
                assert!((near / apart / 5.0 - 1.0).abs() < 0.4, "{near} {apart}");
            }
        }
        assert!(found > 90, "{found}");
        // One speed; one that falls by a third; one that lasts as long as the runs.
        for (until, rates) in [(0.0, [100.0, 100.0]), (60.0, [120.0, 100.0]), (800.0, [400.0, 80.0])] {
            assert!((0..50).all(|_| super::near(runs(until, rates), MS).is_none()), "{until} {rates:?}");
        }
        assert_eq!(super::near([vec![], vec![], vec![]], MS), None);
    }
}
