//! Command lines of fio: options before the first `--name` hold for all jobs, each `--name` begins one, and words
//! without hyphens are job files. Those of IOR and mdtest in their place are read by [`Benchmark`].

use super::Benchmark;
use super::file::{JobFile, Line, Reader, Surroundings, parse};
use super::option::{all_names, known, refused_engine};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The jobs.
    pub jobs: JobFile,
    /// What is to be written of them, and how.
    pub output: Output,
}

/// fio's own options that say what is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// `--output-format`: `normal`, `terse`, `json` or `json+`; none for `normal`.
    pub formats: Vec<String>,
    /// `--output`: the file; none for standard output.
    pub file: Option<String>,
    /// `--eta`: `always`, `never` or `auto`.
    pub eta: Option<String>,
    /// `--terse-version`: 2 to 5.
    pub terse_version: Option<u8>,
    /// `--status-interval`, as it is written.
    pub status_interval: Option<String>,
    /// `--readonly`: a job that writes is a mistake.
    pub readonly: bool,
    /// `--parse-only`: nothing is run.
    pub parse_only: bool,
    /// `--showcmd`: the jobs are shown as a command line, and nothing is run.
    pub show_command: bool,
    /// Where it is no command line of fio's: what runs the jobs, how often, and prints which lines at the end.
    pub benchmark: Option<Benchmark>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    ValueOrNothing,
}

/// fio's own options, and why one is refused.
const PROGRAM: &[(&str, Takes, Option<&str>)] = &[
    ("output", Takes::Value, None),
    ("output-format", Takes::Value, None),
    ("minimal", Takes::Nothing, None),
    ("append-terse", Takes::ValueOrNothing, None),
    ("terse-version", Takes::Value, None),
    ("eta", Takes::Value, None),
    ("eta-interval", Takes::Value, None),
    ("eta-newline", Takes::Value, None),
    ("status-interval", Takes::Value, None),
    ("readonly", Takes::Nothing, None),
    ("parse-only", Takes::Nothing, None),
    ("showcmd", Takes::Nothing, None),
    ("section", Takes::Value, None),
    ("debug", Takes::Value, None),
    ("warnings-fatal", Takes::Nothing, None),
    ("max-jobs", Takes::Value, None),
    ("alloc-size", Takes::Value, None),
    ("bandwidth-log", Takes::Nothing, None),
    ("idle-prof", Takes::Value, None),
    ("aux-path", Takes::Value, None),
    ("profile", Takes::Value, Some("its jobs are built into fio")),
    ("server", Takes::ValueOrNothing, Some("Fathom has no server")),
    ("daemonize", Takes::Value, Some("Fathom has no server")),
    ("client", Takes::Value, Some("Fathom has no server")),
    ("remote-config", Takes::Value, Some("Fathom has no server")),
    ("trigger-file", Takes::Value, Some("Fathom runs no commands")),
    ("trigger-timeout", Takes::Value, Some("Fathom runs no commands")),
    ("trigger", Takes::Value, Some("Fathom runs no commands")),
    ("trigger-remote", Takes::Value, Some("Fathom runs no commands")),
    ("latency-log", Takes::Value, Some("fio no longer has it")),
    ("merge-blktrace-only", Takes::Nothing, Some("block traces are not merged here")),
    ("inflate-log", Takes::Value, Some("it does not describe a job")),
    ("cpuclock-test", Takes::Nothing, Some("it does not describe a job")),
    ("crctest", Takes::ValueOrNothing, Some("it does not describe a job")),
    ("memcpytest", Takes::ValueOrNothing, Some("it does not describe a job")),
    ("version", Takes::Nothing, Some("it does not describe a job")),
    ("help", Takes::Nothing, Some("it does not describe a job")),
    ("cmdhelp", Takes::ValueOrNothing, Some("it does not describe a job")),
    ("enghelp", Takes::ValueOrNothing, Some("it does not describe a job")),
];

