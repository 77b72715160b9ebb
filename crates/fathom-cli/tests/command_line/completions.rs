//! What shells and `man` are given comes from the parser, so it names every subcommand.

use crate::support::{Place, fathom};

const COMMANDS: [&str; 5] = ["survey", "curve", "compare", "report", "lab"];

#[test]
fn every_shell_is_told_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = fathom(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        assert!(COMMANDS.iter().all(|command| script.out.contains(command)), "{shell}");
    }
    fathom(&["completions", "dos"]).complains(2, "bash");
}

#[test]
fn parameters_and_other_names_are_completed() {
    let place = Place::new();
    let script = place.path().join("fathom.bash");
    std::fs::write(&script, fathom(&["completions", "bash"]).out).unwrap();
    for (words, wanted) in [
        ("survey --only block", "block_size"),
        ("predict --set readah", "readahead"),
        ("sweep --set dirty_back", "dirty_background_bytes"),
        ("probe --recipe paper-d-bl", "paper-d-block"),
        ("lab run --cases ext2-1k", "ext2-1k"),
    ] {
        let complete = format!(
            ". {}; COMP_WORDS=(fathom {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _fathom fathom \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\"",
            script.display()
        );
        let done = std::process::Command::new("bash").args(["-c", &complete]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(said.starts_with(wanted), "{words}: {said}");
    }
}

#[test]
fn the_manual_has_a_page_for_the_command_and_for_each_subcommand() {
    let page = fathom(&["man"]);
    assert_eq!(page.code, Some(0), "{page:?}");
    assert!(page.out.contains(".TH fathom 1") && page.out.contains("compare"), "{}", page.out);
    let place = Place::new();
    let pages = fathom(&["man", "--out", place.text()]);
    assert_eq!(pages.code, Some(0), "{pages:?}");
    let names = place.names();
    for command in COMMANDS {
        assert!(names.contains(&format!("fathom-{command}.1")), "{names:?}");
    }
}
