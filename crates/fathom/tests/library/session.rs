//! What a session and its forecasts do without a long measurement.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom::model::Model;
use fathom::prediction::Settings;
use fathom::replay::How;
use fathom::results::{self, Report, WithModel};
use fathom::session::{self, Budget, Error, Session, Work, predict};
use fathom::sweep::{Axis, By, Cell};
use fathom_model::parameters::Parameter;
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

#[test]
fn the_best_cell_is_that_of_the_whole_grid_with_fewer_runs() {
    const DIRECT: &str = "[a]\nrw=randread\nsize=4m\ndirect=1\nioengine=libaio\n";
    const BUFFERED: &str = "[a]\nrw=read\nsize=8m\n";
    const WRITES: &str = "[a]\nrw=randwrite\nsize=2m\nfsync=8\n";
    // Everything that is known of this machine is known to a tenth.
    let mut known = Model::assumed();
    let numbers: Vec<_> = known.parameters.iter().filter(|(_, one)| one.value > 0.0).collect();
    for (number, one) in numbers {
        let interval = Some([0.9 * one.value, 1.1 * one.value]);
        known.parameters.put(number, Parameter { interval, ..one });
    }
    for (model, text, axes, by) in [
        (&Model::assumed(), DIRECT, &["bs=4k,8k,16k,32k,64k", "iodepth=1,2,4,8,16"][..], By::Bandwidth),
        (&Model::assumed(), DIRECT, &["bs=4k,8k,16k,32k,64k", "iodepth=1,2,4,8,16"], By::P99),
        (&Model::assumed(), BUFFERED, &["readahead=0,16K,128K,512K,1M", "bs=4k,64k,256k"], By::Bandwidth),
        (&known, DIRECT, &["bs=4k,16k,64k", "iodepth=1,4,16", "block=1K,4K"], By::Iops),
        (&known, BUFFERED, &["readahead=16K,128K,1M", "bs=4k,16k,64k"], By::Mean),
        (&known, WRITES, &["bs=1k,4k,16k,64k", "fsync=0,1,16"], By::Bandwidth),
    ] {
        let axes = axes.iter().map(|typed| {
            let (name, values) = typed.split_once('=').unwrap();
            Axis::new(name, values.split(',').map(str::to_owned).collect()).unwrap()
        });
        let jobs = ("job.fio".to_owned(), text.to_owned());
        let plan = session::plan_sweep(model.clone(), jobs, axes.collect(), Settings::default()).unwrap();
        let run_on = AtomicBool::new(false);
        let cells: Vec<usize> = (0..plan.cells()).collect();
        let whole = session::sweep(&plan, &cells, None, &run_on, &|_| ()).unwrap();
        let merit = |cell: &Cell| {
            let figure = by.of(&cell.jobs).unwrap().value;
            if matches!(by, By::Bandwidth | By::Iops) { figure } else { -figure }
        };
        // Of equal ones the first, as a reader of the table would.
        let first = whole.cells.iter().reduce(|best, one| if merit(one) > merit(best) { one } else { best });
        let best = session::best(&plan, by, &run_on).unwrap();
        assert_eq!(Some(&best.best), first, "{axes:?}", axes = best.axes);
        assert_eq!(best.whole_grid, 16 * plan.cells() as u64);
        assert!(best.simulated < best.whole_grid, "{} of {}", best.simulated, best.whole_grid);
    }
}
