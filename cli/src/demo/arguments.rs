//! [`Arguments`]: the command line of `verbale demo`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::demo::log::Place;
use crate::log::{self as logs, endpoint};

/// Plays a recorded call through the manager, with the times of the recording.
///
/// The assistant speaks the agent's segments. A caller who speaks before the agent has finished interrupts, and the rest
/// counts as not heard. Old turns are summarized in the background, without a model. Each turn is logged to DynamoDB. At the end the
/// call is read from the log and restored.
///
/// The output has a line for each turn (time, messages in the window, speaker, words), the conversation, the last summary,
/// the cost of the log (requests, write units), and whether the restored call equals the live one.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Arguments {
    /// Keeps the log in this directory, in a DynamoDB inside this process.
    ///
    /// Without `--db` and `--endpoint`, the log is in memory and ends with the process. The call's id is the name of FILE
    /// with an id of this run as suffix, so each run is a new call.
    #[arg(long, value_name = "DIR", conflicts_with = "endpoint")]
    pub db: Option<PathBuf>,

    /// Keeps the log in embedded:DIR, or, with --endpoint, in dynamodb://TABLE, as in the other commands.
    #[arg(long, value_name = "LOG", conflicts_with = "db")]
    pub log: Option<logs::Place>,

    /// Keeps the log in the DynamoDB at this address, such as http://127.0.0.1:8000.
    ///
    /// Meant for a local DynamoDB: the credentials are dummies. The region is AWS_REGION, or us-east-1.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub endpoint: Option<String>,

    /// Starts a summary when the window, which the model gets, has more than N messages.
    #[arg(long, value_name = "N", default_value = "12")]
    pub summarize_above: NonZeroUsize,

    /// Leaves the last K turns out of a summary.
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub keep_turns: usize,

    /// Prints JSON Lines for programs instead of text for people.
    #[arg(long)]
    pub trace: bool,

    /// The call to play, in one of the two formats below. Without it, the built-in call is played.
    pub file: Option<PathBuf>,
}

const AFTER_HELP: &str = r#"Formats of FILE, recognized by its content:
  segments  JSON Lines, one speech segment each, with times in ms since the epoch:
            {"role":"caller","start_timestamp_ms":1744815823058,"duration_ms":900,"text":"hi there"}
            `role` is `agent` or `caller`. A segment with noise marks alone ([noise], <unk>) is no
            message. If `text` is empty, `asr` is used.
  chat      A JSON object with `messages` as in OpenAI's chat API, with or without `tool_calls`:
            {"messages":[{"role":"user","content":"Hi there"}, ...]}
            It has no times: everybody speaks 150 words a minute from 2025-01-01 09:00 UTC.

--trace prints one JSON object on each line. Its `event` is one of:
  after each message, the messages that a model would get now, in Converse's JSON
    {"event":"turn","window":[{"role":"user","content":[{"text":"Hi there"}]}, ...]}
    (the contents are {"text":...}, {"toolUse":...} and {"toolResult":...})
  each summary, when it is added
    {"event":"summary","id":"01JRZ...","summaryIds":["01JRZ...", ...],"text":"..."}
  the records that were written to the log
    {"event":"logged","records":[{"id":"01JRZ...","seq":0,"revision":1,"message":...}, ...]}
  at the end, the records of the call, and its items from DynamoDB as plain JSON
    {"event":"end","records":[...],"items":[{"pk":"CALL#...",...}, ...],"restored_equal":true}

Exit status: 0 success; 1 the call stopped with an error; 2 wrong arguments or an invalid FILE,
reported on one line with the place in it. An invalid FILE is not logged.

Examples:
  verbale demo
  verbale demo --summarize-above 6 --trace call.jsonl"#;

impl Arguments {
    /// Returns the place of the log.
    ///
    /// Returns an error if it may be the log of a service, where a recording does not belong.
    pub fn into_place(self) -> Result<Place, &'static str> {
        match (self.db, self.log, self.endpoint) {
            (Some(directory), ..) | (None, Some(logs::Place::Embedded(directory)), None) => {
                Ok(Place::Directory(directory))
            }
            (None, Some(logs::Place::DynamoDb(table)), Some(url)) => Ok(Place::Endpoint { url, table }),
            (None, None, Some(url)) => Ok(Place::Endpoint { url, table: logs::EMBEDDED_TABLE.to_owned() }),
            (None, None, None) => Ok(Place::Memory),
            _ => Err("the demo has its --log in embedded:DIR, or in dynamodb://TABLE with --endpoint"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Arguments, ErrorKind> {
        crate::Program::demo_from(arguments).map_err(|error| {
            assert_eq!(error.exit_code(), if error.use_stderr() { 2 } else { 0 });
            error.kind()
        })
    }

    #[test]
    fn command_line_is_valid() {
        crate::Program::command().debug_assert();
    }

    #[test]
    fn defaults_apply_without_arguments() {
        let defaults = Arguments {
            db: None,
            log: None,
            endpoint: None,
            summarize_above: NonZeroUsize::new(12).unwrap(),
            keep_turns: 2,
            trace: false,
            file: None,
        };
        assert_eq!(parsed(&[]), Ok(defaults));
    }

    #[test]
    fn all_arguments_are_parsed() {
        let all = [
            "--log",
            "dynamodb://calls",
            "--endpoint",
            "http://[::1]:8000",
            "--summarize-above",
            "6",
            "--keep-turns",
            "0",
            "--trace",
            "a.jsonl",
        ];
        let taken = Arguments {
            db: None,
            log: Some(logs::Place::DynamoDb("calls".to_owned())),
            endpoint: Some("http://[::1]:8000".to_owned()),
            summarize_above: NonZeroUsize::new(6).unwrap(),
            keep_turns: 0,
            trace: true,
            file: Some("a.jsonl".into()),
        };
        assert_eq!(parsed(&all), Ok(taken));
    }

    #[test]
    fn wrong_arguments_are_usage_errors() {
        for (arguments, kind) in [
            (&["--db", "d", "--endpoint", "http://localhost:1"][..], ErrorKind::ArgumentConflict),
            (&["--db", "d", "--log", "embedded:d"], ErrorKind::ArgumentConflict),
            (&["--endpoint", "localhost:8000"], ErrorKind::ValueValidation),
            (&["--endpoint", "http://"], ErrorKind::ValueValidation),
            (&["--endpoint", "http://a b"], ErrorKind::ValueValidation),
            (&["--summarize-above", "0"], ErrorKind::ValueValidation),
            (&["--keep-turns", "-1"], ErrorKind::UnknownArgument),
            (&["a.jsonl", "b.jsonl"], ErrorKind::UnknownArgument),
        ] {
            assert_eq!(parsed(arguments), Err(kind), "{arguments:?}");
        }
    }
}
