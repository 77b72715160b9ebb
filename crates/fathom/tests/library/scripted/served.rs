//! How a client talks to the server of its files, by timing alone on machines where that is planted.

use fathom::finding::{Status, Value};
use fathom_scripted::{Metadata, Noise, Script, Server, Writes};

use super::{SIGMAS, Score, ask, is_silent_on_noise};

const QUESTIONS: [&str; 6] = [
    "round_trip",
    "request_size_read",
    "request_size_write",
    "requests_in_flight",
    "server_readahead",
    "write_path",
];

/// A machine whose server takes from 0.1 to 3 ms to answer.
fn served(seed: u64, server: Server) -> Script {
    let round_trip = [100e3, 400e3, 1e6, 3e6][(seed % 4) as usize];
    let metadata = Metadata { round_trip, ..Metadata::default() };
    let noise = Noise::usual(SIGMAS[(seed / 4 % 3) as usize]);
    Script { metadata, server: Some(server), noise, write_budget: 4 << 30, ..Script::new(seed) }
}

#[test]
fn round_trips_are_those_of_the_way() {
    let mut score = (0, Vec::new());
    for seed in 0..36 {
        let script =
            Script { noise: Noise { drift: 0.0, ..Noise::usual(0.15) }, ..served(seed, Server::default()) };
        let planted = script.metadata.round_trip + script.metadata.stat + script.costs.call;
        let finding = ask(script, "round_trip");
        match finding.interval {
            Some([low, high]) if low <= planted && planted <= high => score.0 += 1,
            other => score.1.push(format!("seed {seed}: {other:?} for {planted}")),
        }
    }
    assert!(score.0 >= 33, "{:#?}", score.1);
}

#[test]
fn request_sizes_are_exact() {
    for parameter in ["request_size_read", "request_size_write"] {
        let mut score = Score::default();
        for seed in 0..60 {
            let bytes = [4 << 10, 16 << 10, 64 << 10, 128 << 10, 1 << 20][(seed % 5) as usize];
            let server = Server { read_request: bytes, write_request: bytes, ..Server::default() };
            let finding = ask(served(seed, server), parameter);
            score.count(&format!("{bytes} bytes, seed {seed}"), &finding, &Value::Whole(bytes));
        }
        score.assert_right(parameter);
    }
}

#[test]
fn a_request_of_no_power_of_two_is_no_answer() {
    for parameter in ["request_size_read", "request_size_write"] {
        for seed in 0..12 {
            let bytes = [12 << 10, 100 << 10, 300 << 10][(seed % 3) as usize];
            let server = Server { read_request: bytes, write_request: bytes, ..Server::default() };
            assert_eq!(ask(served(seed, server), parameter).value, None, "{parameter}, seed {seed}");
        }
    }
}

#[test]
fn as_many_requests_are_under_way_as_are_served() {
    let (mut owed, mut others) = (Score::default(), Score::default());
    for seed in 0..90 {
        let in_flight = [2, 3, 8, 12, 16, 32][(seed % 6) as usize];
        let noise = Noise::usual(SIGMAS[(seed % 2) as usize]);
        let script = Script { noise, ..served(seed / 2, Server { in_flight, ..Server::default() }) };
        // Batches are told apart where asking for one takes little next to an answer.
        let asking = in_flight as f64 * script.costs.submission;
        let is_owed = script.metadata.round_trip >= 400e3 && asking < 0.3 * script.metadata.round_trip;
        let finding = ask(script, "requests_in_flight");
        let score = if is_owed { &mut owed } else { &mut others };
        score.count(&format!("{in_flight}, seed {seed}"), &finding, &Value::Whole(in_flight as u64));
    }
    others.assert_never_wrong("requests_in_flight that are many, or answered soon");
    owed.assert_right("requests_in_flight");
}

#[test]
fn the_call_that_waits_is_found() {
    let mut score = Score::default();
    for seed in 0..72 {
        let (writes, word) = [
            (Writes::Through, "through"),
            (Writes::FlushedAtClose, "flushed_at_close"),
            (Writes::Cached, "cached"),
        ][(seed % 3) as usize];
        let finding = ask(served(seed / 3, Server { writes, ..Server::default() }), "write_path");
        score.count(&format!("{word}, seed {seed}"), &finding, &Value::Word(word.to_owned()));
    }
    score.assert_right("write_path");
}

#[test]
fn writes_to_a_device_are_cached_and_nothing_goes_to_a_server() {
    let mut score = Score::default();
    for seed in 0..24 {
        let script = || Script { noise: Noise::usual(SIGMAS[(seed % 3) as usize]), ..Script::new(seed) };
        score.count(&format!("seed {seed}"), &ask(script(), "write_path"), &Value::Word("cached".to_owned()));
        let finding = ask(script(), "requests_in_flight");
        assert_eq!(finding.status, Status::NotApplicable, "seed {seed}: {finding:?}");
    }
    score.assert_right("write_path on a device");
}

#[test]
fn a_server_that_has_everything_in_memory_does_not_tell_how_far_it_reads_ahead() {
    for seed in 0..24 {
        let finding = ask(served(seed, Server::default()), "server_readahead");
        assert_eq!(finding.status, Status::Inconclusive, "seed {seed}: {finding:?}");
    }
}

#[test]
fn nothing_is_told_of_noise() {
    for parameter in QUESTIONS {
        is_silent_on_noise(parameter, 60);
    }
}
