//! `fathom probe`: one workload, every option open, raw samples out.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use fathom::recipe::{self, RECIPES, Recipe};
use fathom::results::Json;
use fathom::samples::{Samples, state_caveats, write_csv};
use fathom::workload::{CallKind, Pass, Region, ScratchFile, Workload};

use super::session;
use crate::args::{ProbeOptions, Summary, library};
use crate::console::{self, spinner};
use crate::failure::{Failure, plain};

pub(crate) fn run(options: &ProbeOptions) -> Result<ExitCode, Failure> {
    if options.list_recipes {
        console::print(&RECIPES.iter().map(described).collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let recipe = options.recipe.as_deref().map(chosen).transpose()?;
    let workload = match recipe {
        Some(recipe) => recipe.workload().seed(options.budget.seed),
        None => workload(options),
    };
    workload.check().map_err(Failure::Usage)?;
    if options.dry_run {
        console::print(&(workload.json()? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut session = session(&options.path, options.budget)?;
    let mut out = options
        .out
        .as_ref()
        .map(|file| {
            let made = OpenOptions::new().write(true).create_new(true).open(file);
            made.map_err(|error| {
                Failure::Failed(format!("--out: can't make {}: {}", file.display(), plain(&error)))
            })
        })
        .transpose()?;
    let samples = spinner("running the workload").during(|| session.probe(&workload))?;
    let text = match options.summary {
        Some(summary) => summarised(&samples, summary),
        None => raw(&samples)?,
    };
    match &mut out {
        Some(file) => file.write_all(text.as_bytes()).map_err(|error| Failure::Failed(plain(&error)))?,
        None => console::print(&text)?,
    }
    if let Some(recipe) = recipe {
        console::tell(&format!("{}{}\n", described(recipe), ours(recipe, &samples)), true)?;
    }
    samples.notes.iter().for_each(|note| console::note(note));
    state_caveats(&[samples]).iter().flatten().for_each(|caveat| console::note(caveat));
    Ok(ExitCode::SUCCESS)
}

fn chosen(name: &str) -> Result<&'static Recipe, Failure> {
    recipe::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        Failure::Usage(format!("--recipe: there is no recipe '{name}'; there are {}", names.join(", ")))
    })
}

fn described(recipe: &Recipe) -> String {
    let Recipe { name, source, did, concluded, differs, .. } = recipe;
    format!("{name} ({source})\n  they did: {did}\n  and concluded: {concluded}\n  here: {differs}\n")
}

fn ours(recipe: &Recipe, samples: &Samples) -> String {
    format!("  Fathom, from these samples: {}", recipe.conclude(samples))
}

fn workload(options: &ProbeOptions) -> Workload {
    let step = options.step.unwrap_or(options.size);
    let region = Region { offset: options.offset, size: options.size, step, count: options.count };
    let ops: Vec<CallKind> = options.op.iter().map(|&op| library(op)).collect();
    let end = region
        .count
        .saturating_sub(1)
        .saturating_mul(step)
        .saturating_add(region.offset)
        .saturating_add(region.size);
    let reads = ops.iter().any(|op| matches!(op, CallKind::Read | CallKind::Pread));
    let file_size = options
        .file_size
        .unwrap_or(if reads && !options.fresh { end } else { 0 })
        .max(options.prime.unwrap_or(0));
    let mut workload = Workload::new(vec![ScratchFile::filled("probe", file_size)])
        .rounds(options.rounds)
        .warmup(options.warmup)
        .seed(options.budget.seed);
    let prepare: &[CallKind] = match (options.fresh, options.cold) {
        (true, _) => &[CallKind::Create],
        (_, true) => &[CallKind::Open, CallKind::Evict],
        _ => &[CallKind::Open],
    };
    workload = workload.pass(Pass::untimed(0, prepare));
    let blocks = |bytes: u64| Region {
        offset: 0,
        size: options.size,
        step: options.size,
        count: (bytes / options.size.max(1)).max(1),
    };
    if options.cached {
        workload = workload.pass(Pass::priming(0, &[CallKind::Pread], blocks(file_size)));
    }
    if let Some(prime) = options.prime {
        workload = workload.pass(Pass::priming(0, &[CallKind::Read], blocks(prime)));
    }
    if !options.settle.is_zero() {
        workload = workload.pass(Pass::pause(options.settle.as_nanos() as u64));
    }
    let mut timed =
        Pass::timed(0, &ops, region).direction(library(options.direction)).gap(options.gap.as_nanos() as u64);
    timed.needs = options.cache_state();
    workload.between_rounds =
        options.between.as_ref().map(|words| words.split_whitespace().map(str::to_owned).collect());
    workload.pass(timed)
}

fn raw(samples: &Samples) -> Result<String, Failure> {
    let mut text = Vec::new();
    write_csv(&samples.readings, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// One line per position and operation: the summary of its rounds in ticks and in ns.
fn summarised(samples: &Samples, summary: Summary) -> String {
    let pass = samples.workload.passes.len() - 1;
    let plan = &samples.workload.passes[pass];
    let positions = plan.region.count as usize;
    let mut text = "offset_bytes,op,rounds,latency_ticks,latency_ns\n".to_owned();
    for (step, op) in plan.ops.iter().enumerate() {
        let matrix = samples.matrix(pass, step);
        let word = serde_json::to_value(op)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default();
        for position in 0..positions {
            let mut column: Vec<f64> = matrix.iter().skip(position).step_by(positions).copied().collect();
            column.sort_by(f64::total_cmp);
            let ticks = reduce(&column, summary);
            let offset = plan.region.offset + position as u64 * plan.region.step;
            let ns = samples.nanoseconds(ticks);
            text.push_str(&format!("{offset},{word},{},{ticks:.1},{ns:.1}\n", column.len()));
        }
    }
    text
}

fn reduce(ascending: &[f64], summary: Summary) -> f64 {
    let count = ascending.len();
    if count == 0 {
        return f64::NAN;
    }
    match summary {
        Summary::Median => (ascending[(count - 1) / 2] + ascending[count / 2]) / 2.0,
        Summary::Mean => ascending.iter().sum::<f64>() / count as f64,
        Summary::Min => ascending[0],
        Summary::Max => ascending[count - 1],
    }
}
