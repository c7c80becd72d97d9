//! Checks tools, tool calls and tool results.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, Message, Tool, ToolChoice, ToolInputSchema, ToolResultBlock,
    ToolResultContentBlock, ToolResultStatus, ToolUseBlock,
};
use aws_smithy_types::Document;

use super::super::flatten::is_of_tool;
use super::{Place, Profile, Violations, contents};
use crate::bedrock::identifier::Characters;
use crate::bedrock::profile::service::MAX_IDENTIFIER;
use crate::bedrock::profile::{Schemas, ToolChoices};

pub(super) fn check(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    let messages = input.messages();
    check_config(input, profile, violations);
    check_choice(input, profile, violations);
    check_formats(messages, profile, violations);
    check_pairs(messages, profile, violations);
    check_ids(messages, violations);
}

fn check_config(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    let tools = input.tool_config.as_ref().map_or(&[][..], |config| &config.tools);
    if tools.is_empty()
        && let Some((m, c, _)) = contents(input.messages()).find(|(.., block)| is_of_tool(block))
    {
        violations.add(
            "tools-missing",
            Place::Content(m, c),
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        );
    }
    let mut names = HashSet::new();
    for (t, tool) in tools.iter().enumerate() {
        let Tool::ToolSpec(spec) = tool else { continue };
        let place = Place::Tool(t);
        if let Some(constraint) = broken_constraint(&spec.name, Characters::Narrow) {
            violations.add_constraint("tool-name", place, "toolSpec.name", &constraint);
        }
        if !names.insert(spec.name.as_str()) {
            let wording = "The model returned the following errors: tools: Tool names must be unique.";
            violations.add("tool-names-unique", place, wording);
        }
        let Some(ToolInputSchema::Json(schema)) = &spec.input_schema else { continue };
        check_schema(schema, t, profile, violations);
        if !is_of_type_object(schema) {
            let wording =
                format!("The value at {place}.toolSpec.inputSchema.json.type must be one of the following: object.");
            violations.add("tool-schema-type", place, wording);
        }
    }
}

fn is_of_type_object(schema: &Document) -> bool {
    let kind = schema.as_object().and_then(|schema| schema.get("type"));
    kind.and_then(Document::as_string) == Some("object")
}

fn check_formats(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    for (m, c, block) in contents(messages) {
        let place = Place::Content(m, c);
        match block {
            ContentBlock::ToolUse(call) => {
                check_id(&call.tool_use_id, place, "toolUse", profile, violations);
                if let Some(constraint) = broken_constraint(&call.name, Characters::Narrow) {
                    violations.add_constraint("tool-name", place, "toolUse.name", &constraint);
                }
                if !call.input.is_object() {
                    add_not_object(place, "toolUse.input", violations);
                }
            }
            ContentBlock::ToolResult(result) => {
                check_id(&result.tool_use_id, place, "toolResult", profile, violations);
                check_result(result, place, profile, violations);
            }
            _ => {}
        }
    }
}

fn check_id(id: &str, place: Place, block: &str, profile: &Profile, violations: &mut Violations) {
    if let Some(constraint) = broken_constraint(id, Characters::Wide) {
        violations.add_constraint("tool-call-id", place, &format!("{block}.toolUseId"), &constraint);
    } else if !profile.ids.accept(id) {
        let member = if block == "toolUse" { "tool_use.id" } else { "tool_result.tool_use_id" };
        let pattern = profile.ids.pattern();
        let wording = format!(
            "The model returned the following errors: {place}.{member}: String should match pattern '^{pattern}$'"
        );
        violations.add("tool-call-id", place, wording);
    }
}

