//! Long texts as zstd frames.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::AttributeError;
use crate::dynamodb::{Item, zstd};

/// The only key of a map that represents a text.
pub(super) const ZSTD: &str = "$zstd";

/// Shorter texts stay plain, because an operator reads them in the table. `docs/decisions/33-short-records.md` has the
/// reason for the number.
const LONG_BYTES: usize = 512;
/// The maximum size of a compressed text, in bytes before compression, so that no put blocks its thread for long. A frame
/// of a larger text is malicious.
const MOST_BYTES: usize = 1 << 20;

/// The form of the long texts in new items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dynamodb) enum Texts {
    Plain,
    Compressed,
}

/// Compresses a message's own long texts and those of tool results, if this makes them smaller by an eighth at least.
///
/// `attributes` are those of a record. [`json_of`](super::json_of) reads both forms.
pub(in crate::dynamodb) fn compress_texts(attributes: &mut Item) {
    let Some(AttributeValue::L(contents)) = attributes.get_mut("contents") else { return };
    for content in contents {
        match content {
            AttributeValue::M(content) => {
                if let Some(AttributeValue::L(results)) = content.get_mut("content") {
                    results.iter_mut().for_each(compress);
                }
            }
            text => compress(text),
        }
    }
}

fn compress(attribute: &mut AttributeValue) {
    let AttributeValue::S(text) = attribute else { return };
    if !(LONG_BYTES..=MOST_BYTES).contains(&text.len()) {
        return;
    }
    let most = text.len() - text.len() / 8;
    if let Some(frame) = zstd::compressed(text.as_bytes()).filter(|frame| frame.len() <= most) {
        *attribute = AttributeValue::M(HashMap::from([(ZSTD.to_owned(), AttributeValue::B(Blob::new(frame)))]));
    }
}

/// Returns the text of a frame.
pub(super) fn text_of(frame: &[u8]) -> Result<String, AttributeError> {
    let text = zstd::decompressed(frame, MOST_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| AttributeError::new("a compressed text is damaged"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Form, LEVELS, image, json_of};
    use super::*;

    fn attributes(contents: serde_json::Value) -> Item {
        [("contents".to_owned(), image(contents, LEVELS, Form::Tagged).unwrap())].into()
    }

    #[test]
    fn long_texts_are_compressed_and_read_back() {
        let long = "Your reservation is confirmed. ".repeat(20);
        let contents = json!([
            long, "short", {"type": "text", "text": long},
            {"type": "toolResult", "toolCallId": "c", "name": "f", "content": [long, {"type": "json", "json": {"a": long}}]},
        ]);
        let mut item = attributes(contents.clone());
        compress_texts(&mut item);
        let stored = item["contents"].as_l().unwrap();
        let is_frame = |attribute: &AttributeValue| attribute.as_m().is_ok_and(|map| map.contains_key(ZSTD));
        let results = stored[3].as_m().unwrap()["content"].as_l().unwrap();
        let compressed = [&stored[0], &stored[1], &stored[2], &results[0], &results[1]].map(is_frame);
        assert_eq!(compressed, [true, false, false, true, false]);
        assert_eq!(json_of(item["contents"].clone()).unwrap(), contents);
        let mut twice = item.clone();
        compress_texts(&mut twice);
        assert_eq!(twice, item);
    }

    #[test]
    fn texts_that_are_read_in_the_table_or_could_not_be_read_back_stay_plain() {
        for (bytes, is_compressed) in [(511, false), (512, true), (MOST_BYTES, true), (MOST_BYTES + 1, false)] {
            let mut attribute = AttributeValue::S("a".repeat(bytes));
            compress(&mut attribute);
            assert_eq!(attribute.is_m(), is_compressed, "{bytes}");
            if let AttributeValue::M(map) = &attribute {
                assert_eq!(text_of(map[ZSTD].as_b().unwrap().as_ref()).unwrap().len(), bytes);
            }
        }
    }

    #[test]
    fn data_that_looks_like_a_frame_stays_data() {
        let data = json!({"$zstd": {"$bytes": "aGk="}});
        for form in [Form::Plain, Form::Tagged] {
            // A tagged value has to be wrapped, because it is a map with one key that is a tag.
            let json = if form == Form::Plain { data.clone() } else { json!({"$map": data}) };
            assert_eq!(json_of(image(json.clone(), LEVELS, form).unwrap()).unwrap(), json);
        }
    }

    #[test]
    fn damaged_frame_is_an_error_without_words() {
        for frame in [&b"my pin is 4711"[..], &[]] {
            assert_eq!(text_of(frame), Err(AttributeError::new("a compressed text is damaged")));
        }
    }
}
