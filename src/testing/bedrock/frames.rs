//! The frames of a stream, `application/vnd.amazon.eventstream`, and what is in them.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::exception::BedrockException;
use super::reply::{Block, ScriptedReply};

/// Bytes of a piece of a tool's input.
const INPUT_PIECE_BYTES: usize = 12;

/// The frames of an answer in their order, all but the last one.
pub(super) fn frames(reply: &ScriptedReply, stop_reason: &str) -> Vec<Bytes> {
    let mut frames = vec![event("messageStart", &json!({"role": "assistant"}))];
    for (index, block) in reply.blocks.iter().enumerate() {
        if let Block::ToolCall { id, name, .. } = block {
            let start = json!({"toolUse": {"toolUseId": id, "name": name}});
            frames.push(event("contentBlockStart", &json!({"contentBlockIndex": index, "start": start})));
        }
        let delta = |delta| event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta}));
        match block {
            Block::Text(text) => {
                let words = reply.words_per_piece.map_or(1, usize::from);
                frames.extend(word_pieces(text, words).into_iter().map(|piece| delta(json!({"text": piece}))));
            }
            Block::ToolCall { input, .. } => {
                let pieces = [""].into_iter().chain(byte_pieces(input));
                frames.extend(pieces.map(|piece| delta(json!({"toolUse": {"input": piece}}))));
            }
        }
        frames.push(event("contentBlockStop", &json!({"contentBlockIndex": index})));
    }
    frames.push(event("messageStop", &json!({"stopReason": stop_reason})));
    frames
}

/// The last frame of an answer.
pub(super) fn metadata(usage: &Json, latency_ms: u64) -> Bytes {
    event("metadata", &json!({"usage": usage, "metrics": {"latencyMs": latency_ms}}))
}

/// The frame of an exception.
pub(super) fn exception(exception: BedrockException) -> Bytes {
    frame("exception", ":exception-type", exception.event_name(), &json!({"message": exception.wording()}))
}

/// The frame with a wrong checksum, which is its last four bytes.
pub(super) fn malformed(frame: &Bytes) -> Bytes {
    let mut bytes = frame.to_vec();
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    bytes.into()
}

fn event(kind: &'static str, payload: &Json) -> Bytes {
    frame("event", ":event-type", kind, payload)
}

#[expect(clippy::expect_used, reason = "the headers are short")]
fn frame(message_type: &'static str, type_header: &'static str, kind: &'static str, payload: &Json) -> Bytes {
    let header = |name: &'static str, value: &'static str| Header::new(name, HeaderValue::String(value.into()));
    let message = Message::new(payload.to_string())
        .add_header(header(type_header, kind))
        .add_header(header(":content-type", "application/json"))
        .add_header(header(":message-type", message_type));
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).expect("headers of some bytes, and a payload of less than 4 GB");
    bytes.into()
}

/// Words with the blanks before them, as tokens are; `words` of them a piece. Together they are the text.
fn word_pieces(text: &str, words: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut seen, mut is_in_word) = (0, 0, false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && is_in_word {
            seen += 1;
            if seen % words == 0 {
                pieces.extend(text.get(start..at));
                start = at;
            }
        }
        is_in_word = !c.is_whitespace();
    }
    pieces.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    pieces
}

fn byte_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(INPUT_PIECE_BYTES.min(rest.len())));
        rest = behind;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_the_text(text in "[ \\na-cé]{0,40}|.*", words in 1_usize..4) {
            let pieces = word_pieces(&text, words);
            prop_assert_eq!(pieces.concat(), text.as_str());
            let full = pieces.len().saturating_sub(1);
            for (at, piece) in pieces.into_iter().enumerate() {
                let found = piece.split_whitespace().count();
                prop_assert!(!piece.is_empty() && (found == words || at == full && found < words));
            }
            let pieces: Vec<_> = byte_pieces(&text).collect();
            prop_assert_eq!(pieces.concat(), text.as_str());
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() < INPUT_PIECE_BYTES + 4));
        }
    }
}
