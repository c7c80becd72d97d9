//! The JSON Schema of a record, `docs/record.schema.json`, compared with reading and writing.
//!
//! `RECORD_SCHEMA=write cargo test --test records` generates the file.

use std::{env, fs};

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::Record;

use crate::{record, strategy};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/record.schema.json");

fn schema() -> Json {
    schemars::schema_for!(Record).to_value()
}

pub fn validator() -> Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

#[test]
fn schema_file_is_generated_from_the_code() {
    let generated = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if env::var("RECORD_SCHEMA").is_ok_and(|wanted| wanted == "write") {
        fs::write(PATH, &generated).unwrap();
    }
    let kept = fs::read_to_string(PATH).unwrap_or_default();
    assert!(kept == generated, "{PATH} is not up to date: run `RECORD_SCHEMA=write cargo test --test records`");
    assert!(jsonschema::meta::is_valid(&schema()));
}

fn message() -> Json {
    json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 1,
        "message": {"role": "assistant", "contents": ["I am fine,"], "heard": {"contents": ["I am"], "by": "wordTiming"}},
        "metadata": {"attribute": ["merged"], "timing": {"creation": 5, "llmStart": 4}, "aux": {"a": 1}},
    })
}

fn summary() -> Json {
    json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "after": 3, "summary": 1, "revision": 1,
        "message": {"role": "summary", "contents": ["They greeted each other."]},
        "metadata": {
            "coversFrom": 0, "previousSummary": "01JRZJ166J2WRMF990535EVSQS",
            "request": {"tookMs": 900, "input": 7, "output": 4}, "timing": {"creation": 5},
        },
    })
}

