#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;
use crate::file::Access;

const BLOCK: usize = 4096;

/// Every way to carry requests that needs no special device, with its name.
fn engines() -> Vec<(&'static str, Setup)> {
    let plain = UringOptions::default();
    let fixed = UringOptions { fixed_buffers: true, registered_files: true, ..plain };
    let threaded = UringOptions { submission_thread: true, ..plain };
    let of = |engine| Setup::new(engine, 8, BLOCK);
    vec![
        ("libaio", of(Engine::Libaio)),
        ("libaio, vectored", Setup { vectored: true, ..of(Engine::Libaio) }),
        ("io_uring", of(Engine::IoUring(plain))),
        ("io_uring, vectored", Setup { vectored: true, ..of(Engine::IoUring(plain)) }),
        ("io_uring, fixed", of(Engine::IoUring(fixed))),
        ("threads", of(Engine::Threads)),
        ("the C library", of(Engine::Posix)),
        ("io_uring, thread", of(Engine::IoUring(threaded))),
    ]
}

/// A queue, or nothing where this kernel or container forbids it, which is said by name.
fn queue(name: &str, setup: &Setup, files: Vec<OwnedFd>) -> Option<Queue> {
    let buffers = Mapping::touched((setup.depth as usize * setup.slot_bytes).max(1)).unwrap();
    match Queue::new(setup, buffers, files) {
        Ok(queue) => Some(queue),
        Err(refusal) if matches!(refusal.errno, Some(Errno::NOSYS | Errno::PERM | Errno::AGAIN)) => {
            eprintln!("skipped: {name}: {refusal}");
            None
        }
        Err(refusal) => panic!("{name}: {refusal}"),
    }
}

