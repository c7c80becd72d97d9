//! Any record is offloaded and restored without loss.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::{collection, option};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use verbale::contents::{Blob, ContentFuture, ContentId, ContentStore, MemoryStore};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, WriterLease};
use verbale::{Content, Heard, HeardSource, Record, Value};

use super::{Watched, block_on, hydrate, offload, put_all, strategy};

/// Texts with a length around the threshold of 64. None is blank.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,12}", "[a-zé ]{55,75}", Just("x".repeat(64)), "é{100,200}"].prop_map(|text| format!("a{text}"))
}

fn bytes() -> impl Strategy<Value = Json> {
    collection::vec(any::<u8>(), 0..100).prop_map(|bytes| serde_json::to_value(Value::from(bytes)).unwrap())
}

/// Maps like a reference, to a content in no store, or with invalid values.
fn look_alike() -> impl Strategy<Value = Json> {
    let id = prop_oneof![Just("sha256:ab".to_owned()), "[a-f0-9]{64}".prop_map(|hex| format!("sha256:{hex}"))];
    (id, prop_oneof![Just(json!(7)), Just(json!("7")), Just(json!(-1))], any::<bool>()).prop_map(|(id, size, heard)| {
        let mut map = json!({"contentId": id, "mimeType": "text/plain", "size": size});
        if heard {
            map["heard"] = json!({"bytes": 3, "by": "estimate"});
        }
        map
    })
}

fn media() -> impl Strategy<Value = Json> {
    let extra = prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({"mimeType": "image/png", "promptHint": "the receipt", "detail": "high"})),
        1 => Just(json!({"size": 3})),
        1 => Just(json!({"standsFor": "text"})),
        1 => Just(json!({"size": 3, "standsFor": "json", "mimeType": "text/plain"})),
    ];
    let source = prop_oneof![
        3 => bytes().prop_map(|bytes| json!({"bytes": bytes})),
        1 => Just(json!({"url": "https://e.com/i"})),
        1 => look_alike().prop_map(|like| json!({"contentId": like["contentId"]})),
    ];
    (prop_oneof![Just("image"), Just("audio"), Just("document")], source, extra)
        .prop_map(|(kind, source, extra)| merged(&[json!({"type": kind}), source, extra]))
}

fn part() -> impl Strategy<Value = Json> {
    prop_oneof![
        text().prop_map(Json::from),
        media(),
        strategy::value().prop_map(|value| json!({"type": "json", "json": value})),
        Just(json!({"type": "hologram", "depth": 3})),
    ]
}

fn content() -> impl Strategy<Value = Json> {
    let beside = || {
        prop_oneof![
            4 => Just(json!({})),
            1 => Just(json!({"server": true})),
            1 => look_alike().prop_map(|like| json!({"argumentsContent": like, "messageContent": {"size": 1}})),
        ]
    };
    let result = json!({"type": "toolResult", "toolCallId": "c", "name": "f"});
    let failed = result.clone();
    prop_oneof![
        4 => text().prop_map(Json::from),
        2 => media(),
        1 => look_alike().prop_map(|like| merged(&[like, json!({"type": "text"})])),
        1 => Just(json!({"type": "hologram", "depth": 3})),
        2 => (strategy::value(), beside()).prop_map(|(value, beside)| {
            merged(&[json!({"type": "toolCall", "id": "c", "name": "f", "arguments": value}), beside])
        }),
        2 => (collection::vec(part(), 0..4), beside()).prop_map(move |(parts, beside)| {
            merged(&[result.clone(), json!({"content": parts}), beside])
        }),
        1 => (text(), option::of(any::<bool>()), beside()).prop_map(move |(text, retryable, beside)| {
            let mut error = json!({"type": "Timeout", "message": text});
            if let Some(retryable) = retryable {
                error["retryable"] = retryable.into();
                error["code"] = 504.into();
            }
            merged(&[failed.clone(), json!({"error": error}), beside])
        }),
    ]
}

