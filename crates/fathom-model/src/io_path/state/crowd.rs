//! CPUs that share a core or a cache: each is slower while the others work as well.

use crate::io_path::costs::Costs;
use crate::parameters::Scalar;

/// Which threads work on a CPU, and how much longer that takes for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    cpus: f64,
    /// How much longer work takes while all CPUs work, as a share.
    share: f64,
    /// What a call takes at least, in ns.
    call_ns: u64,
    threads: Vec<Working>,
}

/// What a thread does on its CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Working {
    /// Until when it works, in ns of the run.
    until: u64,
    /// How much longer that takes because of others, in 1/1000.
    slowed: u32,
}

impl Crowd {
    /// So many threads begin.
    pub(crate) fn of(threads: u32, costs: &Costs) -> Self {
        let cpus = costs[Scalar::Cpus];
        let share = if cpus > 1.0 { costs[Scalar::Crowded] } else { 0.0 };
        let threads = vec![Working::default(); threads as usize];
        Self { cpus, share, call_ns: costs[Scalar::Call] as u64, threads }
    }

    /// A thread has worked since `begun` and makes a call `now`. Returns how much longer its work takes, in 1/1000.
    pub(crate) fn call(&mut self, thread: u32, begun: u64, now: u64) -> u32 {
        self.work(thread, begun, now + self.call_ns - begun)
    }

    /// A thread works for so long, in ns, from `now` on. Returns how much longer that takes because of others, in 1/1000.
    pub(crate) fn work(&mut self, thread: u32, now: u64, ns: u64) -> u32 {
        if self.share == 0.0 || self.threads.len() < 2 {
            return 0;
        }
        self.threads[thread as usize].until = 0;
        let others = self.threads.iter().filter(|other| other.until > now).count() as f64;
        let slowed = self.share * (others / (self.cpus - 1.0)).min(1.0);
        let until = now + (ns as f64 * (1.0 + slowed)) as u64;
        self.threads[thread as usize] = Working { until, slowed: (slowed * 1e3) as u32 };
        self.slowed(thread)
    }

    /// How much longer the work of a thread takes that it was last asked for, in 1/1000.
    pub(crate) fn slowed(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).map_or(0, |one| one.slowed)
    }
}
