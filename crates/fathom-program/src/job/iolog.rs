//! Logs of transfers as fio writes them with `write_iolog`, versions 2 and 3, to be replayed by `read_iolog`.

use std::sync::Arc;
use std::time::Duration;

use super::{Blocks, Course, Direction, Files, Job, Order, Pattern, Rates, Region, Replay};

/// A log that a job replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoLog {
    /// The paths of its files, in the order in which they were added.
    pub files: Vec<String>,
    /// What was done, in order.
    pub entries: Vec<LogEntry>,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// What was done.
    pub action: LogAction,
    /// The place of its file.
    pub file: usize,
    /// At which byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// When it is done: so long after the entry before it, or of a wait, after the beginning.
    pub delay: Duration,
}

/// What an entry of a log stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogAction {
    /// A read or a write.
    Transfer(Direction),
    /// `trim`.
    Trim,
    /// `sync`.
    Sync,
    /// `datasync`.
    Datasync,
    /// Nothing but the time before it: `open` and `close` of a file, which is open all the time here, and `wait`.
    Pause,
    /// `wait`: until so long after the beginning.
    Wait,
}

impl IoLog {
    /// Reads a log as a job replays it.
    ///
    /// # Errors
    /// One sentence on the first line that is none of a log.
    pub fn parse(text: &str, replay: &Replay) -> Result<Self, String> {
        let mut lines = (1..).zip(text.lines());
        let first = lines.next().map_or("", |(_, line)| line);
        let has_times = match first {
            line if line.starts_with("fio version 3 iolog") => true,
            line if line.starts_with("fio version 2 iolog") => false,
            _ => return Err(
                "not an iolog of fio: its first line must be 'fio version 2 iolog' or 'fio version 3 iolog'"
                    .to_owned(),
            ),
        };
        let mut log = Self { files: Vec::new(), entries: Vec::new() };
        let mut last = None;
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let said = |reason: &str| format!("line {number}: {reason}: '{line}'");
            let mut words: Vec<&str> = line.split_whitespace().collect();
            let mut delay = Duration::ZERO;
            if has_times {
                let time: u64 = words.remove(0).parse().map_err(|_| said("it begins with no time"))?;
                let before = last.replace(time).unwrap_or(time);
                delay = replay.scaled(Duration::from_micros(time.saturating_sub(before)));
            }
            log.line(&words, delay, has_times, replay).map_err(said)?;
        }
        if !log.entries.iter().any(|entry| matches!(entry.action, LogAction::Transfer(_) | LogAction::Trim)) {
            return Err("nothing is transferred in it".to_owned());
        }
        Ok(log)
    }

    fn line(
        &mut self,
        words: &[&str],
        delay: Duration,
        has_times: bool,
        replay: &Replay,
    ) -> Result<(), &'static str> {
        let path = |path: &str| replay.redirect.clone().unwrap_or_else(|| path.to_owned());
        let place = |files: &[String], name: &str| {
            let name = path(name);
            files.iter().position(|file| *file == name).ok_or("no line before it adds this file")
        };
        let number = |word: &str| word.parse::<u64>().map_err(|_| "this is no number of bytes");
        let entry = match *words {
            [name, "add"] => {
                let name = path(name);
                if !self.files.contains(&name) {
                    self.files.push(name);
                }
                return Ok(());
            }
            [name, "open" | "close"] => {
                let file = place(&self.files, name)?;
                LogEntry { action: LogAction::Pause, file, offset: 0, bytes: 0, delay }
            }
            [_, "wait", after, _] if !has_times => {
                let delay = Duration::from_millis(number(after)?);
                LogEntry { action: LogAction::Wait, file: 0, offset: 0, bytes: 0, delay }
            }
            [name, action, offset, bytes] => {
                let action = match action {
                    "read" => LogAction::Transfer(Direction::Read),
                    "write" => LogAction::Transfer(Direction::Write),
                    "trim" => LogAction::Trim,
                    "sync" => LogAction::Sync,
                    "datasync" => LogAction::Datasync,
                    _ => {
                        return Err(
                            "it is none of read, write, trim, sync, datasync, wait, add, open, close",
                        );
                    }
                };
                let (file, offset, bytes) = (place(&self.files, name)?, number(offset)?, number(bytes)?);
                if matches!(action, LogAction::Transfer(_) | LogAction::Trim) && bytes == 0 {
                    return Err("it moves no bytes");
                }
                LogEntry { action, file, offset: replay.placed(offset), bytes, delay }
            }
            _ => return Err("it is no line of a log"),
        };
        if !replay.skips(entry.action) {
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Bytes that are transferred in a direction.
    pub fn bytes(&self, direction: Direction) -> u64 {
        let of = self.entries.iter().filter(|entry| entry.action == LogAction::Transfer(direction));
        of.fold(0, |sum, entry| sum.saturating_add(entry.bytes))
    }

    /// The part of a file that is used: from its beginning to the end of the last transfer.
    pub(super) fn region(&self, file: usize) -> Region {
        let ends = self.entries.iter().filter(|entry| entry.file == file);
        let length = ends.map(|entry| entry.offset.saturating_add(entry.bytes)).max().unwrap_or(0).max(1);
        Region { offset: 0, length, file: length }
    }

    fn blocks(&self, direction: Direction) -> Blocks {
        let of = self.entries.iter().filter(|entry| entry.action == LogAction::Transfer(direction));
        Blocks { least: 1, most: of.map(|entry| entry.bytes).max().unwrap_or(1) }
    }
}

