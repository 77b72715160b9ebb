//! `fathom schema`: the JSON Schemas that results keep to.

use std::fs;
use std::process::ExitCode;

use fathom::results::{self, Json};

use crate::args::SchemaOptions;
use crate::console;
use crate::failure::Failure;

pub(crate) fn run(options: &SchemaOptions) -> Result<ExitCode, Failure> {
    for (kind, schema) in results::published() {
        let text = || schema().json().map(|text| text + "\n");
        match &options.write_all {
            Some(directory) => {
                let file = directory.join(kind.schema_file().unwrap_or_default());
                let written = fs::create_dir_all(directory).and_then(|()| fs::write(&file, text()?));
                written.map_err(|error| Failure::unwritable("--write-all", &file, &error))?;
            }
            None if kind.name == options.result => console::print(&text()?)?,
            None => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}
