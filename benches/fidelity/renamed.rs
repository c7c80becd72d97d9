//! Renames the tools, fields and ids of recordings, to show that no rule of the memory knows their domain.
//!
//! Each word of a name becomes an invented one, and each id gets another format. The words of callers and assistant
//! stay, apart from ids. The history stays about as long: invented words have the length of the others, and results keep
//! the spaces of their JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::ser::{Formatter, Serializer};

use crate::recording::{Item, Recording};

/// The end of a field's name that has an id.
const ID_END: &str = "_ref";

/// Returns the recording with other names and ids.
pub fn renamed(recording: &Recording) -> Recording {
    let mut names = Names::default();
    let items = recording.items.iter().map(|item| match item {
        Item::Caller(text) => Item::Caller(names.ids(text)),
        Item::Assistant(text) => Item::Assistant(names.ids(text)),
        Item::Call { id, tool, arguments } => {
            Item::Call { id: id.clone(), tool: names.name(tool), arguments: names.json(arguments) }
        }
        Item::Result { id, text } => Item::Result { id: id.clone(), text: names.result(text) },
    });
    let items = items.collect();
    let acting: BTreeSet<String> = recording.acting.iter().map(|tool| names.name(tool)).collect();
    Recording { items, acting, id_end: ID_END, originals: names.0, ..recording.clone() }
}

/// The new names and ids, with the original ones.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    fn result(&mut self, text: &str) -> String {
        match serde_json::from_str::<Json>(text) {
            Ok(value) if value.is_object() || value.is_array() => with_spaces(&self.json(&value)),
            _ => self.ids(text),
        }
    }

    fn json(&mut self, value: &Json) -> Json {
        match value {
            Json::String(text) => self.ids(text).into(),
            Json::Array(values) => values.iter().map(|value| self.json(value)).collect(),
            Json::Object(fields) => {
                let mut key = |key: &str| if ID.is_match(key) { self.ids(key) } else { self.name(key) };
                let keys: Vec<String> = fields.keys().map(|field| key(field)).collect();
                let values = fields.values().map(|value| self.json(value));
                Json::Object(keys.into_iter().zip(values).collect())
            }
            other => other.clone(),
        }
    }

    /// Gives each id of a text another format.
    fn ids(&mut self, text: &str) -> String {
        let new = |found: &Captures<'_>| {
            let new = other_format(&found[0]);
            self.0.insert(new.clone(), found[0].to_owned());
            new
        };
        ID.replace_all(text, new).into_owned()
    }

    /// Gives each word of a name an invented one.
    fn name(&mut self, name: &str) -> String {
        let words = name.split('_').map(|word| match word {
            "id" => "ref".to_owned(),
            word => invented(word),
        });
        let new = words.collect::<Vec<_>>().join("_");
        self.0.insert(new.clone(), name.to_owned());
        new
    }
}

/// Writes JSON with spaces, as in the recordings.
fn with_spaces(value: &Json) -> String {
    let mut written = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut written, Spaces)).unwrap();
    String::from_utf8(written).unwrap()
}

struct Spaces;

impl Formatter for Spaces {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Two words or more with a number, or letters and digits in one word.
static ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:[a-z]+(?:_[a-z]+)+_\d{3,}|[a-z]+_\d{4,}|[A-Z]{3}\d{3}|[A-Z0-9]{6})\b").unwrap()
});

fn other_format(id: &str) -> String {
    let has = |is: fn(char) -> bool| id.chars().any(is);
    if !has(|c| c.is_ascii_digit()) || !has(|c| c.is_ascii_alphabetic()) {
        return id.to_owned();
    }
    let hash = hash(&id.to_uppercase());
    let letter = |place: u32| char::from(b'A' + ((hash >> (8 * place)) % 26) as u8);
    match id.len() {
        6 if id.chars().skip(3).all(|c| c.is_ascii_digit()) => format!("{}{}", 1_000 + hash % 9_000, letter(3)),
        6 => format!("{}-{}{}{}", 1_000 + hash % 9_000, letter(3), letter(4), letter(5)),
        _ => format!("{}{}-{}", letter(3), letter(4), 100_000 + hash % 900_000),
    }
}

/// The shortest invented word. Of shorter ones there are too few.
const SHORTEST: usize = 4;

fn invented(word: &str) -> String {
    let mut rest = hash(word);
    let next = |letters: &str| {
        let letter = letters.as_bytes()[(rest % letters.len() as u64) as usize];
        rest /= letters.len() as u64;
        char::from(letter)
    };
    let letters = ["bdfgklmnprstvz", "aeiou"].into_iter().cycle();
    letters.take(word.len().max(SHORTEST)).map(next).collect()
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
