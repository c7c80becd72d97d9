//! Any record loses its large contents and has them back, exactly.

use proptest::prelude::*;
use proptest::{collection, option};
use serde_json::{Value as Json, json};
use verbale::contents::{Blob, ContentId, MemoryStore, Offload, hydrate};
use verbale::dynamodb::{CallId, from_item, to_item};
use verbale::{Content, Heard, HeardSource, Record, Value};

use super::{Watched, block_on, owner, strategy};

/// Texts around the threshold of 64, not blank.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,12}", "[a-zé ]{55,75}", Just("x".repeat(64)), "é{100,200}"].prop_map(|text| format!("a{text}"))
}

fn bytes() -> impl Strategy<Value = Json> {
    collection::vec(any::<u8>(), 0..100).prop_map(|bytes| serde_json::to_value(Value::from(bytes)).unwrap())
}

/// What looks like a reference, to a content that is in no store, or is not one after all.
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

/// No bytes, no large value, no long message; but where another writer has taken the keys for a reference.
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

/// Any record, with contents that are worth a store, heard in part now and then.
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

/// The beginning of the texts, up to `bytes` bytes.
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

/// Through JSON and through an item and back, as logs have it.
fn logged(record: &Record) -> Record {
    let json = serde_json::to_string(record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), *record, "{json}");
    let item = to_item(&CallId::new("CA1").unwrap(), record).unwrap();
    from_item(item).unwrap()
}

