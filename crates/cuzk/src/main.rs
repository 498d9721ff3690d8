//! cuzk: from the file that a Filecoin sealing pipeline leaves to a Groth16 proof that verifies.
//!
//! This crate is the command line only: arguments, progress, reports, exit codes.
#![forbid(unsafe_code)]

mod arguments;
mod catalogue;
mod commands;
mod counters;
mod devices;
mod environment;
mod failure;
mod inner_product;
mod loaded;
mod machine;
mod memory;
mod output;
mod partial;
mod partitions;
mod plan;
mod processor;
mod progress;
mod provenance;
mod prover;
mod report;
mod signals;
mod synthesis;
mod talk;
mod trace;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command, LogFormat};
use failure::Failure;
use talk::Talk;

fn main() -> ExitCode {
    match processor::missing_feature() {
        None => start(),
        Some(feature) => {
            eprintln!(
                "error[instructions]: this build is for processors that have {feature}, and this one lacks it; take the \
                 ordinary build, which chooses its instructions when it runs"
            );
            ExitCode::from(3)
        }
    }
}

// Not inlined, so that main has no instruction of a processor that may not be there.
#[inline(never)]
fn start() -> ExitCode {
    let parsed = match Arguments::try_parse() {
        Ok(arguments) => Ok(arguments),
        Err(error) if !error.use_stderr() => {
            // --help. A closed stdout is nobody's fault.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(Failure::usage(&error)),
    };
    let format = parsed.as_ref().map_or_else(|_| format_asked_for(), |arguments| arguments.log_format);
    let talk = Talk::new(false, format);
    let outcome = parsed.and_then(|arguments| run(arguments, talk));
    signals::end();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.told {
                talk.say_failure(&failure);
            }
            ExitCode::from(failure.exit_code)
        }
    }
}

/// What a command line that makes no sense says of the log's format.
fn format_asked_for() -> LogFormat {
    let words: Vec<_> = std::env::args_os().collect();
    let json = words.iter().any(|word| word == "--log-format=json")
        || words.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json");
    if json { LogFormat::Json } else { LogFormat::Text }
}

fn run(arguments: Arguments, talk: Talk) -> Result<(), Failure> {
    if arguments.version.wanted {
        return commands::version::run(&arguments.version);
    }
    signals::watch(talk)?;
    match arguments.command.ok_or_else(missing_command)? {
        Command::Prove(arguments) => commands::prove::run(&arguments, talk),
        Command::Verify(arguments) => commands::verify::run(&arguments, talk),
        Command::Join(arguments) => commands::join::run(&arguments, talk),
        Command::Aggregate(arguments) => commands::aggregate::run(&arguments, talk),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Inspect(arguments) => commands::inspect::run(&arguments),
        Command::Synth(arguments) => commands::synth::run(&arguments, talk),
        Command::Fixture(arguments) => commands::fixture::run(&arguments),
        Command::Params(arguments) => commands::params::run(&arguments, talk),
        Command::Variants(arguments) => commands::variants::run(&arguments),
        Command::Selftest(arguments) => commands::selftest::run(&arguments, talk),
        Command::Errors(arguments) => commands::errors::run(&arguments),
        Command::Completions(arguments) => commands::manual::completions(&arguments),
        Command::Man(arguments) => commands::manual::man(&arguments),
        #[cfg(fault_injection)]
        Command::Faults => commands::faults::run(),
    }
}

/// clap shows the help where there is nothing at all; this is for what it may let through.
fn missing_command() -> Failure {
    Failure::usage(
        &Arguments::command().error(ErrorKind::MissingSubcommand, "no command; `cuzk --help` lists them"),
    )
}
