//! Blocks, pages and blocks of pointers.

use fathom::finding::{Status, Value};
use fathom_scripted::{Costs, Noise, Script};

use super::{SIGMAS, Score, ask, is_silent_on_noise};

/// What appends cost on file systems of SIGNALS, in ns, without what depends on the block size.
fn appends() -> [(&'static str, Costs); 3] {
    let costs = |call, first_in_block, first_in_page, second_in_page| Costs {
        call,
        first_in_block,
        first_in_page,
        second_in_page,
        ..Costs::default()
    };
    [
        ("like ext4", costs(450.0, 305.0, 1_000.0, 250.0)),
        ("like xfs", costs(870.0, 240.0, 630.0, 0.0)),
        ("like ext2", costs(820.0, 1_570.0, 1_180.0, 0.0)),
    ]
}

#[test]
fn block_sizes_are_found_whatever_the_page() {
    let mut score = Score::default();
    for (name, costs) in appends() {
        for page in [4096, 16_384, 65_536] {
            for block in [512, 1024, 2048, 4096, 8192, 16_384, 65_536] {
                for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                    let script =
                        Script { page, block, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                    let case = format!("{name}, page {page}, block {block}, spread {sigma}");
                    score.count(&case, &ask(script, "block_size"), &Value::Whole(block));
                }
            }
        }
    }
    score.assert_right("block_size");
}

#[test]
fn a_block_that_costs_little_is_not_taken_for_the_page() {
    let mut score = Score::default();
    for share in [0.01, 0.02, 0.04, 0.06, 0.1] {
        for (name, costs) in appends() {
            for block in [512, 1024, 2048] {
                for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                    let costs = Costs { first_in_block: share * costs.call, second_in_page: 0.0, ..costs };
                    let script =
                        Script { block, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                    let case = format!("{name}, {share} of an append, block {block}, spread {sigma}");
                    score.count(&case, &ask(script, "block_size"), &Value::Whole(block));
                }
            }
        }
    }
    score.assert_never_wrong("weak blocks");
}

#[test]
fn where_a_larger_unit_stands_above_the_page_the_block_is_not_guessed() {
    let mut score = Score::default();
    for seed in 0..20 {
        let script = Script { cluster: 16_384, noise: Noise::usual(0.05), ..Script::new(seed) };
        let finding = ask(script.clone(), "block_size");
        assert_eq!(finding.status, Status::Inconclusive, "{finding:?}");
        assert!(
            finding.caveats.iter().any(|caveat| caveat.contains("either may be the block")),
            "{finding:?}"
        );
        // Below the page there is no doubt: pages are no smaller.
        let small = ask(Script { block: 1024, ..script }, "block_size");
        score.count("1 KiB in clusters", &small, &Value::Whole(1024));
    }
    score.assert_right("blocks in clusters");
}

#[test]
fn a_drift_within_the_sequence_is_no_comb_and_hides_none() {
    let mut score = Score::default();
    for seed in 0..20 {
        let noise = Noise { drift_within: 0.2, ..Noise::usual(0.15) };
        let script = Script { block: 1024, noise, ..Script::new(seed) };
        score.count("drift within", &ask(script.clone(), "block_size"), &Value::Whole(1024));
        score.count("drift within", &ask(script, "page_size"), &Value::Whole(4096));
    }
    score.assert_right("with a drift within each round");
}

#[test]
fn page_sizes_are_found() {
    let mut score = Score::default();
    for page in [4096, 16_384, 65_536] {
        for buffer_fault in [250.0, 500.0, 1_000.0] {
            for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                let costs = Costs { buffer_fault, ..Costs::default() };
                let script = Script { page, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                let case = format!("page {page}, fault {buffer_fault} ns, spread {sigma}");
                score.count(&case, &ask(script, "page_size"), &Value::Whole(page));
            }
        }
    }
    score.assert_right("page_size");
}

#[test]
fn pointers_are_found() {
    let (mut direct, mut per_block, mut scheme) = (Score::default(), Score::default(), Score::default());
    for (name, costs) in appends() {
        for block in [1024, 2048, 4096] {
            for seed in 0..12 {
                let noise = Noise::usual(SIGMAS[seed as usize % SIGMAS.len()]);
                // At least as much as the rest of a write that begins a block and a page.
                let pointer_block = costs.call + costs.first_in_block + costs.first_in_page;
                let costs = Costs { pointer_block, ..costs };
                let script = Script { block, costs, noise, direct_pointers: Some(12), ..Script::new(seed) };
                let case = format!("{name}, block {block}, seed {seed}");
                direct.count(&case, &ask(script.clone(), "direct_pointers"), &Value::Whole(12));
                let pointers = ask(script.clone(), "pointers_per_indirect");
                per_block.count(&case, &pointers, &Value::Whole(block / 4));
                let word = Value::Word("indirect".to_owned());
                scheme.count(&case, &ask(script, "allocation_scheme"), &word);
            }
        }
    }
    direct.assert_right("direct_pointers");
    direct.assert_covers("direct_pointers");
    per_block.assert_right("pointers_per_indirect");
    scheme.assert_right("allocation_scheme");
}

#[test]
fn files_without_blocks_of_pointers_show_none() {
    for (_, costs) in appends() {
        for block in [512, 1024, 4096, 65_536] {
            for seed in 0..10 {
                let noise = Noise::usual(SIGMAS[seed as usize % SIGMAS.len()]);
                let script = Script { block, costs, noise, ..Script::new(seed) };
                for parameter in ["direct_pointers", "pointers_per_indirect", "allocation_scheme"] {
                    assert_eq!(ask(script.clone(), parameter).status, Status::Inconclusive, "{parameter}");
                }
            }
        }
    }
}

#[test]
fn block_size_covers_over_1000_seeds() {
    covers_over_seeds("block_size", |script| {
        let block = 512 << (script.seed % 6);
        let sigma = if block > 8192 { script.noise.sigma.min(0.15) } else { script.noise.sigma };
        (Script { block, noise: Noise::usual(sigma), ..script }, block)
    });
}

#[test]
fn page_size_covers_over_1000_seeds() {
    covers_over_seeds("page_size", |script| {
        let page = 4096 << (script.seed % 3 * 2);
        (Script { page, ..script }, page)
    });
}

fn covers_over_seeds(parameter: &str, plant: impl Fn(Script) -> (Script, u64)) {
    let mut score = Score::default();
    for seed in 0..1000 {
        let sigma = SIGMAS[seed as usize % SIGMAS.len()];
        let (script, truth) = plant(Script { noise: Noise::usual(sigma), ..Script::new(seed) });
        score.count(&format!("seed {seed}"), &ask(script, parameter), &Value::Whole(truth));
    }
    score.assert_right(&format!("{parameter} over 1000 seeds"));
    score.assert_covers(&format!("{parameter} over 1000 seeds"));
}

#[test]
fn block_size_is_silent_on_noise() {
    is_silent_on_noise("block_size", 400);
}

#[test]
fn page_size_is_silent_on_noise() {
    is_silent_on_noise("page_size", 200);
}

#[test]
fn direct_pointers_is_silent_on_noise() {
    is_silent_on_noise("direct_pointers", 400);
}
