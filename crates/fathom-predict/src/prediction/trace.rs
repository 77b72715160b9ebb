//! What the replay of a trace will do on a model.

use std::sync::Arc;

use fathom_model::io_path::{Done, Load, Overhead, Path, State};
use fathom_program::call::Call;
use fathom_trace::replay::ReplayCalls;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::counted::Counted;
use super::forecast::{Known, Runs, own_error, unvalidated};
use super::pace::Pace;
pub use super::replay::Replay;
use super::{Forecast, Settings, drawn_sets, near_limits};
use crate::model::{Model, Parameters, Scalar};
use fathom_program::job::Direction;
use fathom_run::load::Outcome;
use fathom_run::replay::Cache;

/// What a replay does between two calls takes as long as this many rounds of the loop of a job, whose cost a model has:
/// the replay reads the clock through the C library's page and looks at what its steps wait for. Measured in 41 turns of a
/// job and a replay that make the same cached reads: 3.3 [2.7, 3.7]. Decides only where a cached trace is replayed fast.
const ROUNDS: f64 = 3.3;

/// In no more than this share of the time there may be more calls under way than the machine has CPUs.
const CROWDED: f64 = 0.05;

/// Predicts the replay of a trace.
///
/// # Errors
/// More calls at once than the model's machine has CPUs for.
pub fn predict_trace(
    name: &str,
    replay: &Replay,
    model: &Model,
    settings: Settings,
) -> Result<(Forecast, Outcome), String> {
    let (plain, done) = run(replay, &model.parameters, settings.seed);
    let cpus = model.parameters[Scalar::Cpus];
    if cpus > 0.0 {
        let crowded = crowded(&done, cpus as usize);
        if crowded > CROWDED {
            return Err(format!(
                "more than {cpus} of its calls are under way at once in {:.0} % of the time, and the model's threads do not compete for {cpus} CPUs",
                crowded * 100.0
            ));
        }
    }
    drop(done);
    let all = |sets: Vec<_>| -> Vec<Outcome> {
        sets.into_par_iter().map(|(parameters, seed)| run(replay, &parameters, seed).0).collect()
    };
    let mut drawn = vec![plain.clone()];
    drawn.extend(all(drawn_sets(&model.parameters, settings)));
    let near_limits = all(near_limits(&model.parameters, &[], settings.seed));
    let parts = parts(replay, &plain);
    let own = parts.iter().map(|(class, share)| share * own_error(class, model)).sum();
    let caveats = parts.iter().filter_map(|(class, _)| unvalidated(class, model)).collect();
    let directions: Vec<Direction> = [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|way| plain.transfers[*way as usize].latency.count() > 0)
        .collect();
    let names: Vec<&str> = parts.iter().map(|(class, _)| class.as_str()).collect();
    let class = format!("trace: {}", names.join(", "));
    let runs = Runs { drawn, near_limits, ..Runs::default() };
    Ok((
        Forecast {
            caveats,
            ..Forecast::new(name, class, &Known::Spread(own), &directions, &runs, Pace::default())
        },
        plain,
    ))
}

/// One run of a replay on a machine that has just been started.
pub fn simulate_trace(replay: &Replay, parameters: &Parameters, seed: u64) -> Outcome {
    run(replay, parameters, seed).0
}

/// The calls that each thread of a replay makes, in order; for tests that compare machines.
pub fn trace_calls(replay: &Replay, parameters: &Parameters, seed: u64) -> Vec<Vec<Call>> {
    let (_, load) = loaded(replay, parameters, seed, |call| call);
    load.take_made().into_iter().map(|made| made.into_iter().map(|(call, _)| call).collect()).collect()
}

/// The machine after a replay, and what is kept of each call.
fn loaded<K: Send + 'static>(
    replay: &Replay,
    parameters: &Parameters,
    seed: u64,
    keep: fn(Call) -> K,
) -> (State, Arc<Load<ReplayCalls, K>>) {
    let mut state = State::new(parameters);
    for size in &replay.plan.files {
        let file = state.create();
        state.fill(file, *size);
        if replay.how.cache == Cache::Cold {
            state.evict(file);
        }
    }
    let overhead = Overhead {
        call_ns: (ROUNDS * parameters[Scalar::Caller]).trunc(),
        is_within_waits: true,
        ..Overhead::default()
    };
    let program = replay.plan.program(replay.how.pace, 1e9);
    let load = Arc::new(Load::with(program, Vec::new(), |_| overhead, keep));
    (Path::new(parameters).run_load(&load, state, seed), load)
}

fn run(replay: &Replay, parameters: &Parameters, seed: u64) -> (Outcome, Vec<Done>) {
    let (state, load) = loaded(replay, parameters, seed, |call| call.kind);
    let (done, made) = (state.done(), load.take_made());
    let mut counted = Counted::default();
    for one in done {
        let (kind, step) = made[one.job as usize][one.number as usize];
        let counts = kind.direction().is_some() || kind.is_sync();
        let step = &replay.plan.threads[one.job as usize][step as usize];
        counted.add(one, counts.then(|| (kind, step.operation.moved_bytes())));
    }
    (counted.outcome(0), done.to_vec())
}

