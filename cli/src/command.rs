//! How a command that reads a log runs: its runtime, its output, its exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::failure::{Failure, on_one_line};
use crate::output::Output;

/// Runs a command, which writes to the standard output and returns the exit status. A failure is reported on one line of
/// the standard error.
pub fn run(command: impl AsyncFnOnce(&mut dyn Write) -> Result<u8, Failure>) -> ExitCode {
    // Colours reach a terminal alone, unless the environment asks otherwise.
    let mut out = Output::new(anstream::AutoStream::auto(io::stdout().lock()));
    let ended =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from).and_then(|runtime| {
            let status = runtime.block_on(command(&mut out))?;
            out.flush()?;
            Ok(status)
        });
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            // Without a standard error, only the status reports the failure.
            let _ = writeln!(io::stderr(), "error: {}", on_one_line(&failure));
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Writes to the standard error, so that the standard output has data alone.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a value as one line of JSON.
pub fn json_line(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}
