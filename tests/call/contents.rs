//! Contents that the conversation holds by reference: the model gets their bytes, the conversation keeps the reference.

use std::time::Duration;

use tokio::time::Instant;
use verbale::contents::{Blob, ContentFuture, ContentId, ContentStore, MemoryStore};
use verbale::message::{Media, MediaKind, ResultContent, Source};
use verbale::model::{ModelRequest, Tool, ToolContext, ToolSpec};
use verbale::{Content, Message, MessageWrapper, Value};

use crate::support::{Scripted, builder, calls, read, words};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Returns the sources of the media in tool results.
fn sources<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Source> {
    let contents = messages.into_iter().flat_map(|message| message.contents().iter());
    let results = contents.filter_map(Content::as_result).map(|result| result.outcome());
    let contents = results.flat_map(|outcome| match outcome {
        Ok(contents) => contents.iter(),
        Err(error) => panic!("{error:?}"),
    });
    let source = |content: &ResultContent| match content {
        ResultContent::Media(media) => Some(media.source().clone()),
        _ => None,
    };
    contents.filter_map(source).collect()
}

/// Runs a turn whose tool returns a photo by its id. Returns the sources in the last request and in the conversation.
async fn photo_turn(store: impl ContentStore + 'static, id: String) -> [Vec<Source>; 2] {
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let spec = ToolSpec::new("take_photo", "Takes a photo of the parcel.", schema).unwrap();
    let take_photo = move |_: Value, _: ToolContext| {
        let photo = Media::new(MediaKind::Image, Source::ContentId(id.clone().into()));
        async move { Ok(vec![photo.into()]) }
    };
    let model = Scripted::new([calls("", "c1", "take_photo"), words("It is a box.")]);
    let call =
        builder(&model).tool(Tool::raw(spec, take_photo)).config(|config| config.with_contents(store)).open().unwrap();
    call.caller_said("What does my parcel look like?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "It is a box.");
    let requests: Vec<ModelRequest> = model.requests();
    let kept = call.conversation().read(|manager| {
        let messages: Vec<Message> = manager.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect();
        sources(&messages)
    });
    [sources(&requests[1].messages), kept]
}

#[tokio::test(start_paused = true)]
async fn request_has_the_bytes_of_referenced_contents() {
    let store = MemoryStore::default();
    let photo = Blob::new(PNG);
    store.put(&photo, "CA1").await.unwrap();
    let id = photo.id().to_string();
    let [asked, kept] = photo_turn(store, id.clone()).await;
    assert_eq!(asked, [Source::Bytes(PNG.into())]);
    assert_eq!(kept, [Source::ContentId(id.as_str().into())]);
}

#[tokio::test(start_paused = true)]
async fn missing_content_does_not_fail_the_turn() {
    let id = Blob::new(PNG).id().to_string();
    let [asked, kept] = photo_turn(MemoryStore::default(), id.clone()).await;
    assert_eq!(asked, [Source::ContentId(id.as_str().into())]);
    assert_eq!(asked, kept);
}

/// A store that never answers.
struct Hangs;

impl ContentStore for Hangs {
    fn put<'a>(&'a self, _: &'a Blob, _: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn get(&self, _: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(std::future::pending())
    }

    fn release<'a>(&'a self, _: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn store_that_hangs_leaves_time_for_the_answer() {
    let id = Blob::new(PNG).id().to_string();
    let started = Instant::now();
    let [asked, _] = photo_turn(Hangs, id.clone()).await;
    assert_eq!(asked, [Source::ContentId(id.as_str().into())]);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
