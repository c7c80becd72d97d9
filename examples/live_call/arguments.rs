//! [`Arguments`]: the command line of the example.

use std::path::PathBuf;

use clap::Parser;

/// Plays a live call with a greeting, tools, a barge-in, and summaries in the background.
///
/// The caller, the words of the model and their times are scripted. The rest is real: the session, the Bedrock client
/// with a fake Bedrock in this process, and the log with a DynamoDB in this process. By default the call runs 20 times
/// faster than real time. The printed times are those of the call.
///
/// Prints the time, the speaker and the words of each turn, and the events between them. Then prints the conversation,
/// its metrics, and what the log holds.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "live_call", after_long_help = AFTER_HELP, verbatim_doc_comment)]
pub struct Arguments {
    /// Plays the call in real time, about two minutes.
    #[arg(long)]
    pub real_time: bool,

    /// Asks this model at Amazon Bedrock. You are the caller and type at the terminal.
    ///
    /// MODEL is a model id or an inference profile, such as eu.anthropic.claude-haiku-4-5-20251001-v1:0. Credentials and
    /// region come from the usual AWS settings, such as AWS_PROFILE and AWS_REGION. Each turn costs tokens.
    #[arg(long, value_name = "MODEL", conflicts_with = "real_time")]
    pub bedrock: Option<String>,

    /// Logs the call to a DynamoDB in this directory; by default in memory.
    #[arg(long, value_name = "DIRECTORY")]
    pub log: Option<PathBuf>,

    /// Continues this call of the log, for example after the program was killed. Each call prints its id first.
    #[arg(long, value_name = "CALL", requires = "log", requires = "bedrock")]
    pub resume: Option<String>,
}

const AFTER_HELP: &str = "\
At the terminal, you say each line that you type. A line interrupts the assistant, and the model learns what you heard.
An empty line hangs up. At the end of the input, the assistant finishes speaking first.

On SIGTERM or Ctrl-C, the call is closed and logged, and --resume continues it.

Exit status: 0 if the call was played, 1 if it failed (with one line on standard error), 2 if the arguments are wrong.

Examples:
  cargo run --example live_call
  cargo run --example live_call -- --log calls
  AWS_PROFILE=me AWS_REGION=eu-central-1 cargo run --example live_call -- \\
    --bedrock eu.anthropic.claude-haiku-4-5-20251001-v1:0";

/// The default speed, relative to real time.
const FAST: u32 = 20;

impl Arguments {
    /// Returns the speed of the call, relative to real time.
    pub fn speed(&self) -> u32 {
        if self.real_time || self.bedrock.is_some() { 1 } else { FAST }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<(u32, Option<String>), i32> {
        let parsed = Arguments::try_parse_from(["live_call"].iter().chain(arguments));
        parsed.map(|arguments| (arguments.speed(), arguments.bedrock)).map_err(|error| error.exit_code())
    }

    #[test]
    fn arguments_are_accepted_or_refused() {
        Arguments::command().debug_assert();
        assert_eq!(parsed(&[]), Ok((20, None)));
        assert_eq!(parsed(&["--real-time"]), Ok((1, None)));
        assert_eq!(parsed(&["--bedrock", "a.model"]), Ok((1, Some("a.model".to_owned()))));
        for wrong in [&["--bedrock"][..], &["--bedrock", "m", "--real-time"], &["--resume", "c"], &["file"]] {
            assert_eq!(parsed(wrong), Err(2), "{wrong:?}");
        }
    }
}
