//! A live call from start to end. Run `cargo run --example live_call -- --help`.
//!
//! Start with `play.rs`, which runs a call, and `line.rs`, which speaks and reports playback. `models.rs` connects to a
//! model, `caller.rs` has the scripted and the typed caller, `bank.rs` the tools, and `log.rs` the log. `script.rs` holds
//! the scripted call. `screen.rs` and `report.rs` print it.

mod arguments;
mod bank;
mod caller;
mod error;
#[cfg(all(test, unix))]
mod journey;
mod line;
mod log;
mod models;
mod pace;
mod play;
mod report;
mod screen;
mod script;
#[path = "../shared/stop.rs"]
mod stop;
mod text;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use arguments::Arguments;
use caller::{Scripted, Typed};
use clap::Parser;
use error::{CallError, on_one_line};
use log::Log;
use models::Models;
use pace::Pace;
use play::play;
use screen::Screen;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the exit status still reports the failure.
            let _ = writeln!(io::stderr(), "{}", on_one_line(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), CallError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CallError::Runtime)?;
    runtime.block_on(async {
        let stop = stop::stop_signal().map_err(CallError::Runtime)?;
        let pace = Pace::starting_now(arguments.speed());
        let screen = Arc::new(Screen::new(pace.clone(), io::stdout()));
        let log = Log::open(&pace, arguments.log.as_deref(), arguments.resume.as_deref()).await?;
        match &arguments.bedrock {
            Some(model) => {
                let environment = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
                let models = Models::at_aws(&environment, model).await?;
                screen.note("type what you say and press Enter; this interrupts the assistant; an empty line hangs up");
                play(models, Typed::at_the_terminal(), log, screen, pace, stop).await
            }
            None => play(Models::scripted(&pace), Scripted::new(pace.clone()), log, screen, pace, stop).await,
        }
    })
}
