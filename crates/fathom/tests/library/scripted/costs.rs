//! What calls cost, by timing alone, on machines whose costs are planted.
//!
//! A cost is right if its interval holds the planted one and is no wider than half of it. Noise has a
//! spread of 5 to 30 % and 1 % of outliers of 50 times the median. What drifts has no one cost: there
//! an answer is right if it lies between the cost at the start and that at the end.

use fathom::finding::{Finding, Status, Value};
use fathom_scripted::{Costs, Noise, Script};

use super::{ask, is_silent_on_noise, show};

const PARAMETERS: [&str; 5] = ["sync_latency", "device_latency", "call_cost", "page_cost", "copy_knee"];

/// How answers compare with planted costs.
#[derive(Default)]
struct Coverage {
    covered: u32,
    missed: Vec<String>,
    wide: u32,
    silent: Vec<String>,
}

impl Coverage {
    fn count(&mut self, case: &str, finding: &Finding, truth: f64) {
        match (finding.interval, &finding.value) {
            (Some([low, high]), Some(_)) if low <= truth && truth <= high => {
                self.covered += 1;
                self.wide += u32::from(high - low > truth / 2.0);
            }
            (_, Some(value)) => {
                self.missed.push(format!("{case}: {value:?} {:?} for {truth}", finding.interval))
            }
            _ => self.silent.push(format!("{case}: {}", finding.caveats.join("; "))),
        }
    }

    fn assert_right(&self, name: &str) {
        let Self { covered, missed, wide, silent } = self;
        let all = *covered as usize + missed.len() + silent.len();
        show(&format!(
            "{name}: {covered} of {all} intervals hold the truth ({wide} wide), {} do not, {} silent",
            missed.len(),
            silent.len()
        ));
        missed.iter().chain(silent).for_each(|line| show(&format!("  {line}")));
        // The intervals are stated at 95 %, and chance adds up to three standard errors.
        let most = 0.05 * all as f64 + 3.0 * (0.05 * 0.95 * all as f64).sqrt();
        assert!(missed.len() as f64 <= most, "{name}: {missed:#?}");
        assert!((silent.len() + *wide as usize) * 10 <= all, "{name}: {wide} wide, {silent:#?}");
    }
}

/// Machines of different costs and noise.
fn machines(seeds: u64) -> impl Iterator<Item = Script> {
    (0..seeds).map(|seed| {
        let pick = |values: [f64; 4], every: u64| values[(seed / every % 4) as usize];
        let costs = Costs {
            call: pick([150.0, 250.0, 400.0, 800.0], 1),
            copied_byte: pick([0.05, 0.1, 0.2, 0.4], 4),
            submission: pick([3e3, 12e3, 8e3, 20e3], 1),
            device_latency: pick([15e3, 80e3, 500e3, 4e6], 4),
            ..Costs::default()
        };
        let noise = Noise { drift: 0.0, ..Noise::usual([0.05, 0.15, 0.3][(seed % 3) as usize]) };
        Script { costs, noise, ..Script::new(seed) }
    })
}

fn is_covered(parameter: &str, seeds: u64, truth: impl Fn(&Costs) -> f64) {
    let mut coverage = Coverage::default();
    for script in machines(seeds) {
        let truth = truth(&script.costs);
        let case = format!("seed {}, spread {}", script.seed, script.noise.sigma);
        coverage.count(&case, &ask(script, parameter), truth);
    }
    coverage.assert_right(parameter);
}

#[test]
fn sync_latencies_are_covered() {
    is_covered("sync_latency", 100, |costs| {
        costs.clock + costs.call + costs.device_latency + 4096.0 * costs.device_byte
    });
}

#[test]
fn device_latencies_are_covered() {
    is_covered("device_latency", 100, |costs| {
        costs.submission + costs.device_latency + 4096.0 * costs.device_byte
    });
}

#[test]
fn call_costs_are_covered() {
    is_covered("call_cost", 60, |costs| costs.call);
}

#[test]
fn page_costs_are_covered() {
    is_covered("page_cost", 60, |costs| 4096.0 * costs.copied_byte);
}

#[test]
fn a_drifting_cost_is_told_as_one_between_its_ends() {
    for script in machines(12) {
        let noise = Noise { drift: 0.2, ..script.noise };
        let page = 4096.0 * script.costs.copied_byte;
        let finding = ask(Script { noise, ..script }, "page_cost");
        let value = finding.value.as_ref().and_then(Value::as_number);
        assert!(value.is_some_and(|value| page < value && value < 1.2 * page), "{page}: {finding:?}");
    }
}

#[test]
fn a_bent_line_has_no_call_cost_and_no_page_cost() {
    for seed in 0..10 {
        let costs = Costs { copy_knee: 16 << 10, byte_beyond_knee: 0.1, ..Costs::default() };
        for parameter in ["call_cost", "page_cost"] {
            let script = Script { costs, noise: Noise::usual(0.1), ..Script::new(seed) };
            let finding = ask(script, parameter);
            assert_eq!(finding.status, Status::Inconclusive, "{finding:?}");
            assert!(finding.caveats[0].contains("no straight line"), "{finding:?}");
        }
    }
}

/// The size from which on a byte costs 15 % more than at its cheapest, which is in a read as long as the knee.
fn dearer_from(costs: &Costs) -> f64 {
    let (knee, call) = (costs.copy_knee as f64, costs.clock + costs.call);
    let cheapest = costs.copied_byte + call / knee;
    let in_the_end = costs.copied_byte + costs.byte_beyond_knee;
    (costs.byte_beyond_knee * knee - call) / (in_the_end - 1.15 * cheapest)
}

#[test]
fn knees_are_found_and_so_is_their_absence() {
    let mut coverage = Coverage::default();
    for seed in 0..12 {
        let (knee, rise) =
            ([64_u64 << 10, 256 << 10, 1 << 20][(seed % 3) as usize], [0.04, 0.1][(seed / 3 % 2) as usize]);
        let noise = Noise::usual([0.05, 0.1][(seed / 6 % 2) as usize]);
        let costs = Costs { copy_knee: knee, byte_beyond_knee: rise, ..Costs::default() };
        let case = format!("knee {knee}, seed {seed}");
        let finding = ask(Script { costs, noise, ..Script::new(seed) }, "copy_knee");
        coverage.count(&case, &finding, dearer_from(&costs));
        let none = ask(Script { noise, ..Script::new(seed) }, "copy_knee");
        match &none.value {
            Some(Value::Word(word)) if word == "none" => coverage.covered += 1,
            Some(value) => coverage.missed.push(format!("seed {seed}: {value:?} for none")),
            None => coverage.silent.push(format!("none, seed {seed}: {:?}", none.caveats)),
        }
    }
    // A knee is known to within a factor, not to within a part of itself.
    coverage.wide = 0;
    coverage.assert_right("copy_knee");
}

#[test]
fn nothing_is_waited_for_where_files_live_in_memory() {
    for parameter in ["sync_latency", "device_latency"] {
        let script = Script { evictable: false, noise: Noise::usual(0.15), ..Script::new(1) };
        assert_eq!(ask(script, parameter).status, Status::NotApplicable, "{parameter}");
    }
    let script = Script { evictable: false, noise: Noise::usual(0.15), ..Script::new(1) };
    assert_eq!(ask(script, "call_cost").status, Status::Measured);
}

#[test]
fn no_cost_is_told_of_noise() {
    for parameter in PARAMETERS {
        is_silent_on_noise(parameter, 100);
    }
}
