//! Reading JSON: as `serde_json` reads it, but for what that loses.

use proptest::prelude::*;

use super::*;
use crate::exchange::value;
use crate::exchange::writer::{Fidelity, Writer};
use crate::message::{MessageError, Value};

fn read(text: &str) -> Result<Value, ExchangeError> {
    let budget = Budget::of(text.len());
    let mut reader = Reader::new(text, 1, &budget);
    let value = value::read(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn written(value: &Value) -> String {
    let mut writer = Writer::default();
    assert_eq!(writer.value(value), Fidelity::Exact);
    writer.into_text()
}

fn problem(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, told) in [
        ("", "$ (line 1, column 1): this is not JSON: a value belongs here"),
        (
            "[1,\n {\"a\": tru}]",
            "$[1] (line 2, column 11): this is not JSON: the rest of true, false or null belongs here",
        ),
        ("[\"é\", 01]", "$[1] (line 1, column 8): this is not JSON: a number without a 0 in front belongs here"),
        ("[1 2]", "$ (line 1, column 4): this is not JSON: a comma, or the end of a list or object belongs here"),
        (r#"{"a":1,"a":2}"#, "$ (line 1, column 14): a key stands twice in one object"),
        (r#"{"a":1,}"#, "$ (line 1, column 8): this is not JSON: a key belongs here"),
        (r#"["\ud83d"]"#, "$[0] (line 1, column 9): this is not JSON: another escape belongs here"),
        ("[] []", "$ (line 1, column 4): this is not JSON: the end of the text belongs here"),
    ] {
        assert_eq!(problem(text), told, "{text}");
    }
}

#[test]
fn a_depth_bomb_is_an_error() {
    for open in ["[", "{\"a\":"] {
        let bomb = open.repeat(1_000_000);
        assert_eq!(*read(&bomb).unwrap_err().problem(), Problem::TooDeep { max: 128 });
    }
    let deep = format!("{}{}", "[".repeat(33), "]".repeat(33));
    assert_eq!(*read(&deep).unwrap_err().problem(), Problem::Content(MessageError::TooDeep));
}

#[test]
fn a_number_is_what_it_is_or_an_error() {
    for (written_as, kept) in
        [("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"), ("1.50", "1.5")]
    {
        assert_eq!(written(&read(written_as).unwrap()), kept);
    }
    let digits = "9".repeat(400);
    assert_eq!(*read(&digits).unwrap_err().problem(), Problem::Content(MessageError::TooManyDigits { digits: 400 }));
    assert_eq!(*read("1e999999999999").unwrap_err().problem(), Problem::Content(MessageError::NumberOutOfRange));
}

#[test]
fn dense_values_are_refused_and_a_few_are_not() {
    assert!(read(&format!("[{}0]", "0,".repeat(1_000))).is_ok());
    assert_eq!(*read(&format!("[{}0]", "0,".repeat(100_000))).unwrap_err().problem(), Problem::TooDense);
    assert_eq!(*read(&format!("[{}0]", r#"{"":0},"#.repeat(100_000))).unwrap_err().problem(), Problem::TooDense);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e30..1e30_f64).prop_map(Into::into),
        "\\PC{0,8}|[\\x00-\\x22\\\\]{0,4}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map("[a-c\"\\\\é\n]{0,3}", inner, 0..6)
                .prop_map(|entries| entries.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(json in json()) {
        let value = Value::try_from(json.clone()).unwrap();
        prop_assert!(read(&json.to_string()).unwrap() == value);
        prop_assert!(read(&serde_json::to_string_pretty(&json).unwrap()).unwrap() == value);
        let plain = written(&value);
        prop_assert!(read(&plain).unwrap() == value);
        prop_assert!(Value::try_from(serde_json::from_str::<serde_json::Value>(&plain).unwrap()).unwrap() == value);
    }

    #[test]
    fn refuses_what_serde_json_refuses(text in r#"([\[\]{},: 019.eE+\-"\\]|true|false|null|\\u|d83d|\\ud83d|\\udc00|"a":|[a\t]){0,12}"#) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match (read(&text).map_err(|error| error.problem().clone()), theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert!(Value::try_from(theirs).is_ok_and(|theirs| theirs == ours), "{}", text),
            (Err(Problem::Content(_) | Problem::RepeatedKey), _) => {}
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) if error.to_string().contains("out of range") => {}
            (ours, theirs) => prop_assert!(false, "{} {:?} {:?}", text, ours, theirs),
        }
    }
}
