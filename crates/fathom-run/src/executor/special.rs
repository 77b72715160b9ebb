//! fio's engines that transfer in a way of their own: `pvsync2`, `splice`, `falloc`, `ftruncate` and `null`.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fathom_program::call::{Call, Direction};
use fathom_program::job::{Engine as Named, EngineOptions, Job};
use fathom_sys::Error;
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Errno};
use fathom_sys::transfer::{self, Pipe};

use super::{Engine, OfJob, System, Window, window};
use crate::fault::Fault;

/// Transfers as such an engine does; all else by the usual system calls.
pub(crate) struct Special {
    system: System<OfJob>,
    way: Way,
}

/// What a read or a write becomes.
enum Way {
    /// `preadv2(2)` and `pwritev2(2)` with flags; `polled_percent` of a hundred transfers also have RWF_HIPRI.
    Flags { flags: u32, polled_percent: u8, transfers: u64 },
    /// `splice(2)` through a pipe.
    Splice(Pipe),
    /// `fallocate(2)`: a read keeps the file's size, a write extends it. Source: `engines/falloc.c`.
    Allocate,
    /// `ftruncate(2)` to the offset of a write.
    Truncate,
    /// No call at all.
    Null,
    /// Keeps the CPU busy for this time.
    Burn(Duration),
}

impl Special {
    /// The engine of a job.
    pub(crate) fn of(system: System<OfJob>, job: &Job) -> Result<Self, Fault> {
        let way = match job.engine {
            Named::Splice => {
                let path = std::path::Path::new(&job.name);
                Way::Splice(Pipe::new().map_err(|errno| Error::new("make a pipe for", path, errno))?)
            }
            Named::Falloc => Way::Allocate,
            Named::Ftruncate => Way::Truncate,
            Named::Null => Way::Null,
            Named::Cpuio => Way::Burn(job.engine_options.burst()),
            _ => Way::of_flags(&job.engine_options),
        };
        Ok(Self { system, way })
    }
}

fn burn(burst: Duration) -> Result<usize, Errno> {
    let begun = Instant::now();
    while begun.elapsed() < burst {
        std::hint::spin_loop();
    }
    Ok(0)
}

impl Way {
    fn of_flags(options: &EngineOptions) -> Self {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = flag(options.uncached, transfer::UNCACHED) | flag(options.nowait, transfer::NO_WAIT);
        let polled_percent = if options.hipri { options.hipri_percentage.unwrap_or(100) } else { 0 };
        Self::Flags { flags, polled_percent, transfers: 0 }
    }
}

impl Engine for Special {
    #[inline(always)]
    fn prepare(&mut self, call: &Call) {
        if !matches!(self.way, Way::Null | Way::Burn(_)) {
            self.system.prepare(call);
        }
    }

    #[inline(always)]
    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        match self.way {
            Way::Null => return window(clock, || Ok(call.bytes as usize)),
            Way::Burn(burst) => return window(clock, || burn(burst)),
            _ => {}
        }
        let Some(direction) = call.kind.direction() else { return self.system.make(clock, call) };
        let file = self.system.descriptors.0[call.descriptor as usize].1.as_fd();
        let &Call { offset, bytes, .. } = call;
        let all = bytes as usize;
        let buffer = &mut self.system.buffer.memory.bytes()[..all];
        let is_read = direction == Direction::Read;
        match &mut self.way {
            Way::Flags { flags, polled_percent, transfers } => {
                // The golden ratio's multiples are spread evenly.
                *transfers = transfers.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let is_polled = ((u128::from(*transfers) * 100) >> 64) < u128::from(*polled_percent);
                let flags = if is_polled { *flags | transfer::HIGH_PRIORITY } else { *flags };
                match is_read {
                    true => window(clock, || transfer::preadv2(file, buffer, offset, flags)),
                    false => window(clock, || transfer::pwritev2(file, buffer, offset, flags)),
                }
            }
            Way::Splice(pipe) if is_read => window(clock, || pipe.read(file, buffer, offset)),
            Way::Splice(pipe) => window(clock, || pipe.write(file, buffer, offset)),
            Way::Allocate if is_read => {
                window(clock, || transfer::allocate_keeping_size(file, offset, bytes).map(|()| all))
            }
            Way::Allocate => window(clock, || transfer::allocate(file, offset, bytes).map(|()| all)),
            Way::Truncate if is_read => window(clock, || Err(Errno::INVAL)),
            Way::Truncate => window(clock, || file::ftruncate(file, offset).map(|()| all)),
            Way::Null | Way::Burn(_) => window(clock, || Ok(all)),
        }
    }

    #[inline(always)]
    fn check(&mut self, call: &Call, moved: usize) -> Result<u64, Fault> {
        match self.way {
            Way::Null => Ok(moved as u64),
            _ => self.system.check(call, moved),
        }
    }

    fn failure(&self, call: Call, errno: Errno) -> Fault {
        self.system.failure(call, errno)
    }
}
