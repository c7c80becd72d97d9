//! The lexer accepts what `serde_json` accepts, and reads what it reads.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// All of `text`, token by token.
fn read(text: &str) -> Result<Value, Problem> {
    let mut lexer = Lexer::new(text);
    let value = read_value(&mut lexer)?;
    lexer.end()?;
    Ok(value)
}

fn read_value(lexer: &mut Lexer<'_>) -> Result<Value, Problem> {
    let mut at_end = lexer.clone();
    let skipped = at_end.skip();
    let value = match lexer.kind()? {
        Kind::Null => lexer.null().map(|()| Value::Null)?,
        Kind::Bool => lexer.bool()?.into(),
        Kind::Number => {
            let written = lexer.number()?;
            serde_json::from_str(written).map_err(|_| MessageError::NumberOutOfRange)?
        }
        Kind::String => said(lexer.string()?).into(),
        Kind::List => {
            let mut items = Vec::new();
            lexer.open()?;
            let mut more = lexer.first(b']')?;
            while more {
                items.push(read_value(lexer)?);
                more = lexer.next(b']')?;
            }
            lexer.close();
            items.into()
        }
        Kind::Object => {
            let mut entries = serde_json::Map::new();
            lexer.open()?;
            let mut more = lexer.first(b'}')?;
            while more {
                entries.insert(said(lexer.key()?), read_value(lexer)?);
                more = lexer.next(b'}')?;
            }
            lexer.close();
            entries.into()
        }
    };
    assert_eq!((skipped, at_end.position()), (Ok(()), lexer.position()));
    Ok(value)
}

fn said(quoted: Quoted<'_>) -> String {
    let said = quoted.unescaped();
    assert_eq!(quoted.is_escaped(), matches!(said, Cow::Owned(_)));
    assert!(if quoted.is_escaped() { said.len() < quoted.len() } else { said.len() == quoted.len() });
    assert!(quoted.is(&said) && !quoted.is(&format!("{said}x")) && !quoted.is("another"));
    said.into_owned()
}

fn skip(text: &str) -> Result<(), Problem> {
    let mut lexer = Lexer::new(text);
    lexer.skip()?;
    lexer.end()
}

/// Both accept `text` and read the same, or neither does.
fn check(text: &str) {
    match serde_json::from_str::<Value>(text) {
        Ok(theirs) => {
            assert_eq!(skip(text), Ok(()), "{text}");
            assert_eq!(read(text), Ok(theirs), "{text}");
        }
        // It does not look at what is behind.
        Err(error) if error.to_string().starts_with("number out of range") => {}
        Err(error) => {
            assert!(skip(text).is_err(), "{error}: {text}");
            assert!(read(text).is_err(), "{error}: {text}");
        }
    }
}

#[test]
fn the_edges_of_json_are_where_serde_json_has_them() {
    for text in ["", " ", "\u{feff}1", "\u{a0}1", "\u{c}1", " \t\r\n1\n", "1 2"] {
        check(text);
    }
    let words = "null nul nulls truefalse True /**/1 'a' NaN -NaN Infinity -Infinity inf";
    let numbers = "0 -0 - +1 01 -01 00 1. .5 1.e1 1e 1e+ 1E-07 0e0 0.0e1 1..2 0x1 1_0 1e400 １ 18446744073709551616 \
        -9223372036854775809 0.1234567890123456789012345678901234567890";
    let nested = r#"[ ] [] [[]] [,] [1,] [1,,2] [1} [1:2] [][] { } {} {] {,} {1:2} {a:1} {null:1} {"a"} {"a":} {"a":1,}
        {"a":1] {"a":1,] {"a":1:"b"} {"a"::1} {"a"1} {"a":1"b":2} {"a":1,"a":2} {"a":[1,} {":":":"} {"a"::"b"}"#;
    for text in [words, numbers, nested].into_iter().flat_map(str::split_whitespace) {
        check(text);
        check(&format!("[{text}]"));
        check(&format!("[{text} , {text}]"));
        check(&format!("{{\"a\":{text}}}"));
    }
    let escapes = r#"\ \\ \" \/ \b\f\n\r\t \a \' \x41 \é \u \u00 \u00e9 \u00E9 \U00e9 \u00g9 \u00é \u+0e9 \u0000 \uffff
        \ud83d \ude00 \ud83d\ude00 \uD83D\uDE00 \ude00\ud83d \ud83d\ud83d \ud83d\n \ud83dé \ud83d\u00e9
        \ud83dxude00 \udbff\udfff"#;
    let plain = ["", "a", "é", "😀", "\0", "\t", "\n", "\u{1f}", "\u{7f}", "\u{2028}"];
    for string in escapes.split_whitespace().chain(plain) {
        for in_front in [0, 13, 14, 15, 16, 17, 40] {
            let string = format!("{}{string}", "x".repeat(in_front));
            check(&format!("\"{string}"));
            check(&format!("\"{string}\""));
            check(&format!("{{\"{string}\" \n: \"{string}\"}}"));
        }
    }
}

#[test]
fn what_json_has_no_numbers_for_is_no_value() {
    for text in ["NaN", "Infinity", "+1", ".5"] {
        assert_eq!(Lexer::new(text).kind(), Err(Problem::NotJson { expected: "a value" }));
    }
}

#[test]
fn nests_as_deep_as_it_may_and_skips_what_is_deeper() {
    let nested = |open: &str, close: &str, depth: usize| format!("{}0{}", open.repeat(depth), close.repeat(depth));
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        check(&nested(open, close, 127));
        assert!(read(&nested(open, close, 128)).is_ok());
        assert!(skip(&nested(open, close, 200)).is_ok());
        assert_eq!(read(&nested(open, close, 129)), Err(Problem::TooDeep { max: MAX_NESTING }));
        assert_eq!(skip(&nested(open, close, 100_000)), Err(Problem::TooDeep { max: MAX_NESTING }));
    }
}

