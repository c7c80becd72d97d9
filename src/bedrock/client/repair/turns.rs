//! Repairs the order of roles.

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};

use super::{Repairs, placeholder};
use crate::bedrock::profile::Profile;
use crate::bedrock::validate::Place;

/// Removes empty messages, merges neighbours with one role, and makes the first message the user's.
pub(super) fn merge(messages: &mut Vec<Message>, repairs: &mut Repairs) {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    for (m, message) in std::mem::take(messages).into_iter().enumerate() {
        if message.content.iter().all(ContentBlock::is_cache_point) {
            repairs.add(Place::Message(m), "removed an empty message");
            continue;
        }
        match merged.last_mut() {
            Some(last) if last.role == message.role => {
                last.content.extend(message.content);
                repairs.add(Place::Message(m), "merged into the message before, which has the same role");
            }
            _ => merged.push(message),
        }
    }
    let why = match merged.first() {
        None => Some("there was no message"),
        Some(first) => (first.role != ConversationRole::User).then_some("the conversation started with the assistant"),
    };
    if let Some(why) = why {
        repairs.add(Place::Message(0), format_args!("inserted a user message `...`, because {why}"));
        merged.insert(0, placeholder(ConversationRole::User));
    }
    *messages = merged;
}

/// Adds a user message at the end if the model requires it. Other models continue the assistant's message.
pub(super) fn end_with_user(messages: &mut Vec<Message>, profile: &Profile, repairs: &mut Repairs) {
    if profile.must_end_with_user && messages.last().is_some_and(|last| last.role != ConversationRole::User) {
        let place = Place::Message(messages.len());
        repairs.add(place, "added a user message `...`, because the conversation ended with the assistant");
        messages.push(placeholder(ConversationRole::User));
    }
    trim_last_text(messages, profile, repairs);
}

/// Trims the assistant's last text, which ends with a space if the assistant was interrupted between two words.
fn trim_last_text(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    let m = messages.len().saturating_sub(1);
    if profile.last_text_trimmed
        && let Some(last) = messages.last_mut().filter(|last| last.role == ConversationRole::Assistant)
        && let Some(ContentBlock::Text(text)) = last.content.iter_mut().rfind(|block| !block.is_cache_point())
        && text.ends_with(char::is_whitespace)
    {
        text.truncate(text.trim_end().len());
        repairs.add(Place::Message(m), "trimmed white space from the end of the assistant's last text");
    }
}
