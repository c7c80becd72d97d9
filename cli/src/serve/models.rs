//! [`Models`]: the model at AWS, or one in this process that repeats what it hears. Only the client differs.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::Builder;
use serde_json::Value;
use tokio::time::sleep;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::CallBuilder;
use verbale::clock::{Clock, SystemClock};
use verbale::memory::ModelSummarizer;
use verbale::model::Inference;
use verbale::testing::{FakeBedrock, ReceivedRequest, ScriptedReply};

/// The token limit of a spoken answer.
const MAX_TOKENS: u32 = 400;

/// The clients for answers and for summaries. All calls share their connections.
pub struct Models {
    turns: Client,
    summaries: Client,
    model: String,
}

impl Models {
    /// Returns models on a fake Bedrock. Needs a runtime.
    pub fn fake() -> Self {
        let bedrock = FakeBedrock::answering(answer);
        let fake = bedrock.clone();
        // The fake keeps what it has received, for tests.
        tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                drop(fake.take_requests());
            }
        });
        let model = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
        Self::of(turn_client(bedrock.sdk_config()), summary_client(bedrock.sdk_config()), model)
    }

    /// Returns models on Amazon Bedrock.
    pub fn at_aws(environment: &SdkConfig, model: &str) -> Self {
        Self::of(turn_client(Builder::from(environment)), summary_client(Builder::from(environment)), model)
    }

    fn of(turns: Builder, summaries: Builder, model: &str) -> Self {
        let (turns, summaries) = (Client::from_conf(turns.build()), Client::from_conf(summaries.build()));
        Self { turns, summaries, model: model.to_owned() }
    }

    /// Returns a builder for a call with these models.
    pub fn call(&self) -> CallBuilder {
        let settings = BedrockSettings::new(&self.model);
        let summaries = BedrockModel::for_summaries(self.summaries.clone(), settings.clone());
        let inference = Inference { max_tokens: Some(MAX_TOKENS), ..Inference::default() };
        CallBuilder::new(BedrockModel::for_turns(self.turns.clone(), settings.with_inference(inference)))
            .summarizer(ModelSummarizer::new(summaries))
    }
}

/// The longest wait of the fake model.
const MAX_WAIT_S: u64 = 30;

/// Slower than most models.
const BETWEEN_WORDS: Duration = Duration::from_millis(300);

/// Repeats the last words, after 3 s if they have `wait 3`, and word by word if they have `slowly`. The words `use TOOL {"key": "value"}` call a tool, and its result is read out.
fn answer(request: &ReceivedRequest) -> ScriptedReply {
    if !request.is_streaming() {
        return ScriptedReply::text("The caller spoke with the assistant.");
    }
    let mut last = request.input().messages().last().into_iter().flat_map(|message| message.content.iter().rev());
    let last = last.find(|block| block.is_text() || block.is_tool_result());
    if let Some(result) = last.and_then(|block| block.as_tool_result().ok()) {
        let texts = result.content.iter().filter_map(|content| content.as_text().ok()).map(String::as_str);
        return ScriptedReply::text(format!("The tool says: {}", sentence(&texts.collect::<Vec<_>>().join(" "))));
    }
    let words = request.last_text().unwrap_or_default();
    if let Some((name, arguments)) = tool_in(words) {
        let id = super::unique_id(SystemClock.now_ms());
        return ScriptedReply::text("One moment. ").tool_call(id, name, arguments);
    }
    let wait_s = words.rsplit_once("wait ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
    let pause = if words.contains("slowly") { BETWEEN_WORDS } else { Duration::ZERO };
    ScriptedReply::text(format!("You said: {} What else?", sentence(words)))
        .first_token_after(Duration::from_secs(MAX_WAIT_S.min(wait_s)))
        .between_events(pause)
}

/// Returns a text with a full stop, if it has no other end.
fn sentence(text: &str) -> String {
    let has_end = text.trim_end().ends_with(['.', '?', '!']);
    if has_end { text.trim_end().to_owned() } else { format!("{}.", text.trim_end()) }
}

fn tool_in(words: &str) -> Option<(&str, Value)> {
    let (_, call) = words.rsplit_once("use ")?;
    let (name, arguments) = call.split_once(' ')?;
    Some((name, serde_json::from_str(arguments.trim()).ok().filter(Value::is_object)?))
}