#[test]
fn a_number_is_given_as_it_is_written_up_to_4300_digits() {
    let long = "9".repeat(4_300);
    let precise = format!("-0.{}e-{}", "1".repeat(5_000), "2".repeat(5_000));
    for written in [long.as_str(), &precise, "1.50", "-0", "1E+007", "18446744073709551616"] {
        let text = format!(" {written} ");
        let mut lexer = Lexer::new(&text);
        assert_eq!((lexer.kind(), lexer.number(), lexer.end()), (Ok(Kind::Number), Ok(written), Ok(())));
    }
    let longer = format!("{long}0");
    assert_eq!(Lexer::new(&longer).number(), Err(MessageError::NumberOutOfRange.into()));
    assert_eq!(skip(&longer), Err(MessageError::NumberOutOfRange.into()));
}

#[test]
fn a_string_without_escapes_is_not_copied() {
    let text = r#"{"kéy" : "vàlue"}"#;
    let mut lexer = Lexer::new(text);
    assert_eq!(lexer.first(b'}'), Ok(true));
    for said in [lexer.key().unwrap(), lexer.string().unwrap()] {
        let Cow::Borrowed(said) = said.unescaped() else { panic!("copied") };
        assert!(text.as_bytes().as_ptr_range().contains(&said.as_ptr()));
    }
    assert_eq!(lexer.next(b'}'), Ok(false));
}

#[test]
fn what_an_escaped_string_says_takes_no_more_than_the_string() {
    for escape in [r"\n", r"\u0041", r"\u00e9", r"\ud83d\ude00", r"x\/"] {
        let text = format!("\"{}\"", escape.repeat(10_000));
        let quoted = Lexer::new(&text).string().unwrap();
        said(quoted);
        let Cow::Owned(copy) = quoted.unescaped() else { panic!("borrowed") };
        assert_eq!(copy.capacity(), quoted.len());
    }
}

fn edited(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0..3_usize, piece());
    (text, prop::collection::vec(edit, 0..3)).prop_map(|(text, edits)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, taken, piece) in edits {
            let at = at.index(chars.len() + 1);
            let end = chars.len().min(at + taken);
            chars.splice(at..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

/// Pieces of JSON, and of what is none.
fn piece() -> impl Strategy<Value = &'static str> {
    const PIECES: &str =
        r#"[ ] { } , : " \ 0 1 - + . e E5 null true false NaN "a" "a": \u \ud83d \ude00 \u00e9 \n \x é 😀"#;
    const OTHERS: [&str; 9] = ["", " ", "\n", "\t", "\0", "\u{b}", "\u{1f}", "\u{85}", "\u{feff}"];
    let long = "more than a vector of bytes holds, é";
    prop::sample::select(PIECES.split(' ').chain(OTHERS).chain([long]).collect::<Vec<_>>())
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

/// JSON with white space and escapes wherever they may stand.
fn json() -> impl Strategy<Value = String> {
    let string = || r#""([ -!#-\[\]-~]|é|😀|\\["\\/bfnrt]|\\u[0-9a-cefA-CEF][0-9a-fA-F]{3}|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}){0,40}""#;
    let leaf =
        prop_oneof!["null|true|false", r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?", string()];
    let white = || "[ \t\r\n]{0,2}";
    let padded = move |text: BoxedStrategy<String>| (white(), text, white()).prop_map(|(a, b, c)| a + &b + &c).boxed();
    leaf.boxed().prop_recursive(5, 32, 5, move |inner| {
        let entry = (padded(string().boxed()), padded(inner.clone())).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(padded(inner), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(","))),
        ]
    })
}

/// As a provider's log has it.
const REAL: &str = r#"{"model": "gpt-4o", "temperature": 0.20, "messages": [
  {"role": "system", "content": "You are the \"desk\" of an airline.\n\n- Fares: \u20ac 12\/kg \u2013 no refunds"},
  {"role": "user", "content": [{"type": "text", "text": "Grüße! 😀 \ud83d\ude00 C:\\Users\tMia"}], "name": null},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function":
    {"name": "book", "arguments": "{\"flights\":[{\"number\":\"HAT001\",\"price\":-1.5e+2}],\"bags\":0,\"insured\":true}"}}]},
  {"role": "tool", "tool_call_id": "call_1", "content": "", "usage": {"in": 18446744073709551615, "out": [], "cost": {}}}
]}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pieces_of_json_are_what_serde_json_says(text in soup()) {
        check(&text);
    }
}

proptest! {
    #[test]
    fn json_is_what_serde_json_says(text in json()) {
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        check(&text);
    }

    #[test]
    fn edited_json_is_what_serde_json_says(text in edited(json())) {
        check(&text);
    }

    #[test]
    fn edited_real_json_is_what_serde_json_says(text in edited(Just(REAL.to_owned())), kept in 0..=REAL.len() * 4) {
        check(&text);
        check(&text[..text.floor_char_boundary(kept)]);
    }
}
