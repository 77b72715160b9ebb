//! Job files: sections of options, the global ones before the jobs that they are for.

use std::fmt;

use super::Job;
use super::option::{Draft, Known, OPTIONS, REFUSED};

/// What a job file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// The options of the global sections, as they are written.
    pub globals: Vec<(String, String)>,
    /// The jobs, in order; there is at least one.
    pub jobs: Vec<Job>,
}

/// What a job file may refer to with `$`.
pub struct Surroundings<'a> {
    /// `$pagesize`, in bytes.
    pub page_size: u64,
    /// `$ncpus`.
    pub cpus: u64,
    /// `$mb_memory`, in MiB.
    pub memory_mib: u64,
    /// `${NAME}`: a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
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
/// The first line that fio would refuse or read in part only, or that is not supported.
pub fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<JobFile, Mistake> {
    let mut file = JobFile { globals: Vec::new(), jobs: Vec::new() };
    let mut globals = Draft::new();
    let mut section = Section::None;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let mistake = |reason| Mistake { line: line_number, reason };
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = section_name(rest).map_err(mistake)?;
            file.jobs.extend(std::mem::replace(&mut section, Section::None).close()?);
            section = Section::open(name, line_number, &globals);
            continue;
        }
        let (key, value) = option(line, surroundings).map_err(mistake)?;
        let (draft, written) = match &mut section {
            Section::None => return Err(mistake(format!("'{line}' stands before the first [section]"))),
            Section::Global => (&mut globals, &mut file.globals),
            Section::Job { draft, written, .. } => (&mut **draft, written),
        };
        let name = set(draft, key, value.as_deref()).map_err(mistake)?;
        draft.lines.push((name, line_number));
        written.extend(value.map(|value| (key.to_owned(), value)));
    }
    file.jobs.extend(section.close()?);
    if file.jobs.is_empty() {
        let line = text.lines().count().max(1);
        return Err(Mistake { line, reason: "there is no job: begin one with [NAME]".to_owned() });
    }
    Ok(file)
}

/// Where the parser is.
enum Section {
    None,
    Global,
    Job { line: usize, draft: Box<Draft>, written: Vec<(String, String)> },
}

impl Section {
    fn open(name: &str, line: usize, globals: &Draft) -> Self {
        if name == GLOBAL {
            return Section::Global;
        }
        let mut draft = Box::new(globals.clone());
        name.clone_into(&mut draft.job.name);
        Section::Job { line, draft, written: Vec::new() }
    }

    /// The job of a section that is at its end. What is wrong with it as a whole is told at the last of the lines
    /// that have to do with it, and where there is none at its name.
    fn close(self) -> Result<Option<Job>, Mistake> {
        let Section::Job { line, draft, written } = self else { return Ok(None) };
        let (name, lines) = (draft.job.name.clone(), draft.lines.clone());
        let job = draft.finish().map_err(|unfit| {
            let blamed = lines.iter().rfind(|(option, _)| unfit.options.contains(option));
            let line = blamed.map_or(line, |&(_, line)| line);
            Mistake { line, reason: format!("[{name}]: {}", unfit.reason) }
        })?;
        Ok(Some(Job { written, ..job }))
    }
}

const GLOBAL: &str = "global";

fn section_name(rest: &str) -> Result<&str, String> {
    let Some(name) = rest.strip_suffix(']') else {
        return Err("a section is [NAME] and nothing else on its line".to_owned());
    };
    if name.trim().is_empty() || name.contains(['[', ']', '\0']) {
        return Err(format!("'{name}' is not a name for a job"));
    }
    if name != GLOBAL && name.starts_with(GLOBAL) {
        return Err(format!("fio takes [{name}] for [{GLOBAL}]: write that, or give the job another name"));
    }
    Ok(name)
}

/// A line's option and its value, with variables replaced; without `=` there is none.
fn option<'a>(line: &'a str, surroundings: &Surroundings<'_>) -> Result<(&'a str, Option<String>), String> {
    match line.split_once('=') {
        Some((key, _)) if key.ends_with(char::is_whitespace) => {
            Err(format!("'{line}': fio takes no space before '='"))
        }
        Some((key, value)) => {
            let value = surroundings.expand(value).map_err(|reason| format!("{key}: {reason}"))?;
            Ok((key, Some(value)))
        }
        None if line.starts_with("include ") => Err("include is not supported: copy the lines".to_owned()),
        None => Ok((line, None)),
    }
}

/// Sets an option, and gives the first of its names.
fn set(draft: &mut Draft, key: &str, value: Option<&str>) -> Result<&'static str, String> {
    if let Some((_, reason)) = REFUSED.iter().find(|(name, _)| *name == key) {
        return Err(format!("{key} is not supported: {reason}"));
    }
    let Some(known) = OPTIONS.iter().find(|known| known.names.contains(&key)) else {
        return Err(format!("{key} is not supported; docs/jobs.md lists what is"));
    };
    match (value, known) {
        (Some(value), Known { set, .. }) => set(draft, value).map_err(|reason| format!("{key}: {reason}"))?,
        (None, Known { is_flag: true, set, .. }) => set(draft, "1")?,
        (None, _) => return Err(format!("{key} needs a value: {key}=...")),
    }
    Ok(known.names[0])
}

