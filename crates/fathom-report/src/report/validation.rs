//! Models and what they are worth, as tables.

use super::colours::Colours;
use super::table::rate;
use super::{sketch, table};
use fathom_predict::calibration::{Account, CHECKED};
use fathom_predict::model::{Model, Origin};
use fathom_predict::validation::{self, Again, Agreement, Class, Held, Validation, agreement};
use fathom_program::units::Bytes;
use fathom_run::provenance::{MachineFacts, Provenance};

/// The calibration as text: how well the model explains the jobs that it was fitted to, by stage, and where its parameters come
/// from. The page has each job and each parameter.
pub fn calibration(model: &Model, accounts: &[Account]) -> String {
    let rows: Vec<Vec<String>> = accounts.iter().map(about).collect();
    let mut text = table::rows(&["measured jobs", "count", "median error", "largest", "drift"], &rows);
    text += "\nerror: how far the rate of the model is from the one that was measured; drift: how much longer later runs took\n";
    for account in accounts {
        text += &drifted(account).map(|line| line + "\n").unwrap_or_default();
        let runs: usize = account.runs.iter().map(Vec::len).sum();
        if account.disturbed > 0 {
            text += &format!("{}: {} of {runs} runs were disturbed\n", account.name, account.disturbed);
        }
        text += &account.refused.iter().map(|reason| format!("not run: {reason}\n")).collect::<String>();
    }
    let of = |origin| model.parameters.iter().filter(|(_, one)| one.origin == origin).count();
    let counted = [Origin::Measured, Origin::Declared, Origin::Set, Origin::Assumed]
        .map(|origin| (of(origin), origin.word()))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"));
    text += &format!("parameters: {}\n", counted.collect::<Vec<_>>().join(", "));
    let short_of_time = short_of_time(accounts.iter().flat_map(|account| &account.runs), CHECKED);
    let machine = model
        .made
        .iter()
        .flat_map(|made| reclaimed(made.reclaimed_bytes).into_iter().chain(returned(&made.machine)));
    text + &short_of_time.into_iter().chain(machine).map(|remark| format!("\n{remark}\n")).collect::<String>()
}

