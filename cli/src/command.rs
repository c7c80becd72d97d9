//! How a command that reads a log runs: its runtime, its output, its exit status.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::pin::pin;
use std::process::ExitCode;
use std::task::Poll;

use anstream::AutoStream;

use crate::failure::{Failure, on_one_line};

/// Whether a command writes colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// No: the output is data, and reaches its reader unchanged.
    Never,
    /// To a terminal, unless the environment asks otherwise.
    OnTerminals,
}

impl Colours {
    pub fn unless(is_data: bool) -> Self {
        if is_data { Self::Never } else { Self::OnTerminals }
    }
}

/// Runs a command, which writes to the standard output and returns the exit status. A failure is reported on one line of
/// the standard error. A command ends successfully when the reader of its output closes the pipe.
pub fn run(colours: Colours, command: impl AsyncFnOnce(&mut dyn Write) -> Result<u8, Failure>) -> ExitCode {
    let stdout = io::stdout().lock();
    // Without colours, `anstream` removes what looks like an escape sequence, from what callers said, too.
    let ended = match colours {
        Colours::Never => run_into(stdout, command),
        Colours::OnTerminals => run_into(AutoStream::auto(stdout), command),
    };
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // Without a standard error, only the status reports the failure.
            let _ = writeln!(io::stderr(), "error: {}", on_one_line(&failure));
            ExitCode::from(failure.exit_status())
        }
    }
}

fn run_into(
    mut out: impl Write,
    command: impl AsyncFnOnce(&mut dyn Write) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(async {
        let mut interrupted = pin!(tokio::signal::ctrl_c());
        // The first poll registers the signal, before the command writes anything.
        if poll_fn(|context| Poll::Ready(interrupted.as_mut().poll(context))).await.is_ready() {
            return Err(Failure::Interrupted);
        }
        tokio::select! {
            biased; // a command may know what an interruption leaves
            ended = command(&mut out) => ended,
            _ = interrupted => Err(Failure::Interrupted),
        }
    })?;
    out.flush()?;
    Ok(status)
}

/// Writes to the standard error, so that the standard output has only data.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a value as one line of JSON.
pub fn json_line(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// Asks the person at the terminal, unless the answer is given.
pub fn confirm(question: &str, is_given: bool) -> Result<(), Failure> {
    if is_given {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("{question} Add --yes to do it without a terminal that can be asked")));
    }
    let _ = write!(io::stderr(), "{question} Go on? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Declined),
    }
}
