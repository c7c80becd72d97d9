//! Images, audio, videos and documents, sent to a model and to the log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod contents;
mod files;
mod limits;
mod random;
mod requests;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use serde_json::{Value as Json, json};
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::message::{Media, MediaKind, Source, Text};
use verbale::model::{Model, ModelEvent, ModelRequest, ToolSpec};
use verbale::testing::FakeBedrock;
use verbale::{Content, Message, MessageWrapper, MessagesManager, PlainMessage, Value};

const CLAUDE: &str = "eu.anthropic.claude-sonnet-5";
/// A model that accepts all content blocks of Converse.
const NOVA: &str = "eu.amazon.nova-lite-v1:0";

type Manager = MessagesManager<PlainMessage>;

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

/// A conversation with one message of the caller.
fn shown(contents: impl IntoIterator<Item = Content>) -> Manager {
    let mut manager = Manager::new();
    manager.add_user(contents.into_iter().collect::<Vec<_>>()).unwrap();
    manager
}

/// The messages of a valid request to Claude, and the repairs that made it valid.
async fn ask(messages: Vec<Message>) -> (Json, Vec<String>) {
    ask_of(CLAUDE, messages).await
}

async fn ask_of(model_id: &str, messages: Vec<Message>) -> (Json, Vec<String>) {
    let bedrock = FakeBedrock::default();
    let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
    let model = BedrockModel::for_turns(client, BedrockSettings::new(model_id).with_cache_points(false));
    let mut request = ModelRequest::new(messages);
    let schema = Value::map([("type", "object")]).unwrap();
    request.tools = [ToolSpec::new("look", "Looks.", schema).unwrap()].into();
    let mut repairs = Vec::new();
    let mut answer = model.generate(request);
    while let Some(event) = answer.next().await {
        if let ModelEvent::Repaired(reported) = event.unwrap() {
            repairs.extend(reported.iter().map(ToString::to_string));
        }
    }
    assert_eq!((bedrock.counters().requests, bedrock.counters().refused), (1, 0));
    let mut body: Json = serde_json::from_slice(bedrock.requests()[0].body()).unwrap();
    (body["messages"].take(), repairs)
}

/// The blocks of the caller's only message, and the repairs.
async fn asked(contents: impl IntoIterator<Item = Content>) -> (Json, Vec<String>) {
    asked_of(CLAUDE, contents).await
}

async fn asked_of(model_id: &str, contents: impl IntoIterator<Item = Content>) -> (Json, Vec<String>) {
    let (mut messages, repairs) = ask_of(model_id, window(&shown(contents))).await;
    assert_eq!(messages.as_array().map(Vec::len), Some(1));
    (messages[0]["content"].take(), repairs)
}

fn placeholder(kind: &str, name: &str) -> Json {
    json!({"text": format!("[{kind} \"{name}\": not available to the model]")})
}

fn image(bytes: impl Into<std::sync::Arc<[u8]>>) -> Media {
    Media::from_bytes(MediaKind::Image, bytes, None).unwrap()
}

fn audio(bytes: &[u8]) -> Media {
    Media::from_bytes(MediaKind::Audio, bytes, None).unwrap()
}

fn video(bytes: &[u8]) -> Media {
    Media::from_bytes(MediaKind::Video, bytes, None).unwrap()
}

/// An image in a content store.
fn stored_image(id: impl Into<Text>) -> Media {
    Media::new(MediaKind::Image, Source::ContentId(id.into()))
}

fn document(bytes: &[u8], title: &str) -> Media {
    Media::from_bytes(MediaKind::Document, bytes, None).unwrap().with_label(title)
}
