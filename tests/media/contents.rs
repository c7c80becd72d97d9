//! Large and binary contents are stored in the content store and resolved for the model.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use verbale::contents::{Blob, Cached, ContentFuture, ContentId, ContentStore, MemoryStore, resolve};
use verbale::log::{CallId, CallLog, MemoryLog, Offloading, WriterLease};
use verbale::message::{Media, MediaKind, Source};
use verbale::{Content, MessagesManager, Record, ToolCall, Value};

use super::files::{PDF, PNG, png_of};
use super::{Manager, ask, document, image, placeholder, stored_image, window};

/// A conversation with an image of the caller and one of a tool's result.
fn conversation() -> Manager {
    let call = ToolCall::new("call_1", "look", Value::map([("colour", "blue ".repeat(400))]).unwrap()).unwrap();
    let mut manager = super::shown(["Like this?".into(), image(PNG).with_label("the dress").into()]);
    manager.add_assistant(call.clone()).unwrap();
    let found: [verbale::message::ResultContent; 2] =
        [image(png_of(300)).with_label("the hat").into(), document(PDF, "Prices").into()];
    manager.add_user(call.success(found)).unwrap();
    manager
}

/// The sources of the images and documents of a request.
fn sources(messages: &Json) -> Vec<Json> {
    let blocks = messages.as_array().unwrap().iter().flat_map(|message| message["content"].as_array().unwrap());
    let nested = blocks.flat_map(|block| match block["toolResult"]["content"].as_array() {
        Some(parts) => parts.clone(),
        None => vec![block.clone()],
    });
    let source = |block: Json| block.pointer("/image/source").or(block.pointer("/document/source")).cloned();
    nested.filter_map(source).collect()
}

#[tokio::test]
async fn offloaded_image_is_resolved_for_the_model() {
    let manager = conversation();
    let (small_log, store) = (Arc::new(MemoryLog::default()), Arc::new(MemoryStore::default()));
    let log = Offloading::new(small_log.clone(), store.clone());
    let lease = WriterLease::from(CallId::new("CA1").unwrap());
    for record in &manager.records() {
        log.put_record(&lease, record).await.unwrap();
    }
    assert_eq!(store.count(), 4);
    let logged = log.read_call(lease.call_id()).await.unwrap();
    assert!(logged.problems.is_empty() && MessagesManager::restore(logged.records).unwrap() == manager);

    // Without their contents, the small records become placeholders for the model.
    let small = small_log.read_call(lease.call_id()).await.unwrap().records;
    assert_eq!(
        serde_json::to_value(&small[0]).unwrap()["message"]["contents"][1],
        json!({"type": "image", "contentId": ContentId::of(PNG).to_string(), "size": PNG.len(), "mimeType": "image/png",
            "promptHint": "the dress"})
    );
    let restored = Manager::restore(small).unwrap();
    let (messages, repairs) = ask(window(&restored)).await;
    assert_eq!(messages[0]["content"][1], placeholder("image", "the dress"));
    assert_eq!((sources(&messages), repairs.len()), (vec![], 3));

    let (resolved, problems) = resolve(window(&restored), &store).await;
    assert_eq!(problems, []);
    assert!(resolved == window(&manager));
    let (messages, repairs) = ask(resolved).await;
    assert_eq!((sources(&messages).len(), repairs), (3, vec![]));
    assert_eq!(ask(window(&manager)).await.0, messages);
}

/// A content store with `contents`.
async fn store(contents: &[&[u8]]) -> MemoryStore {
    let store = MemoryStore::default();
    for bytes in contents {
        store.put(&Blob::new(*bytes), "CA1").await.unwrap();
    }
    store
}

fn by_id(bytes: &[u8]) -> Media {
    stored_image(ContentId::of(bytes).to_string())
}

