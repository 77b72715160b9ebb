//! The best cell of a grid, by successive halving.
//!
//! A prediction is the median of many runs of the model. Here every cell gets a few of them. Then the worse half is dropped,
//! as far as it can be told apart from the best cell, and the others get twice as many; until one is left, or the others
//! have all their runs. All cells share their random numbers, so that two of them are compared run by run.
//! Source: Karnin, Koren and Somekh, Almost Optimal Exploration in Multi-Armed Bandits (ICML 2013).
//!
//! Which process works is left open: a [`Race`] names [`Task`]s, any process does them, and it takes their results in any order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use fathom_stats::distribution::student_quantile;
use fathom_stats::quantile::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{Axis, Cell, Plan};
use crate::model::Made;
use crate::prediction::{Estimate, Forecast, predict_runs, runs};
use fathom_program::job::JobFile;

/// The schema of a written [`Best`].
pub const BEST_SCHEMA: &str = "fathom.best/1";

/// The runs that every cell gets.
const FIRST: u32 = 3;
/// Two cells are told apart where the better one is so with this certainty.
const CERTAINTY: f64 = 0.95;

/// The figure by which cells are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum By {
    /// The most bytes per second, of all jobs together.
    Bandwidth,
    /// The most calls per second, of all jobs together.
    Iops,
    /// The shortest mean latency, of the job that has the longest.
    Mean,
    /// The shortest latency that 99 % of the calls don't exceed, of the job that has the longest.
    P99,
    /// The shortest latency that 99.9 % of the calls don't exceed, of the job that has the longest.
    P999,
}

impl By {
    /// Every figure.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name of the figure.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Reads the name of a figure.
    ///
    /// # Errors
    /// One sentence with the names that there are.
    pub fn read(name: &str) -> Result<Self, String> {
        let all = || Self::ALL.iter().copied();
        all().find(|by| by.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all().map(Self::name).collect();
            format!("'{name}' is not a figure to compare by: use {}", names.join(", "))
        })
    }

    /// The figure of a cell's jobs, in bytes per second, calls per second or ns; none where the jobs have none, or it is zero.
    pub fn of(self, jobs: &[Forecast]) -> Option<Estimate> {
        let sides = jobs.iter().flat_map(|job| &job.sides);
        let all: Vec<Estimate> = sides
            .map(|side| match self {
                Self::Bandwidth => side.bytes_per_second,
                Self::Iops => side.calls_per_second,
                Self::Mean => side.latency.mean_ns,
                Self::P99 => side.latency.p99_ns,
                Self::P999 => side.latency.p999_ns,
            })
            .collect();
        let figure = match self {
            Self::Bandwidth | Self::Iops => all.into_iter().reduce(|Estimate { value, low, high }, one| {
                Estimate { value: value + one.value, low: low + one.low, high: high + one.high }
            }),
            Self::Mean | Self::P99 | Self::P999 => {
                all.into_iter().reduce(|most, one| if one.value > most.value { one } else { most })
            }
        };
        figure.filter(|figure| figure.value.is_finite() && figure.value > 0.0)
    }

    /// How good a figure is, in logarithms: what is better is larger.
    fn merit(self, figure: f64) -> f64 {
        match self {
            Self::Bandwidth | Self::Iops => figure.ln(),
            Self::Mean | Self::P99 | Self::P999 => -figure.ln(),
        }
    }
}

/// Runs of one cell that the search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The cell to run.
    pub cell: usize,
    /// The first run, from zero.
    pub from: u32,
    /// The run after the last one.
    pub to: u32,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    cell: usize,
    from: u32,
    /// How many runs a prediction of the cell takes.
    most: u32,
    /// The figure by each run.
    figures: Vec<f64>,
    /// How far the model's own error may be off, as a logarithm.
    reach: f64,
    refused: Option<String>,
}

/// The search for the best cell of a plan, as it stands between two rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    by: By,
    /// How many runs the cells are to have by the end of the round.
    runs: u32,
    /// How many a prediction takes at most.
    most: u32,
    entrants: Vec<Entrant>,
    rounds: Vec<Round>,
    refused: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entrant {
    cell: usize,
    figures: Vec<f64>,
    most: u32,
    reach: f64,
    is_out: bool,
}

/// A round of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// The number of cells that were left.
    pub cells: usize,
    /// The number of runs of the model that each of these cells had by the end of the round, if its prediction takes that many.
    pub runs: u32,
}

