//! Which experiments of the papers asked the same question.

use fathom_survey::recipe::{self, Recipe};

/// The recipes of the papers that a parameter's figure corresponds to.
pub(super) fn of(parameter: &str) -> impl Iterator<Item = &'static Recipe> {
    let names = TABLE.iter().find(|(known, _)| *known == parameter).map_or(&[][..], |(_, names)| names);
    names.iter().filter_map(|name| recipe::by_name(name))
}

const TABLE: &[(&str, &[&str])] = &[
    ("page_size", &["paper-a-block-256", "paper-a-block-512", "paper-c-block"]),
    ("block_size", &["paper-d-block", "paper-a-block-512"]),
    ("readahead_window", &["paper-a-prefetch", "paper-a-prefetch-cached", "paper-c-prefetch"]),
    ("readahead_first", &["paper-c-prefetch", "paper-d-prefetch"]),
    ("readahead_ramp", &["paper-a-prefetch", "paper-c-prefetch"]),
    ("readahead_random", &["paper-d-prefetch", "paper-d-prefetch-sweep"]),
    ("direct_pointers", &["paper-c-inode", "paper-c-inode-sync", "paper-d-inode"]),
    ("pointers_per_indirect", &["paper-d-inode"]),
    ("allocation_scheme", &["paper-a-extents"]),
    ("extent_length", &["paper-a-extents"]),
    ("sync_latency", &["paper-c-inode-sync", "paper-a-extents"]),
    ("device_latency", &["paper-b-read-cold"]),
    ("call_cost", &["paper-b-calls"]),
    ("page_cost", &["paper-b-read-cached"]),
    ("copy_knee", &["paper-e-copy"]),
    ("page_cache_capacity", &["paper-a-cache", "paper-c-cache", "paper-d-cache"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_survey::experiment;

    #[test]
    fn every_name_is_known_and_every_recipe_belongs_to_a_question() {
        for (parameter, names) in TABLE {
            assert!(experiment::by_name(parameter).is_some(), "{parameter}");
            assert_eq!(of(parameter).count(), names.len(), "{parameter}");
        }
        for recipe in recipe::RECIPES {
            assert!(TABLE.iter().any(|(_, names)| names.contains(&recipe.name)), "{}", recipe.name);
        }
    }
}
