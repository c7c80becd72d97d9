//! `BedrockModel` with the real SDK client against `FakeBedrock`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod answers;
mod connections;
mod deadlines;
#[path = "../fake_bedrock/document.rs"]
mod document;
mod failures;
mod families;
mod prefix;
mod requests;
mod resent;
mod wire;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use serde_json::{Value as Json, json};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::model::{Failure, Model, ModelError, ModelEvent, ModelRequest, ToolSpec};
use verbale::testing::FakeBedrock;
use verbale::{MessageWrapper, MessagesManager, PlainMessage};

const CLAUDE: &str = "eu.anthropic.claude-sonnet-5";
const NOVA: &str = "eu.amazon.nova-lite-v1:0";
const LLAMA: &str = "us.meta.llama4-maverick-17b-instruct-v1:0";

fn for_turns(bedrock: &FakeBedrock, settings: BedrockSettings) -> BedrockModel {
    BedrockModel::for_turns(Client::from_conf(turn_client(bedrock.sdk_config()).build()), settings)
}

fn for_summaries(bedrock: &FakeBedrock, settings: BedrockSettings) -> BedrockModel {
    BedrockModel::for_summaries(Client::from_conf(summary_client(bedrock.sdk_config()).build()), settings)
}

/// A model for turns with default settings.
fn claude(bedrock: &FakeBedrock) -> BedrockModel {
    for_turns(bedrock, BedrockSettings::new(CLAUDE))
}

/// A request with a question of the caller.
fn question() -> ModelRequest {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("When does it arrive?").unwrap();
    window(&manager)
}

fn window(manager: &MessagesManager<PlainMessage>) -> ModelRequest {
    ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect())
}

fn tool(name: &str) -> ToolSpec {
    let properties: Json = (0..9).map(|number| (format!("property_{number}"), json!({"type": "string"}))).collect();
    ToolSpec::new(name, "Looks up a parcel.", json!({"type": "object", "properties": properties})).unwrap()
}

/// The part of an answer that an error says was received: bytes of text, and tool calls.
fn received(error: &ModelError) -> (usize, usize) {
    let text = error.to_string();
    let (_, received) = text.rsplit_once("; received before: ").unwrap();
    let (bytes, calls) = received.split_once(" bytes of text, ").unwrap();
    (bytes.parse().unwrap(), calls.strip_suffix(" tool calls").unwrap().parse().unwrap())
}

async fn ask(model: &BedrockModel, request: ModelRequest) -> Result<Vec<ModelEvent>, (Vec<ModelEvent>, ModelError)> {
    let mut events = Vec::new();
    let mut answer = model.generate(request);
    while let Some(event) = answer.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(answer.next().await.is_none(), "an error is the last item");
                return Err((events, error));
            }
        }
    }
    assert!(answer.next().await.is_none(), "the stream stays ended");
    Ok(events)
}

/// Returns the failure and the received part. Asserts that the error shows none of the words in any form.
async fn fail(model: &BedrockModel, request: ModelRequest) -> (Failure, (usize, usize)) {
    let (events, error) = ask(model, request).await.unwrap_err();
    let texts = events.iter().map(|event| if let ModelEvent::Text(text) = event { text.len() } else { 0 });
    let tool_calls = events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert_eq!(received(&error), (texts.sum(), tool_calls));
    let mut shown = format!("{error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        shown.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    assert!(!shown.contains("arrive") && !shown.contains("4711"), "{shown}");
    (error.kind().clone(), received(&error))
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.into())
}
