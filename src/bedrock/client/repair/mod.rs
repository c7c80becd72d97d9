//! [`repair()`]: a request mended before it is sent, so that Bedrock takes it.
//!
//! Owns the mending; the rules are [`validate()`](crate::bedrock::validate())'s, and what they still find behind it cannot
//! be mended.

mod attachments;
mod blocks;
mod cache_points;
mod tools;
mod turns;

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message, SystemContentBlock};

use crate::bedrock::validate::Profile;
use crate::message::{PLACEHOLDER, is_blank};
use crate::model::Repair;

/// Mends what Bedrock would refuse in a request, and tells what it changed, in the order in which it did; nothing where
/// Bedrock would take the request as it is.
///
/// Nothing that was said gets lost: a tool call or a result that cannot stand becomes a text, and so does the place of
/// an image or a document that is too much. What stays broken is for [`validate()`](crate::bedrock::validate()) to tell,
/// such as the schema of a tool.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
/// use verbale::bedrock::{ConverseRequest, Profile, repair, validate};
///
/// let text = |text: &str| ContentBlock::Text(text.into());
/// let greeting = Message::builder().role(ConversationRole::Assistant).content(text("Hello!")).build()?;
/// let mut input = ConverseRequest::new("eu.anthropic.claude-sonnet-5").messages(vec![greeting]).into_input()?;
///
/// let profile = Profile::claude();
/// let repairs: Vec<_> = repair(&mut input, &profile).iter().map(|repair| repair.to_string()).collect();
/// assert_eq!(
///     repairs,
///     [
///         "messages.0: the conversation started with the assistant; a user message of `...` was put in front",
///         "messages.2: the conversation ended with the assistant; a user message of `...` was put behind it",
///     ]
/// );
/// assert_eq!(validate(&input, &profile), []);
/// # Ok(()) }
/// ```
pub fn repair(input: &mut ConverseInput, profile: &Profile) -> Vec<Repair> {
    let mut repairs = Repairs::default();
    drop_blank_prompts(input, &mut repairs);
    tools::drop_namesakes(input, &mut repairs);
    let has_tools = input.tool_config.as_ref().is_some_and(|config| !config.tools.is_empty());
    let messages = input.messages.get_or_insert_default();
    blocks::mend(messages, &mut repairs);
    turns::join(messages, &mut repairs);
    tools::pair(messages, has_tools, &mut repairs);
    tools::sort(messages, profile, &mut repairs);
    tools::part(messages, profile, &mut repairs);
    attachments::mend(messages, profile, &mut repairs);
    turns::end(messages, profile, &mut repairs);
    cache_points::drop_surplus(input, profile, &mut repairs);
    repairs.0
}

/// What was done so far.
#[derive(Default)]
struct Repairs(Vec<Repair>);

impl Repairs {
    /// `place` is where it stood when it was mended.
    fn add(&mut self, place: impl fmt::Display, what: impl fmt::Display) {
        self.0.push(Repair::new(format!("{place}: {what}")));
    }
}

fn drop_blank_prompts(input: &mut ConverseInput, repairs: &mut Repairs) {
    let is_blank = |block: &SystemContentBlock| matches!(block, SystemContentBlock::Text(text) if is_blank(text));
    if let Some(system) = &mut input.system
        && system.iter().any(is_blank)
    {
        system.retain(|block| !is_blank(block));
        repairs.add("system", "blank texts were left out");
    }
    input.system.take_if(|system| system.is_empty());
}

/// The message that keeps the roles alternating where nothing was said.
fn silence(role: ConversationRole) -> Message {
    message(role, vec![ContentBlock::Text(PLACEHOLDER.to_owned())])
}

#[expect(clippy::expect_used, reason = "a message needs a role and contents, and gets both")]
fn message(role: ConversationRole, content: Vec<ContentBlock>) -> Message {
    Message::builder()
        .role(role)
        .set_content(Some(content))
        .build()
        .expect("a message needs a role and contents, and gets both")
}

fn other(role: &ConversationRole) -> ConversationRole {
    if *role == ConversationRole::User { ConversationRole::Assistant } else { ConversationRole::User }
}

#[cfg(test)]
mod tests;
