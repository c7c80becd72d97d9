//! Checks tools, tool calls and tool results.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, Message, Tool, ToolInputSchema, ToolResultBlock, ToolResultContentBlock,
    ToolResultStatus, ToolUseBlock,
};
use aws_smithy_types::Document;

use super::super::flatten::is_of_tool;
use super::{Place, Profile, Violations, contents};

pub(super) fn check(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    let messages = input.messages();
    check_config(input, violations);
    check_formats(messages, violations);
    check_pairs(messages, profile, violations);
    check_ids(messages, violations);
}

fn check_config(input: &ConverseInput, violations: &mut Violations) {
    let tools = input.tool_config.as_ref().map_or(&[][..], |config| &config.tools);
    if tools.is_empty()
        && let Some((m, c, _)) = contents(input.messages()).find(|(.., block)| is_of_tool(block))
    {
        violations.add(
            Place::Content(m, c),
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        );
    }
    let mut names = HashSet::new();
    for (t, tool) in tools.iter().enumerate() {
        let Tool::ToolSpec(spec) = tool else { continue };
        let place = Place::Tool(t);
        if let Some(constraint) = broken_constraint(&spec.name) {
            violations.add_constraint(place, "toolSpec.name", constraint);
        }
        if !names.insert(spec.name.as_str()) {
            let wording = "The model returned the following errors: tools: Tool names must be unique.";
            violations.add(place, wording);
        }
        if let Some(ToolInputSchema::Json(schema)) = &spec.input_schema
            && !is_of_type_object(schema)
        {
            let wording =
                format!("The value at {place}.toolSpec.inputSchema.json.type must be one of the following: object.");
            violations.add(place, wording);
        }
    }
}

fn is_of_type_object(schema: &Document) -> bool {
    let kind = schema.as_object().and_then(|schema| schema.get("type"));
    kind.and_then(Document::as_string) == Some("object")
}

fn check_formats(messages: &[Message], violations: &mut Violations) {
    for (m, c, block) in contents(messages) {
        let place = Place::Content(m, c);
        match block {
            ContentBlock::ToolUse(call) => {
                if let Some(constraint) = broken_constraint(&call.tool_use_id) {
                    violations.add_constraint(place, "toolUse.toolUseId", constraint);
                }
                if let Some(constraint) = broken_constraint(&call.name) {
                    violations.add_constraint(place, "toolUse.name", constraint);
                }
                if !call.input.is_object() {
                    add_not_object(place, "toolUse.input", violations);
                }
            }
            ContentBlock::ToolResult(result) => {
                if let Some(constraint) = broken_constraint(&result.tool_use_id) {
                    violations.add_constraint(place, "toolResult.toolUseId", constraint);
                }
                check_result(result, place, violations);
            }
            _ => {}
        }
    }
}

fn check_result(result: &ToolResultBlock, place: Place, violations: &mut Violations) {
    if result.status == Some(ToolResultStatus::Error) && result.content.is_empty() {
        let wording = format!("The content field at {place}.toolResult cannot be empty when status value is error.");
        violations.add(place, wording);
    }
    for (r, part) in result.content.iter().enumerate() {
        if matches!(part, ToolResultContentBlock::Json(json) if !json.is_object()) {
            add_not_object(place, &format!("toolResult.content.{r}.json"), violations);
        }
    }
}

fn add_not_object(place: Place, field: &str, violations: &mut Violations) {
    let wording = format!(
        "The format of the value at {place}.{field} is invalid. Provide a json object for the field and try again."
    );
    violations.add(place, wording);
}