impl Surroundings<'_> {
    /// Replaces `${NAME}` by the environment's variable and fio's own words by numbers, and works
    /// out the product that such a word stands in.
    fn expand(&self, value: &str) -> Result<String, String> {
        let mut text = value.to_owned();
        while let Some(start) = text.find("${") {
            let end =
                text[start..].find('}').ok_or_else(|| format!("'{value}' has no end to its ${{"))? + start;
            let name = &text[start + 2..end];
            let found = (self.variable)(name).ok_or_else(|| format!("the environment has no '{name}'"))?;
            if found.contains('$') {
                return Err(format!("the environment's '{name}' holds a '$' itself"));
            }
            text.replace_range(start..=end, &found);
        }
        if !text.contains('$') {
            return Ok(text);
        }
        let words = [("$pagesize", self.page_size), ("$ncpus", self.cpus), ("$mb_memory", self.memory_mib)];
        for (word, number) in words {
            text = text.replace(word, &number.to_string());
        }
        if text.contains('$') {
            return Err(format!(
                "'{value}': only $pagesize, $ncpus, $mb_memory and ${{VARIABLES}} are known"
            ));
        }
        // fio hands such a value to a calculator whole, which knows neither lists nor ranges nor suffixes.
        if text.contains([',', ':', '-', '/']) {
            return Err(format!("'{value}': a $word stands alone or in a product, not in a list or range"));
        }
        if !text.contains('*') {
            return Ok(text);
        }
        let factors: Option<Vec<u64>> = text.split('*').map(|factor| factor.trim().parse().ok()).collect();
        let product = factors.and_then(|all| all.into_iter().try_fold(1_u64, u64::checked_mul));
        product
            .map(|product| product.to_string())
            .ok_or_else(|| format!("'{value}' is not a product of whole numbers that fits"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::{Blocks, Engine, Pattern};

    fn read(text: &str) -> Result<JobFile, Mistake> {
        let variable = |name: &str| (name == "SIZE").then(|| "2m".to_owned());
        parse(text, &Surroundings { page_size: 4096, cpus: 2, memory_mib: 1000, variable: &variable })
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
        assert!(one("offset=30%").unwrap_err().contains("add filesize="));
        let job = one("filesize=64k\nsize=8k").unwrap();
        assert_eq!((job.region().unwrap().length, job.transfer()), (65536, Ok(Some(8192))));
    }

    #[test]
    fn what_is_not_supported_is_named_with_its_line() {
        for (options, words) in [
            ("iodepth=4", "line 3: iodepth: only 1 is supported"),
            ("verify=crc32c", "line 3: verify is not supported"),
            ("rw=randread:8", "line 3: rw: 'randread:8' is none of"),
            ("rw = read", "line 3: 'rw = read': fio takes no space before '='"),
            ("rw= read", "line 3: rw: ' read' is none of"),
            ("direct", "line 3: direct needs a value"),
            ("bs=4k-8k", "line 3: bs: '4k-8k' is not a number"),
            ("bs=0", "line 3: [x]: blocks of 0 to 0 bytes"),
            ("bs=4k\nblocksize=0\nrw=write", "line 4: [x]: blocks of 0 to 0 bytes"),
            ("bs=2m", "line 3: [x]: a block of 2097152 bytes does not fit into 1048576 bytes"),
            ("numjobs=0", "line 3: [x]: numjobs=0 leaves nothing to do"),
            ("direct=1\nioengine=mmap\nrw=read", "line 4: [x]: direct=1 makes no sense"),
            ("offset=10%\nrw=read", "line 3: [x]: offset=10% is a share of the file"),
            ("time_based", "line 3: [x]: time_based needs runtime="),
            ("ioengine=libaio", "line 3: ioengine: 'libaio' is none of psync"),
            ("directory=/mnt", "line 3: directory is not supported: jobs run in a private"),
            ("filename=/dev/sda", "line 3: filename: '/dev/sda' is not one plain file name"),
            ("filename=../x", "is not one plain file name"),
            ("filename=a:b", "is not one plain file name"),
            ("exec_prerun=rm", "line 3: exec_prerun is not supported: a job file runs no commands"),
            ("include other.fio", "line 3: include is not supported"),
            ("size=$cores", "only $pagesize"),
            ("bs=$pagesize,4k", "a $word stands alone"),
            ("size=${NONE}", "the environment has no 'NONE'"),
            ("size=${NONE", "no end"),
            ("[global2]", "fio takes [global2] for [global]"),
            ("[y", "a section is [NAME]"),
        ] {
            let shown = one(options).unwrap_err();
            assert!(shown.contains(words), "{options}: {shown}");
        }
        assert!(read("size=1m\n[x]").unwrap_err().to_string().starts_with("line 1: 'size=1m' stands before"));
        assert!(read("").unwrap_err().reason.starts_with("there is no job"));
        assert!(read("[x]\nrw=read").unwrap_err().to_string().starts_with("line 1: [x]: size= is missing"));
        let shared = read("[global]\nbs=0\n[x]\nsize=1m").unwrap_err().to_string();
        assert!(shared.starts_with("line 2: [x]: blocks of 0"), "{shared}");
    }
}