/// The classes of jobs that a trace is made of, each with the share of the time that is spent in their calls.
fn parts(replay: &Replay, outcome: &Outcome) -> Vec<(String, f64)> {
    let elapsed = outcome.elapsed_ns.max(1) as f64;
    let mut parts = Vec::new();
    for (way, noun) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        let latency = &outcome.transfers[way as usize].latency;
        let [in_order, all] = replay.in_order[way as usize];
        if all == 0 {
            continue;
        }
        let order = if in_order * 2 > all { "sequential" } else { "random" };
        let (cache, syncs) = match (way, replay.how.cache) {
            (Direction::Read, Cache::Cold) => ("cold_", 0),
            (Direction::Read, Cache::Warm) => ("cached_", 0),
            (Direction::Write, _) => ("", outcome.syncs.sum()),
        };
        let tail = if way == Direction::Write && replay.syncs() { "_sync" } else { "" };
        let share = ((latency.sum() + syncs) as f64 / elapsed).min(1.0);
        parts.push((format!("{cache}{order}_{noun}{tail}"), share));
    }
    parts
}

/// In which share of the time more calls are under way than there are CPUs.
fn crowded(done: &[Done], cpus: usize) -> f64 {
    let mut moments: Vec<(u64, i32)> = Vec::with_capacity(2 * done.len());
    for call in done {
        moments.push((call.span[0].as_ticks(), 1));
        moments.push((call.span[1].as_ticks(), -1));
    }
    moments.sort_unstable();
    let (mut under_way, mut since, mut crowded) = (0_i32, 0, 0);
    for (moment, change) in &moments {
        if under_way > cpus as i32 {
            crowded += moment - since;
        }
        (under_way, since) = (under_way + change, *moment);
    }
    crowded as f64 / since.max(1) as f64
}

#[cfg(test)]
mod tests {
    use fathom_trace::{CallKind, FileId, Files, Level, Operation};

    use super::*;
    use fathom_run::replay::{How, Pace, Plan};

    const CALL: u64 = 810;

    /// A read of 4 KiB that took 1 us in the trace.
    fn read(thread: u32, start_ns: i64, at: u64) -> Operation {
        Operation {
            thread,
            duration_ns: Some(1000),
            offset: Some(at * 4096),
            length: 4096,
            result: Some(4096),
            ..Operation::new(CallKind::Pread, FileId(thread), start_ns)
        }
    }

    fn elapsed(operations: &[Operation], pace: Pace) -> Result<u64, String> {
        let mut files = Files::default();
        for name in [b"a", b"b"] {
            files.id(name);
        }
        let how = How { pace, cache: Cache::Warm };
        let replay = Replay::new(&Arc::new(Plan::new(operations, &files, Level::File)), how)?;
        let mut model = Model::assumed();
        model.set("noise=0")?;
        let settings = Settings { draws: 0, seed: 1 };
        Ok(predict_trace("t", &replay, &model, settings)?.1.elapsed_ns)
    }

    #[test]
    fn a_thread_goes_on_at_once_after_its_pauses_or_at_its_times() {
        let three = [read(0, 0, 0), read(0, 10_000, 1), read(0, 20_000, 2)];
        assert_eq!(elapsed(&three, Pace::Fast), Ok(3 * CALL));
        assert_eq!(elapsed(&three, Pace::Think), Ok(3 * CALL + 2 * 9_000));
        assert_eq!(elapsed(&three, Pace::Recorded), Ok(20_000 + CALL));
    }

    #[test]
    fn a_thread_begins_after_what_came_before_it() {
        let two = [read(0, 0, 0), read(1, 15_000, 0), read(0, 16_000, 1)];
        // The second begins 14 us after the first's one had ended, and both go on side by side.
        assert_eq!(elapsed(&two, Pace::Think), Ok((CALL + 14_000 + CALL).max(2 * CALL + 15_000)));
        assert_eq!(elapsed(&two, Pace::Fast), Ok(2 * CALL));
    }

    #[test]
    fn who_shares_a_position_waits_for_those_before() {
        let of = |thread, start_ns| Operation {
            kind: CallKind::Read,
            file: FileId(0),
            descriptor: Some(3),
            offset: Some(4096 * u64::from(thread)),
            ..read(thread, start_ns, 0)
        };
        let shared = [of(0, 0), of(1, 500), of(0, 1500)];
        assert_eq!(elapsed(&shared, Pace::Fast), Ok(3 * CALL));
    }

    #[test]
    fn a_file_that_is_removed_goes_when_nobody_has_it_open() {
        let of = |kind, descriptor: Option<i32>, result| Operation {
            kind,
            descriptor,
            offset: None,
            length: 0,
            result: Some(result),
            ..read(0, 0, 0)
        };
        let (open, close) = (of(CallKind::Open, None, 3), of(CallKind::Close, Some(3), 0));
        let unlink = of(CallKind::Unlink, None, 0);
        let drops = |operations: &[Operation]| {
            let mut files = Files::default();
            files.id(b"a");
            let how = How { pace: Pace::Fast, cache: Cache::Warm };
            let replay = Replay::new(&Arc::new(Plan::new(operations, &files, Level::File)), how).unwrap();
            let parameters = Parameters::assumed();
            let calls = trace_calls(&replay, &parameters, 1);
            calls[0].iter().position(|call| call.frees.is_some())
        };
        assert_eq!(drops(&[open, close, unlink]), Some(2));
        assert_eq!(drops(&[open, unlink, close]), Some(2));
        assert_eq!(drops(&[open, unlink]), None);
    }

    #[test]
    fn what_the_model_has_no_part_for_is_counted_by_name() {
        let of = |kind, length| Operation { kind, length, ..read(0, 0, 0) };
        let refused = elapsed(
            &[of(CallKind::Allocate, 1), of(CallKind::Allocate, 2), of(CallKind::Discard, 1), read(0, 0, 0)],
            Pace::Fast,
        );
        assert_eq!(refused, Err("the model does not know 2 x allocate; 1 x discard".to_owned()));
    }
}
