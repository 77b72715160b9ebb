//! The wait: everything is asked about at its age, until each kind has shown its step.

use super::observer::{Observer, Passed};
use super::workloads::{DIRECTORY, Names, Numbers, Place, asking, beginning, files};
use super::{ALL, Believed, TICKS, What};
use crate::experiment::prelude::*;
use crate::inference::quiet::{self, Probe, Step};

/// By which factor each age is older than the one before; the same for the closer look.
const GROWTH: f64 = 1.25;
const CLOSE_GROWTH: f64 = 1.02;
/// The same where a single probe tells, so that no closer look is needed.
const CERTAIN_GROWTH: f64 = 1.1;
/// There the ages on the two sides of the step must be neighbours: no further apart than by this factor.
const CERTAIN_WIDEST: f64 = 1.15;
/// How far the closer look goes beyond where the step was seen.
const MARGIN: f64 = 1.1;
/// A closer look is repeated if the ages on the two sides of the step are further apart than by this factor.
const WIDEST: f64 = 1.2;
const CLOSER_LOOKS: usize = 5;
/// Making files and asking about them takes too long for an age if it takes this share of it.
const CROWDED: f64 = 0.05;
/// A file is left out if making it or asking about it took this many times as long as making usually does, and more than this
/// share of its age.
const MOST_TIMES_USUAL: f64 = 3.0;
const LITTLE: f64 = 0.02;
/// Probes wanted on each side of a step: fewer may be chance.
const PER_SIDE: usize = 5;
/// A closer look takes this share of the age at which the first one ends, at the least.
const RESERVE: f64 = 0.7;
/// The probability that chance made both steps, above which nothing is said.
const MOST_CHANCE: f64 = 1e-3;

/// The first look and the closer one: of each kind that is wanted the answer, or why there is none.
pub(super) fn sweeps(
    observer: &mut dyn Observer,
    numbers: &mut Numbers,
    wanted: [bool; 3],
    ends: [f64; 2],
) -> Result<[Result<Believed, String>; 3], Fault> {
    let growth = if observer.is_certain() { CERTAIN_GROWTH } else { GROWTH };
    let ages = growing(wanted, ends, growth);
    let Swept { steps: mut first, until_ns, mut place_ns, mut is_late } = sweep(observer, numbers, &ages)?;
    if observer.is_certain() {
        return Ok(first.map(|first| first.and_then(|(step, samples)| Believed::certain(step, samples))));
    }
    // What is over soon may have been too young for so many calls: alone it takes fewer.
    for what in 0..3 {
        let is_crowded = place_ns > CROWDED * until_ns[what];
        if wanted[what] && !is_late && first[what].is_err() && is_crowded {
            let alone = [0, 1, 2].map(|other| other == what);
            let seen = sweep(observer, numbers, &growing(alone, ends, growth))?;
            is_late = seen.is_late;
            first[what] = seen.steps.into_iter().nth(what).unwrap_or(Err(String::new()));
        }
    }
    let mut answers: [Option<Result<Believed, String>>; 3] = [None, None, None];
    for _ in 0..CLOSER_LOOKS {
        let is_open = |what: usize| answers[what].is_none();
        let seen = |what: usize| first[what].as_ref().ok().map(|(step, _)| *step);
        let mut steps = [0, 1, 2].map(|what| seen(what).filter(|_| is_open(what)));
        // Where asking takes long compared with the ages, one kind after the other is asked about.
        let is_crowded = |step: &Step| place_ns > CROWDED * step.low;
        if let Some(alone) = steps.iter().position(|step| step.as_ref().is_some_and(is_crowded)) {
            steps = [0, 1, 2].map(|what| steps[what].filter(|_| what == alone));
        }
        // A look that time has cut short is the last one: nothing decides that a recording does not know.
        if is_late || steps.iter().all(Option::is_none) {
            break;
        }
        let closer = sweep(observer, numbers, &close(steps, place_ns))?;
        (place_ns, is_late) = (closer.place_ns, closer.is_late);
        for (what, closer) in closer.steps.into_iter().enumerate().filter(|(what, _)| steps[*what].is_some())
        {
            answers[what] = closely(&first[what], closer);
        }
    }
    let mut answers = answers.into_iter();
    Ok(first.map(|first| match (first, answers.next().flatten()) {
        (_, Some(answer)) => answer,
        (Ok((step, _)), None) => Err(format!(
            "the kernel trusted it for {} to {}, and there was no time for a finer measurement",
            Nanos(step.low),
            Nanos(step.high)
        )),
        (Err(reason), None) => Err(reason),
    }))
}

