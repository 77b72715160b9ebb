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

/// A Python that the package is for, where there is one.
fn python() -> Option<String> {
    let named = std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let is_new =
        Command::new(&named).args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status();
    is_new.is_ok_and(|status| status.success()).then_some(named)
}

#[test]
fn the_package_does_what_its_documentation_and_its_tests_say() {
    let python = python();
    if !require(
        "the_package_does_what_its_documentation_and_its_tests_say",
        python.is_some(),
        "no Python 3.10",
    ) {
        return;
    }
    let (place, own) = (TestDirectory::new("python"), Path::new(env!("CARGO_MANIFEST_DIR")));
    let package = place.join("fathomfs");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(own.join("python/fathomfs")).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    std::os::unix::fs::symlink(library(), package.join("_native.abi3.so")).unwrap();
    let done = Command::new(python.unwrap())
        .arg(own.join("tests/test_fathomfs.py"))
        .env("PYTHONPATH", place.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