/// A nameless file in a directory.
fn scratch(directory: &Path) -> File {
    let path = directory.join(format!("fathom-queue-{:?}", std::thread::current().id()));
    let path = PathBuf::from(format!("{}-{}", path.display(), std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

/// A directory on tmpfs, and one where other temporary files are.
fn directories() -> [PathBuf; 2] {
    ["/dev/shm".into(), std::env::temp_dir()]
}

/// Submits what is prepared and gives every result, sorted by slot.
fn finish(queue: &mut Queue) -> Vec<(u32, Result<u32>)> {
    let mut results = Vec::new();
    while queue.prepared + queue.in_flight > 0 {
        queue.submit().unwrap();
        queue.wait(1, u32::MAX, None).unwrap();
        results.extend(std::iter::from_fn(|| queue.pop()).map(|done| (done.slot, done.result)));
    }
    results.sort_by_key(|result| result.0);
    results
}

/// The same request for slots 0 to 7, block after block.
fn each_slot(queue: &mut Queue, operation: Operation) -> Vec<(u32, Result<u32>)> {
    for slot in 0..8 {
        queue.prepare(slot, operation, 0, u64::from(slot) * BLOCK as u64, BLOCK as u32, Treatment::default());
    }
    finish(queue)
}

#[test]
fn what_is_written_is_in_the_file_and_is_read_again() {
    let all: Vec<_> = (0..8).map(|slot| (slot, Ok(BLOCK as u32))).collect();
    for directory in directories() {
        for (name, setup) in engines() {
            let file = scratch(&directory);
            let Some(mut queue) = queue(name, &setup, vec![file.try_clone().unwrap().into()]) else {
                continue;
            };
            (0..8).for_each(|slot| queue.buffer(slot).fill(slot as u8 + 1));
            assert_eq!(each_slot(&mut queue, Operation::Write), all, "{name}");
            queue.prepare(3, Operation::Fsync, 0, 0, 0, Treatment::default());
            queue.prepare(4, Operation::Fdatasync, 0, 0, 0, Treatment::default());
            assert_eq!(finish(&mut queue), [(3, Ok(0)), (4, Ok(0))], "{name}");
            let mut block = [0; BLOCK];
            for slot in 0..8 {
                file.read_exact_at(&mut block, slot * BLOCK as u64).unwrap();
                assert_eq!(block, [slot as u8 + 1; BLOCK], "{name}");
                queue.buffer(slot as u32).fill(0);
            }
            assert_eq!(each_slot(&mut queue, Operation::Read), all, "{name}");
            for slot in 0..8 {
                assert_eq!(queue.buffer(slot), [slot as u8 + 1; BLOCK], "{name}");
            }
        }
    }
}

#[test]
fn a_read_at_the_end_is_short_and_behind_it_empty() {
    for (name, setup) in engines() {
        let file = scratch(&std::env::temp_dir());
        file.write_all_at(&[9; 100], 0).unwrap();
        let Some(mut queue) = queue(name, &setup, vec![file.into()]) else { continue };
        queue.prepare(0, Operation::Read, 0, 95, 20, Treatment::default());
        queue.prepare(1, Operation::Read, 0, 100, 20, Treatment::default());
        queue.prepare(7, Operation::Read, 0, 0, 20, Treatment::default());
        assert_eq!(finish(&mut queue), [(0, Ok(5)), (1, Ok(0)), (7, Ok(20))], "{name}");
        assert_eq!(queue.buffer(0)[..5], [9; 5], "{name}");
    }
}

#[test]
fn one_request_fails_and_the_others_do_not() {
    let path = std::env::temp_dir().join(format!("fathom-queue-read-only-{}", std::process::id()));
    std::fs::write(&path, [5; BLOCK]).unwrap();
    for (name, setup) in engines() {
        let Some(mut queue) = queue(name, &setup, vec![File::open(&path).unwrap().into()]) else { continue };
        for (slot, operation) in [Operation::Read, Operation::Write, Operation::Read].into_iter().enumerate()
        {
            queue.prepare(slot as u32, operation, 0, 0, 10, Treatment::default());
        }
        assert_eq!(finish(&mut queue), [(0, Ok(10)), (1, Err(Errno::BADF)), (2, Ok(10))], "{name}");
        queue.prepare(5, Operation::Nop, 0, 0, 0, Treatment::default());
        let knows_none = matches!(setup.engine, Engine::Libaio | Engine::Posix);
        let nothing = if knows_none { Err(Errno::INVAL) } else { Ok(0) };
        assert_eq!(finish(&mut queue), [(5, nothing)], "{name}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn direct_requests_want_alignment() {
    let path = std::env::temp_dir().join(format!("fathom-queue-direct-{}", std::process::id()));
    std::fs::write(&path, [7; 8 * BLOCK]).unwrap();
    for (name, setup) in engines() {
        let Ok(file) = crate::file::open_for(&path, Access::DIRECT) else {
            eprintln!("skipped: direct_requests_want_alignment: no O_DIRECT in {}", path.display());
            break;
        };
        let Some(mut queue) = queue(name, &setup, vec![file]) else { continue };
        assert!(each_slot(&mut queue, Operation::Write).iter().all(|done| done.1 == Ok(4096)), "{name}");
        assert!(each_slot(&mut queue, Operation::Read).iter().all(|done| done.1 == Ok(4096)), "{name}");
        queue.prepare(0, Operation::Read, 0, 1, 100, Treatment::default());
        assert_eq!(finish(&mut queue), [(0, Err(Errno::INVAL))], "{name}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_full_file_system_is_told_by_each_write() {
    // A mount name space belongs to a thread; what is mounted in it goes with it.
    let outcome = std::thread::spawn(|| {
        let target = std::env::temp_dir().join(format!("fathom-queue-full-{}", std::process::id()));
        std::fs::create_dir(&target).unwrap();
        let mounted = crate::mount::enter_private_namespace()
            .and_then(|()| crate::mount::mount("fathom-test", &target, "tmpfs", "size=16k"));
        if let Err(error) = mounted {
            eprintln!("skipped: a_full_file_system_is_told_by_each_write: {error}");
            std::fs::remove_dir(target).unwrap();
            return;
        }
        for (name, setup) in engines() {
            let file = scratch(&target);
            let Some(mut queue) = queue(name, &setup, vec![file.into()]) else { continue };
            let results = each_slot(&mut queue, Operation::Write);
            assert_eq!(results.iter().filter(|done| done.1 == Ok(4096)).count(), 4, "{name}: {results:?}");
            assert_eq!(results.iter().filter(|done| done.1 == Err(Errno::NOSPC)).count(), 4, "{name}");
        }
        crate::mount::detach(&target).unwrap();
        std::fs::remove_dir(target).unwrap();
    });
    outcome.join().unwrap();
}

#[test]
fn an_impossible_queue_is_refused_in_one_line() {
    let line = |setup: &Setup, bytes| {
        let refused = Queue::new(setup, Mapping::fresh(bytes).unwrap(), Vec::new());
        refused.err().expect("an impossible queue").to_string()
    };
    let uring = Engine::IoUring(UringOptions::default());
    let fixed = Engine::IoUring(UringOptions { fixed_buffers: true, ..UringOptions::default() });
    assert_eq!(
        line(&Setup::new(uring, 40_000, 1), 1),
        "an io_uring holds at most 32768 requests, not 40000; set iodepth to 32768 or less"
    );
    assert!(line(&Setup::new(fixed, 20_000, 1), 1).contains("at most 16384 requests"));
    assert!(line(&Setup::new(uring, 0, 1), 1).contains("set iodepth to 1 or more"));
    assert!(line(&Setup::new(Engine::Libaio, 4, 4096), 8192).contains("do not fit"));
    // More than any kernel takes: its limit is 2^28 bytes of events.
    let refused = line(&Setup::new(Engine::Libaio, 0x0F00_0000, 0), 1);
    assert!(refused.starts_with("a libaio context for 251658240 requests was refused: "), "{refused}");
    let cpu = UringOptions { submission_thread: true, thread_cpu: Some(4096), ..UringOptions::default() };
    let refused = line(&Setup::new(Engine::IoUring(cpu), 4, 0), 1);
    let has_rings = queue("sqthread_poll_cpu", &Setup::new(uring, 4, 0), Vec::new()).is_some();
    assert!(refused.contains(if has_rings { "sqthread_poll_cpu" } else { "io_uring" }), "{refused}");
    for refused in [refused, line(&Setup::new(uring, u32::MAX, usize::MAX), 1)] {
        assert!(!refused.contains('\n'));
    }
}

#[test]
fn a_container_that_forbids_the_calls_is_named() {
    let outcome = std::thread::spawn(|| {
        forbid(&[libc::SYS_io_uring_setup, libc::SYS_io_setup]).map(|()| {
            [Engine::Libaio, Engine::IoUring(UringOptions::default())].map(|engine| {
                let refused = Queue::new(&Setup::new(engine, 4, 8), Mapping::fresh(32).unwrap(), Vec::new());
                refused.err().expect("a forbidden queue").to_string()
            })
        })
    });
    match outcome.join().unwrap() {
        Ok(lines) => lines.iter().for_each(|line| {
            assert!(line.contains("Operation not permitted; "), "{line}");
            assert!(line.contains("seccomp") || line.contains("kernel.io_uring_disabled"), "{line}");
        }),
        Err(errno) => eprintln!("skipped: a_container_that_forbids_the_calls_is_named: {errno}"),
    }
}

/// Has the kernel answer some calls of this thread with EPERM, as a container's seccomp policy does.
fn forbid(calls: &[libc::c_long]) -> Result<()> {
    let of = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    // Load the call's number; for each that is forbidden, jump to the last instruction.
    let mut program = vec![of(0x20, 0, 0)];
    for (place, call) in calls.iter().enumerate() {
        program.push(of(0x15, (calls.len() - place) as u8, *call as u32));
    }
    program.push(of(0x06, 0, libc::SECCOMP_RET_ALLOW));
    program.push(of(0x06, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is live while the kernel copies it; it binds this thread alone.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(crate::error::last_errno()) }
}

/// Submits 1,000 reads of a file and goes away without taking all results, as after SIGINT.
fn interrupted(name: &str, setup: &Setup, file: OwnedFd) -> std::result::Result<(), &'static str> {
    let Some(mut queue) = queue(name, setup, vec![file]) else { return Err("refused") };
    for slot in 0..setup.depth {
        queue.prepare(
            slot,
            Operation::Read,
            0,
            u64::from(slot) * BLOCK as u64,
            BLOCK as u32,
            Treatment::default(),
        );
    }
    queue.submit().unwrap();
    queue.wait(1, 1, None).unwrap();
    queue.pop().unwrap().result.unwrap();
    Err("interrupted")
}

#[test]
fn a_queue_dropped_with_a_thousand_under_way_leaves_memory_alone() {
    let path = std::env::temp_dir().join(format!("fathom-queue-drop-{}", std::process::id()));
    std::fs::write(&path, vec![3; 1000 * BLOCK]).unwrap();
    for (name, setup) in engines() {
        let setup = Setup { depth: 1000, ..setup };
        for _ in 0..5 {
            let file =
                crate::file::open_direct(&path).or_else(|_| crate::file::open_readable(&path)).unwrap();
            assert!(interrupted(name, &setup, file).is_err());
            // Likely where the buffers were: a request that went on would write here.
            let mut after = Mapping::fresh(1000 * BLOCK).unwrap();
            after.bytes().fill(0xEE);
            std::thread::sleep(Duration::from_millis(2));
            assert!(after.bytes().iter().all(|&byte| byte == 0xEE), "{name}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn no_write_comes_after_a_queue_is_dropped() {
    let path = std::env::temp_dir().join(format!("fathom-queue-late-{}", std::process::id()));
    // libaio's submission waits for such writes.
    for (name, setup) in engines().into_iter().filter(|(_, setup)| setup.engine != Engine::Libaio) {
        let setup = Setup { depth: 100, ..setup };
        for _ in 0..5 {
            std::fs::write(&path, []).unwrap();
            // Direct writes that lengthen the file take their turns, so that many are left when the first is done.
            let file =
                crate::file::open_for(&path, Access::DIRECT).or_else(|_| crate::file::open(&path)).unwrap();
            let Some(mut queue) = queue(name, &setup, vec![file]) else { break };
            for slot in 0..setup.depth {
                queue.prepare(
                    slot,
                    Operation::Write,
                    0,
                    u64::from(slot) * BLOCK as u64,
                    BLOCK as u32,
                    Treatment::default(),
                );
            }
            queue.submit().unwrap();
            queue.wait(1, 1, None).unwrap();
            drop(queue);
            let length = std::fs::metadata(&path).unwrap().len();
            std::thread::sleep(Duration::from_millis(10));
            assert_eq!(std::fs::metadata(&path).unwrap().len(), length, "{name}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_panic_in_the_midst_waits_as_well() {
    for (name, setup) in engines() {
        let file = scratch(&std::env::temp_dir());
        let Some(mut queue) = queue(name, &setup, vec![file.try_clone().unwrap().into()]) else { continue };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            queue.prepare(0, Operation::Write, 0, 0, 10, Treatment::default());
            queue.submit().unwrap();
            queue.buffer(0)[0] = 1;
        }));
        assert!(panicked.is_err(), "{name}: the buffer of a busy slot was given out");
        // Cancelled or done, and not under way any more.
        let length = file.metadata().unwrap().len();
        assert!([0, 10].contains(&length), "{name}: {length}");
    }
}

#[test]
fn what_was_not_submitted_is_not_done() {
    for (name, setup) in engines() {
        let file = scratch(&std::env::temp_dir());
        let Some(mut queue) = queue(name, &setup, vec![file.try_clone().unwrap().into()]) else { continue };
        queue.prepare(0, Operation::Write, 0, 0, 10, Treatment::default());
        assert_eq!((queue.file_of.len(), queue.prepared, queue.in_flight), (8, 1, 0));
        assert_eq!((queue.wait(1, 1, None), queue.pop()), (Ok(0), None));
        drop(queue);
        assert_eq!(file.metadata().unwrap().len(), 0, "{name}");
    }
}

/// An io_uring with a read of an empty pipe under way in each of 1,000 slots.
fn waiting(setup: &Setup) -> Option<(Queue, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut queue = queue("io_uring on a pipe", &Setup { depth: 1000, ..*setup }, vec![read])?;
    (0..1000).for_each(|slot| queue.prepare(slot, Operation::Read, 0, u64::MAX, 1, Treatment::default()));
    assert_eq!(queue.submit(), Ok(1000));
    Some((queue, write))
}

#[test]
fn what_would_never_end_is_cancelled() {
    // The others read at an offset, which a pipe does not have.
    for (name, setup) in engines().into_iter().filter(|(_, setup)| matches!(setup.engine, Engine::IoUring(_)))
    {
        let Some((mut queue, write)) = waiting(&setup) else { continue };
        let begun = Instant::now();
        assert_eq!(queue.wait(1, 1, Some(Duration::from_millis(30))), Ok(0), "{name}");
        assert!(begun.elapsed() >= Duration::from_millis(30), "{name}");
        assert_eq!((queue.wait(0, 1000, None), queue.in_flight), (Ok(0), 1000));
        rustix::io::write(&write, b"abc").unwrap();
        assert_eq!(queue.wait(3, 3, None), Ok(3), "{name}");
        (0..3).for_each(|_| assert_eq!(queue.pop().unwrap().result, Ok(1)));
        queue.cancel();
        let results = finish(&mut queue);
        assert_eq!(results.len(), 997, "{name}");
        assert!(results.iter().all(|done| done.1 == Err(Errno::CANCELED)), "{name}");
        // Dropping cancels too: no reader is left that would take the data.
        let Some((queue, write)) = waiting(&setup) else { continue };
        let read = queue.file(0).try_clone_to_owned().unwrap();
        drop(queue);
        let mut after = Mapping::fresh(1000 * BLOCK).unwrap();
        after.bytes().fill(0xEE);
        rustix::io::write(&write, &[1; 1000]).unwrap();
        assert_eq!(rustix::io::read(&read, &mut [0; 1000]), Ok(1000), "{name}");
        assert!(after.bytes().iter().all(|&byte| byte == 0xEE), "{name}");
    }
}

#[test]
fn another_file_takes_a_files_place() {
    for (name, setup) in engines() {
        let files = [1, 2].map(|byte| {
            let file = scratch(&std::env::temp_dir());
            file.write_all_at(&[byte], 0).unwrap();
            file
        });
        let [first, second] = files;
        let Some(mut queue) = queue(name, &setup, vec![first.into()]) else { continue };
        for expected in [1, 2] {
            queue.prepare(0, Operation::Read, 0, 0, 1, Treatment::default());
            assert_eq!(finish(&mut queue), [(0, Ok(1))]);
            assert_eq!(queue.buffer(0)[0], expected, "{name}");
            drop(queue.replace_file(0, second.try_clone().unwrap().into()).unwrap());
        }
        assert_eq!(crate::file::status(queue.file(0)), Ok(1));
    }
}

#[test]
fn polled_completions_are_refused_by_request_or_come() {
    let options = UringOptions { poll: true, ..UringOptions::default() };
    let file = scratch(&std::env::temp_dir());
    file.write_all_at(&[1; BLOCK], 0).unwrap();
    let setup = Setup::new(Engine::IoUring(options), 4, BLOCK);
    let Some(mut queue) = queue("io_uring, hipri", &setup, vec![file.into()]) else { return };
    queue.prepare(0, Operation::Read, 0, 0, BLOCK as u32, Treatment::default());
    // The file is not open for O_DIRECT.
    assert_eq!(finish(&mut queue), [(0, Err(Errno::OPNOTSUPP))]);
}

#[test]
fn results_beyond_the_maximum_stay_for_the_next_wait() {
    for (name, setup) in engines() {
        let file = scratch(&std::env::temp_dir());
        file.write_all_at(&[1; 8], 0).unwrap();
        let Some(mut queue) = queue(name, &setup, vec![file.into()]) else { continue };
        // Round and round: heads, tails and places wrap.
        for _ in 0..500 {
            (0..8).for_each(|slot| {
                queue.prepare(slot, Operation::Read, 0, slot.into(), 1, Treatment::default())
            });
            assert_eq!(queue.submit(), Ok(8), "{name}");
            assert_eq!(queue.wait(3, 2, None), Ok(3), "{name}");
            (0..3).for_each(|_| assert_eq!(queue.pop().unwrap().result, Ok(1)));
            assert_eq!(queue.wait(100, 100, None), Ok(5), "{name}");
            (0..5).for_each(|_| assert_eq!(queue.pop().unwrap().result, Ok(1)));
            assert_eq!((queue.pop(), queue.in_flight), (None, 0), "{name}");
        }
    }
}
