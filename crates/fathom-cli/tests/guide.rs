//! Every example of the guide and of README is run, in the order of its page, in an empty directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory of its own for one page, removed at its end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The commands of a page, each with the lines that it must print. Those of blocks that say `all` are for where everything is
/// required; in those that say `prints` the lines stand below the command.
fn examples<'a>(page: &str, text: &'a str) -> Vec<(&'a str, Vec<&'a str>)> {
    let all = fathom_scripted::support::is_everything_required();
    let (mut block, mut found) = (None, Vec::<(&str, Vec<&str>)>::new());
    for line in text.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(kind), None) => block = Some(kind),
            (Some(_), Some(_)) => block = None,
            (None, Some(kind)) => match line.strip_prefix("$ ") {
                Some(example) if all || kind != "console all" => found.push((example, Vec::new())),
                Some(example) => say(&format!("skipped: {page}: {example}: it takes minutes, or strace\n")),
                None if kind == "console prints" => found.last_mut().unwrap().1.push(line),
                // What a command prints, a file, or code, which is run elsewhere.
                None => assert!(!kind.is_empty() || !line.starts_with("fathom "), "{page}: not run: {line}"),
            },
            (None, None) => {}
        }
    }
    found
}

/// What a line says, but for its figures.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().filter(|word| !word.contains(|letter: char| letter.is_ascii_digit())).collect()
}

/// Past the harness, which swallows what a passing test prints.
fn say(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// Runs the examples of a page in a directory of its own.
fn run(page: &str) {
    let name = format!("fathom-guide-{}-{}", std::process::id(), page.replace('/', "_"));
    let place = Place(std::env::temp_dir().join(name));
    fs::create_dir_all(&place.0).unwrap();
    run_in(&place, page);
}

/// Runs the examples of a page. A model that is there is not made again.
fn run_in(place: &Place, page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let text = fs::read_to_string(root.join(page)).unwrap();
    let examples = examples(page, &text);
    assert!(!examples.is_empty(), "{page} has no example");
    let binaries = Path::new(env!("CARGO_BIN_EXE_fathom")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let has_model = place.0.join("MODEL.json").exists();
    for (example, lines) in examples {
        if has_model && example.starts_with("fathom calibrate") {
            continue;
        }
        let done = Command::new("sh")
            .args(["-c", example])
            .current_dir(&place.0)
            .env("PATH", &path)
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let code = done.status.code();
        // 3: done, and something that was asked for has no answer on this machine.
        assert!(
            matches!(code, Some(0 | 3)),
            "{page}: {example}: {code:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        let printed = String::from_utf8_lossy(&done.stdout);
        for line in lines {
            let is_printed = printed.lines().any(|one| words(one) == words(line));
            assert!(is_printed, "{page}: {example}: {line}: {printed}");
        }
    }
}

#[test]
fn reading_a_finding() {
    run("reading-a-finding.md");
}

#[test]
fn repeating_the_papers() {
    run("repeating-the-papers.md");
}

#[test]
fn measuring() {
    run("measuring.md");
}

#[test]
fn comparing() {
    run("comparing.md");
}

#[test]
fn predicting_a_job_and_readme() {
    let place = Place(std::env::temp_dir().join(format!("fathom-guide-{}-model", std::process::id())));
    fs::create_dir_all(&place.0).unwrap();
    run_in(&place, "predicting-a-job.md");
    run_in(&place, "../../README.md");
}

#[test]
fn sweeping() {
    run("sweeping.md");
}

#[test]
fn many_clients() {
    run("many-clients.md");
}

#[test]
fn reading_a_trace() {
    run("reading-a-trace.md");
}

#[test]
fn writing_a_net() {
    run("writing-a-net.md");
}

#[test]
fn adding_an_experiment() {
    run("adding-an-experiment.md");
}

#[test]
fn every_page_is_in_the_index_and_is_run_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let index = fs::read_to_string(root.join("README.md")).unwrap();
    let own = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guide.rs")).unwrap();
    for entry in fs::read_dir(root).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name != "README.md" {
            assert!(index.contains(&format!("]({name})")), "{name} is not in the index");
            assert!(own.contains(&format!("\"{name}\")")), "{name} is not run");
        }
    }
}
