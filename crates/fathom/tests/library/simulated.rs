//! Surveys of machines that don't exist: what a survey says of a model is what the model was made of, or
//! nothing.
//!
//! The models are drawn at random within the regime of `scripted.rs`. `FATHOM_MODELS` says how many;
//! run with `--nocapture` for the answers.

use std::time::Duration;

use fathom::experiment::{Effort, by_name, first_read_pages};
use fathom::finding::{Finding, Kind, Value};
use fathom::simulated::{Parameters, Simulated};
use fathom::survey::{self, Plan};

const ASKED: [&str; 5] =
    ["page_size", "block_size", "readahead_window", "readahead_first", "readahead_random"];

/// A model, and what must be said of it.
struct Model {
    parameters: Parameters,
    truth: Vec<(&'static str, f64)>,
    story: String,
}

fn draw(seed: u64) -> Model {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    let mut below = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let block = 1_024 << below(3);
    let window = 32_768 << below(6);
    let call = 200 + below(600);
    let limit = (24 + below(200)) << 20;
    let background = limit / 100 * (10 + below(85));
    let mut parameters = Parameters::assumed();
    let settings = [
        ("block", block),
        ("readahead", window),
        ("call", call),
        ("new_page", 1_000 + below(2_000)),
        ("new_block", 300 + below(500)),
        ("submission", 10 * call + below(10_000)),
        ("device_latency", 20_000 + below(300_000)),
        ("device_depth", 1 + below(64)),
        ("dirty_bytes", limit),
        ("dirty_background_bytes", background),
    ];
    for (name, value) in settings {
        parameters.set(name, &value.to_string()).unwrap();
    }
    let noise = 0.02 + below(13) as f64 / 100.0;
    let device_byte = 0.2 + below(18) as f64 / 10.0;
    parameters.set("noise", &noise.to_string()).unwrap();
    parameters.set("device_byte", &device_byte.to_string()).unwrap();
    let first = 4096 * first_read_pages(1, window / 4096);
    let truth = vec![
        ("page_size", 4096.0),
        ("block_size", block as f64),
        ("readahead_window", window as f64),
        ("readahead_first", first as f64),
        ("readahead_random", 4096.0),
        ("dirty_throttle_point", u64::midpoint(limit, background) as f64),
    ];
    let story = format!("model {seed}: {settings:?}, noise {noise}, {device_byte} ns per byte");
    Model { parameters, truth, story }
}

fn ask(model: &Model, asked: &[&str], seed: u64) -> Vec<Finding> {
    let plan = Plan {
        experiments: asked.iter().map(|name| by_name(name).unwrap()).collect(),
        evidence: vec![Kind::Timing],
        effort: Effort::Quick,
        seed,
        max_time: Duration::from_secs(600),
        intrusive: true,
    };
    let mut machine = Simulated::new(&model.parameters, seed).may_write(4 << 30);
    let answers = survey::ask(&mut machine, &plan, &mut |_, _| ()).unwrap();
    answers.into_iter().map(|answer| answer.finding).collect()
}

fn models() -> u64 {
    std::env::var("FATHOM_MODELS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[test]
fn bursts_find_where_the_writers_of_a_model_begin_to_wait() {
    const POINT: &str = "dirty_throttle_point";
    let (mut right, mut held, mut wrong) = (0, 0, Vec::new());
    for seed in 0..models() {
        let mut model = draw(seed);
        // Writers must be many times as fast as the device.
        model.parameters.set("device_byte", &(4 + seed % 30).to_string()).unwrap();
        let (_, truth) = *model.truth.iter().find(|(name, _)| *name == POINT).unwrap();
        let finding = &ask(&model, &[POINT], seed)[0];
        match (finding.value.as_ref().and_then(Value::as_number), finding.interval) {
            (Some(value), Some([low, high])) => {
                held += u64::from(low <= truth && truth <= high);
                match (value / truth - 1.0).abs() <= 0.15 {
                    true => right += 1,
                    false => wrong.push(format!("{}: {value} in [{low}, {high}], not {truth}", model.story)),
                }
            }
            _ => println!("silent: {}: {}", model.story, finding.caveats.join("; ")),
        }
    }
    println!("{POINT}: {right} right, {} wrong, {held} in their interval, of {}", wrong.len(), models());
    assert!(held * 10 >= right * 9, "an interval of 97 % holds the point in {held} of {right}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right * 10 >= models() * 8, "too often silent");
}

#[test]
fn a_survey_of_a_model_recovers_what_it_is_made_of() {
    let models = models();
    let mut counts = ASKED.map(|name| (name, 0, 0));
    let mut wrong = Vec::new();
    for seed in 0..models {
        let model = draw(seed);
        for finding in ask(&model, &ASKED, seed) {
            let (_, truth) = *model.truth.iter().find(|(name, _)| *name == finding.parameter).unwrap();
            let count = counts.iter_mut().find(|(name, ..)| *name == finding.parameter).unwrap();
            match finding.value.as_ref().and_then(Value::as_number) {
                None => {
                    count.2 += 1;
                    println!(
                        "silent: {}, {}: {}",
                        model.story,
                        finding.parameter,
                        finding.caveats.join("; ")
                    );
                }
                Some(value) if value == truth => count.1 += 1,
                Some(value) => {
                    wrong.push(format!("{}: {} is {value}, not {truth}", model.story, finding.parameter))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (name, right, silent) in counts {
        println!("{name}: {right} right, {silent} silent of {models}");
        assert!(right * 10 >= models * 8, "{name} is too often silent");
    }
}
