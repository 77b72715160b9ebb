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
