//! How long a journal keeps a transaction open, from whether it had committed a change when that was asked.
//!
//! Each trial gives one bit and costs as long as it waits. What is known is a weight for each pair of an
//! interval and a phase; the next trial is the one that is expected to tell most in the least time.
//!
//! A journal's timer may go off as soon as the interval is over, or, as jbd2's does (`round_jiffies_up`),
//! at the next whole second of a clock whose phase is unknown: a change that is made just after such
//! a second waits for nearly a second more. Both rules are tried.

/// One change, and a later look. Times in seconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// When the change was made, with nothing else to be committed.
    pub changed: f64,
    /// When it was tested whether the change had been committed.
    pub asked: f64,
    /// Whether the change had been committed.
    pub committed: bool,
}

/// The trial to make next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    /// Seconds from now until the change is made.
    pub pause: f64,
    /// Seconds from the change until the test.
    pub wait: f64,
}

/// The rules that the trials so far allow, with their weights.
#[derive(Debug, Clone)]
pub struct Belief {
    /// With their weights, which add up to one; in the order of their intervals.
    left: Vec<(Rule, f64)>,
}

/// When a journal commits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    /// Seconds from the first change of a transaction until it is due.
    interval: f64,
    /// The timer waits for the next whole second plus this, or not at all.
    phase: Option<f64>,
}

/// The shortest and the longest interval that is thought of, in seconds.
const RANGE: [f64; 2] = [0.125, 64.0];
/// Neighbouring intervals are this many seconds apart, or this part of themselves, whichever is more.
const STEP: f64 = 1.0 / 16.0;
const STEP_PART: f64 = 1.0 / 64.0;
/// Phases that are thought of.
const PHASES: u32 = 16;
/// The probability that a look is mistaken: a stall makes a fast sync slow.
const MISTAKE: f64 = 0.02;
/// A commit that is due this many seconds before or after a look may be seen or not: it takes its time, and
/// clocks are as coarse as the steps above.
const BLUR: f64 = 0.07;
/// Moments within a second, and waits at each, that are thought of for the next trial.
const PAUSES: u32 = 8;
const PARTS: u32 = 16;
/// With more rules than this left, only one of the moments.
const MANY: usize = 500;
/// Rules of less weight are forgotten.
const LEAST: f64 = 1e-9;
/// The cost of a trial in addition to its waits, in seconds: enough that many short trials do not replace a long one.
const EFFORT: f64 = 0.3;
/// The weight within the reported bounds.
pub const LEVEL: f64 = 0.998;
/// Where the bounds are no further apart, the interval is known.
const WIDEST: f64 = 0.5;
const WIDEST_PART: f64 = 0.08;
/// The weight that may be against what a proof is expected to show.
const DOUBT: f64 = 0.005;

impl Belief {
    /// The belief after `trials`; before the first, all intervals are equally likely on a log scale.
    pub fn after(trials: &[Trial]) -> Self {
        let mut left = Vec::new();
        let mut interval = RANGE[0];
        while interval < RANGE[1] {
            let step = STEP.max(STEP_PART * interval);
            let weight = step / interval;
            left.push((Rule { interval, phase: None }, weight));
            left.extend((0..PHASES).map(|phase| {
                let phase = Some(f64::from(phase) / f64::from(PHASES));
                (Rule { interval, phase }, weight / f64::from(PHASES))
            }));
            interval += step;
        }
        for (rule, weight) in &mut left {
            *weight *= trials.iter().map(|trial| rule.likelihood(trial)).product::<f64>();
        }
        let all: f64 = left.iter().map(|(_, weight)| weight).sum();
        left.retain(|(_, weight)| *weight > LEAST * all);
        left.iter_mut().for_each(|(_, weight)| *weight /= all);
        Self { left }
    }

    /// The bounds of the interval in seconds, once they are close enough to each other.
    pub fn settled(&self) -> Option<[f64; 2]> {
        let [low, high] = self.bounds();
        (high - low <= WIDEST + WIDEST_PART * high).then_some([low, high])
    }

    /// Between these lies nearly all of the weight; each is a step further out than the rule that it is in.
    fn bounds(&self) -> [f64; 2] {
        let mut below = 0.0;
        let mut bounds = [f64::NAN; 2];
        for (rule, weight) in &self.left {
            let step = STEP.max(STEP_PART * rule.interval);
            if below <= (1.0 - LEVEL) / 2.0 {
                bounds[0] = rule.interval - step;
            }
            if below < LEVEL.midpoint(1.0) {
                bounds[1] = rule.interval + step;
            }
            below += weight;
        }
        bounds
    }

    /// The number of trials that contradict the likeliest rule.
    pub fn mistaken(&self, trials: &[Trial]) -> usize {
        let best = self.left.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        best.map_or(0, |(rule, _)| trials.iter().filter(|trial| rule.likelihood(trial) <= MISTAKE).count())
    }

    /// The trial that gives most information for its time, from `now` on the clock of the trials.
    pub fn next(&self, now: f64) -> Next {
        let mut best = (Next { pause: 0.0, wait: RANGE[0] }, 0.0);
        for pause in (0..PAUSES).map(|part| f64::from(part) / f64::from(PAUSES)) {
            for wait in self.waits(now + pause) {
                let next = Next { pause, wait };
                let worth = self.information(now, next) / (pause + wait + EFFORT);
                if worth > best.1 {
                    best = (next, worth);
                }
            }
            // Where in a second it begins matters once the interval is known roughly.
            if self.left.len() > MANY {
                break;
            }
        }
        best.0
    }

