//! `verbale demo`: plays a recorded call through the manager and the log.
//!
//! `play.rs` has the order of events in a call. `player.rs`, `windows.rs`, `summaries.rs` and `log.rs` use the library.
//! `script/` reads the recordings; `show.rs` and `trace.rs` print the events.

mod arguments;
mod error;
mod happening;
mod log;
mod play;
mod player;
mod script;
mod show;
mod summaries;
mod trace;
mod windows;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;

pub use arguments::Arguments;
use error::PlayError;
use happening::Observer;
use log::CallLog;
use play::{Options, play};
use script::{Script, ScriptError};
use show::Show;
use trace::Trace;

use crate::failure::on_one_line;
use crate::output::Output;

/// An error that ends the program.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The file is invalid. No log was opened.
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("{0}")]
    Usage(&'static str),
    #[error(transparent)]
    Play(#[from] PlayError),
}

impl Failure {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Script(_) | Self::Usage(_) => 2,
            Self::Play(PlayError::Log(log::LogError::NobodyAnswers { .. })) => 5,
            Self::Play(_) => 1,
        }
    }
}

/// Plays the call. Returns the exit status of the program.
pub fn main(arguments: Arguments) -> ExitCode {
    let mut output = Output::new(io::stdout().lock());
    match run(arguments, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Without a standard error, only the status reports the failure.
            let _ = writeln!(io::stderr(), "{}", on_one_line(&failure));
            ExitCode::from(failure.exit_status())
        }
    }
}

fn run(arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let script = match &arguments.file {
        Some(file) => Script::read(file)?,
        None => Script::builtin()?,
    };
    let options = Options {
        summarize_above: arguments.summarize_above,
        keep_turns: arguments.keep_turns,
        with_items: arguments.trace,
    };
    let place = arguments.clone().into_place().map_err(Failure::Usage)?;
    let mut observer: Box<dyn Observer> =
        if arguments.trace { Box::new(Trace(&mut *out)) } else { Box::new(Show::new(&mut *out)) };
    let played = async {
        let mut log = CallLog::open(place, &script).await.map_err(PlayError::from)?;
        play(&script, options, &mut log, &mut *observer).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PlayError::Runtime)?;
    let ended = runtime.block_on(played)?;
    drop(observer);
    out.flush().map_err(PlayError::from)?;
    if ended.restored_equal { Ok(()) } else { Err(PlayError::NotEqual.into()) }
}
