//! Calibrates a model on the mount of a directory, and predicts the jobs of a fio job file on it.
use std::io::Write;
use std::{env, error, io, path::Path, time::Duration};

use fathom::prediction::Settings;
use fathom::replay::How;
use fathom::session::{Budget, Session, Work, predict};

fn main() -> Result<(), Box<dyn error::Error>> {
    let [directory, jobs] = [1, 2].map(|at| env::args().nth(at).expect("a directory and a job file"));
    let budget = Budget { max_write: 4 << 30, max_time: Duration::from_secs(240) };
    let (model, _stages) = Session::at(Path::new(&directory), budget)?.calibrate()?;
    let (predicted, _) =
        predict(&Work::read(Path::new(&jobs))?, How::default(), &model, Settings::default())?;
    io::stdout().write_all(fathom::report::prediction(&predicted).as_bytes())?;
    Ok(())
}
