//! Anything at all may stand in a job file: it is read or refused, never with a panic.

use fathom::job::{Job, JobFile};
use fathom::load::Needs;
use proptest::prelude::*;

use super::read;

const SEED: &str = "[global]\nioengine=psync\nsize=${HOME}\nbs=4k,8k\n[a]\nrw=randrw\nbsrange=4k-16k\n\
                    filesize=1g\noffset=25%\nsize=50%\nrate=1m,\nruntime=5s\ntime_based\n[b]\nstonewall\nsize=8*$pagesize\n";

fn is_sound(file: &JobFile) {
    assert!(!file.jobs.is_empty());
    for job in &file.jobs {
        // What nothing runs yet is only read.
        if job.unsupported().is_some() {
            return;
        }
        assert_eq!(job.check(), Ok(()), "{job:?}");
        let region = job.region().unwrap();
        assert!(region.length > 0 && region.offset + region.length <= region.file);
        assert!(job.transfer().is_ok() && job.loops().is_ok());
    }
    let _ = Needs::of(&file.jobs);
}

fn words() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "rw",
        "bs",
        "bsrange",
        "size",
        "filesize",
        "offset",
        "io_size",
        "numjobs",
        "rate",
        "runtime",
        "thinktime",
        "time_based",
        "rwmixread",
        "fsync",
        "direct",
        "ioengine",
        "filename",
        "randseed",
        "[a]",
        "[global]",
        "stonewall",
    ]);
    let values = prop_oneof![
        "[0-9]{1,20}[kmgtpib]{0,3}",
        "[0-9]{0,4}%?",
        "[0-9a-zA-Z,:*$\\-{}./ ]{0,16}",
        prop::sample::select(vec!["randrw", "psync", "mmap", "$ncpus", "4k", "1", "0", "0xffffffffffffffff"])
            .prop_map(str::to_owned),
    ];
    (keys, prop::option::of(values)).prop_map(|(key, value)| match value {
        Some(value) => format!("{key}={value}"),
        None => key.to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        if let Ok(file) = read(&text) {
            is_sound(&file);
        }
    }

    #[test]
    fn any_lines_of_options_are_read_or_refused(lines in prop::collection::vec(words(), 0..12)) {
        if let Ok(file) = read(&format!("[x]\nsize=1m\n{}\n", lines.join("\n"))) {
            is_sound(&file);
        }
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0..SEED.len(), with in any::<char>(), cut in 0..8_usize) {
        let end = (at + cut).min(SEED.len());
        let text = format!("{}{with}{}", &SEED[..at], &SEED[end..]);
        match read(&text) {
            Ok(file) => is_sound(&file),
            Err(mistake) => prop_assert!(mistake.line >= 1 && !mistake.reason.is_empty()),
        }
    }
}

#[test]
fn defaults_are_sound() {
    let jobs = vec![Job { size: Some(4096), ..Job::named("x") }];
    is_sound(&JobFile { jobs, ..JobFile::default() });
}
