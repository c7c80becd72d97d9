//! A service that answers phone calls with Twilio's ConversationRelay. Run `cargo run --example twilio_relay -- --help`.
//!
//! Start with `relay.rs`, which maps the messages of one WebSocket to the methods of a call, and `playback.rs`, which
//! knows what Twilio has played. `server.rs` has the three routes, `signature.rs` and `twiml.rs` their checks and answers,
//! and `messages.rs` the messages. `calls.rs` opens and resumes calls, `ferry.rs` has the tools, `log.rs` the log, and
//! `models.rs` the model. `script.rs` is the model that answers offline.

pub(crate) mod arguments;
mod calls;
mod error;
mod ferry;
mod log;
mod messages;
mod models;
mod playback;
mod relay;
mod script;
mod server;
pub(crate) mod signature;
#[path = "../shared/stop.rs"]
mod stop;
mod twiml;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use error::RelayError;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the exit status still reports the failure.
            let _ = writeln!(io::stderr(), "{}", error::on_one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Serves calls until the process gets SIGTERM.
pub(crate) fn run(arguments: &Arguments) -> Result<(), RelayError> {
    let level = if arguments.verbose { tracing::Level::INFO } else { tracing::Level::WARN };
    // Fails if the program already has a subscriber, and then that one is used.
    let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).try_init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(RelayError::Runtime)?;
    runtime.block_on(server::serve(arguments))
}
