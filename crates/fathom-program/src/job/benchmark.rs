//! Command lines of IOR and mdtest as the text of a job file, and the lines that they print at the end.

use std::fmt::Write;

/// What a command line asks of one of the ranks that it is run by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Benchmark {
    /// Whose command line it is.
    pub program: Program,
    /// The text of a job file.
    pub jobs: String,
    /// How often the jobs run, each time on new files.
    pub repetitions: u32,
    /// Jobs that read take the files of the rank so many further on.
    pub shift: u64,
    /// All ranks have one file, of which each has parts of its own.
    pub is_shared: bool,
    /// When the time is over, all ranks go on until each has moved as much as the fastest.
    pub wears_out: bool,
}

/// A benchmark of files that many clients run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// <https://ior.readthedocs.io>
    Ior,
    /// The one of metadata, which comes with IOR.
    Mdtest,
}

/// What a job came to in one repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Bytes per second until the files were closed.
    pub bytes: f64,
    /// Calls that count per second; names are made, looked at or removed by one each.
    pub calls: f64,
}

/// mdtest's operations on files and on directories, and the engines that do the same.
const PHASES: [(char, [(&str, &str); 3]); 2] = [
    (
        'D',
        [
            ("Directory creation", "dircreate"),
            ("Directory stat", "dirstat"),
            ("Directory removal", "dirdelete"),
        ],
    ),
    ('F', [("File creation", "filecreate"), ("File stat", "filestat"), ("File removal", "filedelete")]),
];

/// Options that were given, with their values; a flag's is empty.
struct Given(Vec<(char, String)>);

impl Given {
    /// Reads words: letters that stand alone, and those with a value behind them.
    fn read(words: &[String], flags: &str, valued: &str) -> Result<Self, String> {
        let mut given = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let unknown = || format!("{word} is not understood here");
            let mut letters = match word.strip_prefix('-') {
                Some("-posix.odirect") => "B",
                Some(letters) if !letters.is_empty() && !letters.starts_with('-') => letters,
                _ => return Err(unknown()),
            };
            while let Some(letter) = letters.chars().next() {
                letters = &letters[letter.len_utf8()..];
                if flags.contains(letter) {
                    given.push((letter, String::new()));
                } else if valued.contains(letter) {
                    let value =
                        if letters.is_empty() { rest.next().map(String::as_str) } else { Some(letters) };
                    let value = value.ok_or_else(|| format!("-{letter} takes a value"))?;
                    given.push((letter, value.trim_start_matches('=').to_owned()));
                    letters = "";
                } else {
                    return Err(format!("-{letter} is not understood here"));
                }
            }
        }
        Ok(Self(given))
    }

    fn values(&self, letter: char) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| *other == letter).map(|(_, value)| value.as_str())
    }

    fn value(&self, letter: char) -> Option<&str> {
        self.values(letter).next_back()
    }

    fn has(&self, letter: char) -> bool {
        self.value(letter).is_some()
    }

    /// A number above 0, with the units of IOR: powers of 1024.
    fn number(&self, letter: char, otherwise: u64) -> Result<u64, String> {
        let Some(typed) = self.value(letter) else { return Ok(otherwise) };
        let lower = typed.to_ascii_lowercase();
        let digits = lower.trim_end_matches(['k', 'm', 'g', 't']);
        let power = match &lower[digits.len()..] {
            "" => Some(0),
            unit => ["k", "m", "g", "t"].iter().position(|one| *one == unit).map(|at| at as u32 + 1),
        };
        let number = digits.parse::<u64>().ok().zip(power);
        let number = number.and_then(|(number, power)| number.checked_mul(1024_u64.pow(power)));
        number
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("-{letter} {typed}: a number above 0, such as 16 or 1m, is wanted"))
    }

    fn repetitions(&self) -> Result<u32, String> {
        Ok(u32::try_from(self.number('i', 1)?).unwrap_or(u32::MAX))
    }
}

impl Benchmark {
    /// Reads a command line for one of so many ranks; none where its first word is neither `ior` nor `mdtest`.
    ///
    /// # Errors
    /// One sentence, which begins with the program, on the first word that is not understood or can't be run.
    pub fn read(words: &[String], rank: u64, ranks: u64) -> Result<Option<Self>, String> {
        let Some((first, words)) = words.split_first() else { return Ok(None) };
        let (program, read) = match first.rsplit('/').next() {
            Some("ior") => (Program::Ior, ior(words, rank, ranks)),
            Some("mdtest") => (Program::Mdtest, mdtest(words)),
            _ => return Ok(None),
        };
        read.map(Some).map_err(|reason| format!("{}: {reason}", program.name()))
    }
}

