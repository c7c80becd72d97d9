//! [`repair()`]: changes a request so that it keeps Bedrock's rules.
//!
//! Owns the repairs. [`validate()`](crate::bedrock::validate()) owns the rules, and also finds violations that cannot
//! be repaired.

mod attachments;
mod blocks;
mod cache_points;
mod config;
mod tools;
mod turns;

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message, SystemContentBlock};

use crate::bedrock::profile::Profile;
use crate::message::{PLACEHOLDER, is_blank};

/// Repairs a request that Bedrock would refuse, and returns the repairs in order. Leaves a valid request unchanged.
///
/// No text is lost. Invalid tool calls and results become texts. Attachments that the model does not accept, and the
/// oldest surplus ones, are replaced by texts that name them. Some violations cannot be repaired, such as an invalid
/// tool schema: [`validate()`](crate::bedrock::validate()) reports them.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
/// use verbale::bedrock::{ConverseRequest, Profile, repair, validate};
///
/// let model_id = "eu.anthropic.claude-sonnet-5";
/// let text = |text: &str| ContentBlock::Text(text.into());
/// let greeting = Message::builder().role(ConversationRole::Assistant).content(text("Hello!")).build()?;
/// let mut input = ConverseRequest::new(model_id).messages(vec![greeting]).into_input()?;
///
/// let profile = Profile::for_model(model_id);
/// let repairs: Vec<_> = repair(&mut input, &profile).iter().map(|repair| repair.to_string()).collect();
/// assert_eq!(
///     repairs,
///     [
///         "messages.0: inserted a user message `...`, because the conversation started with the assistant",
///         "messages.2: added a user message `...`, because the conversation ended with the assistant",
///     ]
/// );
/// assert_eq!(validate(&input, &profile), []);
/// # Ok(()) }
/// ```
pub fn repair(input: &mut ConverseInput, profile: &Profile) -> Vec<String> {
    let mut repairs = Repairs::default();
    remove_blank_prompts(input, &mut repairs);
    config::repair(input, profile, &mut repairs);
    let has_tools = input.tool_config.as_ref().is_some_and(|config| !config.tools.is_empty());
    let messages = input.messages.get_or_insert_default();
    blocks::repair(messages, &mut repairs);
    tools::rename(messages, profile, &mut repairs);
    turns::merge(messages, &mut repairs);
    tools::replace_unpaired(messages, has_tools, &mut repairs);
    tools::simplify_results(messages, profile, &mut repairs);
    tools::move_results_first(messages, profile, &mut repairs);
    tools::move_calls_last(messages, profile, &mut repairs);
    tools::split_mixed(messages, profile, &mut repairs);
    attachments::repair(messages, profile, &mut repairs);
    turns::end_with_user(messages, profile, &mut repairs);
    cache_points::remove_surplus(input, profile, &mut repairs);
    repairs.0
}

#[derive(Default)]
struct Repairs(Vec<String>);

impl Repairs {
    /// Adds a repair. `place` is the place in the request before the repair.
    fn add(&mut self, place: impl fmt::Display, what: impl fmt::Display) {
        self.0.push(format!("{place}: {what}"));
    }
}

fn remove_blank_prompts(input: &mut ConverseInput, repairs: &mut Repairs) {
    let is_blank = |block: &SystemContentBlock| matches!(block, SystemContentBlock::Text(text) if is_blank(text));
    if let Some(system) = &mut input.system
        && system.iter().any(is_blank)
    {
        system.retain(|block| !is_blank(block));
        repairs.add("system", "removed blank texts");
    }
    input.system.take_if(|system| system.is_empty());
}

/// Returns the message that keeps the roles alternating.
fn placeholder(role: ConversationRole) -> Message {
    message(role, vec![ContentBlock::Text(PLACEHOLDER.to_owned())])
}

#[expect(clippy::expect_used, reason = "role and contents are set")]
fn message(role: ConversationRole, content: Vec<ContentBlock>) -> Message {
    Message::builder().role(role).set_content(Some(content)).build().expect("role and contents are set")
}

fn other(role: &ConversationRole) -> ConversationRole {
    if *role == ConversationRole::User { ConversationRole::Assistant } else { ConversationRole::User }
}

#[cfg(test)]
mod tests;
