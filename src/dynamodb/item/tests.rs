//! Records as items, attribute by attribute.

use aws_sdk_dynamodb::primitives::Blob;
use serde_json::json;

use super::*;

fn read(json: Json) -> Record {
    serde_json::from_value(json).unwrap()
}

fn call_id() -> CallId {
    CallId::new("CA1").unwrap()
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

fn list<const N: usize>(items: [AttributeValue; N]) -> AttributeValue {
    AttributeValue::L(items.into())
}

fn entries<const N: usize>(entries: [(&str, AttributeValue); N]) -> Item {
    entries.map(|(key, attribute)| (key.to_owned(), attribute)).into()
}

fn map<const N: usize>(of: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(entries(of))
}

fn assert_item_of(record: Json, item: Item) {
    let record = read(record);
    assert_eq!(to_item(&call_id(), &record, Texts::Plain).unwrap(), item);
    assert_eq!(from_item(item).unwrap(), record);
}

#[test]
fn message_is_stored_as_item() {
    assert_item_of(
        json!({
            "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
            "message": {"role": "user", "contents": ["Hi, there", "how are you"]},
            "metadata": {"attribute": ["merged"], "timing": {"creation": 1_744_815_823_058_i64}, "aux": {"stopped": true}},
        }),
        entries([
            ("pk", text("CALL#CA1")),
            ("sk", text("MSG#00000002")),
            ("entity", text("message")),
            ("v", number("1")),
            ("id", text("01JRZJ166J2WRMF990535EVSQS")),
            ("seq", number("2")),
            ("revision", number("3")),
            ("role", text("user")),
            ("contents", list([text("Hi, there"), text("how are you")])),
            ("attribute", list([text("merged")])),
            ("creation", number("1744815823058")),
            ("aux", map([("stopped", AttributeValue::Bool(true))])),
        ]),
    );
}

#[test]
fn summary_is_stored_as_item() {
    assert_item_of(
        json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "after": 3, "summary": 1, "revision": 1,
            "message": {"role": "summary", "contents": ["..."]},
            "metadata": {"coversFrom": 1, "previousSummary": "01JRZJ166HZFPP405DV1QQB2X9", "timing": {"creation": 5}},
        }),
        entries([
            ("pk", text("CALL#CA1")),
            ("sk", text("MSG#00000003#SUM#0001")),
            ("entity", text("summary")),
            ("v", number("1")),
            ("id", text("01JRZJ1675E4S7Y4ZD7RNWNXWB")),
            ("after", number("3")),
            ("summary", number("1")),
            ("revision", number("1")),
            ("role", text("summary")),
            ("contents", list([text("...")])),
            ("coversFrom", number("1")),
            ("previousSummary", text("01JRZJ166HZFPP405DV1QQB2X9")),
            ("creation", number("5")),
        ]),
    );
}

#[test]
fn heard_text_is_stored_as_item() {
    assert_item_of(
        json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 2,
            "message": {"role": "assistant", "contents": ["I am fine,", "and you?"],
                "heard": {"contents": ["I am fine,", "and"], "by": "wordTiming"}},
            "metadata": {"attribute": ["speechInterrupted"], "timing": {"creation": 5, "playEnd": 4}},
        }),
        entries([
            ("pk", text("CALL#CA1")),
            ("sk", text("MSG#00000003")),
            ("entity", text("message")),
            ("v", number("1")),
            ("id", text("01JRZJ1675E4S7Y4ZD7RNWNXWB")),
            ("seq", number("3")),
            ("revision", number("2")),
            ("role", text("assistant")),
            ("contents", list([text("I am fine,"), text("and you?")])),
            ("heard", map([("contents", list([text("I am fine,"), text("and")])), ("by", text("wordTiming"))])),
            ("attribute", list([text("speechInterrupted")])),
            ("creation", number("5")),
            ("playEnd", number("4")),
        ]),
    );
}

