//! The reference of the commands, `docs/commands`: written from the definition that the parser has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory};

use super::super::Arguments;

/// What stands above every page.
const HEAD: &str = "<!-- Written by the tests from the help: FATHOM_WRITE_DOCS=1 cargo test -p fathom-cli the_reference -->\n\n";

/// Every page of the reference by the name of its file.
fn pages() -> BTreeMap<String, String> {
    let mut all = Arguments::command();
    all.build();
    let mut index = format!(
        "{HEAD}# Commands\n\n`fathom COMMAND --help` prints the same; `--quiet`, with any command, shows no progress and no advice.\n\
         [The guide](../guide/README.md) shows what to use when.\n\n\
         | command | does |\n|---|---|\n"
    );
    let mut pages = BTreeMap::new();
    for command in all.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_name();
        index += &format!("| [{name}]({name}.md) | {} |\n", about(command));
        pages.insert(format!("{name}.md"), format!("{HEAD}{}", page(command, "#")));
    }
    pages.insert("README.md".to_owned(), index);
    pages
}

/// A command, and below it those that it has.
fn page(command: &Command, level: &str) -> String {
    let name = command.get_bin_name().unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let mut text = format!("{level} {name}\n\n{}\n\n", sentence(&about(command)));
    text += &format!("```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let (named, placed): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(|arg| !is_everywhere(arg)).partition(|arg| arg.get_long().is_some());
    for (title, arguments) in [("Arguments", placed), ("Options", named)] {
        if !arguments.is_empty() {
            text += &format!("\n{title}:\n\n");
            text.extend(arguments.into_iter().map(described));
        }
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        text += &format!("\n{}", page(below, &format!("{level}#")));
    }
    if let Some(after) = command.get_after_help() {
        text += &format!("\n{after}\n");
    }
    text
}

fn is_everywhere(arg: &Arg) -> bool {
    ["help", "version", "quiet"].contains(&arg.get_id().as_str())
}

/// An argument as an item of a list, with its values below it.
fn described(arg: &Arg) -> String {
    let value = arg.get_value_names().unwrap_or_default().join(" ");
    let takes = arg.get_action().takes_values();
    let shown = match arg.get_long() {
        Some(long) if takes => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
        None => value,
    };
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- **`{shown}`**: {}", sentence(&help));
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|one| one.to_string_lossy().into_owned()).collect();
    if takes && !defaults.concat().is_empty() {
        text += &format!(" Default: `{}`.", defaults.join(","));
    }
    let values = if takes { arg.get_possible_values() } else { Vec::new() };
    if !values.is_empty() && values.iter().all(|value| value.get_help().is_none()) {
        let names: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        text += &format!(" One of {}.", names.join(", "));
        return text + "\n";
    }
    text + "\n" + &values.iter().map(valued).collect::<String>()
}

fn valued(value: &PossibleValue) -> String {
    let help = value.get_help().map(ToString::to_string).unwrap_or_default();
    format!("    - `{}`: {}\n", value.get_name(), sentence(&help))
}

fn about(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// With the full stop that the parser takes away, and without marks that Markdown would heed.
fn sentence(text: &str) -> String {
    let text = text.trim().replace('<', "\\<").replace('*', "\\*");
    if text.ends_with(['.', ':']) { text } else { text + "." }
}

#[test]
fn the_reference_is_that_of_the_help() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    let pages = pages();
    if std::env::var_os("FATHOM_WRITE_DOCS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        pages.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }
    let there = fs::read_dir(&folder).into_iter().flatten().flatten();
    let there: BTreeMap<String, String> = there
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    assert!(there == pages, "docs/commands is behind: run this test with FATHOM_WRITE_DOCS=1");
}