fn check_result(result: &ToolResultBlock, place: Place, profile: &Profile, violations: &mut Violations) {
    if result.status.is_some() && !profile.result_status {
        let wording = "This model doesn't support the status field. Remove status and try again.";
        violations.add("tool-result-status", place, wording);
    }
    if !profile.result_images && result.content.iter().any(ToolResultContentBlock::is_image) {
        violations.add("tool-result-image", place, "This model doesn't support the image field for user messages");
    }
    if result.status == Some(ToolResultStatus::Error) && result.content.is_empty() {
        let wording = format!("The content field at {place}.toolResult cannot be empty when status value is error.");
        violations.add("tool-result-empty", place, wording);
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
    violations.add("tool-input", place, wording);
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
            violations.add("tool-results-missing", Place::Message(m + 1), wording);
        }

        let asked = m.checked_sub(1).and_then(|before| messages.get(before)).map_or(0, |before| calls(before).count());
        let given = results(message).count();
        if given > asked {
            let wording = format!(
                "The number of toolResult blocks at messages.{m}.content exceeds the number of toolUse blocks of \
                 previous turn."
            );
            violations.add("tool-results-surplus", Place::Message(m), wording);
        }
        let first = message.content.iter().take_while(|block| block.is_tool_result()).count();
        if profile.tool_results_first && first < given {
            let wording = format!(
                "The model returned the following errors: messages.{m}: Did not find {given} `tool_result` block(s) at \
                 the beginning of this message. Messages following `tool_use` blocks must begin with a matching number \
                 of `tool_result` blocks."
            );
            violations.add("tool-results-first", Place::Message(m), wording);
        }
        if profile.tool_calls_last && has_contents_after_calls(message) {
            let ids: Vec<_> = calls(message).map(|call| call.tool_use_id.as_str()).collect();
            let wording = format!(
                "The model returned the following errors: messages.{m}: `tool_use` ids were found without `tool_result` \
                 blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
                 next message.",
                join(&ids)
            );
            violations.add("tool-calls-last", Place::Message(m), wording);
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
            violations.add("text-beside-tools", Place::Message(m), wording);
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
                violations.add("tool-call-ids-unique", place, wording);
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
        violations.add("tool-call-ids-unique", Place::Message(m), wording);
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
    let ids = ids.iter().map(|id| if Characters::Wide.accept(id) { id } else { "(not an id)" });
    ids.collect::<Vec<_>>().join(", ")
}

/// Returns the constraint that an id or a name breaks, in the service's words.
fn broken_constraint(text: &str, characters: Characters) -> Option<String> {
    match text.chars().count() {
        0 => Some("have length greater than or equal to 1".to_owned()),
        length if length > MAX_IDENTIFIER => Some(format!("have length less than or equal to {MAX_IDENTIFIER}")),
        _ if !characters.accept(text) => Some(format!("satisfy regular expression pattern: {}", characters.pattern())),
        _ => None,
    }
}

/// Returns whether a content other than a cache point follows a tool call.
fn has_contents_after_calls(message: &Message) -> bool {
    let mut after_call = message.content.iter().skip_while(|block| !block.is_tool_use());
    after_call.any(|block| !block.is_tool_use() && !block.is_cache_point())
}

/// Returns the keys at the top level of a schema that the model refuses, in order.
pub(in crate::bedrock) fn refused_keys(schema: &Document, profile: &Profile) -> Vec<String> {
    let is_refused = |key: &str| match profile.schemas {
        Schemas::Any => false,
        Schemas::PlainTop => matches!(key, "oneOf" | "allOf" | "anyOf"),
        Schemas::BasicTop => !matches!(key, "type" | "properties" | "required"),
    };
    let keys = schema.as_object().into_iter().flat_map(|schema| schema.keys());
    let mut refused: Vec<String> = keys.filter(|key| is_refused(key)).cloned().collect();
    refused.sort_unstable();
    refused
}

fn check_schema(schema: &Document, t: usize, profile: &Profile, violations: &mut Violations) {
    let Some(key) = refused_keys(schema, profile).into_iter().next() else { return };
    let wording = if profile.schemas == Schemas::PlainTop {
        format!(
            "The model returned the following errors: tools.{t}.custom.input_schema: input_schema does not support oneOf, \
             allOf, or anyOf at the top level"
        )
    } else {
        format!(
            "The model returned the following errors: Malformed input request: \
             #/toolConfig/tools/{t}/toolSpec/inputSchema/json: extraneous key [{key}] is not permitted, please reformat \
             your input and try again."
        )
    };
    violations.add("tool-schema", Place::Tool(t), wording);
}

fn check_choice(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    let choice = input.tool_config.as_ref().and_then(|config| config.tool_choice.as_ref());
    if let Some(choice) = choice
        && !accepts_choice(choice, profile)
    {
        let kind = if choice.is_any() { "any" } else { "tool" };
        let wording = format!(
            "This model doesn't support the toolConfig.toolChoice.{kind} field. Remove toolConfig.toolChoice.{kind} and \
             try again."
        );
        violations.add("tool-choice", Place::Request, wording);
    }
}

/// Returns whether the model accepts the choice of tools.
pub(in crate::bedrock) fn accepts_choice(choice: &ToolChoice, profile: &Profile) -> bool {
    match profile.tool_choice {
        ToolChoices::All => true,
        ToolChoices::AutoAndAny => choice.is_auto() || choice.is_any(),
        ToolChoices::Auto => choice.is_auto(),
    }
}
