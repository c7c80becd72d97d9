//! [`Trace`]: the events of a call as JSON Lines, for programs.

use std::io::{self, Write};

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Number, Value as Json};
use verbale::bedrock::to_json;
use verbale::{MessageId, Record};

use crate::demo::happening::{Happening, Observer};
use crate::text::texts_of;

/// Writes a JSON object for each message, each summary, each write to the log, and the end of the call.
pub struct Trace<W>(pub W);

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Turn {
        window: Vec<Json>,
    },
    Summary {
        id: MessageId,
        #[serde(rename = "summaryIds")]
        summary_ids: &'a [MessageId],
        text: String,
    },
    Logged {
        records: &'a [Record],
    },
    End {
        records: Vec<Record>,
        items: Vec<Json>,
        restored_equal: bool,
    },
}

impl<W: Write> Observer for Trace<W> {
    fn observe(&mut self, happening: Happening<'_>) -> io::Result<()> {
        let line = match happening {
            Happening::Added { window, .. } => Line::Turn { window: window.iter().map(to_json).collect() },
            Happening::Summarized { summary, summary_ids, .. } => {
                Line::Summary { id: summary.id(), summary_ids, text: texts_of(summary) }
            }
            Happening::Logged(records) => Line::Logged { records },
            Happening::Ended(ended) => Line::End {
                records: ended.manager.records(),
                items: ended.items.iter().map(object).collect(),
                restored_equal: ended.restored_equal,
            },
            Happening::Begun { .. }
            | Happening::BrokenIn(_)
            | Happening::SummaryBegun { .. }
            | Happening::NotSummarized { .. } => return Ok(()),
        };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

fn object<'a>(entries: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>) -> Json {
    entries.into_iter().map(|(name, attribute)| (name.clone(), plain(attribute))).collect()
}

/// Returns an attribute as plain JSON: sets become lists, bytes base64. A number that a double cannot hold is rounded.
fn plain(attribute: &AttributeValue) -> Json {
    let base64 = |bytes: &aws_sdk_dynamodb::primitives::Blob| Json::String(STANDARD.encode(bytes));
    let number = |digits: &String| digits.parse::<Number>().map_or_else(|_| digits.as_str().into(), Json::Number);
    match attribute {
        AttributeValue::S(text) => text.as_str().into(),
        AttributeValue::N(digits) => number(digits),
        AttributeValue::Bool(bool) => (*bool).into(),
        AttributeValue::B(bytes) => base64(bytes),
        AttributeValue::L(list) => list.iter().map(plain).collect(),
        AttributeValue::M(map) => object(map),
        AttributeValue::Ss(texts) => texts.iter().map(String::as_str).collect(),
        AttributeValue::Ns(numbers) => numbers.iter().map(number).collect(),
        AttributeValue::Bs(binaries) => binaries.iter().map(base64).collect(),
        _ => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    use super::*;

    #[test]
    fn items_become_plain_json() {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let item: HashMap<String, AttributeValue> = [
            ("s", AttributeValue::S("\u{1b}".to_owned())),
            ("n", AttributeValue::N("-12.50".to_owned())),
            ("ms", AttributeValue::N("1744815823058".to_owned())),
            ("null", AttributeValue::Null(true)),
            ("b", AttributeValue::B(Blob::new("hi"))),
            ("l", AttributeValue::L(vec![AttributeValue::Bool(true)])),
            ("m", AttributeValue::M([("k".to_owned(), AttributeValue::N("1".to_owned()))].into())),
            ("ss", AttributeValue::Ss(texts(["a", "b"]))),
            ("ns", AttributeValue::Ns(texts(["1", "2"]))),
            ("bs", AttributeValue::Bs(vec![Blob::new("hi")])),
        ]
        .map(|(name, attribute)| (name.to_owned(), attribute))
        .into();
        let expected = json!({
            "s": "\u{1b}", "n": -12.5, "ms": 1_744_815_823_058_i64, "null": null, "b": "aGk=", "l": [true],
            "m": {"k": 1}, "ss": ["a", "b"], "ns": [1, 2], "bs": ["aGk="],
        });
        assert_eq!(object(&item), expected);
    }
}
