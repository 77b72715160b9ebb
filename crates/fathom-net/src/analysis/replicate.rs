//! Replications: independent runs of one net, on several threads.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::net::Net;
use crate::simulation::Simulation;

/// Runs a net `runs` times and gives what `measure` makes of each run, in the order of the runs.
///
/// Run `i` is seeded with `seed + i`, so the answer does not depend on the number of threads.
/// Feed the results to [`Estimate::of`](crate::Estimate::of) for a mean with its interval.
///
/// ```
/// use fathom_net::{Distribution, Estimate, NetBuilder, Time, replicate};
/// let mut net = NetBuilder::new("Poisson");
/// let next = net.place("next");
/// net.initial(next, [()]);
/// let arrive = net.transition("arrive").consume(next, 1)
///     .delay(Distribution::exponential(10.0)).produce(next, 1).add();
/// let net = net.build()?;
/// let arrivals = replicate(&net, 50, 1, 2.try_into()?, |sim| {
///     sim.run_until(Time::ticks(10_000));
///     sim.firings(arrive) as f64
/// });
/// assert!((Estimate::of(&arrivals).mean() / 1_000.0 - 1.0).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `measure` does.
pub fn replicate<R, F>(net: &Net, runs: u64, seed: u64, threads: NonZero<usize>, measure: F) -> Vec<R>
where
    R: Send,
    F: Fn(&mut Simulation<'_>) -> R + Sync,
{
    let next = AtomicU64::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        // Runs are handed out one by one, so a thread with short runs takes more of them.
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return;
            }
            let result = measure(&mut Simulation::new(net, seed.wrapping_add(run)));
            results.lock().expect("no thread panics while it holds the lock").push((run, result));
        }
    };
    std::thread::scope(|scope| {
        (1..threads.get()).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    let mut results = results.into_inner().expect("every thread has ended well");
    results.sort_by_key(|&(run, _)| run);
    results.into_iter().map(|(_, result)| result).collect()
}
