//! The published schemas are those of the types that are written, and are no empty promise.

mod published;

use serde_json::{Value, json};

fn is_published(report: &str, derived: &Value) {
    let path = published::path(report);
    let path = path.display();
    assert!(
        published::schema(report) == *derived,
        "{path} differs from the types; make it again with\n\
         cargo run --release -- schema {report} > {path}"
    );
}

#[test]
fn the_schema_of_surveys_is_that_of_the_types() {
    is_published("survey", &fathom::survey::schema());
}

#[test]
fn the_schema_of_labs_is_that_of_the_types() {
    is_published("lab", &fathom::lab::schema());
}

#[test]
fn the_schemas_of_speeds_are_those_of_the_types() {
    is_published("xor", &fathom::speed::xor::schema());
    is_published("io", &fathom::speed::transfer::schema());
    is_published("io-size", &fathom::speed::file_size::schema());
    is_published("run", &fathom::speed::jobs::schema());
    is_published("syscalls", &fathom::speed::syscalls::schema());
}

#[test]
fn the_schema_of_curves_is_that_of_the_types() {
    is_published("curve", &fathom::speed::curve::schema());
}

#[test]
fn the_schemas_of_comparisons_are_those_of_the_types() {
    is_published("comparison", &fathom::comparison::schema());
    is_published("versus", &fathom::speed::versus::schema());
}

#[test]
fn the_schemas_of_models_are_those_of_the_types() {
    is_published("model", &fathom::model::schema());
    is_published("prediction", &fathom::prediction::schema());
    is_published("validation", &fathom::validation::schema());
}

#[test]
fn the_schema_of_what_traces_do_is_that_of_the_types() {
    is_published("trace-show", &fathom_trace::show::schema());
}

#[test]
fn something_else_breaks_the_schema() {
    for report in [
        "survey",
        "lab",
        "xor",
        "curve",
        "comparison",
        "versus",
        "io",
        "io-size",
        "run",
        "syscalls",
        "model",
        "prediction",
        "validation",
        "trace-show",
    ] {
        let broken = std::panic::catch_unwind(|| published::check(report, &json!({"schema": "other/1"})));
        assert!(broken.is_err(), "{report}");
    }
}
