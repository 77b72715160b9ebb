//! The lab's own FUSE file system, which is slow and broken as planned.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_fuse::{Plan, Served};
use fathom_sys::process::Helper;

use fathom_run::fault::plain;

use super::unbuilt::{PATIENCE, Unbuilt};

/// The process that serves FUSE file systems for the lab.
///
/// A process that waits in the kernel for itself can't be killed, so that the one that surveys can't
/// be the one that serves. It is made while there is one thread, and is told later what to mount.
#[derive(Debug)]
pub(super) struct Host {
    line: UnixStream,
    _helper: Helper,
}

const DONE: &str = "mounted";

impl Host {
    /// Starts the process, which ends with this one.
    pub(super) fn start() -> Result<Self, String> {
        let failed = |error: io::Error| format!("talk to a helper: {}", plain(&error));
        let (line, other) = UnixStream::pair().map_err(failed)?;
        line.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let helper =
            Helper::start(|| u8::from(listen(&other).is_err())).map_err(|error| error.to_string())?;
        Ok(Self { line, _helper: helper })
    }

    /// Mounts a new file system at `point`; `options` are the words of a [`Plan`]. It is served until
    /// somebody unmounts it.
    pub(super) fn mount(&self, point: &Path, options: &str) -> Result<(), Unbuilt> {
        options.parse::<Plan>().map_err(Unbuilt::Failed)?;
        if !Path::new("/dev/fuse").exists() {
            return Err(Unbuilt::Skipped("there is no /dev/fuse: load the module 'fuse'".to_owned()));
        }
        let mut answer = String::new();
        let sent = writeln!(&self.line, "{}\t{options}", point.display())
            .and_then(|()| BufReader::new(&self.line).read_line(&mut answer));
        match (sent, answer.trim_end()) {
            (Ok(_), DONE) => Ok(()),
            (Ok(_), why) => Err(Unbuilt::Unsupported(why.to_owned())),
            (Err(error), _) => Err(Unbuilt::Failed(complaint(point, &error))),
        }
    }
}

/// Mounts what each line asks for, and answers by a line.
fn listen(line: &UnixStream) -> io::Result<()> {
    let mut served: Vec<Served> = Vec::new();
    for request in BufReader::new(line).lines() {
        let request = request?;
        served.retain(|one| !one.has_ended());
        let (point, options) = request.split_once('\t').unwrap_or((&request, ""));
        let point = Path::new(point);
        let mounted = options.parse().map_err(io::Error::other);
        let answer = match mounted.and_then(|plan| fathom_fuse::mount(point, plan)) {
            Ok(one) => {
                served.push(one);
                DONE.to_owned()
            }
            Err(error) => complaint(point, &error),
        };
        writeln!(&*line, "{answer}")?;
    }
    Ok(())
}

/// Serves a new file system at `point` until it is unmounted or `interrupt` is set, and unmounts it.
///
/// `options` are the words of a [`Plan`].
///
/// # Errors
/// One sentence: wrong options, no FUSE, no privilege.
pub fn serve(point: &Path, options: &str, interrupt: &AtomicBool) -> Result<(), String> {
    let served = fathom_fuse::mount(point, options.parse()?).map_err(|error| complaint(point, &error))?;
    while !served.has_ended() && !interrupt.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn complaint(point: &Path, error: &io::Error) -> String {
    format!("mount FUSE at {}: {}", point.display(), plain(error))
}