/// Reads a command line, with or without `fio` or `sudo fio` as its first words, or one of `ior` or `mdtest`.
///
/// # Errors
/// One sentence on the first word that the program would refuse, or that asks for what is refused here.
pub fn parse_command(words: &[String], surroundings: &Surroundings<'_>) -> Result<CommandLine, String> {
    if let Some(benchmark) = Benchmark::read(words, 0, 1)? {
        let jobs = parse(&benchmark.jobs, surroundings).map_err(|mistake| mistake.reason)?;
        return Ok(CommandLine { jobs, output: Output { benchmark: Some(benchmark), ..Output::default() } });
    }
    let is_fio = |word: &String| word.rsplit('/').next() == Some("fio");
    let fio = match words.first() {
        Some(first) if first == "sudo" => words.iter().position(is_fio),
        first => first.filter(|first| is_fio(first)).map(|_| 0),
    };
    let words = fio.map_or(words, |fio| &words[fio + 1..]);
    let mut reader = Reader::new(surroundings);
    let mut output = Output::default();
    let mut files = Vec::new();
    let mut section: (String, Vec<Line>) = ("global".to_owned(), Vec::new());
    let mut rest = words.iter().enumerate();
    while let Some((at, word)) = rest.next() {
        let Some(long) = word.strip_prefix('-').filter(|long| !long.is_empty()) else {
            files.push(word);
            continue;
        };
        if word == "--" {
            files.extend(rest.by_ref().map(|(_, word)| word));
            break;
        }
        let (name, given) = long
            .strip_prefix('-')
            .unwrap_or(long)
            .split_once('=')
            .map_or((long.strip_prefix('-').unwrap_or(long), None), |(name, value)| (name, Some(value)));
        let (name, takes) = option(name).map_err(|unknown| {
            // It may be one of an engine that is refused itself.
            let engines =
                words.iter().filter_map(|word| word.trim_start_matches('-').strip_prefix("ioengine="));
            engines
                .filter_map(refused_engine)
                .next()
                .map_or(unknown, |reason| format!("--ioengine: {reason}"))
        })?;
        let value = match (takes, given) {
            (_, Some(value)) => Some(value.to_owned()),
            (Takes::Value, None) => {
                Some(rest.next().ok_or_else(|| format!("--{name} needs a value"))?.1.clone())
            }
            _ => None,
        };
        if PROGRAM.iter().any(|(own, ..)| *own == name) {
            program(name, value, &mut output, &mut reader)?;
            continue;
        }
        if name == "name" {
            let next = value.clone().unwrap_or_default();
            let (last, lines) = std::mem::replace(&mut section, (next, Vec::new()));
            take(&mut reader, &last, lines)?;
        }
        section.1.push(Line { number: at + 1, key: name.to_owned(), value });
    }
    take(&mut reader, &section.0, section.1)?;
    for (index, path) in files.into_iter().enumerate() {
        let text = (surroundings.file)(path).ok_or_else(|| format!("{path}: there is no such file"))?;
        reader.file(&text, path, index > 0).map_err(|mistake| format!("{path}: {mistake}"))?;
    }
    let jobs = reader
        .finish()
        .map_err(|_| "there is no job: begin one with --name=NAME or name a job file".to_owned())?;
    let writes = jobs.jobs.iter().find(|job| job.read_percent < 100);
    match writes {
        Some(job) if output.readonly => Err(format!("[{}] writes, and --readonly forbids it", job.name)),
        _ => Ok(CommandLine { jobs, output }),
    }
}

fn take(reader: &mut Reader<'_>, name: &str, lines: Vec<Line>) -> Result<(), String> {
    if lines.is_empty() {
        return Ok(());
    }
    reader.section(name, 0, lines, &mut false).map_err(|mistake| mistake.reason)
}

