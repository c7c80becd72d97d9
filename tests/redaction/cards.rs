//! Redaction removes card numbers from every part of a record and changes nothing else.

#[path = "../dynamodb/strategy.rs"]
mod strategy;

use std::error::Error;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::log::{CardNumbers, Redaction, Redactor, redact};
use verbale::{Heard, HeardSource, MessagesManager, PlainMessage, Record, Value};

fn record(json: Json) -> Record {
    serde_json::from_value(json).unwrap()
}

fn json(record: &Record) -> Json {
    serde_json::to_value(record).unwrap()
}

fn said(contents: Json) -> Json {
    json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 7,
        "message": {"role": "user", "contents": contents}, "metadata": {"timing": {"creation": 5}},
    })
}

fn texts(record: &Record) -> Vec<&str> {
    record.contents().texts().map(|text| text.as_str()).collect()
}

/// A redactor that replaces each of `words`.
fn replacing(words: &'static [(&'static str, &'static str)]) -> impl Redactor {
    move |text: &str| {
        let found = words.iter().flat_map(|(word, replacement)| {
            text.match_indices(word).map(|(at, _)| Redaction::new("word", at..at + word.len(), *replacement))
        });
        Ok(found.collect())
    }
}

/// A record with `secret` in every redactable text, and `KEEP` in every text that is never redacted.
const EVERYWHERE: &str = r#"{
    "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "after": 3, "summary": 2, "revision": 7,
    "message": {
        "role": "summary",
        "contents": [
            "the secret is a secret",
            {"type": "image", "url": "https://e.com/?q=secret", "mimeType": "image/secret", "promptHint": "a secret",
             "secret": {"secret": ["secret"]}},
            "no news",
            {"type": "document", "contentId": "KEEP", "title": "secret", "mimeType": "secret", "secret": "secret"},
            {"type": "toolCall", "id": "KEEP", "name": "KEEP", "secret": "secret",
             "arguments": {"a": [[{"secret": "a secret"}, ["b", "secret"], null, true, 7]]}},
            {"type": "toolResult", "toolCallId": "KEEP", "name": "KEEP", "secret": "secret",
             "content": ["secret", {"type": "json", "json": {"secret": "secret"}}, {"type": "json", "json": "secret"},
                 {"type": "audio", "url": "secret"}, {"type": "document", "url": "u", "title": "secret"},
                 {"type": "secret", "a": {"secret": "secret"}}]},
            {"type": "toolResult", "toolCallId": "KEEP", "name": "KEEP",
             "error": {"type": "secret", "message": "the secret", "retryable": true, "secret": "secret"}},
            {"type": "hologram", "secret": [{"secret": "secret"}]}
        ],
        "heard": {"contents": ["the secret is"], "by": "estimate", "secret": "secret"},
        "secret": "secret"
    },
    "metadata": {
        "attribute": ["merged", "secret"], "timing": {"creation": 5, "llmStart": 6, "secret": {"secret": "secret"}},
        "coversFrom": 0, "previousSummary": "01JRZJ166HZFPP405DV1QQB2X9",
        "parts": [{"id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "contents": 8, "creation": 5, "secret": {"a": "secret"}}],
        "aux": {"secret": {"b": "secret"}, "c": {"$bytes": "aGk="}, "d": 1.5}, "secret": ["secret"]
    },
    "secret": {"a": {"secret": "secret"}}
}"#;

#[test]
fn every_text_is_redacted_and_nothing_else_changes() {
    let before = |secret: &str| {
        let text = EVERYWHERE.replace("KEEP", "keep-secret-ids").replace("secret", secret);
        record(serde_json::from_str(&text.replace(&format!("keep-{secret}-ids"), "keep-secret-ids")).unwrap())
    };
    for (replacement, redactor) in [
        ("[gone]", Box::new(replacing(&[("secret", "[gone]")])) as Box<dyn Redactor>),
        ("-", Box::new(replacing(&[("secret", "-")]))),
    ] {
        let redacted = redact(&before("secret"), &*redactor).unwrap();
        assert_eq!(json(&redacted), reporting("word", json(&before(replacement))));
    }
}

/// Returns the record with the kind of its redactions.
fn reporting(kind: &str, mut record: Json) -> Json {
    record["metadata"]["redacted"] = json!([kind]);
    record
}

#[test]
fn kinds_are_reported_once_each_and_kept() {
    let card = said(json!(["4111111111111111", "5555555555554444 Nadia"]));
    let redacted = redact(&record(card.clone()), &CardNumbers).unwrap();
    assert_eq!(json(&redacted)["metadata"]["redacted"], json!(["card"]));
    assert_eq!(redacted.metadata().redacted(), [verbale::message::Text::from("card")]);
    let name = |text: &str| {
        let found = text.match_indices("Nadia").map(|(at, name)| Redaction::new("a name", at..at + name.len(), "-"));
        Ok(found.collect())
    };
    let again = redact(&redacted, &name).unwrap();
    assert_eq!(json(&again)["metadata"]["redacted"], json!(["a name", "card"]));
    assert!(record(json(&again)) == again);
    assert!(redact(&again, &CardNumbers).unwrap() == again);
    assert!(record(card).metadata().redacted().is_empty());
}

#[test]
fn bytes_that_are_text_are_redacted() {
    let card = b"card 4111111111111111".as_slice();
    let latin = b"perch\xe9 4111111111111111".as_slice();
    let masked = b"card ************1111".as_slice();
    let utf_16 = |text: &str, write: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(write).collect::<Vec<u8>>();
    let wide = "caffè \u{1f4b3} 4111111111111111";
    let wide_masked = "caffè \u{1f4b3} ************1111";
    let marked = format!("\u{feff}{wide}");
    let marked_masked = format!("\u{feff}{wide_masked}");
    let binary = b"\x00\x01\x02 4111111111111111 \x03".as_slice();
    for (mime_type, before, after) in [
        (Some("text/plain"), card, masked),
        (Some("Text/CSV; charset=utf-8"), card, masked),
        (Some("application/json"), card, masked),
        (Some("image/svg+xml"), card, masked),
        (None, card, masked),
        (Some("text/plain"), latin, b"perch\xe9 ************1111"),
        (Some("text/plain"), b"perch\xe9".as_slice(), b"perch\xe9".as_slice()),
        (None, latin, b"perch\xe9 ************1111"),
        (Some("application/pdf"), card, masked),
        (Some("application/octet-stream"), latin, b"perch\xe9 ************1111"),
        (None, &utf_16(wide, u16::to_le_bytes), &utf_16(wide_masked, u16::to_le_bytes)),
        (Some("text/csv"), &utf_16(wide, u16::to_be_bytes), &utf_16(wide_masked, u16::to_be_bytes)),
        (None, &utf_16(&marked, u16::to_be_bytes), &utf_16(&marked_masked, u16::to_be_bytes)),
        (None, binary, binary),
        (Some("image/png"), binary, binary),
    ] {
        for kind in ["document", "image"] {
            let with = |bytes: &[u8]| {
                let mut content = json!({"type": kind, "bytes": Value::from(bytes)});
                content.as_object_mut().unwrap().extend(mime_type.map(|name| ("mimeType".to_owned(), json!(name))));
                record(said(json!([content])))
            };
            let expected = if before == after { json(&with(after)) } else { reporting("card", json(&with(after))) };
            assert_eq!(json(&redact(&with(before), &CardNumbers).unwrap()), expected, "{mime_type:?}");
        }
    }
}

#[test]
fn card_number_as_a_json_number_becomes_a_string() {
    let with =
        |numbers: Json| record(said(json!([{"type": "toolCall", "id": "c", "name": "f", "arguments": numbers}])));
    for (before, after) in [
        (json!({"card": 4111111111111111_u64, "amount": 12.5}), json!({"card": "************1111", "amount": 12.5})),
        (json!({"$number": "6205500000000000004"}), json!("***************0004")),
        (json!([1, 4111111111111111_u64]), json!([1, "************1111"])),
        (json!(1744815823051_u64), json!(1744815823051_u64)),
    ] {
        let expected = if before == after { json(&with(after)) } else { reporting("card", json(&with(after))) };
        assert_eq!(json(&redact(&with(before), &CardNumbers).unwrap()), expected);
    }
}

#[test]
fn references_to_contents_are_kept() {
    let id = format!("sha256:{}abc4111111111111111", "a".repeat(45));
    let reference = json!({"type": "text", "contentId": id, "mimeType": "text/plain", "size": 7});
    let before = record(said(json!([reference, {"type": "document", "contentId": "4111111111111111"}])));
    assert!(redact(&before, &CardNumbers).unwrap() == before);
    let near = record(said(json!([{"type": "text", "contentId": format!("{id}0")}])));
    assert!(redact(&near, &CardNumbers).unwrap() == near);
    let not_one = record(said(json!([{"type": "text", "contentId": "sha256:4111111111111111"}])));
    assert!(redact(&not_one, &CardNumbers).unwrap() != not_one);
}

#[test]
fn card_number_across_texts_is_found() {
    for (before, after) in [
        (json!(["my card is 4111 1111", "1111 1111"]), vec!["my card is **** ****", "**** 1111"]),
        (json!(["my card is 4111 1111 ", " 1111 1111, please"]), vec!["my card is **** **** ", " **** 1111, please"]),
        (
            json!(["4111", "", "1111", {"type": "hologram"}, "11", "11", "1111"]),
            vec!["****", "", "****", "**", "**", "1111"],
        ),
        (json!(["12", "4111 1111 1111 1111", "27"]), vec!["12", "**** **** **** 1111", "27"]),
        (json!(["my card is 4111 1111", "and 1111 1111"]), vec!["my card is **** ****", "and **** 1111"]),
    ] {
        assert_eq!(texts(&redact(&record(said(before)), &CardNumbers).unwrap()), after);
    }
}

#[test]
fn redaction_across_two_texts_is_replaced_in_each() {
    let before = record(said(json!(["I am Nadia", "Okonjo, hello", "Nadia", "Okonjo"])));
    let redacted = redact(&before, &replacing(&[("Nadia Okonjo", "[name]")])).unwrap();
    assert_eq!(texts(&redacted), ["I am [name]", "[name], hello", "[name]", "[name]"]);
    let redacted = redact(&before, &replacing(&[("Nadia Okonjo", "")])).unwrap();
    assert_eq!(texts(&redacted), ["I am ", ", hello", "***", "***"]);
    let nothing =
        redact(&before, &|text: &str| Ok(vec![Redaction::new("x", 10..11, "x"), Redaction::new("y", 0..0, text)]));
    assert!(nothing.unwrap() == before);
}

/// A record of an assistant message with `bytes` bytes heard.
fn heard(contents: &[&str], bytes: usize) -> Record {
    let mut manager = MessagesManager::<PlainMessage>::new();
    let mut entry = manager.add_assistant(contents).unwrap();
    entry.set_heard(Heard::new(bytes, HeardSource::WordTiming)).unwrap();
    manager.records().pop().unwrap()
}

fn heard_texts(record: &Record) -> Vec<String> {
    record.heard_contents().texts().map(|text| text.as_str().to_owned()).collect()
}

#[test]
fn heard_part_ends_before_a_redaction_that_it_cuts() {
    let name = replacing(&[("Nadia", "[the name of the caller]"), ("is it", "")]);
    for (bytes, left) in [
        (0, vec![]),
        (7, vec!["I hear "]),
        (9, vec!["I hear "]),
        (12, vec!["I hear [the name of the caller]"]),
        (14, vec!["I hear [the name of the caller], "]),
        (15, vec!["I hear [the name of the caller], "]),
        (18, vec!["I hear [the name of the caller], "]),
        (19, vec!["I hear [the name of the caller], "]),
        (20, vec!["I hear [the name of the caller], ", "?"]),
    ] {
        let redacted = redact(&heard(&["I hear Nadia, is it", "?"], bytes), &name).unwrap();
        assert_eq!(heard_texts(&redacted), left, "{bytes}");
        assert_eq!(redacted.heard().unwrap().source(), HeardSource::WordTiming);
    }
    let redacted = redact(&heard(&["4111 1111", "1111 1111"], 11), &CardNumbers).unwrap();
    assert_eq!(
        (texts(&redacted), heard_texts(&redacted)),
        (vec!["**** ****", "**** 1111"], vec!["**** ****".to_owned()])
    );
}

#[test]
fn details_of_the_heard_part_are_kept() {
    let mut before = said(json!(["card 4111111111111111"]));
    before["message"]["role"] = json!("assistant");
    before["message"]["heard"] = json!({"contents": ["card "], "by": "estimate", "confidence": 0.5});
    let redacted = json(&redact(&record(before.clone()), &CardNumbers).unwrap());
    assert_eq!(redacted["message"]["heard"], before["message"]["heard"]);
}

#[test]
fn unchanged_texts_are_shared() {
    let before = record(serde_json::from_str(EVERYWHERE).unwrap());
    let after = redact(&before, &CardNumbers).unwrap();
    assert!(after == before);
    let addresses = |record: &Record| record.contents().texts().map(|text| text.as_ptr()).collect::<Vec<_>>();
    assert_eq!(addresses(&after), addresses(&before));
    // A redacted record still shares its unchanged texts.
    let redacted = redact(&before, &replacing(&[("is a secret", "-")])).unwrap();
    assert_eq!(addresses(&redacted)[1], addresses(&before)[1]);
    assert_ne!(addresses(&redacted)[0], addresses(&before)[0]);
}

type Find = Box<dyn Fn(&str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> + Send + Sync>;

#[test]
fn failing_redactor_refuses_the_record() {
    let id = "01JRZJ1675E4S7Y4ZD7RNWNXWB";
    let before = record(serde_json::from_str(EVERYWHERE).unwrap());
    // The redactor fails at each text in turn, so that none is stored unseen.
    let seen = std::sync::Mutex::new(0);
    let count = |_: &str| {
        *seen.lock().unwrap() += 1;
        Ok(Vec::new())
    };
    redact(&before, &count).unwrap();
    let texts_seen = *seen.lock().unwrap();
    assert!(texts_seen > 50, "{texts_seen}");
    let at = |place: usize, find: Find| {
        let seen = std::sync::atomic::AtomicUsize::new(0);
        move |text: &str| {
            let is_here = seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == place;
            if is_here { find(text) } else { Ok(Vec::new()) }
        }
    };
    for place in 0..texts_seen {
        let failed = redact(&before, &at(place, Box::new(|_| Err("no model".into())))).unwrap_err();
        assert_eq!(failed.source().unwrap().to_string(), "no model");
        let panicked = redact(&before, &at(place, Box::new(|_| panic!("on purpose")))).unwrap_err();
        assert!(panicked.to_string().contains("its redactor panicked"), "{panicked}");
        let length = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let seen = length.clone();
        let beyond = move |text: &str| {
            seen.store(text.len(), std::sync::atomic::Ordering::Relaxed);
            Ok(vec![Redaction::new("word", 0..text.len() + 1, "")])
        };
        let beyond = redact(&before, &at(place, Box::new(beyond))).unwrap_err();
        let length = length.load(std::sync::atomic::Ordering::Relaxed);
        let expected = format!("the range 0..{} for a text of {length} bytes", length + 1);
        assert!(beyond.to_string().contains(&expected), "{beyond}");
        for error in [failed, panicked, beyond] {
            let texts = [error.to_string(), format!("{error:?}")];
            assert!(texts.iter().all(|text| text.contains(id) && !text.contains("secret")), "{texts:?}");
        }
    }
}

#[test]
fn redaction_keeps_all_values_and_is_refused_if_it_changes_their_meaning() {
    let with = |key: &str, value: Json| {
        let mut json = said(json!(["hello"]));
        json[key] = value;
        record(json)
    };
    let same_keys = redact(&with("x", json!({"one": 1, "two": 2})), &replacing(&[("one", "-"), ("two", "-")]));
    let numbered = with("x", json!({"-": 1, "- (2)": 2}));
    assert_eq!(json(&same_keys.unwrap()), reporting("word", json(&numbered)));
    let kept = with("x", json!({"-": 0, "- (2)": 0, "a": 1, "b": 2, "c": 3}));
    let kept = redact(&kept, &replacing(&[("a", "-"), ("b", "-"), ("c", "-")]));
    let numbered = with("x", json!({"-": 0, "- (2)": 0, "- (3)": 1, "- (4)": 2, "- (5)": 3}));
    assert_eq!(json(&kept.unwrap())["x"], json(&numbered)["x"]);
    let swapped = redact(&with("x", json!({"one": 1, "two": 2})), &replacing(&[("one", "two"), ("two", "one")]));
    assert_eq!(json(&swapped.unwrap())["x"], json!({"two": 1, "one": 2}));

    let a_key = redact(&with("sequence", json!(4)), &replacing(&[("sequence", "seq")]));
    assert!(a_key.unwrap_err().to_string().contains("cannot be read back"));
    let an_attribute = with("metadata", json!({"timing": {"creation": 5}, "attribute": ["secret"]}));
    let an_attribute = redact(&an_attribute, &replacing(&[("secret", "fake")]));
    assert!(an_attribute.unwrap_err().to_string().contains("cannot be read back"));
    let a_type = redact(&record(said(json!([{"type": "hologram"}]))), &replacing(&[("type", "-")]));
    assert!(a_type.unwrap_err().to_string().contains("cannot be read back"));
}

/// The digits of a valid card number.
fn card() -> impl Strategy<Value = String> {
    let prefix = "4[0-9]{3}|5[0-9]{3}|6[0-9]{3}|3[0-9]{3}|2[2-7][0-9]{2}|8[12][0-9]{2}";
    (prefix, "[0-9]{8,14}").prop_filter_map("not issued", |(prefix, digits)| {
        (0..10).map(|check| format!("{prefix}{digits}{check}")).find(|card| is_card(card))
    })
}

/// The Luhn formula: from the right, every second digit is doubled.
fn luhn(digits: &str) -> bool {
    let value = |(place, c): (usize, char)| {
        let value = c.to_digit(10).unwrap() * if place % 2 == 1 { 2 } else { 1 };
        if value > 9 { value - 9 } else { value }
    };
    digits.chars().rev().enumerate().map(value).sum::<u32>() % 10 == 0
}

fn is_card(digits: &str) -> bool {
    let (length, prefix) = (digits.len(), digits.get(..4).map_or(0, |prefix| prefix.parse::<u32>().unwrap()));
    let is_issued = match prefix {
        1000..=1999 | 3400..=3499 | 3700..=3799 => length == 15,
        4000..=4999 => [13, 16, 19].contains(&length),
        2221..=2720 | 5100..=5599 | 8600 | 9792 | 9860 => length == 16,
        2200..=2205 | 3528..=3589 | 8100..=8299 => (16..=19).contains(&length),
        3000..=3059 | 3090..=3099 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&length),
        5000..=5099 | 5600..=6999 => (13..=19).contains(&length),
        _ => false,
    };
    is_issued && luhn(digits) && !digits.chars().all(|c| digits.starts_with(c))
}

/// Returns a record with the text of a card number at one of its places.
fn put(base: &Record, place: usize, text: &str, digits: &str, split: usize) -> Json {
    let mut json = json(base);
    let key: serde_json::Map<String, Json> = [(text.to_owned(), json!(null))].into_iter().collect();
    // A word in two pieces is not a word.
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let is_in_word = |at: usize| is_letter(text[..at].chars().next_back()) && is_letter(text[at..].chars().next());
    let mut splits = 0..=split.min(text.len());
    let (front, back) = text.split_at(splits.rfind(|at| text.is_char_boundary(*at) && !is_in_word(*at)).unwrap());
    let result = |content: Json| json!({"type": "toolResult", "toolCallId": "c", "name": "f", "content": content});
    let error = |error: Json| json!({"type": "toolResult", "toolCallId": "c", "name": "f", "error": error});
    let call = |arguments: Json| json!({"type": "toolCall", "id": "c", "name": "f", "arguments": arguments});
    let contents = [
        vec![json!(text)],
        vec![json!(front), json!(back)],
        vec![json!(front), json!({"type": "hologram"}), json!(back)],
        vec![json!({"type": "hologram", "a": [{"b": text}]})],
        vec![json!({"type": "hologram", "a": key})],
        vec![json!({"type": "image", "url": text})],
        vec![json!({"type": "image", "url": "u", "promptHint": text})],
        vec![json!({"type": "document", "url": "u", "title": text})],
        vec![json!({"type": "document", "url": "u", "new": text})],
        vec![call(json!([{"a": ["a", text]}]))],
        vec![call(json!([[[key]]]))],
        vec![call(json!({"a": digits.parse::<u64>().unwrap()}))],
        vec![call(json!([digits.parse::<u64>().unwrap()]))],
        vec![result(json!([text]))],
        vec![result(json!([{"type": "json", "json": {"a": [text]}}]))],
        vec![result(json!([{"type": "document", "url": "u", "title": text}]))],
        vec![error(json!({"message": text}))],
        vec![error(json!({"message": "failed", "type": text, "retryable": false}))],
    ];
    if let Some(contents) = contents.get(place) {
        let list = json["message"]["contents"].as_array_mut().unwrap();
        list.push(json!("between"));
        list.extend(contents.iter().cloned());
        return strategy::with_fitting_parts(json);
    }
    let levels = ["", "/message", "/metadata", "/metadata/timing", "/metadata/aux"];
    match levels.get(place - contents.len()) {
        Some(level) => {
            if json["metadata"]["aux"].is_null() {
                json["metadata"]["aux"] = json!({});
            }
            let level = json.pointer_mut(level).unwrap();
            level[text] = json!(1);
            level["new"] = json!([{"a": text}]);
        }
        None => json["metadata"]["attribute"] = json!(["merged", text]),
    }
    json
}
const PLACES: usize = 18 + 5 + 1;

/// Returns the JSON of a record without separators of digits and texts.
fn bare(record: &Record) -> String {
    json(record).to_string().chars().filter(|c| !" -.,/_\"".contains(*c)).collect()
}

/// Puts a card number into a record, and checks that no five of its digits remain.
fn check_masked(base: &Record, card: &str, text: &str, place: usize, split: usize) -> Result<(), TestCaseError> {
    let with_card = record(put(base, place, text, card, split));
    let redacted = redact(&with_card, &CardNumbers).unwrap();
    // Masking a value reorders a set, so other numbers become adjacent.
    let (left, noise) = (bare(&redacted), bare(base) + "|" + &bare(&redact(base, &CardNumbers).unwrap()));
    for five in 0..=card.len() - 5 {
        let digits = &card[five..five + 5];
        // The text around the card may contain some of its digits by chance, also together with the four that are kept.
        let said: String = text.chars().filter(char::is_ascii_digit).collect();
        let times = (0..said.len()).filter(|at| said.as_bytes()[*at..].starts_with(digits.as_bytes())).count();
        let chance = noise.contains(digits) || times > 1;
        prop_assert!(chance || !left.contains(digits), "{text} at {place}: {left}");
    }
    let identity = |record: &Record| (record.id(), record.position(), record.revision(), record.role());
    prop_assert_eq!(identity(&redacted), identity(&with_card));
    prop_assert!(redacted.metadata().timings().eq(with_card.metadata().timings()));
    prop_assert_eq!(redacted.contents().len(), with_card.contents().len());
    let again = redact(&redacted, &CardNumbers).unwrap();
    prop_assert!(again == redacted, "{} is not {}", json(&again), json(&redacted));
    Ok(())
}

#[test]
fn list_with_a_masked_number_leaves_the_card_beside_it_masked() {
    let mut base = said(json!([]));
    base["new"] = json!([7, 31, 4222222222222_u64]);
    let redacted = json(&redact(&record(base.clone()), &CardNumbers).unwrap());
    assert_eq!(redacted["new"], json!([7, 31, "*********2222"]));
    // "7", "31" and "2222" are adjacent to this card.
    let card = (0..10).map(|check| format!("223170000000000{check}")).find(|card| luhn(card)).unwrap();
    for place in 0..PLACES {
        check_masked(&record(base.clone()), &card, &card, place, 0).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn card_keeps_four_digits_in_any_place(
        base in strategy::record(),
        card in card(),
        groups in proptest::collection::vec((1..7usize, "|[ ./_-]|, | uh | and |, äh, |\u{202e}"), 1..8),
        before in "|\\PC{0,6}[a-z:/(]|[0-9]{1,6}[ ,-]",
        after in "|[a-z:/)]\\PC{0,6}|[ ,-][0-9]{1,6}",
        place in 0..PLACES,
        split in 0..40usize,
    ) {
        let mut text = before;
        let mut rest = card.as_str();
        for (length, gap) in groups {
            let (group, tail) = rest.split_at(length.min(rest.len()));
            text += group;
            if !tail.is_empty() {
                text += &gap;
            }
            rest = tail;
        }
        text = text + rest + &after;
        check_masked(&base, &card, &text, place, split)?;
    }

    #[test]
    fn every_valid_reading_is_redacted_and_no_other_text(text in "([0-9]{1,5}|[0-9]{13,16}|[ .-]|[ .-]|a){0,30}") {
        let before = record(said(json!(["x", text])));
        let redacted = redact(&before, &CardNumbers).unwrap();
        let left = texts(&redacted)[1];
        let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let edge = |at: usize| at == 0 || !is_digit(at - 1) || !is_digit(at);
        let mut found = false;
        for start in (0..text.len()).filter(|at| is_digit(*at) && edge(*at)) {
            let run = text[start..].bytes().take_while(|byte| b"0123456789 .-".contains(byte)).count();
            for end in (start + 1..=start + run).filter(|at| is_digit(at - 1) && edge(*at)) {
                let digits: Vec<usize> = (start..end).filter(|at| is_digit(*at)).collect();
                let number: String = digits.iter().map(|at| &text[*at..at + 1]).collect();
                if is_card(&number) {
                    found = true;
                    prop_assert!(digits[..digits.len() - 4].iter().all(|at| left.as_bytes()[*at] == b'*'), "{number}: {left}");
                }
            }
        }
        // Two numbers in a row have no edge between them.
        let is_short = text.bytes().filter(u8::is_ascii_digit).count() < 17;
        prop_assert!(found || left == text || !is_short, "{left}");
        prop_assert!(left.bytes().zip(text.bytes()).all(|(new, old)| new == old || new == b'*' && old.is_ascii_digit()));
        prop_assert_eq!(left.len(), text.len());
        prop_assert!(redact(&redacted, &CardNumbers).unwrap() == redacted, "{left}");
    }

    #[test]
    fn redactor_without_findings_changes_nothing(record in strategy::record()) {
        prop_assert!(redact(&record, &replacing(&[])).unwrap() == record);
    }

    #[test]
    fn redacted_heard_part_equals_the_redaction_of_the_heard_part(
        pieces in proptest::collection::vec("[abé ]{0,5}c", 1..4), bytes in 0..30usize,
    ) {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let before = heard(&pieces, bytes);
        let redacted = redact(&before, &replacing(&[("b", "<cut>"), ("é", "")])).unwrap();
        let expected: Vec<String> = heard_texts(&before).iter().map(|text| text.replace('b', "<cut>").replace('é', "")).collect();
        prop_assert_eq!(heard_texts(&redacted).concat(), expected.concat());
        prop_assert!(record(json(&redacted)) == redacted);
    }
}
