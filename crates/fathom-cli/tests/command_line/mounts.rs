//! Mounts that lack something, and users that lack privileges.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{
    NO_MOUNTS, NO_SETPRIV, Place, SHORT, can_mount, mounted, require, survey, unprivileged,
};

fn survey_mounted(name: &str, setup: &str) {
    if !require(name, can_mount(), NO_MOUNTS) {
        return;
    }
    let (outcome, left) = mounted(setup, &[&["survey", "AT"], &SHORT[..]].concat());
    outcome.is_done();
    assert!(left.iter().all(|name| name == "lost+found"), "{left:?}");
}

#[test]
fn a_fresh_directory_is_surveyed_and_left_empty() {
    let place = Place::new();
    survey(place.text(), &[]).is_done();
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn no_privilege_is_needed() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let outcome = unprivileged(&[&["survey", place.text()], &SHORT[..]].concat());
    if require("no_privilege_is_needed", outcome.is_some(), NO_SETPRIV) {
        outcome.unwrap().is_done();
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}

#[test]
fn tmpfs_is_surveyed() {
    survey_mounted("tmpfs_is_surveyed", "mount -t tmpfs -o size=200m fathom-test \"$AT\"");
}

#[test]
fn overlay_is_surveyed() {
    // An overlay can't have its upper layer on another one, so that all of it stands in a tmpfs.
    let setup = "mount -t tmpfs -o size=200m fathom-test \"$AT\"\n\
        mkdir \"$AT/lower\" \"$AT/upper\" \"$AT/work\"\n\
        mount -t overlay -o \"lowerdir=$AT/lower,upperdir=$AT/upper,workdir=$AT/work\" fathom-test \"$AT\"";
    survey_mounted("overlay_is_surveyed", setup);
}

#[test]
fn a_mount_without_fallocate_is_surveyed() {
    // ext2 has no fallocate(2).
    let name = "a_mount_without_fallocate_is_surveyed";
    let is_there =
        |tool: &str| ["/usr/sbin", "/sbin", "/usr/bin"].iter().any(|at| Path::new(at).join(tool).exists());
    if require(name, is_there("mkfs.ext2"), "mkfs.ext2 is missing: install e2fsprogs")
        && require(name, Path::new("/dev/loop-control").exists(), "there are no loop devices")
    {
        let setup = "mount -t tmpfs -o size=400m fathom-test \"$AT\"\n\
            truncate -s 200m \"$AT/image\"; mkfs.ext2 -q -F \"$AT/image\"\n\
            mount -o loop \"$AT/image\" \"$AT\"";
        survey_mounted(name, setup);
    }
}
