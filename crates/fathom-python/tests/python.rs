//! The Python package as cargo has built it: its documentation and its tests, run by the Python that is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_scripted::support::{TestDirectory, require};

/// The library, which cargo builds for the tests of this crate next to them.
fn library() -> PathBuf {
    let built = std::env::current_exe().unwrap().parent().unwrap().join("libfathomfs_native.so");
    assert!(built.exists(), "{} is missing", built.display());
    built
}

fn python() -> String {
    std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Whether Python says so.
fn holds(code: &str) -> bool {
    Command::new(python()).args(["-c", code]).output().is_ok_and(|done| done.status.success())
}

/// Runs tests of a file below `tests`, or all of them, on the package; it is skipped where Python lacks some modules, or the
/// machine a program.
fn run(test: &str, file: &str, classes: &[&str], needed: &str, program: Option<&str>) {
    let has_program = program.is_none_or(|name| Command::new(name).arg("--version").output().is_ok());
    let modules = if needed.is_empty() { String::new() } else { format!("import {needed}") };
    let code = format!("import sys; assert sys.version_info >= (3, 10)\n{modules}");
    let reason = format!("no Python 3.10 with {needed} and {}", program.unwrap_or("nothing else"));
    if !require(test, has_program && holds(&code), &reason) {
        return;
    }
    let (place, own) = (TestDirectory::new(test), Path::new(env!("CARGO_MANIFEST_DIR")));
    let package = place.join("fathomfs");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(own.join("python/fathomfs")).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    std::os::unix::fs::symlink(library(), package.join("_native.abi3.so")).unwrap();
    let done = Command::new(python())
        .arg(own.join("tests").join(file))
        .args(classes)
        .env("PYTHONPATH", place.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_package_does_what_its_documentation_and_its_tests_say() {
    run("the_package_does_what_its_documentation_and_its_tests_say", "test_fathomfs.py", &[], "", None);
}

#[test]
fn a_killed_process_costs_a_sweep_its_own_cell() {
    run("a_killed_process_costs_a_sweep_its_own_cell", "test_engines.py", &["Processes"], "", None);
}

#[test]
fn sweeps_run_on_dask() {
    run("sweeps_run_on_dask", "test_engines.py", &["Dask"], "distributed", None);
}

#[test]
fn sweeps_run_on_mpi() {
    run("sweeps_run_on_mpi", "test_engines.py", &["Mpi"], "mpi4py", Some("mpirun"));
}

#[test]
fn caches_of_other_policies_are_simulated() {
    run("caches_of_other_policies_are_simulated", "test_engines.py", &["Policies"], "libcachesim", None);
}

#[test]
fn notebooks_run_from_their_first_cell_to_the_last() {
    let test = "notebooks_run_from_their_first_cell_to_the_last";
    run(test, "test_notebooks.py", &[], "nbclient, ipykernel", None);
}

#[test]
fn jobs_run_on_the_ranks_of_mpi_together() {
    run("jobs_run_on_the_ranks_of_mpi_together", "test_engines.py", &["Clients"], "mpi4py", Some("mpirun"));
}