/// The answer after the first and a closer look; none where a disturbance has hidden the moment of the step.
fn closely(
    first: &Result<(Step, usize), String>,
    closer: Result<(Step, usize), String>,
) -> Option<Result<Believed, String>> {
    let (first, before) = first.as_ref().ok()?;
    let (closer, after) = match closer {
        Ok(seen) => seen,
        Err(reason) => return Some(Err(format!("in the finer measurement {reason}"))),
    };
    let is_there = closer.low <= first.high * MARGIN && closer.high >= first.low / MARGIN;
    let chance = first.chance * closer.chance;
    if !is_there || chance > MOST_CHANCE {
        let [one, other] = [first.high, closer.high].map(Nanos);
        return Some(Err(format!(
            "the kernel trusted it for {one} and then for {other}: the two measurements disagree"
        )));
    }
    let (low, high) = (closer.low, closer.high);
    let believed = Believed { low, high, confidence: 1.0 - chance, samples: before + after };
    (high <= WIDEST * low).then_some(Ok(believed))
}

impl Believed {
    /// What single probes tell, where they are close enough to the step.
    fn certain(step: Step, samples: usize) -> Result<Self, String> {
        let Step { low, high, .. } = step;
        // What is over at the first look was never believed, if that look came soon.
        let most = if low > 0.0 { CERTAIN_WIDEST * low } else { TICKS.as_nanos() as f64 };
        if high > most {
            let [low, high] = [low, high].map(Nanos);
            return Err(format!("the server was asked again after more than {low} and before {high}"));
        }
        Ok(Self { low, high, confidence: 1.0, samples })
    }
}

fn growing(what: [bool; 3], [first_ns, longest_ns]: [f64; 2], growth: f64) -> Vec<Place> {
    let ages = std::iter::successors(Some(first_ns), |age| Some(age * growth));
    ages.take_while(|&age| age <= longest_ns).map(|age_ns| Place { age_ns, what }).collect()
}

/// Ages around each step: so many that enough lie on both sides, and no closer to one another than asking takes.
fn close(steps: [Option<Step>; 3], place_ns: f64) -> Vec<Place> {
    let growth = |age_ns: f64| CLOSE_GROWTH.max(1.0 + 2.0 * place_ns / age_ns);
    let ranges = steps.map(|step| {
        step.map(|step| {
            let margin = MARGIN.max(growth(step.low).powi(PER_SIDE as i32 + 1));
            step.low / margin..=step.high * margin
        })
    });
    let ends = || ranges.iter().flatten();
    let first = ends().map(|range| *range.start()).fold(f64::INFINITY, f64::min);
    let last = ends().map(|range| *range.end()).fold(0.0, f64::max);
    let ages = std::iter::successors(Some(first), |age| Some(age * growth(*age)));
    ages.take_while(|&age| age <= last)
        .map(|age_ns| {
            let holds = |range: &Option<std::ops::RangeInclusive<f64>>| {
                range.as_ref().is_some_and(|range| range.contains(&age_ns))
            };
            Place { age_ns, what: ranges.each_ref().map(holds) }
        })
        .filter(|place| place.what.contains(&true))
        .collect()
}

/// What a wait has shown.
struct Swept {
    /// Of each kind the step and the calls that it rests on, or why there is none.
    steps: [Result<(Step, usize), String>; 3],
    /// The age until which each was asked about.
    until_ns: [f64; 3],
    /// How long it took to make and to ask about what belongs to one age.
    place_ns: f64,
    /// Whether time has run out.
    is_late: bool,
}

