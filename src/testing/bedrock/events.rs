//! The events of a reply, as those of `ConverseStream`.

use aws_sdk_bedrockruntime::error::BuildError;
use aws_sdk_bedrockruntime::types::{
    ContentBlockDelta, ContentBlockDeltaEvent, ContentBlockStart, ContentBlockStartEvent, ContentBlockStopEvent,
    ConversationRole, ConverseStreamOutput as Event, MessageStartEvent, MessageStopEvent, ToolUseBlockDelta,
    ToolUseBlockStart,
};

use super::reply::{Block, ScriptedReply};

/// The maximum size of a piece of a tool's input, in bytes.
const INPUT_PIECE_BYTES: usize = 12;

/// Returns the events of a reply in order, without the last one, which is the metadata.
#[expect(clippy::expect_used, reason = "all required fields are set")]
pub(in crate::testing) fn events(reply: &ScriptedReply) -> Vec<Event> {
    build(reply).expect("all required fields are set")
}

fn build(reply: &ScriptedReply) -> Result<Vec<Event>, BuildError> {
    let role = ConversationRole::Assistant;
    let mut events = vec![Event::MessageStart(MessageStartEvent::builder().role(role).build()?)];
    for (index, block) in (0..).zip(&reply.blocks) {
        let delta = |delta| {
            let event = ContentBlockDeltaEvent::builder().content_block_index(index).delta(delta).build();
            event.map(Event::ContentBlockDelta)
        };
        match block {
            Block::Text(text) => {
                let words = reply.words_per_piece.map_or(1, usize::from);
                for piece in word_pieces(text, words) {
                    events.push(delta(ContentBlockDelta::Text(piece.to_owned()))?);
                }
            }
            Block::ToolCall { id, name, input } => {
                let start = ToolUseBlockStart::builder().tool_use_id(id).name(name).build()?;
                let start = ContentBlockStartEvent::builder()
                    .content_block_index(index)
                    .start(ContentBlockStart::ToolUse(start))
                    .build()?;
                events.push(Event::ContentBlockStart(start));
                // Bedrock's first piece is empty.
                for piece in [""].into_iter().chain(byte_pieces(input)) {
                    let piece = ToolUseBlockDelta::builder().input(piece).build()?;
                    events.push(delta(ContentBlockDelta::ToolUse(piece))?);
                }
            }
        }
        events.push(Event::ContentBlockStop(ContentBlockStopEvent::builder().content_block_index(index).build()?));
    }
    events.push(Event::MessageStop(MessageStopEvent::builder().stop_reason(reply.stop_reason()).build()?));
    Ok(events)
}

/// Splits a text into pieces of `words` words, each with the white space before it, as tokens have.
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
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(INPUT_PIECE_BYTES.min(rest.len())));
        rest = after;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_join_to_the_text(text in "[ \\na-cé]{0,40}|.*", words in 1_usize..4) {
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
