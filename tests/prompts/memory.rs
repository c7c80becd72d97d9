//! Requests do not depend on memory: contents in a store are loaded, and instructions that left memory stay.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use verbale::contents::{Blob, ContentId, ContentStore, MemoryStore};
use verbale::conversation::{Config, Conversation, Conversations};
use verbale::log::CallId;
use verbale::message::{Media, MediaKind, Source};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::models;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

fn last_request(bedrock: &FakeBedrock) -> Json {
    serde_json::from_slice(bedrock.requests().last().unwrap().body()).unwrap()
}

#[tokio::test]
async fn stored_content_reaches_the_model_but_not_the_conversation() {
    let store = Arc::new(MemoryStore::default());
    let photo = Blob::new(PNG);
    store.put(&photo, "CA1").await.unwrap();
    let bedrock = FakeBedrock::default();
    let config = Config::new(models(&bedrock)).with_contents(store);
    let conversation = Conversation::new(CallId::new("CA1").unwrap()).with_config(config);
    let by_id = |id: ContentId| {
        Media::new(MediaKind::Image, Source::ContentId(id.to_string().into())).with_label("the receipt")
    };
    let shown = conversation.continuation().request("Look:").request(by_id(photo.id()));
    shown.request(by_id(ContentId::of(b"nowhere"))).prompt().await.unwrap();

    let content = &last_request(&bedrock)["messages"][0]["content"];
    assert_eq!(content.pointer("/2/image/format"), Some(&json!("png")), "{content}");
    assert_eq!(content[3], json!({"text": "[image \"the receipt\": not available to the model]"}), "{content}");
    let kept = conversation.read(|manager| serde_json::to_value(manager.records()).unwrap());
    assert_eq!(
        kept.pointer("/0/message/contents/1/contentId"),
        Some(&json!(photo.id().to_string())),
        "the record has the id, not the bytes"
    );
}

#[tokio::test]
async fn instructions_that_left_memory_stay_in_requests_and_forks() {
    let bedrock = FakeBedrock::default();
    let conversations = Conversations::default().with_history_limit(4);
    let call = conversations.get_or_create(&CallId::new("CA1").unwrap());
    let call = call.with_config(Config::new(models(&bedrock)));
    call.continuation().agent("You are a bank.").apply().unwrap();
    for question in ["One?", "Two?", "Three?", "Four?"] {
        bedrock.reply(ScriptedReply::text("Yes."));
        call.continuation().request(question).prompt().await.unwrap();
    }
    assert!(call.read(|manager| manager.pruned() > 0 && manager.meta_messages().len() <= 5));
    assert_eq!(last_request(&bedrock)["system"], json!([{"text": "You are a bank."}]));

    let last = call.read(|manager| manager.records().last().unwrap().id());
    let fork = call.fork(&last, CallId::new("CA2").unwrap()).unwrap();
    fork.continuation().agent("Be brief.").request("Five?").prompt().await.unwrap();
    assert_eq!(last_request(&bedrock)["system"], json!([{"text": "You are a bank."}, {"text": "Be brief."}]));
    assert_eq!(bedrock.counters().refused, 0);
}
