//! Job files: sections of options, the global ones before the jobs that they are for.

use std::fmt;

use super::option::{Draft, Known, known, set};
use super::{IoLog, Job, OnFiles, existing, paths};

/// What a job file or a command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFile {
    /// The options of the global sections, as they are written.
    pub globals: Vec<(String, String)>,
    /// The jobs, in order; there is at least one.
    pub jobs: Vec<Job>,
    /// Notes to the user, one sentence each: options that change nothing or have no effect, and where paths lead to.
    pub notes: Vec<String>,
    /// Everything as it was written, in order.
    pub sections: Vec<Section>,
}

/// One section as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The job; none for a global section.
    pub name: Option<String>,
    /// Its options, with their values where they have one.
    pub options: Vec<(String, Option<String>)>,
}

impl Section {
    /// What the job is called: `name=` holds against the section's own name. None for a global section.
    pub fn named(&self) -> Option<&str> {
        let named = self.options.iter().rfind(|(key, _)| key == "name");
        let option = named.and_then(|(_, value)| value.as_deref());
        self.name.as_deref().map(|section| option.unwrap_or(section))
    }
}

/// What a job file may refer to.
pub struct Surroundings<'a> {
    /// `$pagesize`, in bytes.
    pub page_size: u64,
    /// `$ncpus`.
    pub cpus: u64,
    /// `$mb_memory`, in MiB.
    pub memory_mib: u64,
    /// `${NAME}`: a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// `include PATH`: the text of a file.
    pub file: &'a dyn Fn(&str) -> Option<String>,
    /// The path of the job file, which included paths may be relative to.
    pub path: &'a str,
    /// Files that are there, which jobs read in place of scratch files.
    pub on_files: Option<OnFiles<'a>>,
    /// Options, with their values, that each job gets as if they stood at the end of its section.
    pub added: &'a [(String, String)],
}

/// What is wrong with a job file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// One sentence.
    pub reason: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for Mistake {}

/// Reads a job file.
///
/// # Errors
/// The first line that fio would refuse, or that asks for what is refused here.
pub fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<JobFile, Mistake> {
    let mut reader = Reader::new(surroundings);
    reader.file(text, surroundings.path, false)?;
    let line = text.lines().count().max(1);
    reader.finish().map_err(|reason| Mistake { line, reason })
}

/// Sections on their way to jobs.
pub(super) struct Reader<'a> {
    surroundings: &'a Surroundings<'a>,
    globals: Draft,
    file: JobFile,
    directories: Vec<Option<String>>,
    /// The jobs that are wanted; all of them where it is empty.
    pub(super) only: Vec<String>,
    /// Accepted options that change nothing.
    idle: Vec<&'static str>,
}

/// An option on its line.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) key: String,
    pub(super) value: Option<String>,
}

const GLOBAL: &str = "global";
/// Files within files within files: more is a mistake.
const DEEPEST: usize = 16;

impl<'a> Reader<'a> {
    pub(super) fn new(surroundings: &'a Surroundings<'a>) -> Self {
        let (globals, file) = (Draft::new(), JobFile::default());
        Self { surroundings, globals, file, directories: Vec::new(), only: Vec::new(), idle: Vec::new() }
    }

