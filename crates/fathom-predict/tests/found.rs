//! What a calibration finds of a mount with a server before it fits anything, on FUSE mounts where that is planted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom_fuse::{Plan, Writes};
use fathom_predict::calibration::found_by_other_means;
use fathom_predict::model::{Model, Opening, Scalar};
use fathom_run::instrument::Instrument;
use fathom_run::machine::linux::{Limits, Linux};
use fathom_scripted::support::{TestDirectory, require};

/// Whether writes wait for the server, and what opening a file does to its cached pages, as found on a mount.
fn found(point: &Path, instrument: &Instrument) -> (bool, Opening) {
    let limits = Limits { max_write: 256 << 20, deadline: None };
    let mut machine = Linux::at(point, instrument, limits, Arc::new(AtomicBool::new(false))).unwrap();
    let mut model = Model::assumed();
    found_by_other_means(&mut model, &mut machine, point, 1).unwrap();
    machine.close().unwrap();
    (model.parameters[Scalar::WriteThrough] > 0.0, model.parameters.choices.opening)
}

#[test]
fn a_calibration_finds_where_a_servers_mount_has_writes_wait_and_what_opening_does() {
    const NAME: &str = "what a server's mount does";
    let instrument = Instrument::calibrate().unwrap();
    let place = TestDirectory::new("found");
    for (words, opening) in [
        ("cache=writeback", Opening::Keeps),
        ("open=drops", Opening::Drops),
        ("rtt=200us,open=direct", Opening::Bypasses),
    ] {
        let plan: Plan = words.parse().unwrap();
        let waits = plan.writes == Writes::Through;
        let served = fathom_fuse::mount(place.path(), plan);
        let reason = served.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if !require(NAME, served.is_ok(), &reason) {
            return;
        }
        assert_eq!(found(place.path(), &instrument), (waits, opening), "{words}");
    }
}
