//! What a session and its forecasts do without a long measurement.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom::model::Model;
use fathom::prediction::Settings;
use fathom::replay::How;
use fathom::results::{self, Report, WithModel};
use fathom::session::{Budget, Error, Session, Work, predict};
use fathom_scripted::support::TestDirectory;

fn budget(max_write: u64) -> Budget {
    Budget { max_write, max_time: Duration::from_secs(60) }
}

fn jobs(place: &TestDirectory) -> PathBuf {
    let path = place.join("job.fio");
    std::fs::write(&path, "[reads]\nrw=randread\nbs=4k\nsize=1m\n").unwrap();
    path
}

/// The example's way, on the model that was never measured in place of a calibrated one.
#[test]
fn a_job_file_is_predicted_and_its_result_kept() {
    let place = TestDirectory::new("session-predicts");
    let (work, model) = (Work::read(&jobs(&place)).unwrap(), Model::assumed());
    let settings = Settings { draws: 2, seed: 7 };
    let (result, outcomes) = predict(&work, How::default(), &model, settings).unwrap();
    assert_eq!((result.jobs.len(), outcomes.len(), result.seed), (1, 1, 7));
    let predicted = WithModel { result, model };
    let folder = place.join("kept");
    results::check_free(&folder).unwrap();
    results::keep(&folder, &predicted).unwrap();
    let again = results::open(&folder).unwrap();
    let colours = fathom::report::Colours::Off;
    assert_eq!((again.name(), again.text(colours)), ("prediction", predicted.text(colours)));
}

#[test]
fn a_session_runs_jobs_within_its_budget_and_leaves_nothing() {
    let place = TestDirectory::new("session-runs");
    let Ok(Work::Jobs(file)) = Work::read(&jobs(&place)) else { panic!("these are jobs") };
    let mut session = Session::at(place.path(), budget(3 << 19)).unwrap().seed(5);
    let ran = session.run(&file.jobs).unwrap().ran;
    assert_eq!((ran.jobs[0].sides[0].calls, ran.provenance.seed), (256, 5));
    assert_eq!(ran.bytes_written, session.bytes_written());
    let again = session.run(&file.jobs).unwrap_err().to_string();
    assert!(again.starts_with("the jobs write 1 MiB, and "), "{again}");
    let calibrated = session.calibrate().unwrap_err().to_string();
    assert!(calibrated.starts_with("the jobs of a calibration write "), "{calibrated}");
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().flatten().map(|one| one.file_name()).collect();
    assert_eq!(left, ["job.fio"]);
}

#[test]
fn a_flag_ends_a_session_and_a_wrong_path_begins_none() {
    let place = TestDirectory::new("session-ends");
    let flag = Arc::new(AtomicBool::new(true));
    let mut session = Session::at(place.path(), budget(1 << 20)).unwrap().interrupted_by(flag);
    assert_eq!(session.syscalls(vec![4096], 1, &mut |_| ()).unwrap_err(), Error::Interrupted);
    let gone = Session::at(Path::new("/nowhere/at/all"), budget(0)).unwrap_err().to_string();
    assert_eq!(gone, "/nowhere/at/all: No such file or directory");
    let file = Session::at(&jobs(&place), budget(0)).unwrap_err().to_string();
    assert!(file.ends_with("not a directory; name the directory that the file is in"), "{file}");
}