/// The line of jobs that are about one thing.
fn about(account: &Account) -> Vec<String> {
    let mut errors: Vec<f64> =
        account.jobs.iter().map(|(_, measured, simulated)| (measured / simulated - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let [median, largest] = [errors.get(errors.len() / 2), errors.last()]
        .map(|error| error.map_or_else(|| "-".to_owned(), |error| percent(*error)));
    let drift = account.drift().map_or_else(|| "-".to_owned(), percent);
    vec![account.name.clone(), account.jobs.len().to_string(), median, largest, drift]
}

/// What to say of a machine that changed while it was calibrated, if it did by more than runs usually differ.
fn drifted(account: &Account) -> Option<String> {
    const MUCH: f64 = 0.1;
    let drift = account.drift().filter(|drift| drift.abs() > MUCH)?;
    let (by, than) = (percent(drift.abs()), if drift > 0.0 { "more" } else { "less" });
    Some(format!(
        "{}: later runs took {by} {than} time than earlier ones, so that forecasts may be as far off; if other programs worked meanwhile, calibrate again",
        account.name
    ))
}

/// The ends of the scale on which errors are drawn, as shares, and the columns on each side of its middle.
const SCALE: f64 = 0.5;
const HALF: usize = 10;

/// The validation as text: the table by class, and one line per job with its error drawn.
pub fn validation(validation: &Validation, colours: Colours) -> String {
    let missed: String = missed(validation).iter().map(|line| colours.bad(line) + "\n").collect();
    let refused: String =
        validation.refused.iter().map(|reason| colours.open(&format!("left out: {reason}")) + "\n").collect();
    let remarks: String = remarks(validation).iter().map(|line| format!("{line}\n")).collect();
    format!(
        "{} on {}: errors of predicted throughput, as means of their sizes\n\n{}\n{missed}\n{}\n{KEY}{refused}{remarks}\n{}\n",
        validation.provenance.mount.fs_type,
        validation.provenance.mount.path,
        table::rows(&CLASSES.map(|title| colours.strong(title)), &classes(validation, colours)),
        jobs(validation, colours),
        table::spent(validation.bytes_written, validation.duration_ns)
    )
}

/// The validation as a page in Markdown, with the date and the machine, so that no document needs a typed figure.
pub fn validation_markdown(validation: &Validation) -> String {
    let Provenance { version, started, machine, mount, .. } = &validation.provenance;
    let day = started.split('T').next().unwrap_or_default();
    let device = mount.device.name.as_deref().unwrap_or("no device");
    let remarks: String =
        missed(validation).iter().chain(&remarks(validation)).map(|line| format!("- {line}\n")).collect();
    let refused: String = validation.refused.iter().map(|reason| format!("- left out: {reason}\n")).collect();
    format!(
        "# How good predictions were on {day}\n\n`fathom validate` {version} measured this and wrote this page. {}, {}, {} CPUs, \
         {} of memory, virtualisation: {}; {} on {device}. {}\n\n## By class of job\n\n{}\n## Each job\n\n{}\n\
         ## What else the runs say\n\n{remarks}{refused}- {}\n",
        machine.kernel,
        machine.arch,
        machine.cpus,
        Bytes(machine.memory_bytes),
        machine.virtualisation,
        mount.fs_type,
        how(validation),
        markdown_table(&CLASSES, &by_class(validation)),
        markdown_table(&job_titles(validation), &by_job(validation)),
        table::spent(validation.bytes_written, validation.duration_ns)
    )
}

/// How often jobs ran, and what the errors are of.
fn how(validation: &Validation) -> String {
    let runs = if is_field(&validation.jobs) {
        "each by itself on the machine as it is"
    } else {
        "with free memory prepared before each run, while no other program worked on the same core"
    };
    format!(
        "Jobs ran {} times, {runs}. Errors are those of predicted throughput. The noise floor is how much two halves of a job's runs \
         differ; 'paper E', 'latency + bandwidth' ('plain') and 'nearest' are the errors of three simpler ways to predict; \
         'covered' counts what lies inside the 90 % intervals.",
        validation.repeats
    )
}

fn markdown_table(titles: &[&str], lines: &[Vec<String>]) -> String {
    let lines = lines.iter().map(|cells| format!("| {} |\n", cells.join(" | ")));
    format!("| {} |\n|{}\n{}", titles.join(" | "), "---|".repeat(titles.len()), lines.collect::<String>())
}

/// What the signs of a drawn error mean.
const KEY: &str = "left of 'error': \u{2502} is 0 %, \u{25cf} this job's error (-50 to 50 %), \u{2500} how much its own runs differ\n";

/// The table by class with its verdicts in colours.
fn classes(validation: &Validation, colours: Colours) -> Vec<Vec<String>> {
    let mut lines = by_class(validation);
    for (cells, class) in lines.iter_mut().zip(&validation.classes) {
        cells[2] = match class.verdict.as_str() {
            _ if class.class == "all" => continue,
            "kept" => colours.good(&cells[2]),
            "noise" | "drift" => colours.open(&cells[2]),
            _ => colours.bad(&cells[2]),
        };
    }
    lines
}

/// A line per job: what was predicted, what was measured, and the error as a picture.
fn jobs(validation: &Validation, colours: Colours) -> String {
    let mut header: Vec<String> = job_titles(validation).iter().map(|title| colours.strong(title)).collect();
    header.insert(4, String::new());
    let mut lines = by_job(validation);
    for (cells, job) in lines.iter_mut().zip(&validation.jobs) {
        let drawn = sketch::around_zero(job.error, job.noise_floor, SCALE, HALF);
        let error = std::mem::take(&mut cells[4]);
        cells[4] = if job.is_covered { error } else { colours.open(&error) };
        cells.insert(4, drawn);
    }
    table::rows(&header, &lines)
}

pub(super) const PARAMETERS: [&str; 6] = ["parameter", "value", "unit", "95 % between", "origin", "is"];

/// A line per number of a model.
pub(super) fn parameters(model: &Model) -> Vec<Vec<String>> {
    model
        .parameters
        .iter()
        .map(|(number, parameter)| {
            let interval = parameter
                .interval
                .map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", figure(low), figure(high)));
            let cells = [
                &number.name(),
                &figure(parameter.value),
                number.row().unit.word(),
                &interval,
                parameter.origin.word(),
                number.row().about,
            ];
            cells.map(str::to_owned).to_vec()
        })
        .collect()
}

/// The classes that are beyond their bars, by name.
pub(super) fn missed(validation: &Validation) -> Vec<String> {
    let missed = |class: &&Class| class.verdict == "missed" && class.class != "all";
    let said = |class: &Class| {
        format!(
            "above its limit: {} is off by {}, its limit is {} and its noise floor {}",
            class.class,
            percent(class.mean_error),
            percent(class.bar),
            percent(class.noise_floor)
        )
    };
    validation.classes.iter().filter(missed).map(said).collect()
}

/// What else is to be known of the runs: who disturbed them, what fio's say of them, and what was changed for them.
pub(super) fn remarks(validation: &Validation) -> Vec<String> {
    let effects = validation.effects.iter().cloned();
    let memory =
        reclaimed(validation.reclaimed_bytes).into_iter().chain(returned(&validation.provenance.machine));
    let short_of_time = short_of_time(validation.jobs.iter().map(|job| &job.runs), validation.repeats);
    let runs = disturbed(validation).into_iter().chain(short_of_time).chain(changed(validation));
    runs.chain(memory).chain(by_fio(validation)).chain(effects).collect()
}

/// That jobs ran less often than wanted, if any did.
fn short_of_time<'a>(mut runs: impl Iterator<Item = &'a Vec<f64>>, wanted: usize) -> Option<String> {
    runs.any(|runs| (1..wanted).contains(&runs.len())).then(|| {
        format!("short of time: not all jobs ran {wanted} times, so that their spread is less certain; raise --max-time")
    })
}

/// What it means that free memory goes back to the host.
fn returned(machine: &MachineFacts) -> Option<String> {
    machine.returns_free_memory.then(|| {
        "free page reporting: this machine returns free memory to its host, and the next program to use that memory waits for it, \
         above all where a device is a file in memory. To stop it, as root: echo 11 > \
         /sys/module/page_reporting/parameters/page_reporting_order"
            .to_owned()
    })
}

/// What it means that the kernel took so much out of memory meanwhile, if it is more than a trifle.
fn reclaimed(bytes: Option<u64>) -> Option<String> {
    const TRIFLE: u64 = 1 << 20;
    let bytes = bytes.filter(|bytes| *bytes >= TRIFLE)?;
    Some(format!(
        "reclaimed: the kernel took {} out of memory meanwhile, because memory or a control group was short, or for DAMON. Cached \
         reads may then take longer, up to a fifth has been seen, and vary. To stop DAMON, as root: \
         echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
        Bytes(bytes)
    ))
}

/// How many runs were not left alone, if any.
fn disturbed(validation: &Validation) -> Option<String> {
    let disturbed: usize = validation.jobs.iter().map(|job| job.disturbed).sum();
    let runs: usize = validation.jobs.iter().map(|job| job.runs.len()).sum();
    (disturbed > 0).then(|| {
        format!(
            "disturbed: {disturbed} of {runs} runs shared their core with another program, and no undisturbed run came in time"
        )
    })
}

/// The classes in which jobs that the calibration ran as well have changed by more than the model may be off, if any.
fn changed(validation: &Validation) -> Option<String> {
    let is_far = |one: &&Again| one.change().abs() > validation::bar(&one.class);
    let in_words = |one: &Again| format!("{} {:+.1} %", one.class, one.change() * 100.0);
    let changed: Vec<String> = validation.again.iter().filter(is_far).map(in_words).collect();
    (!changed.is_empty()).then(|| {
        format!(
            "changed: jobs that the calibration ran as well have another rate now: {}. The model describes the machine as it \
             was then: calibrate again",
            changed.join(", ")
        )
    })
}

pub(super) const CLASSES: [&str; 13] = [
    "class",
    "jobs",
    "limit",
    "error",
    "median",
    "worst",
    "noise floor (drift)",
    "paper E",
    "latency + bandwidth",
    "nearest run",
    "covered",
    "p99 error (floor)",
    "p99, p99.9: median",
];

const JOBS: [&str; 10] = [
    "job",
    "predicted",
    "90 % interval",
    "measured",
    "error",
    "noise floor",
    "paper E",
    "plain",
    "nearest",
    "p99 error",
];

/// The columns of the table of jobs: one more where fio ran some.
pub(super) fn job_titles(validation: &Validation) -> Vec<&'static str> {
    let fio = ran_by_fio(validation).then(|| over_fathom(&validation.jobs));
    JOBS.into_iter().chain(fio).collect()
}