proptest! {
    #[test]
    fn hydrating_undoes_offloading(record in record(), threshold in threshold()) {
        let offload = Offload::default().with_threshold(threshold);
        let store = MemoryStore::default();
        let small = block_on(offload.offload(&record, &store, &owner("CA1"))).unwrap();
        prop_assert_eq!(
            (small.id(), small.position(), small.revision(), small.role(), small.metadata()),
            (record.id(), record.position(), record.revision(), record.role(), record.metadata()),
        );
        let hydrated = block_on(hydrate([logged(&small)], &store));
        prop_assert_eq!(&hydrated.records, &[record]);
        for problem in hydrated.problems {
            prop_assert!(block_on(verbale::contents::ContentStore::get(&store, problem.content_id)).unwrap().is_none());
        }
    }

    #[test]
    fn offloading_twice_is_offloading_once(record in record(), threshold in threshold()) {
        let offload = Offload::default().with_threshold(threshold);
        let once = offload.detach(&record).record;
        let twice = offload.detach(&logged(&once));
        prop_assert_eq!(&twice.record, &once);
        prop_assert!(twice.blobs.is_empty());
    }

    #[test]
    fn what_is_left_is_small(record in record()) {
        let small = Offload::default().with_threshold(64).detach(&record).record;
        let json = serde_json::to_value(&small).unwrap();
        let contents = json["message"]["contents"].as_array().unwrap();
        // Of a message heard in part, texts stay where others went before it was.
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
    fn without_its_contents_a_record_is_as_it_was_written(record in record(), lost in any::<u64>()) {
        let detached = Offload::default().with_threshold(64).detach(&record);
        let store = MemoryStore::default();
        let mut kept: Vec<ContentId> = Vec::new();
        for (at, blob) in detached.blobs.iter().enumerate() {
            if lost >> (at % 64) & 1 == 0 {
                block_on(verbale::contents::ContentStore::put(&store, blob, &owner("CA1"))).unwrap();
                kept.push(blob.id());
            }
        }
        let hydrated = block_on(hydrate([detached.record.clone()], &store));
        let missing = detached.blobs.iter().map(Blob::id).filter(|id| !kept.contains(id));
        for id in missing {
            let is_told = |problem: &&verbale::contents::Problem| problem.content_id == id;
            let problem = hydrated.problems.iter().find(is_told);
            prop_assert!(problem.is_some_and(|problem| problem.message_id == record.id()));
        }
        // What is missing now can be had later; and the record can be logged as it is.
        for blob in &detached.blobs {
            block_on(verbale::contents::ContentStore::put(&store, blob, &owner("CA1"))).unwrap();
        }
        let later = block_on(hydrate([logged(&hydrated.records[0])], &store));
        prop_assert_eq!(&later.records, &[record]);
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
fn a_long_speech_that_the_caller_broke_into_goes_with_what_was_heard() {
    let speech = "We can offer Saturday at 7:15. ".repeat(50);
    let heard = json!({"contents": ["One moment.", &speech[..700]], "by": "playbackTime"});
    let record = assistant(json!(["One moment.", speech, "Shall I?"]), Some(heard));
    let small = Offload::default().detach(&record).record;
    let json = serde_json::to_value(&small).unwrap();
    let reference = |text: &str| {
        json!({"type": "text", "contentId": ContentId::of(text.as_bytes()).to_string(), "mimeType": "text/plain",
            "size": text.len()})
    };
    let heard = |bytes: usize| json!({"heard": {"bytes": bytes, "by": "playbackTime"}});
    let contents = [("One moment.", 11), (speech.as_str(), 700), ("Shall I?", 0)]
        .map(|(text, bytes)| merged(&[reference(text), heard(bytes)]));
    assert_eq!(json["message"], json!({"role": "assistant", "contents": contents}));

    // Without one of its texts it shows none: what was heard would be told wrong.
    let mut store = Watched::default();
    block_on(Offload::default().offload(&record, &store, &owner("CA1"))).unwrap();
    store.lost.push(ContentId::of(b"Shall I?"));
    let hydrated = block_on(hydrate([small.clone()], &store));
    assert_eq!((hydrated.records, hydrated.problems.len()), (vec![small.clone()], 1));
    store.lost.clear();
    let whole = block_on(hydrate([small], &store)).records;
    assert_eq!(whole[0].heard(), Some(Heard::bytes(711, HeardSource::PlaybackTime)));
    assert_eq!(whole, [record]);
}

#[test]
fn a_short_speech_that_was_heard_in_part_stays() {
    let record = assistant(json!(["I am fine,", "and you?"]), Some(json!({"contents": ["I am"], "by": "estimate"})));
    assert_eq!(Offload::default().detach(&record).record, record);
}

#[test]
fn the_record_keeps_id_type_and_size() {
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
        let small = Offload::default().detach(&assistant(json!([before]), None)).record;
        assert_eq!(serde_json::to_value(&small).unwrap()["message"]["contents"], json!([after]));
    }
}

#[test]
fn what_is_there_but_not_as_the_record_says_is_a_problem() {
    let store = MemoryStore::default();
    let binary = Blob::new(vec![0xff; 2_000]);
    block_on(verbale::contents::ContentStore::put(&store, &binary, &owner("CA1"))).unwrap();
    let id = binary.id().to_string();
    let text = json!({"type": "text", "contentId": id, "mimeType": "text/plain", "size": 2000});
    let wrong_size = json!({"type": "image", "contentId": id, "size": 7});
    let call = json!({"type": "toolCall", "id": "c", "name": "f", "arguments": {},
        "argumentsContent": {"contentId": id, "mimeType": "application/json", "size": 2000}});
    let record = assistant(json!([text, wrong_size, call]), None);
    let hydrated = block_on(hydrate([record.clone()], &store));
    assert_eq!(hydrated.records, [record]);
    assert_eq!(hydrated.problems.len(), 3);
    for problem in hydrated.problems {
        assert_eq!(problem.error.content_id(), Some(binary.id()));
    }
}

#[test]
fn what_a_newer_writer_says_beyond_a_reference_is_not_lost() {
    let store = MemoryStore::default();
    let blob = Blob::new(vec![b'x'; 2_000]);
    block_on(verbale::contents::ContentStore::put(&store, &blob, &owner("CA1"))).unwrap();
    let id = blob.id().to_string();
    let record = assistant(
        json!([
            {"type": "text", "contentId": id, "mimeType": "text/plain", "size": 2000, "language": "it"},
            {"type": "text", "contentId": id, "mimeType": "text/markdown", "size": 2000},
            {"type": "image", "contentId": id},
        ]),
        None,
    );
    let hydrated = block_on(hydrate([record.clone()], &store));
    assert_eq!((hydrated.records, hydrated.problems.len()), (vec![record.clone()], 0));
    assert!(record.contents().iter().take(2).all(|content| matches!(content, Content::Unknown(_))));
}
