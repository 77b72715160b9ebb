//! Running the binary, in places of its own and with the privileges that a test needs.

pub(crate) use fathom_scripted::support::require;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The options of a short survey: two questions, a small budget.
pub(crate) const SHORT: [&str; 6] =
    ["--only", "page_size,block_size", "--effort", "quick", "--max-write", "64MiB"];

/// The user `nobody` of every Linux.
const NOBODY: &str = "65534";

/// Where the binary keeps reports if no option names a place: not in the home directory.
pub(crate) const STATE: &str = env!("CARGO_TARGET_TMPDIR");

/// What the binary did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A new, empty directory that everybody may enter, removed at the end.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fathom-cli-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// What is in it now.
    pub(crate) fn names(&self) -> Vec<String> {
        Self::names_in(&self.0)
    }

    /// What is in any directory now.
    pub(crate) fn names_in(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Outcome {
    /// It failed with this code, one line that holds these words, and nothing on standard output.
    #[track_caller]
    pub(crate) fn complains(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.starts_with("fathom: ") && self.err.contains(words), "'{words}' in {self:?}");
        assert_eq!(self.err.matches('\n').count(), 1, "one line: {self:?}");
        assert!(self.out.is_empty(), "{self:?}");
    }

    /// It was done, with or without an answer to everything.
    #[track_caller]
    pub(crate) fn is_done(&self) {
        assert!(matches!(self.code, Some(0 | 3)), "{self:?}");
        assert!(self.out.contains("page_size"), "{self:?}");
    }
}

/// The binary, with nothing to read.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(arguments).stdin(Stdio::null()).env("XDG_STATE_HOME", STATE);
    command
}

/// Runs the binary to its end.
pub(crate) fn fathom(arguments: &[&str]) -> Outcome {
    command(arguments).output().unwrap().into()
}

/// A short survey of a directory, with more options.
pub(crate) fn survey(path: &str, more: &[&str]) -> Outcome {
    fathom(&[&["survey", path], &SHORT[..], more].concat())
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a private mount name space can be made and mounted in.
pub(crate) fn can_mount() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        is_root() && mounted("mount -t tmpfs fathom-test \"$AT\"", &["list"]).0.code == Some(0)
    })
}

/// Why [`can_mount`] says no.
pub(crate) const NO_MOUNTS: &str = "a private mount name space needs root, CAP_SYS_ADMIN and unshare";

/// Runs the binary in a mount name space of its own after `setup`, a shell script that makes `$AT` a
/// mount; `AT` among the arguments stands for it. Gives the names left in `$AT` as well.
pub(crate) fn mounted(setup: &str, arguments: &[&str]) -> (Outcome, Vec<String>) {
    let (at, notes) = (Place::new(), Place::new());
    let arguments: Vec<&str> =
        arguments.iter().map(|&word| if word == "AT" { at.text() } else { word }).collect();
    let script = format!(
        "set -e\n{setup}\ncode=0; \"$FATHOM\" \"$@\" || code=$?\nwait\nls -A \"$AT\" > \"$LEFT\"\nexit $code"
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"])
        .args(arguments)
        .envs([("FATHOM", env!("CARGO_BIN_EXE_fathom")), ("AT", at.text()), ("LEFT", &notes.join("left"))])
        .env("XDG_STATE_HOME", STATE)
        .stdin(Stdio::null())
        .output();
    let outcome = match output {
        Ok(output) => output.into(),
        Err(error) => Outcome { code: None, out: String::new(), err: error.to_string() },
    };
    let left = fs::read_to_string(notes.join("left")).unwrap_or_default();
    (outcome, left.lines().map(str::to_owned).collect())
}

/// Runs the binary without root's privileges; `None` where that can't be done.
pub(crate) fn unprivileged(arguments: &[&str]) -> Option<Outcome> {
    if !is_root() {
        return Some(fathom(arguments));
    }
    // The binary may lie in a directory that other users can't enter.
    let place = Place::new();
    let binary = place.join("fathom");
    fs::copy(env!("CARGO_BIN_EXE_fathom"), &binary).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", &binary])
        .args(arguments)
        .current_dir("/")
        .env("XDG_STATE_HOME", place.join("state"))
        .stdin(Stdio::null())
        .output();
    output.ok().map(Outcome::from)
}

/// Why [`unprivileged`] gives nothing.
pub(crate) const NO_SETPRIV: &str = "setpriv is missing: install util-linux";
