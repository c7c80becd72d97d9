//! The warnings of `BedrockModel`. A process of its own, because `tracing` caches which events somebody reads.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use serde_json::json;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::model::{Model, ModelRequest, ToolSpec};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{MessageWrapper, MessagesManager, PlainMessage, ToolCall};

#[tokio::test]
async fn refusal_is_logged_without_words_of_the_conversation() {
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::validation("messages.0: 'my pin is 4711' is a surprise, pin 4711"));
    bedrock.reply(ScriptedReply::text("On Friday."));
    let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
    let model = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-sonnet-5"));

    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("My pin is 4711, when does it arrive?").unwrap();
    let call = ToolCall::new("call_1", "get_parcel", json!({"pin": 4711})).unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success("On Friday.")).unwrap();
    let tool = ToolSpec::new("get_parcel", "Looks up a parcel.", json!({"type": "object"})).unwrap();
    let window = manager.messages().map(|message| message.message().clone()).collect();
    let mut request = ModelRequest::new(window);
    request.tools = [tool].into();
    let mut answer = model.generate(request);
    while let Some(event) = answer.next().await {
        event.unwrap();
    }
    let logged = logged.0.lock().unwrap();
    assert!(logged.contains("messages.0: '… … … …' is a surprise, … …"), "{logged}");
    assert!(!logged.contains("4711") && !logged.contains("Friday"), "{logged}");
}

/// Keeps the fields of warnings.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

impl Visit for &Logged {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        writeln!(self.0.lock().unwrap(), "{field}={value}").unwrap();
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut &*self);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
