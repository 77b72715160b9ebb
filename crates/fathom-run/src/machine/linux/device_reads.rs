//! Cold reads beside the counters of the device below.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fathom_sys::cache::evict;
use fathom_sys::{Error, facts, file};

use super::Linux;
use crate::machine::{Fault, Machine};
use crate::witness::DeviceReads;
use fathom_program::workload::ScratchFile;

/// The counters are in whole milliseconds: so many make the error small beside the sum.
const ENOUGH_MS: u64 = 40;
/// No longer than this, however quick the device is.
const LONGEST: Duration = Duration::from_millis(400);
/// The share of reads in the counters that may be others'.
const MOST_FOREIGN: f64 = 0.05;

/// Reads cold positions until the device has counted enough time for them.
pub(super) fn count(
    machine: &mut Linux,
    wanted: &ScratchFile,
    offsets: &[u64],
    size: u64,
) -> Result<Option<DeviceReads>, Fault> {
    let to_fill = machine.files.bytes_to_fill(std::slice::from_ref(wanted));
    let left = machine.write_budget();
    if to_fill > left {
        return Err(Fault::OverBudget { wanted: to_fill, left });
    }
    machine.provide(std::slice::from_ref(wanted))?;
    let path = machine.files.path(&wanted.name);
    let Some(name) = facts::device_of(&facts::mount_of(&path)?).map(|device| device.name) else {
        return Ok(None);
    };
    let failed = |operation, errno| Fault::System(Error::new(operation, &path, errno));
    let open = file::open(&path).map_err(|errno| failed("open", errno))?;
    let Some(before) = facts::device_stat(&name) else { return Ok(None) };
    let mut buffer = vec![0; size as usize];
    let mut seen = DeviceReads { reads: 0, device_ns: 0, waited_ns: 0 };
    let started = Instant::now();
    loop {
        evict(&open, 0, 0).map_err(|errno| failed("evict", errno))?;
        for &offset in offsets {
            machine.check_interrupt()?;
            let asked = Instant::now();
            let read = file::pread(open.as_fd(), &mut buffer, offset);
            seen.waited_ns += asked.elapsed().as_nanos() as u64;
            let moved = read.map_err(|errno| Error::new("read", &path, errno).at(offset))?;
            machine.bytes_read += moved as u64;
            seen.reads += 1;
            if started.elapsed() > LONGEST {
                break;
            }
        }
        let Some(now) = facts::device_stat(&name) else { return Ok(None) };
        let counted = now.reads.saturating_sub(before.reads);
        let milliseconds = now.read_ms.saturating_sub(before.read_ms);
        if milliseconds >= ENOUGH_MS || started.elapsed() > LONGEST {
            let foreign = (counted as f64 / seen.reads as f64 - 1.0).abs();
            seen.device_ns = milliseconds * 1_000_000;
            return Ok((foreign <= MOST_FOREIGN).then_some(seen));
        }
    }
}
