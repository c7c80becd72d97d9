//! [`Arguments`]: the command line of the example.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// Answers phone calls with Twilio's ConversationRelay.
///
/// Serves `POST /voice` (the TwiML of a call), `GET /relay` (the WebSocket) and `POST /after` (the action of <Connect>).
/// Every request needs a valid `X-Twilio-Signature`; the auth token comes from TWILIO_AUTH_TOKEN. With CALLER_SALT, a
/// secret of 16 bytes or more, the log has a salted hash of the caller's number, so the calls of a caller are found.
///
/// Prints its address. By default it needs no other service: the model is a script, and the log is a DynamoDB in this
/// process.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "twilio_relay", after_long_help = AFTER_HELP, verbatim_doc_comment)]
pub struct Arguments {
    /// Listens on this address. Port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// The URL under which Twilio reaches this program; by default the address that it listens on.
    ///
    /// Twilio signs this URL, so it has to be set if there is a proxy or a tunnel, such as https://voice.example.com.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Where calls are logged: a directory, or dynamodb:TABLE; by default in memory.
    ///
    /// A program that was killed continues its calls if it is started again with the same log.
    #[arg(long, value_name = "LOG", value_parser = place)]
    pub log: Option<Place>,

    /// Asks this model at Amazon Bedrock instead of the script.
    ///
    /// MODEL is a model id or an inference profile, such as eu.anthropic.claude-haiku-4-5-20251001-v1:0. Credentials and
    /// region come from the usual AWS settings. Each turn costs tokens.
    #[arg(long, value_name = "MODEL")]
    pub bedrock: Option<String>,

    /// How long the booking service of the ferry takes to answer.
    #[arg(long, value_name = "MS", default_value = "300", value_parser = milliseconds)]
    pub service_ms: Duration,

    /// How long a call whose connection was lost waits for the next one.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub grace_s: Duration,

    /// How long calls may continue after SIGTERM.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub drain_s: Duration,

    /// Prints what happens, without the words of a call.
    #[arg(long)]
    pub verbose: bool,
}

/// Where calls are logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A DynamoDB in this process, with its file in a directory.
    Directory(PathBuf),
    /// A table at AWS.
    Table(String),
}

const AFTER_HELP: &str = "\
On SIGTERM or SIGINT, new calls are refused, live calls may continue for --drain-s, and the others are closed.
Twilio connects them again, and another process with the same log continues them.

Exit status: 0 if the program was stopped and everything is logged, 1 if it failed (with one line on standard
error), 2 if the arguments are wrong.

Examples:
  TWILIO_AUTH_TOKEN=12345 cargo run --example twilio_relay
  TWILIO_AUTH_TOKEN=... AWS_PROFILE=me AWS_REGION=eu-central-1 cargo run --example twilio_relay -- \\
    --public-url https://voice.example.com --log dynamodb:verbale \\
    --bedrock eu.anthropic.claude-haiku-4-5-20251001-v1:0";

fn place(text: &str) -> Result<Place, &'static str> {
    match text.strip_prefix("dynamodb:") {
        Some("") => Err("name the table, such as dynamodb:verbale"),
        Some(table) => Ok(Place::Table(table.to_owned())),
        None if text.is_empty() => Err("name a directory, or dynamodb:TABLE"),
        None => Ok(Place::Directory(text.into())),
    }
}

fn milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}

fn seconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<Place>, i32> {
        let parsed = Arguments::try_parse_from(["twilio_relay"].iter().chain(arguments));
        parsed.map(|arguments| arguments.log).map_err(|error| error.exit_code())
    }

    #[test]
    fn arguments_are_accepted_or_refused() {
        Arguments::command().debug_assert();
        assert_eq!(parsed(&[]), Ok(None));
        assert_eq!(parsed(&["--log", "calls"]), Ok(Some(Place::Directory("calls".into()))));
        assert_eq!(parsed(&["--log", "dynamodb:verbale"]), Ok(Some(Place::Table("verbale".to_owned()))));
        for wrong in [&["--log"][..], &["--log", "dynamodb:"], &["--listen", "8080"], &["--drain-s", "-1"], &["file"]] {
            assert_eq!(parsed(wrong), Err(2), "{wrong:?}");
        }
    }
}
