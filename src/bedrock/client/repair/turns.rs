//! Who speaks when.

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};

use super::{Repairs, silence};
use crate::bedrock::validate::{Place, Profile};

/// Messages of nothing are left out, neighbours of one role become one message, and the first one is a user's.
pub(super) fn join(messages: &mut Vec<Message>, repairs: &mut Repairs) {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    for (m, message) in std::mem::take(messages).into_iter().enumerate() {
        if message.content.iter().all(ContentBlock::is_cache_point) {
            repairs.add(Place::Message(m), "a message of nothing was left out");
            continue;
        }
        match joined.last_mut() {
            Some(last) if last.role == message.role => {
                last.content.extend(message.content);
                repairs.add(Place::Message(m), "the message went into the one before, which has the same role");
            }
            _ => joined.push(message),
        }
    }
    let starts_with = joined.first().map(|first| first.role != ConversationRole::User);
    if starts_with != Some(false) {
        let what =
            if starts_with.is_none() { "there was no message" } else { "the conversation started with the assistant" };
        repairs.add(Place::Message(0), format_args!("{what}; a user message of `...` was put in front"));
        joined.insert(0, silence(ConversationRole::User));
    }
    *messages = joined;
}

/// The last one is a user's, where the model asks for it; else it may be the assistant's, which the model goes on with.
pub(super) fn end(messages: &mut Vec<Message>, profile: &Profile, repairs: &mut Repairs) {
    if profile.must_end_with_user && messages.last().is_some_and(|last| last.role != ConversationRole::User) {
        let place = Place::Message(messages.len());
        repairs.add(place, "the conversation ended with the assistant; a user message of `...` was put behind it");
        messages.push(silence(ConversationRole::User));
    }
    trim_last_text(messages, profile, repairs);
}

/// The assistant may have been cut off between two words.
fn trim_last_text(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    let m = messages.len().saturating_sub(1);
    if profile.last_text_trimmed
        && let Some(last) = messages.last_mut().filter(|last| last.role == ConversationRole::Assistant)
        && let Some(ContentBlock::Text(text)) = last.content.iter_mut().rfind(|block| !block.is_cache_point())
        && text.ends_with(char::is_whitespace)
    {
        text.truncate(text.trim_end().len());
        repairs.add(
            Place::Message(m),
            "white space was cut off the end of the assistant's words, which end the conversation",
        );
    }
}
