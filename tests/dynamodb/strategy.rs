//! Any value, and any record.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::{collection, option};
use serde_json::{Value as Json, json};
use verbale::message::Number;
use verbale::{Record, Value};

/// Keys with a meaning in the codec, in items or in DynamoDB, and some common keys.
const ODD_KEYS: &[&str] = &[
    "$bytes",
    "$map",
    "$number",
    "$json",
    "$record",
    "$other",
    "",
    "pk",
    "sk",
    "v",
    "entity",
    "expires_at",
    "epoch",
    "gsi1pk",
    "gsi1sk",
    "gsi2pk",
    "gsi2sk",
    "log",
    "aux",
    "role",
    "creation",
    "a.b",
    "#a",
    ":a",
    "ü",
];

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}", proptest::sample::select(ODD_KEYS).prop_map(str::to_owned)]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f32>().prop_filter_map("no number", |float| Number::try_from(f64::from(float)).ok()),
        (-1e125f64..1e125).prop_filter_map("no number", |float| Number::try_from(float).ok()),
        ("-?[1-9]\\.[0-9]{0,37}", -130..=125)
            .prop_map(|(mantissa, exponent)| { format!("{mantissa}e{exponent}").parse().unwrap() }),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    collection::vec(any::<u8>(), 0..5)
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        bytes().prop_map(Value::from),
    ]
}

fn bush() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(|items| Value::list(items).unwrap()),
            collection::btree_map(key(), inner, 0..4).prop_map(|entries| Value::map(entries).unwrap()),
        ]
    })
}

/// Any value, up to the maximum depth.
pub fn value() -> impl Strategy<Value = Value> {
    let stem = prop_oneof![3 => Just(0), 1 => 0..=32_usize, 1 => Just(32)];
    (bush(), stem.prop_flat_map(|length| collection::vec(option::of(key()), length))).prop_map(|(value, stem)| {
        stem.into_iter().fold(value, |value, step| {
            let nested = match step {
                None => Value::list([value.clone()]),
                Some(key) => Value::map([(key, value.clone())]),
            };
            nested.unwrap_or(value)
        })
    })
}

/// Additional entries of a map, without its known keys.
fn entries(at_most: usize) -> impl Strategy<Value = BTreeMap<String, Value>> {
    collection::btree_map(key(), value(), 0..at_most)
}

fn unknown(known: &'static [&'static str]) -> impl Strategy<Value = BTreeMap<String, Value>> {
    entries(3).prop_map(move |mut entries| {
        entries.retain(|key, _| !known.contains(&key.as_str()));
        entries
    })
}

fn content() -> impl Strategy<Value = Json> {
    prop_oneof![
        4 => "\\PC{0,12}".prop_map(Json::from),
        1 => value().prop_map(|value| json!({"type": "toolCall", "id": "c", "name": "f", "arguments": value})),
        1 => (value(), value()).prop_map(|(a, b)| {
            json!({"type": "toolResult", "toolCallId": "c", "name": "f",
                "content": ["found", {"type": "json", "json": a}, {"type": "json", "json": b}]})
        }),
        1 => bytes().prop_map(|bytes| json!({"type": "image", "bytes": Value::from(bytes), "mimeType": "image/png"})),
        1 => "\\PC{0,8}".prop_map(|url| json!({"type": "document", "url": url, "title": "Terms"})),
        1 => ("\\PC{0,4}[a-z]", option::of(any::<bool>())).prop_map(|(message, retryable)| {
            let mut error = json!({"type": "Timeout", "message": message});
            retryable.into_iter().for_each(|retryable| error["retryable"] = retryable.into());
            json!({"type": "toolResult", "toolCallId": "c", "name": "f", "error": error})
        }),
        1 => bush().prop_map(|value| json!({"type": "hologram", "depth": value})),
    ]
}

fn with(json: Json, entries: BTreeMap<String, Value>) -> Json {
    let Json::Object(mut object) = json else { panic!("no object") };
    object.extend(entries.into_iter().map(|(key, value)| (key, serde_json::to_value(value).unwrap())));
    Json::Object(object)
}

