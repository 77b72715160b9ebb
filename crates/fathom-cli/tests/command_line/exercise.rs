//! Programs of a class, in file systems of the lab.

use crate::support::{Outcome, can_mount, fathom, require};

fn answering(program: &str) -> Outcome {
    fathom(&["lab", "exercise", "block_size", "--cases", "tmpfs", "--", "sh", "-c", program])
}

#[test]
fn the_lab_checks_the_answers_of_a_program() {
    let reason = "the lab mounts file systems, which needs root and CAP_SYS_ADMIN";
    if !require("the_lab_checks_the_answers_of_a_program", can_mount(), reason) {
        return;
    }
    // The directory is the last argument, and the last line is the answer.
    let right = answering("echo thinking; touch $0/file && stat -f -c %S $0");
    assert_eq!(
        (right.code, right.out.as_str()),
        (Some(0), "tmpfs: right: 4 KiB\n1 of 1 right.\n"),
        "{right:?}"
    );
    let wrong = answering("echo 1K");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.out.contains("tmpfs: WRONG: the answer is 1 KiB, the truth is 4 KiB\n"), "{wrong:?}");
    let silent = answering("echo '?'");
    assert!(silent.code == Some(1) && silent.out.contains("no answer"), "{silent:?}");
    let broken = answering("echo 4K; exit 3");
    assert!(broken.code == Some(1) && broken.out.contains("FAILED: sh: exit status: 3"), "{broken:?}");
}

#[test]
fn an_exercise_needs_a_parameter_a_case_and_a_program() {
    let of = |words: &[&str]| fathom(&[&["lab", "exercise"], words].concat());
    of(&["no_such", "--", "true"]).complains(2, "there is no parameter 'no_such'");
    of(&["dirty_throttle_point", "--cases", "tmpfs", "--", "true"])
        .complains(2, "none of these file systems is about");
    of(&["block_size"]).complains(2, "required arguments were not provided");
}
