//! [`Arguments`]: the command line of the example.

use clap::Parser;

/// Plays a live call: a greeting, tools, a caller who breaks in, summaries in the background, and the end.
///
/// The caller, the words of the model and their times are scripted; all between them is real: the session, the client
/// of Bedrock with a Bedrock in this process, the log with a DynamoDB in this process. Fast, all waits are divided by
/// 20, and the times that are shown are those of the call.
///
/// Shown are the time, who speaks, what, and what happens in between; then what is left of the call: the conversation,
/// what it came to, and what the log holds of it.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "live_call", after_long_help = AFTER_HELP, verbatim_doc_comment)]
pub struct Arguments {
    /// Plays it as long as such a call takes, about two minutes.
    #[arg(long)]
    pub real_time: bool,

    /// Asks this model at Amazon Bedrock, and takes what the caller says from the terminal.
    ///
    /// A model id or an inference profile, such as eu.anthropic.claude-haiku-4-5-20251001-v1:0. Credentials and the
    /// region are looked for where AWS's tools do: AWS_PROFILE, AWS_REGION, and so on. Each turn costs tokens.
    #[arg(long, value_name = "MODEL", conflicts_with = "real_time")]
    pub bedrock: Option<String>,
}

const AFTER_HELP: &str = "\
At the terminal each line is what you say. While the assistant speaks, a line breaks in: it stops, and the model knows
what you heard. An empty line hangs up; at the end of the input the assistant speaks to its end first.

Exit status: 0 played; 1 it could not be played to its end (told on one line); 2 wrong arguments.

Examples:
  cargo run --example live_call
  AWS_PROFILE=me AWS_REGION=eu-central-1 cargo run --example live_call -- \\
    --bedrock eu.anthropic.claude-haiku-4-5-20251001-v1:0";

/// How many times faster than real time.
const FAST: u32 = 20;

impl Arguments {
    /// How many times faster than real time it is played.
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
    fn arguments_are_taken_or_refused() {
        Arguments::command().debug_assert();
        assert_eq!(parsed(&[]), Ok((20, None)));
        assert_eq!(parsed(&["--real-time"]), Ok((1, None)));
        assert_eq!(parsed(&["--bedrock", "a.model"]), Ok((1, Some("a.model".to_owned()))));
        for wrong in [&["--bedrock"][..], &["--bedrock", "m", "--real-time"], &["file"]] {
            assert_eq!(parsed(wrong), Err(2), "{wrong:?}");
        }
    }
}