fn ior(words: &[String], rank: u64, ranks: u64) -> Result<Benchmark, String> {
    let given = Given::read(words, "wrFezCBkmgv", "abtsioDQdO")?;
    if let Some(other) = given.value('a').filter(|api| *api != "POSIX") {
        return Err(format!("-a {other}: POSIX alone is run here"));
    }
    const WEAR_OUT: &str = "stoneWallingWearOut=1";
    if let Some(other) = given.values('O').find(|directive| *directive != WEAR_OUT) {
        return Err(format!("-O {other}: {WEAR_OUT} alone is understood here"));
    }
    let (block, transfer) = (given.number('b', 1 << 20)?, given.number('t', 256 << 10)?);
    let segments = given.number('s', 1)?;
    if block % transfer > 0 {
        return Err(format!("-b {block} is no multiple of -t {transfer}"));
    }
    if given.has('r') && !given.has('w') {
        return Err(
            "-r alone reads what an earlier run has left; nothing is left here: give -w, too".to_owned()
        );
    }
    let (is_shared, is_random) = (ranks > 1 && !given.has('F'), given.has('z'));
    if is_shared && is_random && segments > 1 {
        return Err("-z with -s in one file for all is not run here: give -F, too".to_owned());
    }
    let size = block.checked_mul(segments).filter(|size| size.checked_mul(ranks.max(1)).is_some());
    let size = size.ok_or_else(|| format!("-b {block} -s {segments}: more than any file holds"))?;
    let mut common = format!("filename=ior\nbs={transfer}\nsize={size}\n");
    if given.has('B') {
        common += "direct=1\n";
    }
    if given.has('D') {
        let _ = writeln!(common, "runtime={}", given.number('D', 1)?);
    }
    let shift = if given.has('C') { given.number('Q', 1)? } else { 0 };
    // Segment for segment, the blocks of all ranks lie in a row.
    let place = |rank: u64| match (is_shared, segments) {
        (false, _) => String::new(),
        (true, 1) => format!("offset={}\n", rank * block),
        (true, _) => format!(
            "offset={}\nfilesize={}\nzonemode=strided\nzonesize={block}\nzonerange={block}\nzoneskip={}\n",
            rank * block,
            size * ranks,
            block * (ranks - 1)
        ),
    };
    let order = if is_random { "rand" } else { "" };
    let mut jobs = format!("[write]\n{common}{}rw={order}write\n", place(rank));
    if given.has('e') {
        jobs += "end_fsync=1\n";
    }
    if given.has('w') == given.has('r') {
        // IOR drops nothing from the cache: what was written is read from there, unless -C has others read it.
        let place = place((rank + shift) % ranks.max(1));
        let _ = write!(jobs, "[read]\nstonewall\n{common}{place}rw={order}read\ninvalidate=0\n");
    }
    let shift = if is_shared { 0 } else { shift };
    let (repetitions, wears_out) = (given.repetitions()?, given.has('D') && given.has('O'));
    Ok(Benchmark { program: Program::Ior, jobs, repetitions, shift, is_shared, wears_out })
}

fn mdtest(words: &[String]) -> Result<Benchmark, String> {
    let given = Given::read(words, "FDCTruv", "nid")?;
    if !given.has('n') {
        return Err("-n: how many files or directories has each rank?".to_owned());
    }
    let count = given.number('n', 1)?;
    let has_phase = ['C', 'T', 'r'].map(|letter| given.has(letter));
    let is_all = has_phase == [false; 3];
    if !is_all && !has_phase[0] {
        return Err(
            "without -C there is nothing to look at or to remove: nothing is left here by an earlier run"
                .to_owned(),
        );
    }
    let mut jobs = String::new();
    for (letter, phases) in
        PHASES.iter().filter(|(one, _)| given.has(*one) || given.has('D') == given.has('F'))
    {
        for ((title, engine), _) in phases.iter().zip(has_phase).filter(|(_, has)| is_all || *has) {
            let _ = write!(
                jobs,
                "[{title}]\nioengine={engine}\nnrfiles={count}\nfilesize=4096\nfilename_format={letter}.$jobnum.$filenum\nstonewall\n"
            );
        }
    }
    let repetitions = given.repetitions()?;
    let (shift, is_shared, wears_out) = (0, false, false);
    Ok(Benchmark { program: Program::Mdtest, jobs, repetitions, shift, is_shared, wears_out })
}

impl Program {
    /// What its command is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ior => "ior",
            Self::Mdtest => "mdtest",
        }
    }

    /// Its lines at the end, of each job's rates in all repetitions.
    pub fn summary(self, rates: &[(String, Vec<Rate>)]) -> String {
        match self {
            Self::Ior => ior_summary(rates),
            Self::Mdtest => mdtest_summary(rates),
        }
    }
}