    /// Reads the sections of a file; the first job waits for all before it where `stonewall`.
    pub(super) fn file(&mut self, text: &str, path: &str, mut stonewall: bool) -> Result<(), Mistake> {
        let mut section: Option<(usize, String, Vec<Line>)> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let mistake = |reason| Mistake { line: number, reason };
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let name = section_name(rest).map_err(mistake)?;
                if !line.ends_with(']') {
                    let file = &mut self.file;
                    file.notes.push(format!("line {number}: '{line}' begins the job '{name}': fio takes all but the last character"));
                }
                if let Some((number, name, lines)) = section.replace((number, name.to_owned(), Vec::new())) {
                    self.section(&name, number, lines, &mut stonewall)?;
                }
                continue;
            }
            let Some((_, _, lines)) = &mut section else {
                return Err(mistake(format!("'{line}' stands before the first [section]")));
            };
            self.line(line, number, &[path], lines).map_err(mistake)?;
        }
        match section {
            Some((number, name, lines)) => self.section(&name, number, lines, &mut stonewall),
            None => Ok(()),
        }
    }

    /// Adds a line, or all those of a file that it includes.
    fn line(&self, line: &str, number: usize, within: &[&str], lines: &mut Vec<Line>) -> Result<(), String> {
        let Some(name) = line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace))
        else {
            let (key, value) = self.surroundings.option(line)?;
            if value.as_ref().is_some_and(String::is_empty) && line.contains("${") {
                return Err(format!("{line}: the environment has no such variable, and the value is empty"));
            }
            lines.push(Line { number, key, value });
            return Ok(());
        };
        let (name, file) = (name.trim(), within[within.len() - 1]);
        let sibling = file.rsplit_once('/').map(|(directory, _)| format!("{directory}/{name}"));
        let read = |path: String| (self.surroundings.file)(&path).map(|text| (path, text));
        let found = read(name.to_owned()).or_else(|| sibling.and_then(read));
        let (path, text) = found.ok_or_else(|| format!("include {name}: there is no such file"))?;
        if within.contains(&path.as_str()) || within.len() > DEEPEST {
            return Err(format!("include {name}: the file includes itself"));
        }
        let within: Vec<&str> = within.iter().copied().chain([path.as_str()]).collect();
        for (index, line) in text.lines().enumerate() {
            let line = without_comment(line);
            if line.starts_with('[') {
                return Err(format!("{path}, line {}: an included file has no sections", index + 1));
            }
            if !line.is_empty() {
                let inside = self.line(line, number, &within, lines);
                inside.map_err(|reason| format!("{path}, line {}: {reason}", index + 1))?;
            }
        }
        Ok(())
    }

    /// Takes a section's options, in fio's order: a few come before the others of their section, or after them.
    pub(super) fn section(
        &mut self,
        name: &str,
        line: usize,
        mut lines: Vec<Line>,
        stonewall: &mut bool,
    ) -> Result<(), Mistake> {
        let is_global = name.starts_with(GLOBAL);
        if !is_global && !self.only.is_empty() && !self.only.iter().any(|only| only == name) {
            return Ok(());
        }
        if !is_global {
            let added = self.surroundings.added.iter().cloned();
            lines.extend(added.map(|(key, value)| Line { number: line, key, value: Some(value) }));
            if std::mem::take(stonewall) {
                lines.push(Line { number: line, key: "stonewall".to_owned(), value: None });
            }
        }
        let mut draft = self.globals.clone();
        draft.lines.iter_mut().for_each(|(_, line)| *line = if is_global { *line } else { 0 });
        if !is_global {
            name.clone_into(&mut draft.job.name);
        }
        let mut sorted: Vec<&Line> = lines.iter().collect();
        sorted.sort_by_key(|line| -known(&line.key).map_or(0, |row| row.priority));
        let mut private = Vec::new();
        for Line { number, key, value } in sorted {
            let mistake = |reason| Mistake { line: *number, reason };
            let row = set(&mut draft, key, value.as_deref()).map_err(mistake)?;
            if matches!(row.meaning, super::option::Meaning::Nothing) && !self.idle.contains(&row.name()) {
                self.idle.push(row.name());
            }
            draft.lines.push((row.name(), *number));
            if row.is_private() {
                private.push((row, *number));
            }
        }
        let engine = draft.job.engine.name();
        if let Some((row, line)) = private.iter().find(|(row, _)| !row.engines.contains(&engine)) {
            let reason = format!(
                "{}: ioengine={engine} has no such option; {} has",
                row.name(),
                row.engines.join(", ")
            );
            return Err(Mistake { line: *line, reason });
        }
        let options: Vec<_> = lines.into_iter().map(|line| (line.key, line.value)).collect();
        let valued = options.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        if is_global {
            self.file.globals.extend(valued);
            self.globals = draft;
        } else {
            let job = self.job(draft, line)?;
            self.waits(&job).map_err(|reason| Mistake { line, reason: format!("[{name}]: {reason}") })?;
            self.file.jobs.push(Job { written: valued.collect(), ..job });
        }
        self.file.sections.push(Section { name: (!is_global).then(|| name.to_owned()), options });
        Ok(())
    }

    /// The job of a section that is at its end. What is wrong with it as a whole is told at the last of the lines
    /// that have to do with it, and where there is none at its name.
    fn job(&mut self, draft: Draft, line: usize) -> Result<Job, Mistake> {
        let (name, lines) = (draft.job.name.clone(), draft.lines.clone());
        self.directories.push(draft.directory.clone());
        let (job, notes) = draft.finish().map_err(|unfit| {
            let blamed = lines.iter().rfind(|(option, _)| unfit.options.contains(option));
            let line =
                blamed.map_or(line, |&(_, line)| if line == 0 { self.global_line(blamed) } else { line });
            Mistake { line, reason: format!("[{name}]: {}", unfit.reason) }
        })?;
        self.file.notes.extend(notes);
        Ok(self.with_log(job))
    }

    /// A job with the log that it replays. fio opens that only when it runs the job.
    fn with_log(&mut self, mut job: Job) -> Job {
        let Some(path) = &job.course.iologs[0] else { return job };
        let sibling =
            self.surroundings.path.rsplit_once('/').map(|(directory, _)| format!("{directory}/{path}"));
        let text = (self.surroundings.file)(path).or_else(|| (self.surroundings.file)(&sibling?));
        let log = text.ok_or_else(|| "there is no such file".to_owned());
        match log.and_then(|text| IoLog::parse(&text, &job.replay)) {
            Ok(log) => {
                self.file.notes.push(format!(
                    "read_iolog={path}: files, sizes and order are those of the log, and its files are open from the beginning"
                ));
                job.replaying(log)
            }
            Err(reason) => {
                job.replay.trouble = Some(format!("read_iolog={path}: {reason}"));
                job
            }
        }
    }

    /// Checks that a job waits for one other that stands before it.
    fn waits(&self, job: &Job) -> Result<(), String> {
        let Some(other) = &job.course.wait_for else { return Ok(()) };
        match self.file.jobs.iter().filter(|job| job.name == *other).count() {
            _ if job.name == *other => Err("a job can't wait for itself: wait_for= names another".to_owned()),
            0 => Err(format!("wait_for={other}: there is no such job before this one")),
            1 => Ok(()),
            several => Err(format!("wait_for={other}: {several} jobs have this name")),
        }
    }

    /// Where an option of the global sections stands.
    fn global_line(&self, blamed: Option<&(&'static str, usize)>) -> usize {
        let of = |(option, _): &(&'static str, usize)| {
            self.globals.lines.iter().rfind(|(name, _)| name == option).map(|&(_, line)| line)
        };
        blamed.and_then(of).unwrap_or(1)
    }

    pub(super) fn finish(mut self) -> Result<JobFile, String> {
        if self.file.jobs.is_empty() {
            return Err("there is no job: begin one with [NAME]".to_owned());
        }
        let exits = self.file.jobs.iter().any(|job| job.course.exitall);
        self.file.jobs.iter_mut().for_each(|job| job.course.exitall = exits);
        if let Some(on) = &self.surroundings.on_files {
            existing::place(&mut self.file.jobs, &self.directories, on)?;
        } else {
            self.file.notes.extend(paths::place(&mut self.file.jobs, &self.directories));
            self.file.notes.extend(super::sizes::settle(&mut self.file.jobs));
        }
        if !self.idle.is_empty() {
            let names = self.idle.join(", ");
            self.file.notes.push(format!("accepted, and changes nothing that is timed: {names}"));
        }
        let mut said = std::collections::HashSet::new();
        self.file.notes.retain(|note| said.insert(note.clone()));
        Ok(self.file)
    }
}

