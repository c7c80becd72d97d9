//! Shared by the small examples: `--help`, and a quiet end when the reader of the output closes the pipe.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::Command;

/// Parses the arguments of an example and runs it. `about` is the text of `--help`.
///
/// The exit status is 0 if the example ran, or if the reader of its output stopped early, as `head` does; 1 if the example
/// failed; 2 if the arguments are wrong.
pub fn run(about: &'static str, example: impl FnOnce() -> Result<(), Box<dyn Error>>) -> ExitCode {
    Command::new(option_env!("CARGO_BIN_NAME").unwrap_or("example")).about(about).get_matches();
    let Err(error) = example() else { return ExitCode::SUCCESS };
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    // If standard error is closed, the exit status still reports the failure.
    let _ = writeln!(io::stderr(), "the example failed: {error}");
    ExitCode::FAILURE
}