/// Checks that the next message answers each call.
fn check_pairs(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    for (m, message) in messages.iter().enumerate() {
        let answers = messages.get(m + 1).filter(|next| next.role == ConversationRole::User);
        let answered: HashSet<_> =
            answers.iter().flat_map(|next| results(next)).map(|result| result.tool_use_id.as_str()).collect();
        let open: Vec<_> =
            calls(message).map(|call| call.tool_use_id.as_str()).filter(|id| !answered.contains(id)).collect();
        if !open.is_empty() {
            let wording = format!(
                "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
                m + 1,
                join(&open)
            );
            violations.add(Place::Message(m + 1), wording);
        }

        let asked = m.checked_sub(1).and_then(|before| messages.get(before)).map_or(0, |before| calls(before).count());
        let given = results(message).count();
        if given > asked {
            let wording = format!(
                "The number of toolResult blocks at messages.{m}.content exceeds the number of toolUse blocks of \
                 previous turn."
            );
            violations.add(Place::Message(m), wording);
        }
        let first = message.content.iter().take_while(|block| block.is_tool_result()).count();
        if profile.tool_results_first && first < given {
            let wording = format!(
                "The model returned the following errors: messages.{m}: Did not find {given} `tool_result` block(s) at \
                 the beginning of this message. Messages following `tool_use` blocks must begin with a matching number \
                 of `tool_result` blocks."
            );
            violations.add(Place::Message(m), wording);
        }
        let has_others = message.content.iter().any(|block| !is_of_tool(block) && !block.is_cache_point());
        if !profile.text_beside_tools
            && has_others
            && let Some(block) = message.content.iter().find(|block| is_of_tool(block))
        {
            let kind = if block.is_tool_use() { "use" } else { "result" };
            let wording = format!(
                "messages.{m}.content: Conversation blocks and tool {kind} blocks cannot be provided in the same turn."
            );
            violations.add(Place::Message(m), wording);
        }
    }
}

fn check_ids(messages: &[Message], violations: &mut Violations) {
    let mut earlier = HashSet::new();
    for (m, message) in messages.iter().enumerate() {
        let ids: Vec<_> = calls(message).map(|call| call.tool_use_id.as_str()).collect();
        add_duplicates("toolUse", m, &ids, violations);
        let given: Vec<_> = results(message).map(|result| result.tool_use_id.as_str()).collect();
        add_duplicates("toolResult", m, &given, violations);
        for (c, block) in message.content.iter().enumerate() {
            if let ContentBlock::ToolUse(call) = block
                && earlier.contains(call.tool_use_id.as_str())
            {
                let place = Place::Content(m, c);
                let wording =
                    format!("The model returned the following errors: {place}: `tool_use` ids must be unique");
                violations.add(place, wording);
            }
        }
        earlier.extend(ids);
    }
}

fn add_duplicates(kind: &str, m: usize, ids: &[&str], violations: &mut Violations) {
    let mut seen = HashSet::new();
    let duplicates: Vec<_> = ids.iter().copied().filter(|id| !seen.insert(*id)).collect();
    if !duplicates.is_empty() {
        let wording = format!("The {kind} blocks at messages.{m}.content contain duplicate Ids: {}", join(&duplicates));
        violations.add(Place::Message(m), wording);
    }
}

fn calls(message: &Message) -> impl Iterator<Item = &ToolUseBlock> {
    message.content.iter().filter_map(|block| block.as_tool_use().ok())
}

fn results(message: &Message) -> impl Iterator<Item = &ToolResultBlock> {
    message.content.iter().filter_map(|block| block.as_tool_result().ok())
}

/// Joins ids. An invalid id is hidden, because it could be the caller's words.
fn join(ids: &[&str]) -> String {
    let ids = ids.iter().map(|id| if is_identifier(id) { id } else { "(not an id)" });
    ids.collect::<Vec<_>>().join(", ")
}

/// Returns whether Bedrock accepts the text as the id of a call or the name of a tool.
pub(in crate::bedrock) fn is_identifier(text: &str) -> bool {
    broken_constraint(text).is_none()
}

/// Returns the constraint that an id or a name breaks, in the service's words.
fn broken_constraint(text: &str) -> Option<&'static str> {
    let is_identifier = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match text.chars().count() {
        0 => Some("have length greater than or equal to 1"),
        65.. => Some("have length less than or equal to 64"),
        _ if !text.chars().all(is_identifier) => Some("satisfy regular expression pattern: [a-zA-Z0-9_-]+"),
        _ => None,
    }
}