/// A combination that can't be distinguished from the best one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rival {
    /// Its place in the grid, from zero.
    pub cell: usize,
    /// The value on each axis, by the axis' name.
    pub settings: BTreeMap<String, String>,
    /// The figure of the combination: bytes per second, calls per second or ns.
    pub figure: f64,
    /// The number of runs of the model in which it was better than the best cell.
    pub better_in: u32,
    /// The number of runs in which the two were equal.
    pub equal_in: u32,
    /// The number of runs in which the two were compared.
    pub runs: u32,
}

/// The best cell of a grid, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.best/1")]
pub struct Best {
    /// Always `fathom.best/1`.
    #[schemars(extend("const" = BEST_SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// What the model was made from; nothing where every value is assumed.
    pub made: Option<Made>,
    /// The seed of every cell.
    pub seed: u64,
    /// The most sets of parameters that were drawn for a cell.
    pub draws: u32,
    /// The axes of the grid; the last one changes fastest.
    pub axes: Vec<Axis>,
    /// The figure that was compared: `bandwidth`, `iops`, `mean`, `p99` or `p999`.
    pub by: By,
    /// The best cell, as a sweep of the whole grid predicts it.
    pub best: Cell,
    /// The figure of the best cell: bytes per second, calls per second or ns.
    pub figure: Estimate,
    /// The cells that can't be distinguished from the best one, the best of them first.
    pub rivals: Vec<Rival>,
    /// The rounds in which cells were compared.
    pub rounds: Vec<Round>,
    /// The number of refused cells, by the reason.
    pub refused: BTreeMap<String, usize>,
    /// The number of runs of the model that the search made.
    pub simulated: u64,
    /// The number of runs of the model that a sweep of the whole grid would make.
    pub whole_grid: u64,
}

impl Plan {
    /// Does a task, with the jobs of its cell.
    pub fn try_cell(&self, Task { cell, from, to }: Task, by: By, jobs: Result<JobFile, String>) -> Tried {
        let tried = jobs.and_then(|file| {
            let model = self.model_of(cell)?;
            let most = runs(&file.jobs, &model, self.how());
            let predicted = predict_runs(&file.jobs, &model, self.how(), from..to.min(most))?;
            let figures = predicted.iter().map(|jobs| by.of(jobs)).collect::<Option<Vec<Estimate>>>();
            let figures = figures.ok_or_else(|| format!("its jobs have no {}", by.name()))?;
            let reach = figures.first().map_or(0.0, |one| (one.high / one.value).ln());
            Ok((most, figures.into_iter().map(|one| one.value).collect(), reach))
        });
        match tried {
            Ok((most, figures, reach)) => Tried { cell, from, most, figures, reach, refused: None },
            Err(reason) => {
                Tried { cell, from, most: 0, figures: Vec::new(), reach: 0.0, refused: Some(reason) }
            }
        }
    }
}

impl Entrant {
    /// The figure, as far as it is known.
    fn figure(&self) -> f64 {
        median(&self.figures).unwrap_or(0.0)
    }

    /// Whether this one is better than another with [`CERTAINTY`]: by what the runs differ in, and by the errors of the model
    /// that were seen, which are another on each job.
    fn is_surely_better(&self, other: &Self, by: By) -> bool {
        let pairs = self.figures.iter().zip(&other.figures);
        let gains: Vec<f64> = pairs.map(|(own, others)| by.merit(*own) - by.merit(*others)).collect();
        let count = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / count;
        let mut unknown = self.reach.powi(2) + other.reach.powi(2);
        if gains.len() > 1 {
            let variance = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / (count - 1.0);
            // Of one more run than those that were made.
            unknown += student_quantile(CERTAINTY, count - 1.0).powi(2) * variance * (1.0 + 1.0 / count);
        }
        mean > unknown.sqrt()
    }
}

impl Race {
    /// The beginning of a search.
    pub fn new(plan: &Plan, by: By) -> Self {
        let most = 1 + plan.draws;
        let entrant = |cell| Entrant { cell, figures: Vec::new(), most, reach: 0.0, is_out: false };
        let entrants = (0..plan.cells()).map(entrant).collect();
        Self { by, runs: FIRST.min(most), most, entrants, rounds: Vec::new(), refused: BTreeMap::new() }
    }