/// Makes files, and asks about them at their ages until each kind has shown its step.
fn sweep(observer: &mut dyn Observer, numbers: &mut Numbers, places: &[Place]) -> Result<Swept, Fault> {
    let count = places.len() as u64;
    let alike = observer.alike();
    let names = Names { new: numbers.new, nothing: numbers.nothing, alike };
    numbers.new += count * alike;
    numbers.nothing += count * alike;
    let mut seen = Seen::new(places, names);
    let mut workload = beginning(places, names);
    let making = workload.passes.len();
    let mut next = 0;
    let mut asked = Vec::new();
    if observer.is_certain() {
        // Setting a trace up takes long: what is young is asked about in the same.
        next = places.len().min(observer.ages_at_once());
        asked = seen.open(observer, 0..next);
        let wait_ns = asked.first().map_or(0.0, |(_, place)| place.age_ns);
        workload = seen.asking(observer, workload, &asked, wait_ns, numbers);
    }
    let mut begun = match observer.observe(workload)? {
        Ok(begun) => begun,
        Err(reason) => {
            seen.steps = [0, 1, 2].map(|_| Err(reason.clone()));
            return Ok(Swept { steps: seen.steps, until_ns: [0.0; 3], place_ns: 0.0, is_late: true });
        }
    };
    let passed = begun.split_off(making.min(begun.len()));
    let made = Made::of(places, begun, alike);
    seen.now = made.last;
    seen.note(observer, &made, &asked, passed);
    let mut is_late = false;
    while next < places.len() && !is_late {
        let here = next..places.len().min(next + observer.ages_at_once());
        next = here.end;
        let asked = seen.open(observer, here);
        let Some(&(at, first)) = asked.first() else { continue };
        let kind = first.what.iter().position(|&open| open).unwrap_or(0);
        let wait_ns = (made.since[at][kind] + first.age_ns - seen.now).max(0.0);
        is_late = observer.is_late(wait_ns + RESERVE * first.age_ns);
        if is_late {
            break;
        }
        let workload = Workload::new(files(next * alike as usize));
        let workload = seen.asking(observer, workload, &asked, wait_ns, numbers);
        match observer.observe(workload)? {
            Ok(passed) => seen.note(observer, &made, &asked, passed),
            Err(_) => is_late = true,
        }
    }
    let place_ns = made.place_ns + fathom_stats::quantile::median(&seen.asked_ns).unwrap_or(0.0);
    // Whatever is not removed now goes with the directory.
    let made = places.iter().zip((names.new..).step_by(alike as usize));
    let made = made.filter(|(place, _)| place.what[What::Names as usize]).map(|(_, offset)| {
        Pass::priming(DIRECTORY, &[CallKind::Unlink], Region { offset, size: 0, step: 1, count: alike })
    });
    let removal = made.fold(Workload::new(files(0)), Workload::pass);
    if !is_late && !removal.passes.is_empty() {
        observer.observe(removal)?.ok();
    }
    Ok(Swept { steps: seen.steps, until_ns: seen.until_ns, place_ns, is_late })
}

/// What was asked about so far, and what that has shown.
struct Seen<'a> {
    places: &'a [Place],
    names: Names,
    probes: [Vec<Probe>; 3],
    steps: [Result<(Step, usize), String>; 3],
    until_ns: [f64; 3],
    /// How long asking took, by places.
    asked_ns: Vec<f64>,
    now: f64,
}

impl<'a> Seen<'a> {
    fn new(places: &'a [Place], names: Names) -> Self {
        let steps = [0, 1, 2].map(|_| Err("nothing was asked again".to_owned()));
        let (probes, asked_ns) = (Default::default(), Vec::new());
        Self { places, names, probes, steps, until_ns: [0.0; 3], asked_ns, now: 0.0 }
    }

    /// Of some places those with a kind that has not shown its step yet.
    fn open(&self, observer: &dyn Observer, here: std::ops::Range<usize>) -> Vec<(usize, Place)> {
        let is_open = [0, 1, 2].map(|what| !is_over(observer, &self.probes[what]));
        let open = |at: usize| {
            let Place { age_ns, what } = self.places[at];
            let what = [0, 1, 2].map(|kind| what[kind] && is_open[kind]);
            Some((at, Place { age_ns, what })).filter(|(_, place)| place.what.contains(&true))
        };
        here.filter_map(open).collect()
    }

    /// Asks about places, the first of them after so long.
    fn asking(
        &self,
        observer: &dyn Observer,
        mut workload: Workload,
        asked: &[(usize, Place)],
        mut wait_ns: f64,
        numbers: &mut Numbers,
    ) -> Workload {
        let mut before_ns = asked.first().map_or(0.0, |(_, place)| place.age_ns);
        // A witness needs no calls to compare with.
        let mut numbers = (!observer.is_certain()).then_some(numbers);
        for (at, place) in asked {
            wait_ns += place.age_ns - before_ns;
            workload = asking(workload, place, wait_ns, *at, self.names, numbers.as_deref_mut());
            (before_ns, wait_ns) = (place.age_ns, 0.0);
        }
        workload
    }

    /// Sorts what was seen.
    fn note(&mut self, observer: &dyn Observer, made: &Made, asked: &[(usize, Place)], passed: Vec<Passed>) {
        let Some(last) = passed.last() else { return };
        self.now = last.ended_ns;
        self.asked_ns.extend(passed.get(1).map(|pass| (self.now - pass.began_ns) / asked.len() as f64));
        let mut passed = passed.into_iter();
        for (at, place) in asked {
            note(&mut self.probes, place, made, *at, &mut passed, observer);
        }
        let until = asked.last().map_or(0.0, |(_, place)| place.age_ns);
        for (what, step) in self.steps.iter_mut().enumerate() {
            if asked.iter().any(|(_, place)| place.what[what]) {
                *step = stepped(observer, &self.probes[what], until);
                self.until_ns[what] = until;
            }
        }
    }
}

/// When everything that is asked about was made, in ns.
struct Made {
    /// Of each place and kind when it was there.
    since: Vec<[f64; 3]>,
    /// How long making it took: the kernel may have learnt of it any time then.
    took: Vec<[f64; 3]>,
    /// The usual time, and that of everything of one age.
    usually: [f64; 3],
    place_ns: f64,
    last: f64,
}

