mod reference;

use clap::CommandFactory;
use fathom::experiment::Effort;
use fathom::finding::Kind;
use fathom::replay::{Cache, Pace};
use fathom::speed::curve as speed;
use fathom::speed::pattern::Pattern;
use fathom::workload::{CallKind, Traversal};
use fathom_trace::record::Method;

use super::*;

fn all<W: ValueEnum, T: DeserializeOwned>() {
    W::value_variants().iter().for_each(|word| drop(library::<T>(word.clone())));
}

#[test]
fn the_library_has_every_word_of_the_options() {
    all::<Operation, CallKind>();
    all::<Order, Traversal>();
    all::<plan::EvidenceKind, Kind>();
    all::<plan::EffortLevel, Effort>();
    all::<run::PaceName, Pace>();
    all::<run::CacheName, Cache>();
    all::<io::Filling, Pattern>();
    all::<curve::Operation, speed::Operation>();
    all::<curve::Order, speed::Order>();
    all::<curve::State, speed::State>();
    all::<State, speed::State>();
    all::<trace::MethodName, Method>();
}

#[test]
fn budgets_in_python_are_those_of_the_commands() {
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../fathom-python/python/fathomfs/__init__.py");
    let package = std::fs::read_to_string(package).unwrap();
    let all = Arguments::command();
    for name in ["calibrate", "survey", "run", "validate"] {
        let command = all.find_subcommand(name).unwrap();
        let default = |id: &str| {
            let option = command.get_arguments().find(|one| one.get_id() == id).unwrap();
            option.get_default_values()[0].to_str().unwrap().to_owned()
        };
        let (_, function) = package.split_once(&format!("def {name}(")).unwrap();
        let in_python = |id: &str| {
            let (_, option) = function.split_once(&format!("{id}: ")).unwrap();
            option.split_once(" = ").unwrap().1.split_once(',').unwrap().0
        };
        let mib = parse_bytes(&default("max_write")).unwrap() >> 20;
        assert_eq!(in_python("max_write"), format!("{mib} * _MIB"), "{name}");
        let time = parse_duration(&default("max_time")).unwrap();
        assert_eq!(in_python("max_time"), time.as_secs().to_string(), "{name}");
    }
}
