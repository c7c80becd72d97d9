//! Tools, calls that have no result, results that answer no call, and what stands beside them.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message, Tool};

use super::{Repairs, message, other, silence};
use crate::bedrock::flatten::{as_texts, is_of_tool, keep_spoken};
use crate::bedrock::validate::{Place, Profile, is_identifier};

/// Of tools with one name the first is told to the model.
pub(super) fn drop_namesakes(input: &mut ConverseInput, repairs: &mut Repairs) {
    let Some(config) = &mut input.tool_config else { return };
    let mut names = HashSet::new();
    let tools = config.tools.len();
    config.tools.retain(|tool| !matches!(tool, Tool::ToolSpec(spec) if !names.insert(spec.name.clone())));
    if config.tools.len() < tools {
        repairs.add("toolConfig.tools", "tools were left out whose name another one has");
    }
}

/// What does not pair becomes texts in its place: all of it where the request has no tools.
pub(super) fn pair(messages: &mut [Message], has_tools: bool, repairs: &mut Repairs) {
    let unpaired = unpaired(messages, has_tools);
    if unpaired.is_empty() {
        return;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        let blocks = std::mem::take(&mut message.content).into_iter().enumerate();
        let mended = blocks.flat_map(|(c, mut block)| {
            if let ContentBlock::Text(text) = &mut block {
                // Now that texts tell of tools, nobody may speak as one.
                keep_spoken(text);
            }
            let place = Place::Content(m, c);
            if !unpaired.contains(&(m, c)) {
                return vec![block];
            }
            repairs.add(
                place,
                match (has_tools, &block) {
                    (false, _) => "a tool call or result became a text, for the request has no tools",
                    (true, ContentBlock::ToolUse(_)) => "a tool call that cannot stand or has no result became a text",
                    (true, _) => "a tool's result that answers no call became a text",
                },
            );
            as_texts(block)
        });
        message.content = mended.collect();
    }
}

/// Where tool calls stand that nothing answers in the next message, or that Bedrock would refuse, and results that
/// answer no other call.
fn unpaired(messages: &[Message], has_tools: bool) -> HashSet<(usize, usize)> {
    let mut unpaired = HashSet::new();
    let mut earlier = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    for (m, message) in messages.iter().enumerate() {
        let answers = messages.get(m + 1).map_or(&[][..], |next| &next.content);
        let answered: HashSet<&str> =
            answers.iter().filter_map(|block| Some(block.as_tool_result().ok()?.tool_use_id.as_str())).collect();
        let mut asked = HashSet::new();
        let is_user = message.role == ConversationRole::User;
        for (c, block) in message.content.iter().enumerate() {
            let pairs = match block {
                ContentBlock::ToolUse(call) => {
                    let id = call.tool_use_id.as_str();
                    let stands = has_tools && !is_user && is_identifier(id) && is_identifier(&call.name);
                    stands && answered.contains(id) && earlier.insert(id) && asked.insert(id)
                }
                ContentBlock::ToolResult(result) => is_user && open.remove(result.tool_use_id.as_str()),
                _ => true,
            };
            if !pairs {
                unpaired.insert((m, c));
            }
        }
        open = asked;
    }
    unpaired
}

/// Results stand first, where the model asks for it.
pub(super) fn sort(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    if !profile.tool_results_first {
        return;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        if !message.content.is_sorted_by_key(|block| !block.is_tool_result()) {
            message.content.sort_by_key(|block| !block.is_tool_result());
            repairs.add(Place::Message(m), "results of tools were put in front");
        }
    }
}

/// Messages that hold tool blocks hold nothing else, where the model asks for it: they are parted by a message of `...`.
pub(super) fn part(messages: &mut Vec<Message>, profile: &Profile, repairs: &mut Repairs) {
    if profile.text_beside_tools {
        return;
    }
    let mut parted = Vec::with_capacity(messages.len());
    for (m, whole) in std::mem::take(messages).into_iter().enumerate() {
        let (of_tools, said): (Vec<_>, Vec<_>) = whole.content.into_iter().partition(is_of_tool);
        if of_tools.is_empty() || said.iter().all(ContentBlock::is_cache_point) {
            parted.push(message(whole.role, of_tools.into_iter().chain(said).collect()));
            continue;
        }
        repairs.add(Place::Message(m), "texts were parted from tool calls or results by a message of `...`");
        // Calls stand next to their results, which come behind them.
        let (first, last) = if whole.role == ConversationRole::User { (of_tools, said) } else { (said, of_tools) };
        let between = silence(other(&whole.role));
        parted.extend([message(whole.role.clone(), first), between, message(whole.role, last)]);
    }
    *messages = parted;
}