#[tokio::test]
async fn repeated_content_is_read_once() {
    let store = Cached::new(store(&[PNG, PDF]).await, 0);
    let image = || Content::from(by_id(PNG));
    let pdf =
        Media::new(MediaKind::Document, Source::ContentId(ContentId::of(PDF).to_string().into())).with_label("Prices");
    let own = stored_image("camera/7");
    let call = ToolCall::new("call_1", "look", Value::Null).unwrap();
    let mut manager = super::shown([image(), image(), own.clone().into()]);
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(vec![call.success([by_id(PNG)]).into(), Content::from(pdf.clone())]).unwrap();
    let (resolved, problems) = resolve(window(&manager), &store).await;
    let debug = format!("{store:?}");
    assert!(debug.contains("hits: 0, misses: 2,"), "{debug}");
    assert_eq!(problems, []);

    let bytes = |bytes: &[u8]| Source::Bytes(bytes.into());
    let png = || Media::new(MediaKind::Image, bytes(PNG));
    assert_eq!(resolved[0].contents()[..], [png().into(), png().into(), own.into()]);
    let read = Media::new(MediaKind::Document, bytes(PDF)).with_label("Prices");
    assert_eq!(resolved[2].contents()[..], [call.success([png()]).into(), read.into()]);
    // Without a MIME type, the bytes decide.
    let (messages, repairs) = ask(resolved).await;
    assert_eq!(messages[0]["content"][0]["image"]["format"], "png");
    assert_eq!((sources(&messages).len(), repairs.len()), (4, 1));
}

/// A store that has one content under all ids.
struct Confused;

impl ContentStore for Confused {
    fn put<'a>(&'a self, _: &'a Blob, _: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn get(&self, _: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async { Ok(Some(Blob::new(PDF))) })
    }

    fn release<'a>(&'a self, _: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn bytes_with_another_id_never_reach_the_model() {
    let id = ContentId::of(PNG);
    let asked = window(&super::shown([by_id(PNG).into()]));
    let (resolved, problems) = resolve(asked.clone(), &Confused).await;
    assert!(resolved == asked);
    let error = problems[0].error.to_string();
    assert!(problems.len() == 1 && error.starts_with(&format!("content {id} is corrupt")), "{error}");
}

#[tokio::test]
async fn missing_and_changed_contents_are_reported() {
    let manager = conversation();
    let small_log = Arc::new(MemoryLog::default());
    let log = Offloading::new(small_log.clone(), MemoryStore::default());
    let lease = WriterLease::from(CallId::new("CA1").unwrap());
    for record in &manager.records() {
        log.put_record(&lease, record).await.unwrap();
    }
    let mut small = small_log.read_call(lease.call_id()).await.unwrap().records;
    // A record that another program wrote has another size.
    let mut json = serde_json::to_value(&small[0]).unwrap();
    json["message"]["contents"][1]["size"] = 7.into();
    small[0] = serde_json::from_value::<Record>(json).unwrap();
    let restored = Manager::restore(small).unwrap();
    let store = store(&[PNG]).await;
    let (resolved, problems) = resolve(window(&restored), &store).await;
    let problems: Vec<_> = problems.iter().map(|problem| (problem.content_id, problem.error.to_string())).collect();
    assert_eq!(problems.len(), 4, "{problems:?}");
    let missing = [png_of(300), PDF.to_vec()].map(|bytes| ContentId::of(&bytes));
    assert_eq!(
        problems[..2],
        missing.map(|id| (
            id,
            format!("content {id} is not in the store; check whether it was erased, or is in another store")
        ))
    );
    let id = ContentId::of(PNG);
    assert_eq!(
        problems[3],
        (id, format!("content {id} is not of the size as its record says; the record was not written by verbale"))
    );
    let (messages, _) = ask(resolved).await;
    assert_eq!(messages[0]["content"][1], placeholder("image", "the dress"));
    assert_eq!(
        messages[2]["content"][0]["toolResult"]["content"],
        json!([placeholder("image", "the hat"), placeholder("document", "Prices")])
    );
}
