//! Prompts and runs, through the Bedrock model and the real SDK client, against a Bedrock in this process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod config;
mod ends;
mod inference;
mod limited;
mod logged;
mod memory;
mod runs;
mod tools;
mod typed;
mod values;

use aws_sdk_bedrockruntime::Client;
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::conversation::{Conversation, ConversationError, Models, Prompt, Run};
use verbale::message::{ResultContent, ToolError};
use verbale::testing::FakeBedrock;
use verbale::{Content, Message, MessageWrapper, PlainMessage};

const CLAUDE: &str = "eu.anthropic.claude-sonnet-5";

fn model(bedrock: &FakeBedrock, id: &str) -> BedrockModel {
    let settings = BedrockSettings::new(id).with_cache_points(false);
    BedrockModel::for_turns(Client::from_conf(turn_client(bedrock.sdk_config()).build()), settings)
}

fn models(bedrock: &FakeBedrock) -> Models {
    Models::default().with("anthropic", "sonnet", model(bedrock, CLAUDE))
}

/// Returns an empty prompt for a new conversation with this Bedrock.
fn prompt(bedrock: &FakeBedrock) -> Prompt {
    Prompt::new(models(bedrock))
}

/// Reads a run to its end, or to its first error.
async fn read(mut run: Run) -> (Vec<Message>, Option<ConversationError>) {
    let mut messages = Vec::new();
    while let Some(item) = run.next().await {
        match item {
            Ok(message) => messages.push(message),
            Err(error) => {
                assert!(run.next().await.is_none(), "items after an error");
                return (messages, Some(error));
            }
        }
    }
    assert!(run.next().await.is_none(), "items after the end");
    (messages, None)
}

/// Returns the messages of the conversation, one per line.
fn shown(conversation: &Conversation) -> Vec<String> {
    conversation.read(|manager| manager.meta_messages().iter().map(PlainMessage::message).map(line).collect())
}

fn lines(messages: &[Message]) -> Vec<String> {
    messages.iter().map(line).collect()
}

fn line(message: &Message) -> String {
    let contents = message.contents().iter().map(|content| match content {
        Content::Text(text) => format!("{:?}", text.as_str()),
        Content::ToolCall(call) => format!("{}({})", call.name(), call.id()),
        Content::ToolResult(result) => format!("{}: {}", result.tool_call_id(), outcome(result.outcome())),
        Content::Media(media) => media.kind().to_string(),
        _ => panic!("unknown content"),
    });
    let marks: String = message.metadata().attributes().map(|mark| format!(" {mark}")).collect();
    format!("{} {}{marks}", message.role(), contents.collect::<Vec<_>>().join(" "))
}

fn outcome(outcome: &Result<Vec<ResultContent>, ToolError>) -> String {
    match outcome {
        Err(error) => {
            let retryable = error.retryable().map(|retryable| format!(" ({retryable})")).unwrap_or_default();
            format!("{}: {}{retryable}", error.error_type().unwrap_or_default(), error.message())
        }
        Ok(contents) => {
            let texts = contents.iter().map(|content| match content {
                ResultContent::Text(text) => text.as_str().to_owned(),
                ResultContent::Json(value) => serde_json::to_string(value).unwrap(),
                _ => panic!("unexpected result content"),
            });
            texts.collect::<Vec<_>>().join(", ")
        }
    }
}