/// Returns whether a content has no bytes, no large value and no long message, except where another writer has used the
/// keys of a reference.
fn is_small(content: &Json) -> bool {
    let length = |json: &Json| serde_json::to_string(json).unwrap().len();
    let has = |key: &str| content.get(key).is_some();
    (!has("bytes") || has("size") || has("standsFor"))
        && (length(&content["arguments"]) < 64 || has("argumentsContent"))
        && (length(&content["json"]) < 64)
        && (content["error"]["message"].as_str().is_none_or(|text| text.len() < 64) || has("messageContent"))
}

fn merged(maps: &[Json]) -> Json {
    Json::Object(maps.iter().flat_map(|map| map.as_object().unwrap().clone()).collect())
}

/// Any record with contents that may be offloaded, sometimes heard in part.
fn record() -> impl Strategy<Value = Record> {
    let heard = option::of((0..400_usize, prop_oneof![Just(HeardSource::Estimate), Just(HeardSource::WordTiming)]));
    (strategy::record(), collection::vec(content(), 0..5), heard).prop_map(|(record, contents, heard)| {
        let mut json = serde_json::to_value(&record).unwrap();
        let message = json["message"].as_object_mut().unwrap();
        message.insert("contents".into(), contents.into());
        message.remove("heard");
        let mut json = strategy::with_fitting_parts(json);
        let record = super::record(json.clone());
        if let Some((bytes, by)) = heard {
            json["message"]["heard"] = json!({"contents": heard_texts(&record, bytes), "by": by});
        }
        super::record(json)
    })
}

/// Returns the start of the texts, up to `bytes` bytes.
fn heard_texts(record: &Record, bytes: usize) -> Vec<&str> {
    let mut left = bytes;
    let mut heard = Vec::new();
    for text in record.contents().texts() {
        let end = (0..=left.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        if end > 0 {
            heard.push(&text[..end]);
        }
        if end < text.len() {
            break;
        }
        left -= end;
    }
    heard
}

fn threshold() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(64), 1 => 0..4_usize, 1 => Just(1_024), 1 => Just(usize::MAX)]
}

thread_local! {
    static TABLE: (Runtime, DynamoLog, Cell<u32>) = {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = EmbeddedDynamo::in_memory().unwrap().client();
        runtime.block_on(create_table(&client, "verbale")).unwrap();
        (runtime, DynamoLog::new(client), Cell::default())
    };
}

/// Returns the record after a round trip through JSON and through a table.
fn logged(record: &Record) -> Record {
    let json = serde_json::to_string(record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), *record, "{json}");
    TABLE.with(|(runtime, log, calls)| {
        calls.set(calls.get() + 1);
        let lease = WriterLease::from(CallId::new(calls.get().to_string()).unwrap());
        runtime.block_on(async {
            log.put_record(&lease, record).await.unwrap();
            log.read_call(lease.call_id()).await.unwrap().records.remove(0)
        })
    })
}

