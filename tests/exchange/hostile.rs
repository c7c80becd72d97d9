//! Any text becomes a valid conversation or an error that quotes nothing.

use std::collections::HashSet;
use std::error::Error;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::exchange::window_anthropic;
use verbale::message::is_blank;
use verbale::{Content, Contents, Heard, HeardSource, Message, MessageWrapper, MessagesManager, PlainMessage, Role};

use crate::airline;
use crate::formats::{self, Format, Manager, said};

/// A word of the texts that no error may contain.
const MARKER: &str = "zebracrossing";

fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(cases), failure_persistence: None, ..config }
}

/// Imports a text and checks the conversation or the error.
fn check(format: &Format, text: &[u8]) {
    match (format.import)(text) {
        Err(error) => assert_quotes_nothing(&error, format.name),
        Ok(manager) => assert_valid(format, &manager),
    }
}

fn check_all(text: &[u8]) {
    formats::ALL.iter().for_each(|format| check(format, text));
}

fn assert_quotes_nothing(error: &(dyn Error + 'static), format: &str) {
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(MARKER) && shown.is_ascii() && shown.len() < 1_000, "{format}: {shown}");
    if let Some(source) = error.source() {
        assert_quotes_nothing(source, format);
    }
}

/// Merges neighbours of one role, because some formats have no consecutive messages of one role.
fn merged(said: Vec<(Role, Contents)>) -> Vec<(Role, Contents)> {
    let mut merged: Vec<(Role, Contents)> = Vec::new();
    for (role, contents) in said {
        match merged.last_mut() {
            Some((last, before)) if *last == role && role.is_spoken() => before.extend(contents),
            _ => merged.push((role, contents)),
        }
    }
    merged
}

fn assert_valid(format: &Format, manager: &Manager) {
    let window: Vec<Message> = manager.messages().map(|message| message.message().clone()).collect();
    let mut asked = HashSet::new();
    for (index, message) in window.iter().enumerate() {
        assert_eq!(message.role(), if index % 2 == 0 { Role::User } else { Role::Assistant }, "{window:?}");
        assert!(
            !message.contents().is_empty()
                && !message.contents().iter().filter_map(Content::as_text).any(|text| is_blank(text)),
            "{window:?}"
        );
        let results = message.contents().iter().filter_map(Content::as_result);
        let answered: HashSet<_> = results.map(|result| result.tool_call_id().clone()).collect();
        assert_eq!(answered, asked, "{window:?}");
        let calls = message.contents().iter().filter_map(Content::as_tool_call);
        asked = calls.map(|call| call.id().clone()).collect();
    }
    assert!(asked.is_empty(), "{window:?}");
    let restored = MessagesManager::<PlainMessage>::restore(manager.records()).unwrap();
    assert!(restored == *manager && restored.messages().eq(manager.messages()), "{window:?}");
    if let Some(text) = (format.export)(manager) {
        let again = (format.import)(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}\n{text}", format.name));
        assert!(merged(said(&again)) == merged(said(manager)), "{}: {text}", format.name);
        assert!((format.export)(&again) == Some(text), "{}", format.name);
    }
}

/// Real conversations in each format, by the index of the format.
static REAL: LazyLock<Vec<(usize, Vec<u8>)>> = LazyLock::new(|| {
    let recordings = airline::recordings();
    let mut texts: Vec<String> = recordings.into_iter().step_by(5).map(|(_, text)| text).collect();
    texts.insert(0, SPOKEN.to_owned());
    texts.push(SMALL.to_owned());
    let with_marker = texts.iter().map(|text| text.replace("flight", MARKER));
    let managers: Vec<Manager> = with_marker.map(|text| airline::import(&text)).collect();
    let written = |format: &Format, manager: &Manager| match format.name {
        "anthropic" => Some(window_anthropic(manager).text),
        _ => (format.export)(manager),
    };
    let all = formats::ALL.iter().enumerate();
    all.flat_map(|(index, format)| managers.iter().filter_map(move |m| Some((index, written(format, m)?.into_bytes()))))
        .collect()
});

/// A conversation for formats without tools and instructions.
const SPOKEN: &str = r#"[{"role":"user","content":[{"type":"text","text":"flight"},
    {"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},{"role":"assistant","content":"flight"},
    {"role":"user","content":"flight"},{"role":"assistant","content":"flight"}]"#;

const SMALL: &str = r#"[{"role":"system","content":"flight"},{"role":"user","content":[{"type":"text","text":"flight"},
    {"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},{"role":"assistant","content":"flight",
    "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"flight\":[1,2.5,\"flight\"]}"}},
    {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":
    "flight"},{"role":"tool","tool_call_id":"b","content":"flight"},{"role":"assistant","content":"flight"}]"#;