fn ior_summary(rates: &[(String, Vec<Rate>)]) -> String {
    let mut text = String::new();
    for (name, rates) in rates {
        let title = name[..1].to_uppercase() + &name[1..] + ":";
        let most = statistics(rates, |rate| rate.bytes)[0];
        let _ = writeln!(
            text,
            "Max {title:<6} {:.2} MiB/sec ({:.2} MB/sec)",
            most / f64::from(1 << 20),
            most / 1e6
        );
    }
    text += "\nOperation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev\n";
    for (name, rates) in rates {
        let figures =
            statistics(rates, |rate| rate.bytes).map(|rate| format!("{:10.2}", rate / f64::from(1 << 20)));
        let _ = writeln!(text, "{name:<9} {}", figures.join(" "));
    }
    text + "from the first start until the last rank has closed its file, as in IOR\n"
}

fn mdtest_summary(rates: &[(String, Vec<Rate>)]) -> String {
    let iterations = rates.first().map_or(0, |(_, rates)| rates.len());
    let mut text = format!("SUMMARY rate: (of {iterations} iterations)\n");
    text += "   Operation                     Max            Min           Mean        Std Dev\n";
    text += "   ---------                     ---            ---           ----        -------\n";
    for (name, rates) in rates {
        let figures = statistics(rates, |rate| rate.calls).map(|rate| format!("{rate:14.3}"));
        let _ = writeln!(text, "   {name:<20}{}", figures.join(" "));
    }
    text
}

/// The largest, the smallest, the mean, and the standard deviation, which is 0 for one.
fn statistics(rates: &[Rate], of: impl Fn(&Rate) -> f64) -> [f64; 4] {
    let rates: Vec<f64> = rates.iter().map(of).collect();
    let count = rates.len().max(1) as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    [most, least, mean, (squares / (count - 1.0).max(1.0)).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, rank: u64, ranks: u64) -> Result<Benchmark, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Benchmark::read(&words, rank, ranks).map(|found| found.expect("it is one of the two"))
    }

    #[test]
    fn what_is_not_run_is_said_by_name() {
        for (line, said) in [
            ("ior -a MPIIO", "ior: -a MPIIO: POSIX alone"),
            ("ior -b 3k -t 2k", "no multiple"),
            ("ior -F --what", "--what is not understood"),
            ("ior -wX", "-X is not understood"),
            ("ior -b", "-b takes a value"),
            ("ior -b 0", "a number above 0"),
            ("ior -b 1mk", "a number above 0"),
            ("ior -b 9999999999999g", "a number above 0"),
            ("ior -r", "give -w"),
            ("ior -z -s 2", "give -F"),
            ("ior -D 1 -O stoneWallingWearOut=1 -O x=1", "-O x=1: stoneWallingWearOut=1 alone"),
            ("ior file", "file is not understood"),
            ("mdtest -F", "mdtest: -n: how many"),
            ("mdtest -n 3 -r", "without -C"),
        ] {
            let reason = read(line, 0, 2).unwrap_err();
            assert!(reason.contains(said), "{line}: {reason}");
        }
        assert_eq!(Benchmark::read(&["fio".to_owned()], 0, 1), Ok(None));
    }

    #[test]
    fn options_become_jobs() {
        let ior =
            read("/opt/bin/ior -a POSIX -F -b 2m -t1m -s 2 -C -Q 3 -ez -i 4 --posix.odirect", 0, 2).unwrap();
        let common = "filename=ior\nbs=1048576\nsize=4194304\ndirect=1\n";
        let write = format!("[write]\n{common}rw=randwrite\nend_fsync=1\n");
        let read_back = format!("[read]\nstonewall\n{common}rw=randread\ninvalidate=0\n");
        assert_eq!(ior.jobs, write + &read_back);
        assert_eq!((ior.repetitions, ior.shift, ior.is_shared), (4, 3, false));
        assert!(!read("ior -w", 0, 1).unwrap().jobs.contains("[read]"));
        let wears_out = |line| read(line, 0, 2).unwrap().wears_out;
        assert!(wears_out("ior -D 9 -O stoneWallingWearOut=1"));
        assert!(!wears_out("ior -D 9") && !wears_out("ior -O stoneWallingWearOut=1"));
        let mdtest = read("mdtest -n 20 -F -C -r", 0, 1).unwrap().jobs;
        let titles: Vec<&str> = mdtest.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(titles, ["[File creation]", "[File removal]"]);
        assert_eq!(read("mdtest -n 20", 0, 1).unwrap().jobs.matches("nrfiles=20").count(), 6);
    }
}