impl Replay {
    fn scaled(&self, delay: Duration) -> Duration {
        if self.no_stall { Duration::ZERO } else { delay * 100 / self.time_scale.max(1) }
    }

    fn placed(&self, offset: u64) -> u64 {
        let scaled = offset / u64::from(self.scale.max(1));
        if self.align == 0 { scaled } else { scaled / u64::from(self.align) * u64::from(self.align) }
    }

    fn skips(&self, action: LogAction) -> bool {
        let name = match action {
            LogAction::Transfer(Direction::Read) => "read",
            LogAction::Transfer(Direction::Write) => "write",
            LogAction::Trim => "trim",
            LogAction::Sync => "sync",
            LogAction::Datasync | LogAction::Pause => return false,
            LogAction::Wait => return self.no_stall,
        };
        self.skip.iter().any(|skipped| skipped == name)
    }
}

impl Job {
    /// Makes it replay a log: files, sizes, directions and the order are the log's then.
    pub(super) fn replaying(mut self, log: IoLog) -> Self {
        let trims = log.entries.iter().any(|entry| entry.action == LogAction::Trim);
        let writes = trims || log.bytes(Direction::Write) > 0;
        self.read_percent = match (log.bytes(Direction::Read) > 0, writes) {
            (true, false) => 100,
            (false, _) => 0,
            (true, true) => 50,
        };
        self.blocks = [Direction::Read, Direction::Write].map(|direction| log.blocks(direction));
        let ends = (0..log.files.len()).map(|file| log.region(file).length);
        self.size = Some(ends.fold(0, u64::saturating_add));
        (self.filesize, self.io_size, self.offset, self.time_based) = (None, None, 0, false);
        self.files = Files { paths: log.files.clone(), overwrite: true, ..Files::default() };
        (self.pattern, self.order, self.rates) = (Pattern::Sequential, Order::default(), Rates::default());
        (self.rate, self.fsync, self.fdatasync, self.durability.range) = ([0; 2], 0, 0, None);
        self.course = Course { loops: 1, number_ios: 0, ..self.course };
        self.replay.log = Some(Arc::new(log));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "fio version 3 iolog\n10 /a add\n12 /b add\n20 /a open\n30 /a read 4096 4096\n\
                       70 /b write 10000 512\n90 /b sync 0 0\n95 /b trim 0 4096\n99 /a close\n";

    #[test]
    fn a_log_is_read_as_it_is_to_be_replayed() {
        let log = IoLog::parse(LOG, &Replay::default()).unwrap();
        assert_eq!((log.files.len(), log.entries.len()), (2, 6));
        assert_eq!((log.bytes(Direction::Read), log.region(1).length), (4096, 10512));
        assert_eq!(log.entries[2].delay, Duration::from_micros(40));
        let how = Replay {
            no_stall: true,
            scale: 2,
            align: 4096,
            skip: vec!["sync".to_owned()],
            redirect: Some("/c".to_owned()),
            ..Replay::default()
        };
        let log = IoLog::parse(LOG, &how).unwrap();
        assert_eq!((log.files.as_slice(), log.entries.len()), (["/c".to_owned()].as_slice(), 5));
        assert_eq!((log.entries[2].offset, log.entries[2].delay), (4096, Duration::ZERO));
        let slow = Replay { time_scale: 50, ..Replay::default() };
        assert_eq!(IoLog::parse(LOG, &slow).unwrap().entries[2].delay, Duration::from_micros(80));
        let old = "fio version 2 iolog\n/a add\n/a wait 5 0\n/a read 0 4096\n";
        let log = IoLog::parse(old, &Replay::default()).unwrap();
        assert_eq!(
            (log.entries[0].action, log.entries[0].delay),
            (LogAction::Wait, Duration::from_millis(5))
        );
    }

    #[test]
    fn what_is_no_log_is_told_with_its_line() {
        let refused = |text: &str| IoLog::parse(text, &Replay::default()).unwrap_err();
        assert!(refused("").starts_with("not an iolog"));
        let wrong = |line: &str| refused(&format!("fio version 3 iolog\n1 /a add\n{line}\n2 /a read 0 1\n"));
        for line in ["x /a add", "2 /b read 0 1", "2 /a read x 1", "2 /a read 0 0", "2 /a jump 0 1", "2 /a"] {
            assert!(wrong(line).starts_with("line 3: ") && wrong(line).contains(line), "{}", wrong(line));
        }
        assert_eq!(refused("fio version 2 iolog\n/a add\n"), "nothing is transferred in it");
    }
}
