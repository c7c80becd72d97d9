//! Values that the caller had to say again, because neither the memory nor the window had them any more.

use verbale::conversation::Conversation;
use verbale::memory::{Fact, FactFinder, FactSource, RuleFactFinder};
use verbale::message::Timing;
use verbale::{Message, MessageWrapper, PlainMessage, Role};

use crate::turns::{Sent, Turns};

/// A value that was said again. The value itself is not kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Lost {
    /// The index of the message in which the caller said it again, and when.
    pub message: usize,
    pub at_ms: i64,
    /// The first turn whose prompt had it no more.
    pub turn: u32,
}

/// A value of the caller: its words, the number of its message, and where the conversation has it.
struct Said {
    value: String,
    seq: u32,
    message: usize,
    at_ms: i64,
}

/// Returns the values that were said again.
pub fn lost_values(conversation: &Conversation, turns: &Turns) -> Vec<Lost> {
    let said = conversation.read(|manager| {
        let messages: Vec<&Message> = manager.meta_messages().iter().map(PlainMessage::message).collect();
        said_by_caller(&messages)
    });
    let mut lost: Vec<Lost> = Vec::new();
    for Sent { turn, request, sent_ms, .. } in turns.requests().filter(|sent| sent.is_after_cut) {
        let before = |said: &&Said| Some(said.seq) <= request.memory_covers;
        let Some((prompt, _)) = conversation.prompt_at(sent_ms) else { continue };
        let window = prompt.messages.iter().flat_map(|message| message.contents().texts());
        let text: String = prompt.memory.iter().chain(window).map(|text| text.as_str().to_lowercase() + "\n").collect();
        for gone in said.iter().filter(before).filter(|said| !text.contains(&said.value)) {
            let again = said.iter().find(|again| again.at_ms > sent_ms && again.value == gone.value);
            let Some(Said { message, at_ms, .. }) = again else { continue };
            if lost.iter().all(|known| known.message != *message) {
                lost.push(Lost { message: *message, at_ms: *at_ms, turn: turn.number });
            }
        }
    }
    lost
}

fn said_by_caller(messages: &[&Message]) -> Vec<Said> {
    let mut said = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role() != Role::User || message.is_fake() || message.is_background() {
            continue;
        }
        let earlier = messages.get(index.saturating_sub(3)..index).unwrap_or_default();
        let facts = RuleFactFinder.find(message, earlier);
        let of_caller = facts.iter().filter(|fact| fact.source() == FactSource::Caller).map(Fact::value);
        let at_ms = message.metadata().timing(Timing::Creation).unwrap_or_default();
        let seq = message.position().seq();
        // A short value may be in any text.
        let values = of_caller.map(str::to_lowercase).filter(|value| value.chars().count() >= 4);
        said.extend(values.map(|value| Said { value, seq, message: index, at_ms }));
    }
    said
}
