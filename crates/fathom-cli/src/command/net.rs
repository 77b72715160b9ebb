//! `fathom net`: the nets of the model, drawn.

use std::fs;
use std::process::ExitCode;

use fathom::model::{self, Model, View};

use crate::args::net::{DrawingFormat, NetCommand, ShowOptions};
use crate::console;
use crate::failure::Failure;
use crate::output::plain;

pub(crate) fn run(command: &NetCommand) -> Result<ExitCode, Failure> {
    match command {
        NetCommand::List => {
            let modules = Model::assumed().path().modules();
            console::print(&modules.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        }
        NetCommand::Parameters => console::print(&model::page())?,
        NetCommand::Show(options) => show(options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(options: &ShowOptions) -> Result<(), Failure> {
    let model = options.on.model()?.unwrap_or_else(Model::assumed);
    let view = if options.flat { View::Flat } else { View::Module(&options.module) };
    let path = model.path();
    let drawing = path.picture(view, &model.parameters, options.marking).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no module '{}'; there are {}",
            options.module,
            path.modules().join(", ")
        ))
    })?;
    let text = match options.format {
        DrawingFormat::Dot => drawing.to_dot(),
        DrawingFormat::Svg => drawing.to_svg(),
    };
    match &options.out {
        None => console::print(&text),
        Some(file) => fs::write(file, text).map_err(|error| {
            Failure::Failed(format!("--out: can't write {}: {}", file.display(), plain(&error)))
        }),
    }
}