    /// The tasks to do before the next [`take`](Self::take); none when the search has ended.
    pub fn tasks(&self) -> Vec<Task> {
        let wanted = |one: &Entrant| {
            let (from, to) = (one.figures.len() as u32, self.runs.min(one.most));
            (from < to).then_some(Task { cell: one.cell, from, to })
        };
        self.left().filter_map(wanted).collect()
    }

    /// Takes the results of all tasks, in any order, and drops cells.
    pub fn take(&mut self, tried: impl IntoIterator<Item = Tried>) {
        let mut tried: HashMap<usize, Tried> = tried.into_iter().map(|one| (one.cell, one)).collect();
        for entrant in &mut self.entrants {
            let Some(one) = tried.remove(&entrant.cell) else { continue };
            entrant.most = one.most;
            entrant.reach = if one.from == 0 { one.reach } else { entrant.reach };
            entrant.figures.extend(one.figures);
            if let Some(reason) = one.refused {
                entrant.is_out = true;
                *self.refused.entry(reason).or_default() += 1;
            }
        }
        let order = self.order();
        self.rounds.push(Round { cells: order.len(), runs: self.runs });
        let is_end = self.runs >= self.most || order.iter().all(|&at| self.is_whole(at));
        // Those in the better half are let go at the end alone.
        let kept = if is_end { 1 } else { order.len().div_ceil(2) };
        for &at in order.iter().skip(kept) {
            self.entrants[at].is_out = self.entrants[order[0]].is_surely_better(&self.entrants[at], self.by);
        }
        self.runs = if is_end || self.left().count() < 2 { 0 } else { (2 * self.runs).min(self.most) };
    }

    /// The cell that leads; none where all are refused.
    pub fn leader(&self) -> Option<usize> {
        self.order().first().map(|&at| self.entrants[at].cell)
    }

    /// The result of the search; `best` is the prediction of the [`leader`](Self::leader).
    ///
    /// # Errors
    /// Where all cells are refused, the first reason.
    pub fn end(self, plan: &Plan, best: Cell) -> Result<Best, String> {
        let refusal =
            || self.refused.keys().next().cloned().unwrap_or_else(|| "the grid is empty".to_owned());
        let order = self.order();
        let (&first, others) = order.split_first().ok_or_else(refusal)?;
        let figure = self.by.of(&best.jobs).ok_or_else(refusal)?;
        let leader = &self.entrants[first];
        let rival = |&at: &usize| {
            let one = &self.entrants[at];
            let pairs = one.figures.iter().zip(&leader.figures);
            let count = |order: Ordering| {
                let merits = pairs.clone().map(|(own, best)| [self.by.merit(*own), self.by.merit(*best)]);
                merits.filter(|[own, best]| own.total_cmp(best) == order).count() as u32
            };
            Rival {
                cell: one.cell,
                settings: plan.all_settings(one.cell),
                figure: one.figure(),
                better_in: count(Ordering::Greater),
                equal_in: count(Ordering::Equal),
                runs: pairs.len() as u32,
            }
        };
        let simulated: usize = self.entrants.iter().map(|one| one.figures.len()).sum();
        Ok(Best {
            schema: BEST_SCHEMA.to_owned(),
            version: plan.version.clone(),
            made: plan.model.made.clone(),
            seed: plan.seed,
            draws: plan.draws,
            axes: plan.axes.clone(),
            by: self.by,
            best,
            figure,
            rivals: others.iter().map(rival).collect(),
            // The prediction of the best cell is made anew.
            simulated: simulated as u64 + u64::from(leader.most),
            whole_grid: self.entrants.iter().map(|one| u64::from(one.most)).sum(),
            rounds: self.rounds,
            refused: self.refused,
        })
    }

    fn left(&self) -> impl Iterator<Item = &Entrant> {
        self.entrants.iter().filter(|one| !one.is_out)
    }

    fn is_whole(&self, at: usize) -> bool {
        self.entrants[at].figures.len() as u32 >= self.entrants[at].most
    }

    /// The entrants that are left, the best first; of equal ones the first of the grid.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.entrants.len()).filter(|&at| !self.entrants[at].is_out).collect();
        order.sort_by(|&one, &other| {
            let [one, other] = [one, other].map(|at| self.by.merit(self.entrants[at].figure()));
            other.total_cmp(&one)
        });
        order
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::model::Model;
    use crate::prediction::Settings;
    use crate::sweep::Of;