proptest! {
    #[test]
    fn hydrating_reverses_offloading(record in record(), threshold in threshold()) {
        let store = Arc::new(MemoryStore::default());
        let small = offload(&record, threshold, store.clone());
        prop_assert_eq!(
            (small.id(), small.position(), small.revision(), small.role()),
            (record.id(), record.position(), record.revision(), record.role()),
        );
        let metadata = |record: &Record| serde_json::to_value(record).unwrap()["metadata"].take();
        prop_assert_eq!(metadata(&small), metadata(&record));
        let (hydrated, problems) = hydrate(&logged(&small), store.clone());
        prop_assert_eq!(hydrated, record);
        for problem in problems {
            prop_assert!(block_on(store.get(problem.content_id)).unwrap().is_none());
        }
    }

    #[test]
    fn offloading_is_idempotent(record in record(), threshold in threshold()) {
        let once = offload(&record, threshold, MemoryStore::default());
        let store = Arc::new(MemoryStore::default());
        prop_assert_eq!(offload(&logged(&once), threshold, store.clone()), once);
        prop_assert_eq!(store.count(), 0);
    }

    #[test]
    fn offloaded_record_has_only_small_contents(record in record()) {
        let small = offload(&record, 64, MemoryStore::default());
        let json = serde_json::to_value(&small).unwrap();
        let contents = json["message"]["contents"].as_array().unwrap();
        // Texts of a message heard in part stay if other texts were offloaded before.
        let stay = small.heard().is_some() && contents.iter().any(|content| content.get("heard").is_some());
        for content in contents {
            let is_system = small.role() == verbale::Role::System;
            prop_assert!(content.as_str().is_none_or(|text| stay || text.len() < 64 && !is_system), "{content}");
            prop_assert!(is_small(content), "{content}");
            for part in content["content"].as_array().into_iter().flatten() {
                prop_assert!(is_small(part) && part.as_str().is_none_or(|text| text.len() < 64), "{part}");
            }
        }
    }

    #[test]
    fn record_without_its_contents_keeps_references(record in record(), lost in any::<u64>()) {
        let whole = Arc::new(Puts::default());
        let small = offload(&record, 64, whole.clone());
        let blobs = whole.0.lock().unwrap().clone();
        let store = Arc::new(MemoryStore::default());
        let kept: Vec<&Blob> =
            blobs.iter().enumerate().filter(|(at, _)| lost >> (at % 64) & 1 == 0).map(|(_, blob)| blob).collect();
        put_all(&store, kept.iter().copied());
        let (hydrated, problems) = hydrate(&small, store.clone());
        for missing in blobs.iter().filter(|blob| !kept.contains(blob)) {
            let problem = problems.iter().find(|problem| problem.content_id == missing.id());
            prop_assert!(problem.is_some_and(|problem| problem.message_id == record.id()));
        }
        // The record can be logged as it is, and a later read with all contents restores it.
        put_all(&store, &blobs);
        prop_assert_eq!(hydrate(&logged(&hydrated), store).0, record);
    }
}

/// A store that keeps the contents in the order of their puts.
#[derive(Default)]
struct Puts(Mutex<Vec<Blob>>);

impl ContentStore for Puts {
    fn put<'a>(&'a self, blob: &'a Blob, _: &'a str) -> ContentFuture<'a, ()> {
        self.0.lock().unwrap().push(blob.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn get(&self, _: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn release<'a>(&'a self, _: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn assistant(contents: Json, heard: Option<Json>) -> Record {
    let mut json = json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 4,
        "message": {"role": "assistant", "contents": contents}, "metadata": {"timing": {"creation": 5}},
    });
    if let Some(heard) = heard {
        json["message"]["heard"] = heard;
    }
    super::record(json)
}

#[test]
fn interrupted_long_speech_is_offloaded_with_its_heard_part() {
    let speech = "We can offer Saturday at 7:15. ".repeat(50);
    let heard = json!({"contents": ["One moment.", &speech[..700]], "by": "playbackTime"});
    let record = assistant(json!(["One moment.", speech, "Shall I?"]), Some(heard));
    let small = offload(&record, 1_024, MemoryStore::default());
    let json = serde_json::to_value(&small).unwrap();
    let reference = |text: &str| {
        json!({"type": "text", "contentId": ContentId::of(text.as_bytes()).to_string(), "mimeType": "text/plain",
            "size": text.len()})
    };
    let heard = |bytes: usize| json!({"heard": {"bytes": bytes, "by": "playbackTime"}});
    let contents = [("One moment.", 11), (speech.as_str(), 700), ("Shall I?", 0)]
        .map(|(text, bytes)| merged(&[reference(text), heard(bytes)]));
    assert_eq!(json["message"], json!({"role": "assistant", "contents": contents}));

    // If one text is missing, none is restored, because the heard part would be wrong.
    let store = Arc::new(Watched::default());
    offload(&record, 1_024, store.clone());
    store.lost.lock().unwrap().push(ContentId::of(b"Shall I?"));
    let (hydrated, problems) = hydrate(&small, store.clone());
    assert_eq!((&hydrated, problems.len()), (&small, 1));
    store.lost.lock().unwrap().clear();
    let (whole, _) = hydrate(&small, store);
    assert_eq!(whole.heard(), Some(Heard::new(711, HeardSource::PlaybackTime)));
    assert_eq!(whole, record);
}

#[test]
fn interrupted_short_speech_stays_in_the_record() {
    let record = assistant(json!(["I am fine,", "and you?"]), Some(json!({"contents": ["I am"], "by": "estimate"})));
    assert_eq!(offload(&record, 1_024, MemoryStore::default()), record);
}