/// The origin of a message, and its source in another conversation.
fn made() -> impl Strategy<Value = serde_json::Map<String, Json>> {
    let behind = option::of(any::<u128>().prop_map(|id| verbale::MessageId::from(id).to_string()));
    let forked_from = (behind, option::of(value())).prop_map(|(behind, unknown)| {
        let mut forked_from = json!({"conversation": "CA1"});
        unknown.into_iter().for_each(|unknown| forked_from["by"] = serde_json::to_value(unknown).unwrap());
        behind.into_iter().for_each(|id| forked_from["behind"] = id.into());
        forked_from
    });
    let hint = "user|assistant|tool|system|narrator";
    let redacted = option::of(Just(json!(["card", "phone"])));
    (option::of(any::<u32>()), option::of("\\PC{0,8}"), option::of(hint), option::of(forked_from), redacted).prop_map(
        |(step, policy, hint, forked_from, redacted)| {
            let entries = [
                ("redacted", redacted),
                ("step", step.map(Json::from)),
                ("policy", policy.map(Json::from)),
                ("roleHint", hint.map(Json::from)),
                ("forkedFrom", forked_from),
            ];
            entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        },
    )
}

/// The parts of a message in a record.
fn parts() -> impl Strategy<Value = Vec<Json>> {
    let confidence = prop_oneof![Just("0.93"), Just("1"), Just("0"), Just("0.12345678901234567890123456789")];
    let part = (
        any::<u128>(),
        any::<i64>(),
        option::of(any::<i64>()),
        option::of(confidence),
        unknown(&["contents", "id", "creation"]),
    );
    let part = part.prop_map(|(id, creation, ended, confidence, unknown)| {
        let mut part = json!({"id": verbale::MessageId::from(id).to_string(), "contents": 1, "creation": creation});
        ended.into_iter().for_each(|ended| part["listenEnd"] = ended.into());
        let confidence = confidence.map(|text| serde_json::to_value(text.parse::<Number>().unwrap()).unwrap());
        confidence.into_iter().for_each(|confidence| part["confidence"] = confidence);
        with(part, unknown)
    });
    collection::vec(part, 0..4)
}

/// Returns a record with parts that match its contents.
pub fn with_fitting_parts(mut record: Json) -> Json {
    let contents = record["message"]["contents"].as_array().map_or(0, Vec::len);
    let Some(Json::Array(parts)) = record["metadata"].get_mut("parts") else { return record };
    parts.truncate(contents);
    let others = parts.len().saturating_sub(1);
    parts.iter_mut().for_each(|part| part["contents"] = 1.into());
    match parts.first_mut() {
        Some(first) => first["contents"] = (contents - others).into(),
        None => drop(record["metadata"].as_object_mut().unwrap().remove("parts")),
    }
    record
}

/// Any record of a message or a summary, with keys, attributes, timings and contents of newer writers.
pub fn record() -> impl Strategy<Value = Record> {
    let position = prop_oneof![
        (0..100_000_000u32, prop_oneof![Just("user"), Just("assistant"), Just("system")])
            .prop_map(|(seq, role)| (json!({"seq": seq}), role)),
        (0..100_000_000u32, 1..10_000u32)
            .prop_map(|(after, number)| (json!({"after": after, "summary": number}), "summary")),
    ];
    let metadata = (collection::vec("merged|fake|translated", 0..3), any::<i64>(), entries(4), made());
    let levels = (
        unknown(&["seq", "after", "id"]),
        unknown(&["role"]),
        unknown(&["aux", "step", "turn"]),
        unknown(&["creation"]),
    );
    (any::<u128>(), position, 1..=u32::MAX, collection::vec(content(), 0..4), metadata, levels, parts()).prop_map(
        |(id, (position, role), revision, contents, (attributes, creation, aux, made), levels, mut parts)| {
            let timing = with(json!({"creation": creation}), levels.3);
            let mut metadata = json!({"attribute": attributes, "timing": timing, "aux": with(json!({}), aux)});
            metadata.as_object_mut().unwrap().extend(made);
            if let Some(first) = parts.first_mut() {
                first["id"] = verbale::MessageId::from(id).to_string().into();
                first["creation"] = creation.into();
                metadata["parts"] = parts.into();
            }
            let message = with(json!({"role": role, "contents": contents}), levels.1);
            let mut record = json!({
                "id": verbale::MessageId::from(id).to_string(), "revision": revision,
                "message": message, "metadata": with(metadata, levels.2),
            });
            record.as_object_mut().unwrap().extend(position.as_object().unwrap().clone());
            super::record(with_fitting_parts(with(record, levels.0)))
        },
    )
}