/// A line up to the first `;` or `#`, wherever that stands.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

/// The name in a line after its `[`. As in fio that is all but the last character, whichever that is.
fn section_name(rest: &str) -> Result<&str, String> {
    let name = rest.char_indices().next_back().map_or("", |(last, _)| &rest[..last]);
    if name.trim().is_empty() || name.contains('\0') {
        return Err(format!("'{name}' is not a name for a job: begin one with [NAME]"));
    }
    Ok(name)
}

impl Surroundings<'_> {
    /// A line's option and its value, with variables replaced; without `=` there is none.
    fn option(&self, line: &str) -> Result<(String, Option<String>), String> {
        let text = self.expand(line)?;
        Ok(match text.split_once('=') {
            Some((key, _))
                if key.ends_with(char::is_whitespace)
                    && known(key.trim_end()).is_some_and(Known::is_private) =>
            {
                return Err(format!("'{line}': fio takes no space before '=' of an engine's option"));
            }
            Some((key, value)) => (key.trim_end().to_owned(), Some(value.to_owned())),
            None => (text.trim_end().to_owned(), None),
        })
    }

    /// Replaces `${NAME}` by the environment's variable and fio's own words by numbers, and works out what such a word
    /// stands in.
    fn expand(&self, line: &str) -> Result<String, String> {
        let (mut text, mut rest) = (String::new(), line);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) =
                after.split_once('}').ok_or_else(|| format!("'{line}' has no end to its ${{"))?;
            // One that is not there is empty to fio.
            let value = (self.variable)(name).unwrap_or_default();
            text += before;
            text += &value;
            rest = after;
        }
        text += rest;
        let words = [("$pagesize", self.page_size), ("$ncpus", self.cpus), ("$mb_memory", self.memory_mib)];
        if !words.iter().any(|(word, _)| text.contains(word)) {
            return Ok(text);
        }
        for (word, number) in words {
            text = text.replace(word, &number.to_string());
        }
        // fio hands such a value to a calculator, which knows neither lists nor suffixes.
        match text.split_once('=') {
            Some((key, value)) if text.contains(['+', '-', '*', '/']) && !text.contains('\'') => {
                let result = Sum { rest: value.trim() }.whole();
                let result =
                    result.ok_or_else(|| format!("{key}: '{value}' is not a sum of whole numbers"))?;
                Ok(format!("{key}={result}"))
            }
            _ => Ok(text),
        }
    }
}