#[derive(Debug, Clone)]
enum Damage {
    Cut(Index),
    Flip(Index, u8),
    Repeat(Index, Index),
    Swap(Index, Index, usize),
    Remove(Index, usize),
    Insert(Index, &'static str, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    let words: Vec<&'static str> = vec![
        "[",
        "{\"a\":",
        "]",
        "}",
        "9",
        "1e",
        "\"",
        "\\u",
        "\\\"",
        "null",
        ",",
        "-",
        "\u{0}",
        "é",
        "{}",
        "[]",
        "\"a\":",
        "\"role\":\"tool\",",
        "\"type\":\"text\",",
        "\"content\":null,",
        "\"zebracrossing\":\"zebracrossing\",",
        "true",
    ];
    prop_oneof![
        1 => at().prop_map(Damage::Cut),
        4 => (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        2 => (at(), at(), 1..200_usize).prop_map(|(one, other, length)| Damage::Swap(one, other, length)),
        2 => (at(), 1..100_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        3 => (at(), prop::sample::select(words), prop_oneof![4 => Just(1_usize), 1 => 1..500_usize, 1 => Just(100_000)])
            .prop_map(|(at, word, times)| Damage::Insert(at, word, times)),
    ]
}

impl Damage {
    fn apply(&self, text: &mut Vec<u8>) {
        let length = text.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Cut(at) => text.truncate(at.index(length)),
            Self::Flip(at, bit) => text[at.index(length)] ^= 1 << bit,
            Self::Repeat(from, to) => {
                let (from, to) = (from.index(length).min(to.index(length)), from.index(length).max(to.index(length)));
                let span = text[from..to].to_vec();
                text.splice(to..to, span);
            }
            Self::Swap(one, other, span) => {
                let (one, other) = (one.index(length), other.index(length));
                let fits = one.abs_diff(other).min(length - one.max(other)).min(*span);
                (0..fits).for_each(|by| text.swap(one + by, other + by));
            }
            Self::Remove(at, span) => {
                let at = at.index(length);
                drop(text.drain(at..(at + span).min(length)));
            }
            Self::Insert(at, word, times) => {
                let at = at.index(length);
                drop(text.splice(at..at, word.repeat(*times).into_bytes()));
            }
        }
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn random_bytes_are_safe(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check_all(&text);
    }

    #[test]
    fn random_text_is_safe(text in r#"([\[\]{},:0-9.eE"\\-]|\PC|true|null|\{"role":"user","content":"|"\},|\{"version":"1.0",)*"#) {
        check_all(text.as_bytes());
    }

    #[test]
    fn damaged_recordings_are_safe(base in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let (format, text) = &REAL[base.index(REAL.len())];
        let mut text = text.clone();
        damages.iter().for_each(|damage| damage.apply(&mut text));
        check(&formats::ALL[*format], &text);
    }

    #[test]
    fn shuffled_messages_are_safe(picks in prop::collection::vec((any::<Index>(), any::<Index>()), 0..12)) {
        // Shuffling one recording per format yields early, repeated and missing calls and results.
        for (index, format) in formats::ALL.iter().enumerate() {
            let (_, text) = REAL.iter().rfind(|(of, _)| *of == index).unwrap();
            check(format, &shuffled(text, &picks));
        }
    }
}

/// Returns the text with messages or lines moved and repeated.
fn shuffled(text: &[u8], picks: &[(Index, Index)]) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    let Ok(mut json) = serde_json::from_str::<serde_json::Value>(text) else {
        let mut lines: Vec<&str> = text.lines().collect();
        for (from, to) in picks {
            let line = lines[from.index(lines.len())];
            lines.insert(to.index(lines.len()), line);
        }
        return lines.join("\n").into_bytes();
    };
    if let Some(messages) = longest_list(&mut json) {
        for (from, to) in picks {
            let message = messages[from.index(messages.len())].clone();
            if to.index(2) == 0 {
                messages.insert(to.index(messages.len()), message);
            } else {
                let (from, to) = (from.index(messages.len()), to.index(messages.len()));
                messages.swap(from, to);
            }
        }
    }
    json.to_string().into_bytes()
}

fn longest_list(json: &mut serde_json::Value) -> Option<&mut Vec<serde_json::Value>> {
    match json {
        serde_json::Value::Array(items) => Some(items),
        serde_json::Value::Object(entries) => {
            entries.values_mut().filter_map(serde_json::Value::as_array_mut).max_by_key(|items| items.len())
        }
        _ => None,
    }
}

#[test]
fn deep_nesting_and_huge_numbers_are_safe() {
    for open in ["[", "{\"a\":", "{\"messages\":[", "[{\"content\":", "{\"messages\":{\"role\":"] {
        check_all(open.repeat(200_000).as_bytes());
        check_all(format!("{}{}", open.repeat(100), "]}".repeat(100)).as_bytes());
    }
    for number in [&"9".repeat(400), "1e400", "-1e-400", "1e99999999999999999999", &format!("0.{}1", "0".repeat(400))] {
        check_all(number.as_bytes());
        for (format, text) in REAL.iter() {
            let text = String::from_utf8(text.clone()).unwrap().replace("2.5", number);
            check(&formats::ALL[*format], text.as_bytes());
        }
    }
}

#[test]
fn empty_texts_are_safe() {
    for text in ["", " ", "[]", "{}", "null", "{\"messages\":[]}", "\u{feff}[]", "\n\n"] {
        check_all(text.as_bytes());
    }
}

/// The heard part of a text can be its first space.
#[test]
fn blank_prefix_is_not_written() {
    let mut manager = formats::manager();
    manager.add_user("Hello?").unwrap();
    let answer = manager.add_assistant(" Hi.").unwrap().id();
    manager.entry(&answer).unwrap().set_heard(Heard::new(1, HeardSource::Estimate)).unwrap();
    for format in formats::ALL {
        let Some(text) = (format.export)(&manager) else { continue };
        let back = (format.import)(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}\n{text}", format.name));
        assert_eq!(said(&back), [(Role::User, "Hello?".into())], "{}", format.name);
    }
}
