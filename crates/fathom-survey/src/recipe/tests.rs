use super::*;
use fathom_run::machine::Machine;
use fathom_scripted::{Noise, ReadAhead, Script, Scripted};
use std::collections::HashSet;

/// What is said of a recipe on an ext2 with blocks of 1 KiB and a window of 128 KiB.
fn said(name: &str, large_folios: bool) -> String {
    let noise = Noise { drift: 0.0, ..Noise::usual(0.1) };
    let mut script = Script { block: 1024, noise, ..Script::new(3) };
    script.read_ahead = ReadAhead { large_folios, ..script.read_ahead };
    let recipe = by_name(name).unwrap();
    recipe.conclude(&Scripted::new(script).run(&recipe.workload()).unwrap())
}

#[test]
fn names_are_unique_and_every_workload_can_be_run() {
    let names: HashSet<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
    assert_eq!(names.len(), RECIPES.len());
    for recipe in RECIPES {
        let workload = recipe.workload();
        assert_eq!(workload.check(), Ok(()), "{}", recipe.name);
        let needed = workload.bytes_written() + workload.files.iter().map(|file| file.size).sum::<u64>();
        assert!(
            needed <= 256 << 20 || recipe.differs.contains("--max-write"),
            "{} needs more than the default budget and does not say so",
            recipe.name
        );
    }
}

#[test]
fn paper_d_finds_the_block_and_paper_c_the_window() {
    assert!(said("paper-d-block", true).starts_with("an operation is slower every 1 KiB"));
    let seen = said("paper-c-prefetch", false);
    assert!(seen.contains("settle to one each 128 KiB"), "{seen}");
}

#[test]
fn what_is_behind_a_primed_part_is_the_windows_under_way() {
    let seen = said("paper-d-prefetch", false);
    assert!(seen.starts_with("behind the first 2 MiB the cache held"), "{seen}");
}
