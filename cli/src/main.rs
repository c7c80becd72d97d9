//! The program `verbale`: see `verbale --help`.

mod calls;
mod change;
mod check;
mod command;
mod demo;
mod export;
mod failure;
mod html;
mod import;
mod list;
mod log;
mod lost;
mod new_file;
mod output;
mod partial;
mod progress;
mod redact;
mod report;
mod serve;
mod show;
mod spool;
mod table;
mod tail;
mod text;
mod time;
mod turn;
mod turns;
mod why;

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use command::{Colours, run};

/// Shows, checks and changes the log of phone calls with an LLM.
#[derive(Debug, Parser)]
#[command(name = "verbale", version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Tail(tail::Arguments),
    Check(check::Arguments),
    Why(why::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Erase(change::Erase),
    Hold(change::Hold),
    Release(change::Release),
    Sweep(change::Sweep),
    Spool(spool::SpoolCommand),
    DeadLetters(spool::DeadLettersCommand),
    Table(table::TableCommand),
    Serve(serve::Arguments),
    Completions(Completions),
}

/// Prints the completion script for a shell.
///
/// For bash: `verbale completions bash > ~/.local/share/bash-completion/completions/verbale`.
#[derive(Debug, Args)]
struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

impl Completions {
    fn run(&self, out: &mut dyn Write) -> Result<u8, failure::Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Program::command(), "verbale", &mut script);
        out.write_all(&script)?;
        Ok(0)
    }
}

#[cfg(test)]
impl Program {
    /// The arguments of `verbale demo`, parsed from what follows `demo` on the command line.
    fn demo_from(arguments: &[&str]) -> Result<demo::Arguments, clap::Error> {
        match Self::try_parse_from(["verbale", "demo"].iter().chain(arguments))?.command {
            Command::Demo(arguments) => Ok(arguments),
            other => unreachable!("{other:?}"),
        }
    }
}

fn main() -> ExitCode {
    match Program::parse().command {
        Command::Demo(arguments) => demo::main(arguments),
        Command::List(arguments) => run(Colours::Never, async |out| list::run(arguments, out).await),
        Command::Show(arguments) => run(Colours::unless(arguments.json), async |out| show::run(arguments, out).await),
        Command::Tail(arguments) => run(Colours::unless(arguments.json), async |out| tail::run(arguments, out).await),
        Command::Check(arguments) => run(Colours::Never, async |out| check::run(arguments, out).await),
        Command::Why(arguments) => run(Colours::Never, async |out| why::run(arguments, out).await),
        Command::Report(arguments) => run(Colours::Never, async |out| report::run(arguments, out).await),
        Command::Export(arguments) => run(Colours::Never, async |out| export::run(arguments, out).await),
        Command::Import(arguments) => run(Colours::Never, async |out| import::run(arguments, out).await),
        Command::Spool(command) => run(Colours::Never, async |out| command.run(out).await),
        Command::DeadLetters(command) => run(Colours::Never, async |out| command.run(out).await),
        Command::Table(command) => run(Colours::Never, async |out| command.run(out).await),
        Command::Erase(erase) => run(Colours::Never, async |out| erase.run(out).await),
        Command::Hold(hold) => run(Colours::Never, async |out| hold.run(out).await),
        Command::Release(release) => run(Colours::Never, async |out| release.run(out).await),
        Command::Sweep(sweep) => run(Colours::Never, async |out| sweep.run(out).await),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Completions(completions) => run(Colours::Never, async |out| completions.run(out)),
    }
}
