//! The program `verbale`: see `verbale --help`.

mod demo;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The conversation of a phone call with an LLM, and its log.
#[derive(Debug, Parser)]
#[command(name = "verbale", version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Arguments),
}

#[cfg(test)]
impl Program {
    /// The arguments of `verbale demo`, parsed from what follows `demo` on the command line.
    fn demo_from(arguments: &[&str]) -> Result<demo::Arguments, clap::Error> {
        let Command::Demo(arguments) = Self::try_parse_from(["verbale", "demo"].iter().chain(arguments))?.command;
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    match Program::parse().command {
        Command::Demo(arguments) => demo::main(arguments),
    }
}
