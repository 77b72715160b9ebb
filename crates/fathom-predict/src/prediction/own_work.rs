//! What the program that runs a job does itself.

use fathom_model::io_path::Overhead;
use fathom_program::job::{Direction, Engine, Job, Pattern};

use crate::model::{FreeMemory, Parameters, Runner, Scalar};

/// Bytes of memory that a host gives and takes at once. Source: `pageblock_order`, the least that `mm/page_reporting.c` reports.
pub(crate) const TAKEN_AT_ONCE: u64 = 2 << 20;

/// What the program that runs a job does between two calls, or in place of them. How long Fathom takes to submit and reap what the device serves is
/// part of 'submission'.
pub(super) fn overhead(job: &Job, parameters: &Parameters) -> Overhead {
    let all = match job.engine {
        Engine::Null if job.depth.most > 1 => Some(parameters[Scalar::NullAsyncCall]),
        Engine::Null => Some(parameters[Scalar::NullCall]),
        Engine::Falloc => Some(parameters[Scalar::AllocateCall]),
        Engine::Ftruncate => Some(parameters[Scalar::TruncateCall]),
        Engine::Cpuio => Some(job.engine_options.burst().as_nanos() as f64),
        _ => None,
    };
    if let Some(call_ns) = all {
        return Overhead { call_ns, is_all: true, ..Overhead::default() };
    }
    let [call, async_call, written_byte] = match parameters.choices.runner {
        Runner::Fathom => [Scalar::Caller, Scalar::AsyncCall, Scalar::CallerWrittenByte],
        Runner::Fio => [Scalar::FioCall, Scalar::FioAsyncCall, Scalar::FioWrittenByte],
    };
    let queued = match (job.engine, job.direct) {
        (Engine::Posixaio, _) => handing_over(job, parameters),
        (engine, _) if !engine.is_asynchronous() => 0.0,
        (_, false) => parameters[async_call],
        (_, true) => (parameters[async_call] - parameters[Scalar::AsyncCall]).max(0.0),
    };
    let of_map = match parameters.choices.runner {
        Runner::Fio if job.pattern == Pattern::Random && job.random_map => parameters[Scalar::FioRandomMap],
        _ => 0.0,
    };
    Overhead {
        call_ns: parameters[call] + queued + of_map,
        written_byte_ns: parameters[written_byte],
        checked_byte_ns: checked_byte(job, parameters),
        read_byte_ns: far_buffer_byte(job, parameters),
        fresh: (fresh_byte(job, parameters), buffers(job)),
        is_within_waits: false,
        is_all: false,
        maps_for: (job.engine == Engine::Mmap).then(|| mapped_for(job, parameters)),
    }
}

/// What a byte of a read takes into a buffer that was not touched before, in ns. fio fills those that it writes from.
fn fresh_byte(job: &Job, parameters: &Parameters) -> f64 {
    if !has_fresh_buffers(job, parameters) {
        return 0.0;
    }
    let is_taken = fills_buffers(job, parameters) && parameters.choices.free_memory == FreeMemory::Taken;
    parameters[Scalar::FreshByte] + if is_taken { parameters[Scalar::TakenByte] } else { 0.0 }
}

/// What a byte takes longer to be copied into fio's buffers, in ns. It aligns those of jobs that go past the cache.
fn far_buffer_byte(job: &Job, parameters: &Parameters) -> f64 {
    let is_usual = job.buffers.memory.is_none() && job.buffers.align == 0;
    let copies = !job.direct && job.engine != Engine::Mmap;
    let near = parameters[Scalar::NearCache];
    let are_far = near > 0.0 && bytes_of_buffers(job) as f64 >= near;
    match parameters.choices.runner {
        Runner::Fio if is_usual && copies && are_far => parameters[Scalar::FioFarBuffer],
        _ => 0.0,
    }
}

/// Whether a job's reads are what first touches its buffers.
fn has_fresh_buffers(job: &Job, parameters: &Parameters) -> bool {
    parameters.choices.runner == Runner::Fio && !job.does(Direction::Write) && job.buffers.memory.is_none()
}

/// Whether these buffers need memory that a host may have taken: less than it takes at once is what programs before have given back.
pub(super) fn fills_buffers(job: &Job, parameters: &Parameters) -> bool {
    has_fresh_buffers(job, parameters) && bytes_of_buffers(job) >= TAKEN_AT_ONCE
}

/// The bytes of a thread's buffers.
fn bytes_of_buffers(job: &Job) -> u64 {
    buffers(job) * job.blocks[Direction::Read as usize].most
}

/// How many buffers a thread of a job has.
fn buffers(job: &Job) -> u64 {
    u64::from(if job.engine.is_asynchronous() { job.depth.most.max(1) } else { 1 })
}

/// The bytes after which a program maps a job's files anew: fio does with each pass over them unless time ends the job, Fathom never.
fn mapped_for(job: &Job, parameters: &Parameters) -> u64 {
    match parameters.choices.runner {
        Runner::Fio if !job.time_based => job.region().map_or(u64::MAX, |region| region.length),
        _ => u64::MAX,
    }
}