/// Replaces the value at `pointer` of a record, or removes it if `value` is `None`.
fn with(mut record: Json, pointer: &str, value: Option<Json>) -> Json {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (record.pointer_mut(parent).unwrap(), value) {
        (Json::Object(entries), Some(value)) => drop(entries.insert(key.to_owned(), value)),
        (Json::Object(entries), None) => assert!(entries.remove(key).is_some(), "nothing at {pointer}"),
        (Json::Array(items), Some(value)) => items[key.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("no such pointer {pointer}: {other}"),
    }
    record
}

#[test]
fn invalid_record_is_refused_by_schema_and_reader() {
    let validator = validator();
    let broken = |pointer, wrong| with(message(), pointer, Some(wrong));
    let content = |wrong| broken("/message/contents/0", wrong);
    let aux = |wrong| broken("/metadata/aux/a", wrong);
    let result = |key: &str, wrong| {
        let mut result = json!({"type": "toolResult", "toolCallId": "a", "name": "f"});
        result[key] = wrong;
        content(result)
    };
    let records = [
        broken("/id", json!("x")),
        broken("/id", json!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ")),
        broken("/seq", json!(-1)),
        broken("/seq", json!(100_000_000)),
        broken("/seq", json!(null)),
        broken("/after", json!(1)),
        broken("/summary", json!(1)),
        broken("/revision", json!(0)),
        broken("/revision", json!(u64::from(u32::MAX) + 1)),
        broken("/message", json!("a")),
        broken("/message/role", json!("narrator")),
        broken("/message/role", json!("summary")),
        broken("/message/contents", json!("a")),
        broken("/message/heard", json!({"contents": ["I am"]})),
        broken("/message/heard", json!({"by": "wordTiming"})),
        broken("/message/heard/by", json!("ear")),
        broken("/message/heard/contents/0", json!(4)),
        broken("/metadata/timing", json!({})),
        broken("/metadata/timing/creation", json!("yesterday")),
        broken("/metadata/timing/creation", json!(5.5)),
        broken("/metadata/timing/llmStart", json!(null)),
        broken("/metadata/attribute", json!("merged")),
        broken("/metadata/attribute/0", json!(4)),
        broken("/metadata/aux", json!([])),
        broken("/metadata/step", json!(-1)),
        broken("/metadata/step", json!("4")),
        broken("/metadata/policy", json!(4)),
        broken("/metadata/roleHint", json!(4)),
        broken("/metadata/forkedFrom", json!({})),
        broken("/metadata/forkedFrom", json!({"conversation": "CA1", "after": "x"})),
        content(json!(7)),
        content(json!({"text": "no type"})),
        content(json!({"type": 7})),
        content(json!({"type": "image"})),
        content(json!({"type": "image", "bytes": "aGk="})),
        content(json!({"type": "image", "url": "u", "contentId": "c"})),
        content(json!({"type": "document", "url": "u", "title": 4})),
        content(json!({"type": "toolCall", "id": "not an id!", "name": "f", "arguments": {}})),
        content(json!({"type": "toolCall", "id": "a", "name": "f"})),
        result("depth", json!(4)),
        result("content", json!("found")),
        result("content", json!([{"type": "json"}])),
        result("content", json!([7])),
        result("error", json!({"message": " "})),
        result("error", json!({"message": "a", "retryable": "yes"})),
        aux(json!({"$bytes": "no base64!"})),
        aux(json!({"$number": "many"})),
        aux(json!([{"$bytes": "?"}])),
        aux(json!(1e300)),
        with(summary(), "/seq", Some(json!(3))),
        with(summary(), "/summary", Some(json!(10_000))),
        with(summary(), "/message/role", Some(json!("user"))),
        with(summary(), "/metadata/previousSummary", Some(json!("x"))),
        with(summary(), "/metadata/request/input", Some(json!("x"))),
        with(summary(), "/metadata/coversFrom", Some(json!(-1))),
    ];
    let required = ["/id", "/seq", "/revision", "/message", "/metadata", "/message/role", "/message/contents"];
    let without = required.iter().map(|pointer| with(message(), pointer, None));
    let without = without.chain(["/after", "/summary"].map(|pointer| with(summary(), pointer, None)));
    for record in records.into_iter().chain(without) {
        assert!(serde_json::from_value::<Record>(record.clone()).is_err(), "is read: {record}");
        assert!(!validator.is_valid(&record), "is valid: {record}");
    }
}

#[test]
fn entries_of_a_newer_version_are_valid() {
    let validator = validator();
    let contents = json!([
        {"type": "hologram", "depth": {"$bytes": "aGk="}},
        {"type": "text", "contentId": "sha256:ab", "mimeType": "text/plain", "size": 2048},
        {"type": "image", "url": "https://e.com/i", "detail": "high"},
        {"type": "toolResult", "toolCallId": "c", "name": "f", "content": [{"type": "hologram"}]},
    ]);
    let newer = [
        with(message(), "/epoch", Some(json!(2))),
        with(message(), "/message/language", Some(json!("it"))),
        with(message(), "/message/heard/confidence", Some(json!(0.5))),
        with(message(), "/message/contents", Some(json!(["I am", contents[0], contents[1], contents[2], contents[3]]))),
        with(message(), "/metadata/episode", Some(json!({"number": 4}))),
        with(message(), "/metadata/roleHint", Some(json!("narrator"))),
        with(message(), "/metadata/attribute/0", Some(json!("translated"))),
        with(message(), "/metadata/timing/ttsStart", Some(json!(7))),
        message(),
        summary(),
    ];
    for json in newer {
        assert_eq!(serde_json::to_value(record(json.clone())).unwrap(), json);
        validator.validate(&json).unwrap_or_else(|error| panic!("{error}\n{json}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_written_record_is_valid(records in proptest::collection::vec(strategy::record(), 1..8)) {
        thread_local!(static VALIDATOR: Validator = validator());
        for record in records {
            let written = serde_json::to_value(&record).unwrap();
            VALIDATOR.with(|validator| {
                prop_assert!(validator.is_valid(&written), "{written}");
                Ok(())
            })?;
        }
    }
}