impl Made {
    /// From the passes of [`beginning`]: those of the last place stand first, and of a place one kind after the other.
    fn of(places: &[Place], passes: Vec<Passed>, alike: u64) -> Self {
        let mut passes = passes.into_iter();
        let (mut since, mut took) = (vec![[0.0; 3]; places.len()], vec![[0.0; 3]; places.len()]);
        let (mut last, mut times): (f64, [Vec<f64>; 3]) = (0.0, Default::default());
        for (at, place) in places.iter().enumerate().rev() {
            for what in (0..3).filter(|&what| place.what[what]) {
                let alike: Vec<Passed> = passes.by_ref().take(alike as usize).collect();
                let [Some(first), Some(end)] = [alike.first(), alike.last()] else { continue };
                (since[at][what], took[at][what]) = (end.ended_ns, end.ended_ns - first.began_ns);
                times[what].push(took[at][what]);
                last = end.ended_ns;
            }
        }
        let usually = times.map(|times| fathom_stats::quantile::median(&times).unwrap_or(0.0));
        Self { since, took, usually, place_ns: usually.iter().sum(), last }
    }

    /// Whether an age is known well enough: neither making the file nor asking about it took longer than making usually
    /// does, or it took little of the age.
    fn is_clear(&self, at: usize, what: usize, age_ns: f64, asking_ns: f64) -> bool {
        let took = self.took[at][what].max(asking_ns);
        took <= MOST_TIMES_USUAL * self.usually[what] || took <= LITTLE * age_ns
    }
}

/// Whether enough probes behind a step were asked of the server.
fn is_over(observer: &dyn Observer, probes: &[Probe]) -> bool {
    let Some(asked) = observer.asked(probes) else { return false };
    let clear: Vec<bool> = asked.into_iter().flatten().collect();
    clear.iter().rev().take_while(|&&asked| asked).count() >= PER_SIDE
}

fn stepped(observer: &dyn Observer, probes: &[Probe], age_ns: f64) -> Result<(Step, usize), String> {
    let waited = Nanos(age_ns);
    let alike = || "calls that ask the server take as long as calls that need not".to_owned();
    let asked = observer.asked(probes).ok_or_else(alike)?;
    // What was made early is older than its place says, where making everything has taken long.
    let clear = probes.iter().zip(asked).filter_map(|(probe, asked)| Some((probe.age_ns, asked?)));
    let mut clear: Vec<(f64, bool)> = clear.collect();
    clear.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ages, asked): (Vec<f64>, Vec<bool>) = clear.into_iter().unzip();
    let samples =
        probes.iter().map(|probe| probe.idle.len() + probe.busy.len() + observer.alike() as usize).sum();
    match quiet::step(&ages, &asked) {
        Some(step) => Ok((step, samples)),
        None if asked.iter().all(|asked| !asked) => {
            Err(format!("the server was not asked again within {waited}: to wait longer raise --max-time"))
        }
        None if asked.iter().all(|&asked| asked) => {
            let first = ages.first().copied().unwrap_or(0.0);
            match observer.is_certain() {
                true => Ok((Step { low: 0.0, high: first, chance: 0.0 }, samples)),
                false => Err(format!("the server was asked again before {}", Nanos(first))),
            }
        }
        None => Err(format!("within {waited} the server was sometimes asked and sometimes not")),
    }
}

/// Sorts what was seen at one age.
fn note(
    probes: &mut [Vec<Probe>; 3],
    place: &Place,
    made: &Made,
    at: usize,
    passed: &mut dyn Iterator<Item = Passed>,
    observer: &dyn Observer,
) {
    // The pause comes first; then, of each kind, the known calls and those that are asked about.
    passed.next();
    for what in ALL.into_iter().filter(|&what| place.what[what as usize]) {
        let known = if observer.is_certain() { 0 } else { what.known_passes() };
        let known: Vec<Passed> = (&mut *passed).take(known).collect();
        let asked: Vec<Passed> = (&mut *passed).take(observer.alike() as usize).collect();
        let [Some(begun), Some(ended)] = [asked.first(), asked.last()] else { continue };
        let step = |pass: Option<&Passed>, step: usize| {
            pass.and_then(|pass| pass.steps.get(step)).cloned().unwrap_or_default()
        };
        let age_ns = begun.began_ns - made.since[at][what as usize];
        if !made.is_clear(at, what as usize, age_ns, ended.ended_ns - begun.began_ns) {
            continue;
        }
        let latencies = asked.iter().flat_map(|pass| step(Some(pass), 0));
        probes[what as usize].push(Probe {
            age_ns,
            busy: if what == What::Names { step(known.first(), 0) } else { step(known.last(), 0) },
            idle: step(known.last(), 1),
            asked: latencies.fold(f64::INFINITY, f64::min),
        });
    }
}