    fn plan(cells: usize) -> Plan {
        let values = (1..=cells).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
        let axes = vec![Axis::read(Of::Job, &format!("iodepth={values}")).unwrap()];
        Plan::new(Model::assumed(), Default::default(), axes, Settings { draws: 15, seed: 1 }).unwrap()
    }

    /// A search in cells of these figures. All runs differ as much, and the runs of each cell by `noise` more.
    fn searched(figures: &[f64], noise: f64, reach: f64, by: By, dice: &mut Pcg64Mcg) -> Race {
        let mut race = Race::new(&plan(figures.len()), by);
        let mut even = || f64::from(dice.next_u32()) / f64::from(u32::MAX) - 0.5;
        let shared: Vec<f64> = (0..16).map(|_| even()).collect();
        loop {
            let tasks = race.tasks();
            if tasks.is_empty() {
                return race;
            }
            let one = |Task { cell, from, to }| {
                let runs = &shared[from as usize..to as usize];
                let figures = runs.iter().map(|run| figures[cell] * (run + noise * even()).exp()).collect();
                Tried { cell, from, most: 16, figures, reach, refused: None }
            };
            let mut tried: Vec<Tried> = tasks.into_iter().map(one).collect();
            // Any order is good.
            tried.reverse();
            race.take(tried);
        }
    }

    fn runs(race: &Race) -> usize {
        race.entrants.iter().map(|one| one.figures.len()).sum()
    }

    #[test]
    fn what_differs_is_found_with_few_runs() {
        let figures: Vec<f64> = (0..64).map(|cell| 100.0 + f64::from((cell * 29) % 64)).collect();
        let mut dice = Pcg64Mcg::seed_from_u64(1);
        let race = searched(&figures, 0.001, 0.0, By::Bandwidth, &mut dice);
        let best = (0..64).find(|&cell| figures[cell] == 163.0);
        assert_eq!((race.leader(), race.left().count()), (best, 1));
        assert!(runs(&race) < 64 * 16 / 2, "{}", runs(&race));
        let race = searched(&figures, 0.001, 0.0, By::P99, &mut dice);
        assert_eq!(race.leader(), Some(0), "the shortest latency is the best");
    }

    #[test]
    fn the_best_is_found_or_a_rival_and_a_worse_one_is_never_alone() {
        let (mut missed, mut alone) = (0, 0);
        for seed in 0..200 {
            let mut dice = Pcg64Mcg::seed_from_u64(seed);
            let figures: Vec<f64> =
                (0..20).map(|_| 100.0 + f64::from(dice.next_u32() % 100) / 10.0).collect();
            let best = figures.iter().copied().fold(0.0, f64::max);
            let race = searched(&figures, 0.1, 0.0, By::Iops, &mut dice);
            missed += usize::from(!race.left().any(|one| figures[one.cell] == best));
            alone += usize::from(race.left().all(|one| figures[one.cell] < best) && race.left().count() == 1);
        }
        assert!(missed <= 10 && alone <= 1, "{missed} {alone}");
    }

    #[test]
    fn equal_cells_are_all_rivals_and_the_first_leads() {
        let mut dice = Pcg64Mcg::seed_from_u64(3);
        let race = searched(&[5.0; 9], 0.0, 0.0, By::Bandwidth, &mut dice);
        assert_eq!((race.leader(), race.left().count()), (Some(0), 9));
        // The model's own errors are larger than what tells the cells apart.
        let race = searched(&[5.0, 5.5, 9.0, 8.5], 0.0, 0.2, By::Bandwidth, &mut dice);
        assert_eq!((race.leader(), race.left().count()), (Some(2), 2));
    }

    #[test]
    fn refused_cells_are_counted_and_a_grid_of_them_has_no_best() {
        let plan = plan(3);
        let mut race = Race::new(&plan, By::Bandwidth);
        let tasks = race.tasks();
        race.take(tasks.into_iter().map(|task| plan.try_cell(task, By::Bandwidth, Err("why".to_owned()))));
        assert_eq!((race.tasks().len(), race.leader()), (0, None));
        let best = plan.predict(0, Err("why".to_owned()));
        assert_eq!(race.end(&plan, best).unwrap_err(), "why");
    }
}