#[test]
fn tool_call_is_stored_as_item() {
    assert_item_of(
        json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 4, "revision": 1,
            "message": {"role": "assistant", "contents": [{
                "type": "toolCall", "id": "call_1", "name": "get_user",
                "arguments": {"id": {"$number": "12345678901234567890123456789012345678"}, "photo": {"$bytes": "aGk="},
                    "tags": ["a", "b"], "note": ""},
            }]},
            "metadata": {"timing": {"creation": 5}},
        }),
        entries([
            ("pk", text("CALL#CA1")),
            ("sk", text("MSG#00000004")),
            ("entity", text("message")),
            ("v", number("1")),
            ("id", text("01JRZJ1675E4S7Y4ZD7RNWNXWB")),
            ("seq", number("4")),
            ("revision", number("1")),
            ("role", text("assistant")),
            (
                "contents",
                list([map([
                    ("type", text("toolCall")),
                    ("id", text("call_1")),
                    ("name", text("get_user")),
                    (
                        "arguments",
                        map([
                            ("id", number("12345678901234567890123456789012345678")),
                            ("photo", AttributeValue::B(Blob::new("hi"))),
                            ("tags", AttributeValue::L(vec![text("a"), text("b")])),
                            ("note", text("")),
                        ]),
                    ),
                ])]),
            ),
            ("creation", number("5")),
        ]),
    );
}

#[test]
fn reserved_and_invalid_keys_are_kept_in_their_maps() {
    assert_item_of(
        json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 4, "revision": 1, "epoch": 2,
            "": 1, "pk": "mine", "role": "of a record", "expires_at": null, "$record": {"$map": {"$json": "{"}},
            "message": {"role": "user", "contents": ["a"], "creation": "of a message"},
            "metadata": {"timing": {"creation": 5, "$bytes": "aGk="}, "aux": {"$bytes": "aGk="}, "$bytes": "aGk="},
        }),
        entries([
            ("pk", text("CALL#CA1")),
            ("sk", text("MSG#00000004")),
            ("entity", text("message")),
            ("v", number("1")),
            ("id", text("01JRZJ1675E4S7Y4ZD7RNWNXWB")),
            ("seq", number("4")),
            ("revision", number("1")),
            (
                "$record",
                map([(
                    "$json",
                    text(
                        r#"{"":1,"$record":{"$map":{"$json":"{"}},"epoch":2,"expires_at":null,"pk":"mine","role":"of a record"}"#,
                    ),
                )]),
            ),
            ("role", text("user")),
            ("contents", list([text("a")])),
            ("creation", number("5")),
            ("aux", map([("$bytes", text("aGk="))])),
            ("message", map([("creation", text("of a message"))])),
            ("metadata", map([("$bytes", text("aGk="))])),
            ("timing", map([("$bytes", text("aGk="))])),
        ]),
    );
}

#[test]
fn invalid_item_is_refused() {
    let record = read(json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 4, "revision": 1,
        "message": {"role": "user", "contents": ["my pin is 4711"]}, "metadata": {"timing": {"creation": 5}},
    }));
    let good = to_item(&call_id(), &record, Texts::Plain).unwrap();
    let refusal = |name: &str, attribute: Option<AttributeValue>| {
        let mut bad = good.clone();
        bad.remove(name);
        bad.extend(attribute.map(|attribute| (name.to_owned(), attribute)));
        let error = from_item(bad).unwrap_err();
        assert!(!format!("{error:?}").contains("pin"));
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        format!("{error}{source}")
    };
    assert_eq!(
        refusal("pk", Some(text("USER#1"))),
        "an item is not of a call: its `pk` is not `CALL#<call id>`; another program may have written it"
    );
    assert_eq!(
        refusal("sk", None),
        "an item is not of a call: its `pk` and `sk` are not both strings; another program may have written it"
    );
    assert_eq!(
        refusal("sk", Some(text("MSG#00000005"))),
        "MSG#00000005 of call CA1 is not a valid record; inspect the item, another program may have written it: \
         its `sk` belongs to another record"
    );
    assert_eq!(
        refusal("v", Some(number("2"))),
        "MSG#00000004 of call CA1 has schema version 2, which this version of verbale cannot read; read it with the version that wrote it"
    );
    assert_eq!(
        refusal("v", None),
        "MSG#00000004 of call CA1 has no schema version; read it with the version that wrote it"
    );
    assert_eq!(
        refusal("message", Some(text("my pin is 4711"))),
        "MSG#00000004 of call CA1 is not a valid record; inspect the item, another program may have written it: \
         invalid type: string"
    );
    assert_eq!(
        refusal("id", None),
        "MSG#00000004 of call CA1 is not a valid record; inspect the item, another program may have written it: \
         not a record: `id` is missing"
    );
}
