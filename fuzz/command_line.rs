//! A job file as a command line.

use fathom_program::job::JobFile;

/// The same jobs as the words of a command line of fio. A global section between jobs, which a command line has not, stands in
/// each job behind it.
pub(super) fn words(file: &JobFile) -> Vec<String> {
    let mut words = vec!["fio".to_owned()];
    let word = |(key, value): &(String, Option<String>)| match value {
        Some(value) => format!("--{key}={value}"),
        None => format!("--{key}"),
    };
    let mut between = Vec::new();
    for section in &file.sections {
        let options = section.options.iter().filter(|(key, _)| key != "name").map(word);
        match section.named() {
            None if words.iter().any(|word| word.starts_with("--name=")) => between.extend(options),
            None => words.extend(options),
            Some(name) => {
                words.push(format!("--name={name}"));
                words.extend(between.iter().cloned().chain(options));
            }
        }
    }
    words
}