/// Whole numbers with `+ - * / %` and parentheses.
struct Sum<'a> {
    rest: &'a str,
}

impl Sum<'_> {
    fn whole(mut self) -> Option<i64> {
        let value = self.terms(0)?;
        self.rest.trim().is_empty().then_some(value)
    }

    fn take(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.rest.trim_start().chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &self.rest.trim_start()[1..];
        Some(sign)
    }

    fn terms(&mut self, depth: usize) -> Option<i64> {
        let mut value = self.factors(depth)?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.factors(depth)?;
            value = if sign == '+' { value.checked_add(other) } else { value.checked_sub(other) }?;
        }
        Some(value)
    }

    fn factors(&mut self, depth: usize) -> Option<i64> {
        let mut value = self.one(depth)?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.one(depth)?;
            value = match sign {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            }?;
        }
        Some(value)
    }

    fn one(&mut self, depth: usize) -> Option<i64> {
        if depth > DEEPEST {
            return None;
        }
        if self.take(&['-']).is_some() {
            return self.one(depth + 1)?.checked_neg();
        }
        if self.take(&['(']).is_some() {
            let value = self.terms(depth + 1)?;
            return self.take(&[')']).map(|_| value);
        }
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        self.rest = &text[end..];
        text[..end].parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::{Blocks, Engine, Pattern};

    fn read(text: &str) -> Result<JobFile, Mistake> {
        read_with(text, &[])
    }

    fn read_with(text: &str, added: &[(String, String)]) -> Result<JobFile, Mistake> {
        let variable = |name: &str| (name == "SIZE").then(|| "2m".to_owned());
        let file = |path: &str| {
            let files = [
                ("dir/one.inc", "rw=write\n# more\ninclude two.inc\n"),
                ("dir/two.inc", "bs=8k"),
                ("self.inc", "include self.inc"),
            ];
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        let (page_size, cpus, memory_mib) = (4096, 2, 1000);
        parse(
            text,
            &Surroundings {
                page_size,
                cpus,
                memory_mib,
                variable: &variable,
                file: &file,
                path: "dir/a.fio",
                on_files: None,
                added,
            },
        )
    }

    #[test]
    fn options_that_are_added_hold_for_each_job_above_its_own() {
        let added = [("bs", "64k"), ("iodepth", "4")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let text = "[global]\nioengine=libaio\nsize=1m\n[a]\nbs=8k\n[b]\niodepth=2\ndirect=1\n";
        let file = read_with(text, &added).unwrap();
        for job in &file.jobs {
            assert_eq!((job.blocks[0], job.depth.most), (Blocks::fixed(65536), 4), "{}", job.name);
        }
        let wrong = read_with(text, &[("bs".to_owned(), "x".to_owned())]).unwrap_err();
        assert!(wrong.line == 4 && wrong.reason.starts_with("bs: "), "{wrong}");
    }

    fn one(options: &str) -> Result<Job, String> {
        let file = read(&format!("[x]\nsize=1m\n{options}\n")).map_err(|mistake| mistake.to_string())?;
        Ok(file.jobs[0].clone())
    }

    #[test]
    fn globals_add_up_and_jobs_inherit_those_above_them() {
        let text = "; about\n[global]\nsize=${SIZE}\nrw=randread # random\n\n[a]\n  bs=8k\n[global]\nbs=16k\nthread\n\
                    [b]\nstonewall\nioengine=mmap\n[b]\nsize=512*$pagesize\nnumjobs=2*$ncpus\n";
        let file = read(text).unwrap();
        let [a, b, c] = file.jobs.as_slice() else { panic!("{file:?}") };
        assert_eq!((a.size, a.pattern, a.blocks[0]), (Some(2 << 20), Pattern::Random, Blocks::fixed(8192)));
        assert_eq!((b.blocks[1], b.stonewall, b.engine), (Blocks::fixed(16384), true, Engine::Mmap));
        assert_eq!((c.size, c.numjobs, c.stonewall), (Some(2 << 20), 4, false));
        assert_eq!(file.globals.len(), 3, "a flag has no value to show");
        assert_eq!(c.written[0], ("size".to_owned(), "2097152".to_owned()));
    }

    #[test]
    fn options_mean_what_they_mean_to_fio() {
        let job = one("rw=randrw\nrwmixread=60\nrwmixwrite=30\nbs=8k\nbsrange=,16k-4k\nrate=1m,2m").unwrap();
        assert_eq!((job.read_percent, job.rate), (70, [1 << 20, 2 << 20]));
        assert_eq!(job.blocks, [Blocks::fixed(8192), Blocks { least: 4096, most: 16384 }]);
        let job = one("runtime=1m\ntime_based\nramp_time=5\nthinktime=5\nbuffered=0").unwrap();
        assert_eq!((job.runtime, job.ramp_time), (Duration::from_secs(60), Duration::from_secs(5)));
        assert_eq!((job.thinktime, job.direct, job.time_based), (Duration::from_micros(5), true, true));
        assert_eq!(one("rw=write\nrwmixread=70").unwrap().read_percent, 0);
        assert!(one("norandommap=0").unwrap().random_map);
    }

    #[test]
    fn shares_are_of_the_file_and_fall_on_blocks() {
        let job = one("filesize=64k\noffset=30%\nsize=25%\nio_size=50%").unwrap();
        assert_eq!((job.offset, job.size, job.io_size), (20480, Some(16384), Some(8192)));
        assert_eq!(job.region().unwrap().length, 16384);
        assert_eq!(one("offset=30%").unwrap().offset, ((1_u64 << 30) * 30 / 100).next_multiple_of(4096));
        let job = one("filesize=64k\nsize=8k").unwrap();
        assert_eq!((job.region().unwrap().length, job.transfer()), (65536, Ok(Some(8192))));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (options, words) in [
            ("iodepth=0", "line 3: iodepth: 0 is less than 1"),
            ("verify=crc99", "line 3: verify: 'crc99' is none of 0, md5"),
            ("io_engine=sync", "line 3: there is no option 'io_engine': did you mean ioengine?"),
            ("rw = read", "line 3: rw: ' read' is none of"),
            ("rw=READ", "line 3: rw: 'READ' is none of"),
            ("direct", "line 3: direct: needs a value"),
            ("direct=true", "line 3: direct: 'true' is neither 0 nor 1"),
            ("bs=0", "line 3: bs: 0 is less than 1"),
            ("bs=4z", "line 3: bs: '4z': sizes in zones"),
            ("bs=2m", "line 3: [x]: a block of 2097152 bytes does not fit into 1048576 bytes"),
            ("numjobs=0", "line 3: [x]: numjobs=0 leaves nothing to do"),
            ("ioengine=rbd", "line 3: ioengine: 'rbd' needs a Ceph cluster"),
            ("ioengine=/usr/lib/spdk_nvme", "'/usr/lib/spdk_nvme' loads a library: a job file loads none"),
            ("ioengine=libaoi", "there is no engine 'libaoi': did you mean libaio?"),
            (
                "hipri\nioengine=libaio",
                "line 3: hipri: ioengine=libaio has no such option; pvsync2, io_uring has",
            ),
            ("exec_prerun=rm", "line 3: exec_prerun is not supported: a job file runs no commands"),
            ("include other.fio", "line 3: include other.fio: there is no such file"),
            ("include self.inc", "the file includes itself"),
            ("size=$ncpus*2g", "line 3: size: '2*2g' is not a sum of whole numbers"),
            ("size=${NONE}", "the environment has no such variable, and the value is empty"),
            ("size=${NONE", "no end"),
            ("rate=1m\nrate_iops=5", "line 4: [x]: rate and rate_iops exclude each other"),
            ("random_distribution=zipf:1", "zipf is not defined"),
            ("zonemode=zbd", "needs a zoned block device"),
            ("[y", "'' is not a name for a job: begin one with [NAME]"),
        ] {
            let shown = one(options).unwrap_err();
            assert!(shown.contains(words), "{options}: {shown}");
        }
        // fio takes all but the last character for the name.
        let odd = read("[fio-test]G\nsize=1m\n[bs=64K\nsize=2m\n[global]x\nsize=4m\n").unwrap();
        assert_eq!(odd.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["fio-test]", "bs=64"]);
        let note = "line 3: '[bs=64K' begins the job 'bs=64': fio takes all but the last character";
        assert_eq!(odd.notes[1], note);
        assert!(read("size=1m\n[x]").unwrap_err().to_string().starts_with("line 1: 'size=1m' stands before"));
        assert!(read("").unwrap_err().reason.starts_with("there is no job"));
        let shared = read("[global]\nnumjobs=0\n[x]\nsize=1m").unwrap_err().to_string();
        assert!(shared.starts_with("line 2: [x]: numjobs=0"), "{shared}");
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let notes = |options: &str| read(&format!("[x]\nsize=1m\n{options}\n")).unwrap().notes.join("; ");
        for (options, words) in [
            ("iodepth=4", "iodepth=4 has no effect with ioengine=psync"),
            ("runtime=1min", "runtime=1min: fio takes this for 1 us"),
            ("bs=1.5k", "bs=1.5k: fio takes this for 1, and so"),
            ("iodepth=-1", "iodepth=-1: fio leaves this as it was"),
            ("direct=1\nioengine=mmap", "direct=1 has no effect with ioengine=mmap"),
            ("time_based", "time_based has no effect without runtime="),
            ("ioscheduler=noop", "ioscheduler=noop has no effect: it would change the device for everybody"),
            ("thread\nunlink=1", "changes nothing that is timed: thread, unlink"),
            ("filename=/dev/sda", "'/dev/sda' is the scratch file 'dev_sda' below PATH"),
            ("directory=/mnt", "directory=/mnt: the files are scratch files below PATH"),
        ] {
            assert!(notes(options).contains(words), "{options}: {}", notes(options));
        }
        assert_eq!(notes("verify=0\nsync=0\noverwrite=0\ndo_verify=0"), "");
    }

    #[test]
    fn included_files_stand_where_they_are_named() {
        let job = one("include one.inc\nbs=16k").unwrap();
        assert_eq!((job.read_percent, job.blocks[0]), (0, Blocks::fixed(16384)));
        assert_eq!(one("bs=4k\ninclude one.inc").unwrap().blocks[0], Blocks::fixed(8192));
    }

    #[test]
    fn lists_and_groups_are_read() {
        use crate::job::{Distribution, FileService, OpenSync};
        let job = one("ioengine=io_uring\nfixedbufs\niodepth=32\niodepth_batch_complete=4\nrw=randread:8\nsync=dsync\n\
                       bssplit=4k/60:64k/,8k\nfile_service_type=random:4\nrandom_distribution=pareto:0.3\nloops=3\n\
                       startdelay=1-5\nfilename=a:b\\:c\ncpus_allowed=0-2,5\npercentile_list=50:99.9\nverify_pattern=0xff1\"ab\"%o")
        .unwrap();
        assert_eq!((job.depth.most, job.depth.reap_least, job.order.every), (32, 4, 8));
        assert_eq!(job.order.splits[0], [(65536, 40), (4096, 60)]);
        assert_eq!(job.blocks, [Blocks { least: 4096, most: 65536 }, Blocks::fixed(8192)]);
        assert_eq!((job.files.service, job.durability.open), (FileService::Random(4), OpenSync::Dsync));
        assert_eq!(job.order.distribution, Distribution::Pareto(0.3, None));
        assert_eq!(
            (job.files.paths, job.placement.cpus),
            (vec!["a".to_owned(), "b:c".to_owned()], vec![0, 1, 2, 5])
        );
        assert_eq!(job.course.start_delay, (Duration::from_secs(1), Duration::from_secs(5)));
        assert_eq!(job.reporting.percentiles, [50.0, 99.9]);
        assert_eq!(job.verify.unwrap().method, "pattern");
    }
}
