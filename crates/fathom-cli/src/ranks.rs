//! Commands that MPI has started several times: its ranks run one job together, by the Python package, which speaks to MPI.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// Where Open MPI says how many ranks there are, and MPICH and those like it.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
/// Says so on the first rank where the package is missing.
const RUN: &str = "
import os, runpy, sys
try:
    import fathomfs
except ImportError:
    rank = os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ.get('PMI_RANK')
    if rank == '0':
        print('fathom: ranks of MPI run together by the Python package: install fathomfs and mpi4py for', sys.executable, file=sys.stderr)
    sys.exit(2)
runpy.run_module('fathomfs.mpi', run_name='__main__', alter_sys=True)
";

/// Goes on as a rank, if `run` or `survey` was started as one of several. It returns where that is not so, and where Python is missing.
pub(crate) fn join() -> Result<(), Failure> {
    let mut words = env::args_os().skip(1).peekable();
    let is_of_all = words.peek().is_some_and(|word| word == "run" || word == "survey");
    let ranks = SIZES.into_iter().filter_map(|name| env::var(name).ok()?.parse::<u32>().ok()).max();
    if !is_of_all || ranks.is_none_or(|ranks| ranks < 2) {
        return Ok(());
    }
    let python = python();
    let error = Command::new(&python).arg("-c").arg(RUN).args(words).exec();
    Err(Failure::Failed(format!("ranks of MPI run together by Python: {}: {error}", python.display())))
}

/// The Python that the package was installed for, where this program came with it.
fn python() -> PathBuf {
    let installed = env::current_exe().map(|own| own.with_file_name("python3"));
    installed.ok().filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("python3"))
}
