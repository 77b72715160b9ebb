//! Other engines as oracles, run as Python scripts that lie next to this file.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a script with `input` and gives its output; `None`, with the reason printed, if Python or
/// the package that it needs is not there. `FATHOM_PYTHON` names the interpreter; with
/// `FATHOM_REQUIRE=all` a missing one is a failure.
pub(crate) fn run(test: &str, package: &str, script: &str, input: &str) -> Option<String> {
    let python = std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".into());
    let import = Command::new(&python).args(["-c", &format!("import {package}")]).output();
    let missing = match import {
        Err(error) => Some(format!("`{python}` does not run: {error}")),
        Ok(output) if !output.status.success() => {
            Some(format!("`{python}` has no package `{package}`; install it with pip"))
        }
        Ok(_) => None,
    };
    if let Some(reason) = missing {
        let required = std::env::var("FATHOM_REQUIRE").is_ok_and(|required| required == "all");
        assert!(!required, "{test} is required but cannot run: {reason}");
        println!("skipped {test}: {reason}");
        return None;
    }
    let script = format!("{}/tests/oracle/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(&python)
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{test}: starting {script}: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(input.as_bytes()).expect("the script reads its input first");
    drop(stdin);
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "{test}: {script} failed");
    Some(String::from_utf8(output.stdout).expect("the script prints UTF-8"))
}
