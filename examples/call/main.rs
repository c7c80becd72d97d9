//! Plays a recorded call: see `cargo run --example call -- --help`.

mod arguments;
mod script;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use arguments::Arguments;
use clap::Parser;
use script::{EventKind, Script};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let script = match &arguments.file {
        Some(file) => Script::read(file),
        None => Script::builtin(),
    };
    let script = match script {
        Ok(script) => script,
        Err(error) => return failed(&error, 2),
    };
    match list(&script, &mut io::stdout().lock()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => failed(&error, 1),
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

fn failed(error: &dyn std::error::Error, status: u8) -> ExitCode {
    // If that cannot be told, the status still says it.
    let _ = writeln!(io::stderr(), "{error}");
    ExitCode::from(status)
}

fn list(script: &Script, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "call {}", script.call_id)?;
    for event in &script.events {
        write!(out, "{} +{:5} ms  ", event.start_ms, event.end_ms - event.start_ms)?;
        match &event.kind {
            EventKind::Supervisor(text) => writeln!(out, "supervisor {} bytes", text.len())?,
            EventKind::Caller(text) => writeln!(out, "caller     {}", text.escape_debug())?,
            EventKind::Agent { text, calls, played_ms } => {
                write!(out, "agent      {}", text.as_deref().unwrap_or_default().escape_debug())?;
                for call in calls {
                    write!(out, " [calls {}]", call.name())?;
                }
                match played_ms {
                    Some(played_ms) => writeln!(out, " [cut after {played_ms} ms]")?,
                    None => writeln!(out)?,
                }
            }
            EventKind::ToolResult(result) => writeln!(out, "result     of {}", result.name())?,
        }
    }
    Ok(())
}