    /// A trial whose outcome is certain if the belief is right, and that tests as near to the moment of the commit as possible:
    /// before it, or `after` it.
    pub fn proof(&self, now: f64, pause: f64, after: bool) -> Next {
        let dues = self.dues(now + pause);
        let mut below = 0.0;
        let mut wait = [RANGE[0]; 2];
        for (due, weight) in dues {
            if below <= DOUBT {
                wait[0] = due;
            }
            if below < 1.0 - DOUBT {
                wait[1] = due;
            }
            below += weight;
        }
        let wait = if after { wait[1] + 1.5 * self.blur() } else { wait[0] - 1.5 * self.blur() };
        Next { pause, wait: wait.max(0.0) }
    }

    fn blur(&self) -> f64 {
        self.left.last().map_or(BLUR, |(rule, _)| rule.blur())
    }

    /// When a change would be committed, in seconds from then, and the weight of that; ascending.
    fn dues(&self, changed: f64) -> Vec<(f64, f64)> {
        let due = |(rule, weight): &(Rule, f64)| (rule.due(changed, 0.0) - changed, *weight);
        let mut dues: Vec<(f64, f64)> = self.left.iter().map(due).collect();
        dues.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        dues
    }

    /// Waits after which as much of the weight takes a change for committed as in so many parts of it.
    fn waits(&self, changed: f64) -> Vec<f64> {
        let dues = self.dues(changed);
        let mut below = 0.0;
        let mut waits = Vec::new();
        for pair in dues.windows(2) {
            below += pair[0].1;
            if below * f64::from(PARTS) >= (waits.len() + 1) as f64 {
                waits.push(pair[0].0.midpoint(pair[1].0));
            }
        }
        waits
    }

    /// The bits that a trial is expected to tell.
    fn information(&self, now: f64, next: Next) -> f64 {
        let changed = now + next.pause;
        let trial = Trial { changed, asked: changed + next.wait, committed: true };
        let (mut seen, mut unsure) = (0.0, 0.0);
        for (rule, weight) in &self.left {
            let likely = rule.likelihood(&trial);
            seen += weight * likely;
            unsure += weight * entropy(likely);
        }
        entropy(seen) - unsure
    }
}

/// The bits that are learnt when something of this probability is seen to be so or not.
fn entropy(share: f64) -> f64 {
    let share = share.clamp(1e-9, 1.0 - 1e-9);
    -share * share.log2() - (1.0 - share) * (1.0 - share).log2()
}

impl Rule {
    /// When a change is committed, if its timer were `late` seconds late.
    fn due(&self, changed: f64, late: f64) -> f64 {
        let due = changed + self.interval + late;
        self.phase.map_or(due, |phase| (due - phase).ceil() + phase)
    }

    fn blur(&self) -> f64 {
        BLUR.max(STEP_PART * self.interval)
    }

    /// The probability of what was seen.
    fn likelihood(&self, trial: &Trial) -> f64 {
        let blur = self.blur();
        let at = |due: f64| match trial.asked - due {
            after if after.abs() < blur => 0.5,
            after if (after > 0.0) == trial.committed => 1.0 - MISTAKE,
            _ => MISTAKE,
        };
        // Next to a whole second it may be this one or the next.
        let [early, late] = [-blur, blur].map(|late| at(self.due(trial.changed, late)));
        early.midpoint(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks until it is known, and returns that with the number of trials.
    fn found(due: impl Fn(f64) -> f64) -> (Option<[f64; 2]>, usize) {
        let mut trials = Vec::new();
        let mut now = 0.37;
        loop {
            let belief = Belief::after(&trials);
            let settled = belief.settled();
            if settled.is_some() || trials.len() > 40 {
                return (settled, trials.len());
            }
            let next = belief.next(now);
            let changed = now + next.pause;
            now = changed + next.wait;
            trials.push(Trial { changed, asked: now, committed: now >= due(changed) });
            now += 0.061;
        }
    }

    #[test]
    fn intervals_are_found_whatever_the_phase() {
        for interval in [1.0, 2.0, 3.0, 5.0, 7.0] {
            for phase in [0.0, 0.2, 0.55, 0.93] {
                // jbd2's thread takes a moment.
                let found = found(|changed| (changed + interval - phase).ceil() + phase + 0.003);
                let Some([low, high]) = found.0 else { panic!("{interval} s, phase {phase}: {found:?}") };
                assert!(low <= interval && interval <= high, "{interval} s, phase {phase}: {found:?}");
            }
            let found = found(|changed| changed + interval);
            let Some([low, high]) = found.0 else { panic!("{interval} s: {found:?}") };
            assert!(low <= interval && interval <= high, "{interval} s: {found:?}");
        }
    }

    #[test]
    fn one_mistake_costs_trials_and_no_truth() {
        for mistaken in 0..8 {
            let (mut trials, mut now, interval) = (Vec::new(), 0.37, 3.0);
            let bounds = loop {
                let belief = Belief::after(&trials);
                if let Some(bounds) = belief.settled() {
                    break bounds;
                }
                let next = belief.next(now);
                let changed = now + next.pause;
                now = changed + next.wait;
                let committed = now >= (changed + interval).ceil();
                trials.push(Trial { changed, asked: now, committed: committed && trials.len() != mistaken });
                assert!(trials.len() < 60, "{mistaken}");
            };
            assert!(bounds[0] <= interval && interval <= bounds[1], "{mistaken}: {bounds:?}");
        }
    }
}