#[test]
fn reference_has_id_type_and_size() {
    let long = "x".repeat(1_024);
    let table: Vec<u32> = (0..600).collect();
    let json_bytes = serde_json::to_vec(&table).unwrap();
    let (text_id, json_id) = (ContentId::of(long.as_bytes()).to_string(), ContentId::of(&json_bytes).to_string());
    let image_id = ContentId::of(b"hi").to_string();
    let result = |rest: Json| merged(&[json!({"type": "toolResult", "toolCallId": "c", "name": "f"}), rest]);
    let text_entries = json!({"contentId": text_id, "mimeType": "text/plain", "size": 1024});
    let json_entries = json!({"contentId": json_id, "mimeType": "application/json", "size": json_bytes.len()});
    for (before, after) in [
        (json!("x".repeat(1_023)), json!("x".repeat(1_023))),
        (json!(long), merged(&[json!({"type": "text"}), text_entries.clone()])),
        (
            json!({"type": "image", "bytes": {"$bytes": "aGk="}, "mimeType": "image/png", "promptHint": "the receipt"}),
            json!({"type": "image", "contentId": image_id, "size": 2, "mimeType": "image/png", "promptHint": "the receipt"}),
        ),
        (
            json!({"type": "document", "bytes": {"$bytes": "aGk="}, "title": "Terms"}),
            json!({"type": "document", "contentId": image_id, "size": 2, "title": "Terms"}),
        ),
        (
            json!({"type": "toolCall", "id": "c", "name": "f", "arguments": table}),
            json!({"type": "toolCall", "id": "c", "name": "f", "arguments": {}, "argumentsContent": json_entries}),
        ),
        (
            result(json!({"content": ["found", long, {"type": "json", "json": table}]})),
            result(json!({"content": ["found",
                merged(&[text_entries.clone(), json!({"type": "document", "standsFor": "text"})]),
                merged(&[json_entries.clone(), json!({"type": "document", "standsFor": "json"})])]})),
        ),
        (
            result(json!({"error": {"type": "Timeout", "message": long, "retryable": true}})),
            result(
                json!({"error": {"type": "Timeout", "message": "...", "retryable": true}, "messageContent": text_entries}),
            ),
        ),
    ] {
        let small = offload(&assistant(json!([before]), None), 1_024, MemoryStore::default());
        assert_eq!(serde_json::to_value(&small).unwrap()["message"]["contents"], json!([after]));
    }
}

#[test]
fn content_that_contradicts_its_record_is_a_problem() {
    let store = MemoryStore::default();
    let binary = Blob::new(vec![0xff; 2_000]);
    put_all(&store, [&binary]);
    let id = binary.id().to_string();
    let text = json!({"type": "text", "contentId": id, "mimeType": "text/plain", "size": 2000});
    let wrong_size = json!({"type": "image", "contentId": id, "size": 7});
    let call = json!({"type": "toolCall", "id": "c", "name": "f", "arguments": {},
        "argumentsContent": {"contentId": id, "mimeType": "application/json", "size": 2000}});
    let record = assistant(json!([text, wrong_size, call]), None);
    let (hydrated, problems) = hydrate(&record, store);
    assert_eq!(hydrated, record);
    assert_eq!(problems.len(), 3);
    for problem in problems {
        assert!(
            problem.error.to_string().contains(&format!("content {} is not", binary.id()))
                && problem.error.to_string().contains("as its record says")
        );
    }
}

#[test]
fn additions_of_a_newer_writer_to_a_reference_are_kept() {
    let store = MemoryStore::default();
    let blob = Blob::new(vec![b'x'; 2_000]);
    put_all(&store, [&blob]);
    let id = blob.id().to_string();
    let record = assistant(
        json!([
            {"type": "text", "contentId": id, "mimeType": "text/plain", "size": 2000, "language": "it"},
            {"type": "text", "contentId": id, "mimeType": "text/markdown", "size": 2000},
            {"type": "image", "contentId": id},
        ]),
        None,
    );
    let (hydrated, problems) = hydrate(&record, store);
    assert_eq!((&hydrated, problems.len()), (&record, 0));
    assert!(record.contents().iter().take(2).all(|content| matches!(content, Content::Unknown(_))));
}