/// The option that a name, or an unambiguous beginning of one, stands for.
fn option(name: &str) -> Result<(&'static str, Takes), String> {
    let takes = |is_flag| if is_flag { Takes::ValueOrNothing } else { Takes::Value };
    let own = || PROGRAM.iter().map(|&(own, takes, _)| (own, takes));
    if let Some(exact) = own().find(|(other, _)| *other == name) {
        return Ok(exact);
    }
    if let Some(row) = known(name) {
        let same = row.names().find(|other| *other == name).unwrap_or_default();
        return Ok((same, takes(row.is_flag())));
    }
    let of_jobs = all_names().map(|(name, is_flag)| (name, takes(is_flag)));
    let all: Vec<(&'static str, Takes)> = own().chain(of_jobs).collect();
    let begun: Vec<_> = all.iter().filter(|(other, _)| other.starts_with(name)).collect();
    match begun.as_slice() {
        [] => {
            let names = all.iter().map(|(other, _)| *other);
            Err(format!("there is no option '--{name}'{}", super::option::nearest(name, names)))
        }
        [one] => Ok(**one),
        several => Err(format!("'--{name}' may be --{} or --{}", several[0].0, several[1].0)),
    }
}

fn program(
    name: &str,
    value: Option<String>,
    output: &mut Output,
    reader: &mut Reader<'_>,
) -> Result<(), String> {
    let refused = PROGRAM.iter().find(|(own, ..)| *own == name).and_then(|(.., reason)| *reason);
    if let Some(reason) = refused {
        return Err(format!("--{name} is not supported: {reason}"));
    }
    let text = value.clone().unwrap_or_default();
    match name {
        "output" => output.file = value,
        "output-format" => {
            output.formats = text.split(',').map(format).collect::<Result<_, _>>()?;
        }
        "minimal" => output.formats = vec!["terse".to_owned()],
        "append-terse" => output.formats.push("terse".to_owned()),
        "terse-version" => {
            let version = text.parse().ok().filter(|version| (2..=5).contains(version));
            output.terse_version = Some(version.ok_or("--terse-version is 2, 3, 4 or 5")?);
        }
        "eta" => output.eta = value,
        "status-interval" => output.status_interval = value,
        "readonly" => output.readonly = true,
        "parse-only" => output.parse_only = true,
        "showcmd" => output.show_command = true,
        "section" if text == "global" => return Err("--section: global is not a job".to_owned()),
        "section" => reader.only.push(text),
        _ => {}
    }
    Ok(())
}

fn format(text: &str) -> Result<String, String> {
    match text {
        "minimal" | "terse" | "csv" => Ok("terse".to_owned()),
        "json" | "json+" | "normal" => Ok(text.to_owned()),
        _ => Err(format!("--output-format: '{text}' is none of normal, terse, json, json+")),
    }
}

/// What says where files lie, or which job is waited for.
const ELSEWHERE: [&str; 6] = ["directory", "filename", "filename_format", "opendir", "stonewall", "wait_for"];

/// The words of fio for one of the jobs by itself, counted from zero, as they were written, without those that say where
/// its files lie and which job it waits for; none where there is no such job.
pub fn words_of(file: &JobFile, job: usize) -> Option<Vec<String>> {
    let (at, named) =
        file.sections.iter().enumerate().filter(|(_, section)| section.name.is_some()).nth(job)?;
    let globals = file.sections[..at].iter().filter(|section| section.name.is_none());
    let options = globals.chain([named]).flat_map(|section| &section.options);
    let is_elsewhere =
        |key: &str| ELSEWHERE.iter().any(|name| known(key).is_some_and(|one| one.name() == *name));
    let kept = options.filter(|(key, _)| key != "name" && !is_elsewhere(key));
    let words = kept.map(|(key, value)| match value {
        Some(value) => format!("--{key}={value}"),
        None => format!("--{key}"),
    });
    let name = named.named().map(|name| format!("--name={name}"));
    Some(name.into_iter().chain(words).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::{Engine, Pattern};

    fn read(line: &str) -> Result<CommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let file = |path: &str| match path {
            "a.fio" => Some("[c]\nrw=write\n[d]\n".to_owned()),
            _ => None,
        };
        let surroundings = Surroundings {
            page_size: 4096,
            cpus: 2,
            memory_mib: 1000,
            variable: &|_| None,
            file: &file,
            on_files: None,
            added: &[],
            path: "",
        };
        parse_command(&words, &surroundings)
    }

    #[test]
    fn options_before_the_first_name_hold_for_all() {
        let line = "fio --ioengine=libaio --direct 1 -size=1g --group_reporting --output-format=json,normal \
                    --output=x.json --name=a --rw=randread --bs 4k --name=b --ioeng=libaio --iodepth=8 --runtime=5";
        let CommandLine { jobs, output } = read(line).unwrap();
        let [a, b] = jobs.jobs.as_slice() else { panic!("{jobs:?}") };
        assert_eq!((a.name.as_str(), a.pattern, a.direct), ("a", Pattern::Random, true));
        assert_eq!((b.name.as_str(), b.pattern, b.depth.most), ("b", Pattern::Sequential, 8));
        assert_eq!((b.engine, b.size, b.runtime), (Engine::Libaio, Some(1 << 30), Duration::from_secs(5)));
        assert!(a.group_reporting && b.group_reporting);
        assert_eq!(output.formats, ["json", "normal"]);
        assert_eq!(output.file.as_deref(), Some("x.json"));
    }

    #[test]
    fn the_words_of_one_job_leave_out_where_its_files_lie() {
        let line = "--bs=8k --directory=/d --name=a --rw=read --filename=x --name=b --stonewall --rw=write --size=1m";
        let jobs = read(line).unwrap().jobs;
        assert_eq!(words_of(&jobs, 0).unwrap(), ["--name=a", "--bs=8k", "--rw=read"]);
        assert_eq!(words_of(&jobs, 1).unwrap(), ["--name=b", "--bs=8k", "--rw=write", "--size=1m"]);
        assert_eq!(words_of(&jobs, 2), None);
    }

    #[test]
    fn job_files_and_sections_are_taken() {
        let CommandLine { jobs, output } =
            read("--size=1m a.fio --section=c --minimal --eta=never a.fio").unwrap();
        let names: Vec<_> = jobs.jobs.iter().map(|job| (job.name.as_str(), job.stonewall)).collect();
        assert_eq!(names, [("c", false), ("c", true)]);
        assert_eq!(jobs.jobs[0].size, Some(1 << 20));
        assert_eq!((output.formats[0].as_str(), output.eta.as_deref()), ("terse", Some("never")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, words) in [
            ("--name=x --io_engine=sync", "there is no option '--io_engine': did you mean ioengine?"),
            ("--name=x --bs", "--bs needs a value"),
            ("--name=x --rate_i=5", "'--rate_i' may be --rate_iops or --rate_iops_min"),
            ("--size=1m", "there is no job: begin one with --name"),
            ("--client=host a.fio", "--client is not supported: Fathom has no server"),
            ("--readonly --name=x --rw=write", "[x] writes, and --readonly forbids it"),
            ("--ioengine=rbd --pool=x --name=y", "--ioengine: 'rbd' needs a Ceph cluster"),
            ("nosuch.fio", "nosuch.fio: there is no such file"),
            ("--output-format=xml --name=x", "'xml' is none of"),
        ] {
            let shown = read(line).unwrap_err();
            assert!(shown.contains(words), "{line}: {shown}");
        }
    }
}
