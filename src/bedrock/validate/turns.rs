//! Checks roles and texts: who speaks when, and that no text is blank.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, Message, SystemContentBlock, ToolResultContentBlock,
};

use super::{Place, Profile, Violations, contents};
use crate::message::is_blank;

pub(super) fn check(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    check_roles(input.messages(), profile, violations);
    for (m, message) in input.messages().iter().enumerate() {
        if message.content.is_empty() {
            let wording = format!(
                "The content field in the Message object at messages.{m} is empty. \
                 Add a ContentBlock object to the content field and try again."
            );
            violations.add("content-empty", Place::Message(m), wording);
        }
    }
    check_last_text(input.messages(), profile, violations);
    check_texts(input, violations);
}

fn check_roles(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    if messages.first().is_none_or(|first| first.role != ConversationRole::User) {
        let place = if messages.is_empty() { Place::Request } else { Place::Message(0) };
        violations.add(
            "starts-with-user",
            place,
            "A conversation must start with a user message. \
             Try again with a conversation that starts with a user message.",
        );
    }
    for (m, pair) in messages.windows(2).enumerate() {
        if let [before, after] = pair
            && before.role == after.role
        {
            violations.add(
                "roles-alternate",
                Place::Message(m + 1),
                "A conversation must alternate between user and assistant roles. \
                 Make sure the conversation alternates between user and assistant roles and try again.",
            );
        }
    }
    if profile.must_end_with_user
        && let Some(last) = messages.last()
        && last.role != ConversationRole::User
    {
        violations.add(
            "ends-with-user",
            Place::Message(messages.len() - 1),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
}

fn check_last_text(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    if profile.last_text_trimmed
        && let Some(last) = messages.last().filter(|last| last.role == ConversationRole::Assistant)
        && let Some(c) = last.content.iter().rposition(|block| !block.is_cache_point())
        && let Some(ContentBlock::Text(text)) = last.content.get(c)
        && text.ends_with(char::is_whitespace)
    {
        let wording = "The model returned the following errors: messages: final assistant content cannot end with \
                       trailing whitespace";
        violations.add("text-trailing-space", Place::Content(messages.len() - 1, c), wording);
    }
}

fn check_texts(input: &ConverseInput, violations: &mut Violations) {
    let mut blank = |object: &str, place: Place, path: String| {
        let wording = format!(
            "The text field in the {object} object at {path} is blank. Add text to the text field, and try again."
        );
        violations.add("text-blank", place, wording);
    };
    for (s, block) in input.system().iter().enumerate() {
        if matches!(block, SystemContentBlock::Text(text) if is_blank(text)) {
            let place = Place::System(s);
            blank("SystemContentBlock", place, place.to_string());
        }
    }
    for (m, c, block) in contents(input.messages()) {
        let place = Place::Content(m, c);
        match block {
            ContentBlock::Text(text) if is_blank(text) => blank("ContentBlock", place, place.to_string()),
            ContentBlock::ToolResult(result) => {
                for (r, part) in result.content.iter().enumerate() {
                    if matches!(part, ToolResultContentBlock::Text(text) if is_blank(text)) {
                        blank("ToolResultContentBlock", place, format!("{place}.toolResult.content.{r}"));
                    }
                }
            }
            _ => {}
        }
    }
}
