//! `cuzk completions` and `cuzk man`: the command line as shells and manuals have it.

use std::fs;

use anyhow::Context;
use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = vec![];
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "cuzk", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    match &arguments.out {
        None => {
            let mut page = vec![];
            clap_mangen::Man::new(Arguments::command())
                .render(&mut page)
                .map_err(|error| Failure::environment("output", error))?;
            output::print(&String::from_utf8_lossy(&page))
        }
        Some(folder) => fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
            .with_context(|| format!("cannot write manual pages to {}", folder.display()))
            .map_err(|error| Failure::environment("output", error)),
    }
}