/// How long it takes to hand a transfer to a thread and to hear of its end, in ns. A job that has handed over its only one sleeps
/// as long as that thread waits for the device, and wakes after it.
fn handing_over(job: &Job, parameters: &Parameters) -> f64 {
    parameters[Scalar::PosixAioCall] + if job.depth.most <= 1 { parameters[Scalar::Wake] } else { 0.0 }
}

/// What a byte takes that is checked, in ns. fio and Fathom compute the slower sums at 0.4 to 0.5 GB/s, as far as fio's
/// `--crctest` and a run tell; those that a CPU has instructions for take no more than the pattern that blocks are filled with.
fn checked_byte(job: &Job, parameters: &Parameters) -> f64 {
    let Some(verify) = &job.verify else { return 0.0 };
    let times = match verify.method.as_str() {
        "null" | "pattern" => 0.0,
        "xxhash" => 3.0,
        method if method.starts_with("sha3") => 50.0,
        method if method.starts_with("md5") || method.starts_with("sha") || method.starts_with("crc32") => {
            if method.starts_with("crc32c") {
                1.0
            } else {
                8.0
            }
        }
        _ => 1.0,
    };
    times * parameters[Scalar::CheckedByte]
}

#[cfg(test)]
mod tests {
    use fathom_program::job::{Blocks, DIRECTIONS, Depth};

    use super::super::predict;
    use super::super::tests::{QUICK, job, silent};
    use super::*;

    #[test]
    fn the_first_reads_of_fio_land_in_buffers_that_nothing_was_in() {
        let mut model = silent();
        let mut took = |by, ns: f64, change: &dyn Fn(&mut Job)| {
            model.parameters.choices.runner = by;
            model.parameters.put_value(Scalar::FreshByte, ns);
            let depth = Depth { most: 8, ..Depth::default() };
            let mut one = Job { direct: true, engine: Engine::Libaio, depth, ..job("one") };
            change(&mut one);
            predict(&[one], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
        };
        let mut longer = |by, change: &dyn Fn(&mut Job)| took(by, 10.0, change) - took(by, 0.0, change);
        // Eight buffers of 4 KiB, by a thread that the device waits for meanwhile.
        let queued = longer(Runner::Fio, &|_| ());
        assert!((200_000.0..340_000.0).contains(&queued), "{queued}");
        let one = longer(Runner::Fio, &|job| job.engine = Engine::Psync);
        assert!((40_000.0..42_000.0).contains(&one), "{one}");
        assert_eq!(longer(Runner::Fathom, &|_| ()), 0.0, "it has touched them before");
        assert_eq!(longer(Runner::Fio, &|job| job.read_percent = 0), 0.0, "they are filled before");
        assert_eq!(longer(Runner::Fio, &|job| job.buffers.memory = Some("mmaphuge".to_owned())), 0.0);
    }

    #[test]
    fn cached_reads_into_fios_buffers_are_slower_where_the_cpus_caches_have_no_room_for_them() {
        let mut model = silent();
        model.set("near_cache=512K").unwrap();
        let mut took = |by, byte: f64, change: &dyn Fn(&mut Job)| {
            model.parameters.choices.runner = by;
            model.parameters.put_value(Scalar::FioFarBuffer, byte);
            let mut one =
                Job { blocks: [Blocks::fixed(512 << 10); DIRECTIONS], pre_read: true, ..job("one") };
            (one.invalidate, one.size) = (false, Some(8 << 20));
            change(&mut one);
            predict(&[one], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
        };
        let mut longer = |by, change: &dyn Fn(&mut Job)| took(by, 0.5, change) - took(by, 0.0, change);
        let all = (4 << 20) as f64;
        assert!((longer(Runner::Fio, &|_| ()) / all - 1.0).abs() < 1e-3);
        let small = |job: &mut Job| job.blocks = [Blocks::fixed(128 << 10); DIRECTIONS];
        assert_eq!(longer(Runner::Fio, &small), 0.0);
        let deep = |job: &mut Job| (job.engine, job.depth.most) = (Engine::Libaio, 4);
        assert!(longer(Runner::Fio, &|job| [small, deep].iter().for_each(|change| change(job))) > 0.9 * all);
        assert_eq!(longer(Runner::Fathom, &|_| ()), 0.0, "its buffers begin with a page");
        let others: [&dyn Fn(&mut Job); 4] = [
            &|job| job.direct = true,
            &|job| job.buffers.align = 4096,
            &|job| job.engine = Engine::Mmap,
            &|job| job.read_percent = 0,
        ];
        assert!(others.iter().all(|change| longer(Runner::Fio, *change) == 0.0));
    }

    #[test]
    fn large_buffers_need_memory_that_a_host_may_have_taken() {
        let mut model = silent();
        let settings = ["runner=fio", "fresh_byte=1", "taken_byte=2"];
        settings.into_iter().for_each(|setting| model.set(setting).unwrap());
        let mut byte = |memory, kib: u64| {
            model.set(memory).unwrap();
            let mut one = Job { direct: true, engine: Engine::Libaio, ..job("one") };
            (one.depth.most, one.blocks) = (16, [Blocks::fixed(kib << 10); DIRECTIONS]);
            fresh_byte(&one, &model.parameters)
        };
        assert_eq!([byte("free_memory=there", 128), byte("free_memory=taken", 128)], [1.0, 3.0]);
        assert_eq!(byte("free_memory=taken", 64), 1.0);
    }
}
