mod reference;

use fathom::experiment::Effort;
use fathom::finding::Kind;
use fathom::replay::{Cache, Pace};
use fathom::speed::curve as speed;
use fathom::speed::pattern::Pattern;
use fathom::workload::{CallKind, Traversal};

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
}