/// What fio's figures are compared by.
pub(super) fn over_fathom(jobs: &[Held]) -> &'static str {
    if is_field(jobs) { "fio over Fathom" } else { "fio over Fathom, in calls" }
}

/// Whether the runs are single ones, as users make them.
fn is_field(jobs: &[Held]) -> bool {
    jobs.iter().any(|job| job.covered_runs.is_some())
}

fn ran_by_fio(validation: &Validation) -> bool {
    validation.jobs.iter().any(|job| job.fio.is_some())
}

/// What fio's runs of the same jobs say of Fathom's; nothing where it ran none.
fn by_fio(validation: &Validation) -> Option<String> {
    let Agreement { jobs, faster, apart } = agreement(&validation.jobs)?;
    let by_what =
        if is_field(&validation.jobs) { "what they print" } else { "the time within calls and syncs" };
    Some(format!(
        "fio ran {jobs} of the {} jobs as well, alternating with Fathom: by {by_what} it moved {} {} in the median, and in half of \
         the jobs the two differ by {} or less",
        validation.jobs.len(),
        percent(faster.abs()),
        if faster < 0.0 { "less" } else { "more" },
        percent(apart)
    ))
}

pub(super) fn by_class(validation: &Validation) -> Vec<Vec<String>> {
    validation
        .classes
        .iter()
        .map(|class| {
            vec![
                class.class.clone(),
                class.jobs.to_string(),
                match class.class.as_str() {
                    // Its classes have bars of their own.
                    "all" => "-".to_owned(),
                    _ => format!("{} {}", percent(class.bar), class.verdict),
                },
                percent(class.mean_error),
                percent(class.median_error),
                percent(class.worst_error),
                with_other(class.noise_floor, class.drift),
                percent(class.paper_error),
                percent(class.plain_error),
                known(class.nearest_error),
                match class.covered_runs {
                    Some([runs, covered]) => format!("{covered} of {runs} runs"),
                    None => format!("{} of {}", class.covered, class.jobs),
                },
                with_other(class.p99_error, class.p99_noise_floor),
                class
                    .median_tail_errors
                    .map_or_else(|| "-".to_owned(), |errors| errors.map(percent).join(", ")),
            ]
        })
        .collect()
}

/// A share, and the other that it is to be compared with.
fn with_other(share: f64, other: Option<f64>) -> String {
    other.map_or_else(|| percent(share), |other| format!("{} ({})", percent(share), percent(other)))
}

pub(super) fn by_job(validation: &Validation) -> Vec<Vec<String>> {
    let ran_by_fio = ran_by_fio(validation);
    validation
        .jobs
        .iter()
        .map(|job| {
            let fio = job.fio.as_ref().map_or_else(
                || "-".to_owned(),
                |fio| format!("{}, {:+.1} %", rate(fio.bytes_per_second), fio.faster() * 100.0),
            );
            let mut cells = vec![
                job.condition
                    .as_ref()
                    .map_or_else(|| job.name.clone(), |set| format!("{} ({set})", job.name)),
                rate(job.predicted.value),
                format!("{} to {}", rate(job.predicted.low), rate(job.predicted.high)),
                rate(job.measured),
                percent(job.error),
                percent(job.noise_floor),
                percent(job.paper_error),
                percent(job.plain_error),
                known(job.nearest_error),
                percent(job.p99_error),
            ];
            cells.extend(ran_by_fio.then_some(fio));
            cells
        })
        .collect()
}

/// A share that not every model tells.
fn known(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.4}"),
    }
}
