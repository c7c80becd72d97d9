//! Parses the JSON of a request to Converse, which the SDK can only write.
//!
//! Owns the request; `blocks` owns the contents of messages, and `node` a place in the JSON.

mod blocks;
mod citations;
mod node;

use std::collections::HashMap;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    AnyToolChoice, AutoToolChoice, ConversationRole, GuardrailConfiguration, InferenceConfiguration, Message,
    PerformanceConfiguration, ServiceTier, SpecificToolChoice, SystemContentBlock, SystemTool, Tool, ToolChoice,
    ToolConfiguration, ToolInputSchema, ToolSpecification,
};
use aws_smithy_types::Document;
use serde_json::Value as Json;

use blocks::{KNOWN, built};
use node::{Node, Unreadable};

/// Parses the model id and whether the answer is streamed from the path of a URL.
pub(super) fn operation(path: &str) -> Option<(String, bool)> {
    let (model_id, operation) = path.strip_prefix("/model/")?.rsplit_once('/')?;
    let is_streaming = match operation {
        "converse" => false,
        "converse-stream" => true,
        _ => return None,
    };
    Some((percent_decoded(model_id)?, is_streaming))
}

/// Parses a request. Fields without effect on rules and answers are ignored, such as a guardrail's mode for streams.
pub(super) fn input(model_id: String, body: &[u8]) -> Result<ConverseInput, Unreadable> {
    let json: Json = serde_json::from_slice(body).map_err(|_| Unreadable::new("JSON"))?;
    let root = Node::root(&json);
    let fields = root.get("additionalModelRequestFields", |node| Ok(node.document()))?;
    built(
        ConverseInput::builder()
            .model_id(model_id)
            .set_messages(root.list("messages", message)?)
            .set_system(root.list("system", system_block)?)
            .set_inference_config(root.get("inferenceConfig", inference_config)?)
            .set_tool_config(root.get("toolConfig", tool_config)?)
            .set_additional_model_request_fields(fields)
            .set_guardrail_config(root.get("guardrailConfig", guardrail)?)
            .set_performance_config(root.get("performanceConfig", performance)?)
            .set_service_tier(root.get("serviceTier", service_tier)?)
            .set_request_metadata(root.get("requestMetadata", metadata)?)
            .build(),
    )
}

fn message(node: Node<'_>) -> Result<Message, Unreadable> {
    let role = node.text("role")?;
    let role = ConversationRole::try_parse(role).map_err(|_| Unreadable::at("role", "a role"))?;
    let content = node.list("content", blocks::content_block)?;
    built(Message::builder().role(role).set_content(content).build())
}

fn system_block(node: Node<'_>) -> Result<SystemContentBlock, Unreadable> {
    node.one_of(|kind, inner| {
        Ok(match kind {
            "text" => SystemContentBlock::Text(inner.as_text()?.to_owned()),
            "cachePoint" => SystemContentBlock::CachePoint(blocks::cache_point(inner)?),
            "guardContent" => SystemContentBlock::GuardContent(blocks::guard_content(inner)?),
            _ => return Err(Unreadable::new(KNOWN)),
        })
    })
}

fn inference_config(node: Node<'_>) -> Result<InferenceConfiguration, Unreadable> {
    Ok(InferenceConfiguration::builder()
        .set_max_tokens(node.get("maxTokens", |node| node.as_i32())?)
        .set_temperature(node.get("temperature", |node| node.as_f32())?)
        .set_top_p(node.get("topP", |node| node.as_f32())?)
        .set_stop_sequences(node.list("stopSequences", |node| Ok(node.as_text()?.to_owned()))?)
        .build())
}

fn guardrail(node: Node<'_>) -> Result<GuardrailConfiguration, Unreadable> {
    Ok(GuardrailConfiguration::builder()
        .set_guardrail_identifier(node.optional_text("guardrailIdentifier")?)
        .set_guardrail_version(node.optional_text("guardrailVersion")?)
        .set_trace(node.get("trace", |trace| Ok(trace.as_text()?.into()))?)
        .build())
}

fn performance(node: Node<'_>) -> Result<PerformanceConfiguration, Unreadable> {
    let latency = node.get("latency", |latency| Ok(latency.as_text()?.into()))?;
    Ok(PerformanceConfiguration::builder().set_latency(latency).build())
}

fn service_tier(node: Node<'_>) -> Result<ServiceTier, Unreadable> {
    built(ServiceTier::builder().r#type(node.text("type")?.into()).build())
}

fn metadata(node: Node<'_>) -> Result<HashMap<String, String>, Unreadable> {
    let document = node.document();
    let entries = document.as_object().ok_or(Unreadable::new("an object"))?;
    let text = |value: &Document| value.as_string().map(str::to_owned).ok_or(Unreadable::new("a text"));
    entries.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect()
}

fn tool_config(node: Node<'_>) -> Result<ToolConfiguration, Unreadable> {
    let choice = node.get("toolChoice", tool_choice)?;
    built(ToolConfiguration::builder().set_tools(node.list("tools", tool)?).set_tool_choice(choice).build())
}

fn tool(node: Node<'_>) -> Result<Tool, Unreadable> {
    node.one_of(|kind, inner| {
        Ok(match kind {
            "toolSpec" => Tool::ToolSpec(tool_spec(inner)?),
            "cachePoint" => Tool::CachePoint(blocks::cache_point(inner)?),
            "systemTool" => Tool::SystemTool(built(SystemTool::builder().name(inner.text("name")?).build())?),
            _ => return Err(Unreadable::new("a known kind of tool")),
        })
    })
}

fn tool_spec(node: Node<'_>) -> Result<ToolSpecification, Unreadable> {
    let schema = |node: Node<'_>| node.get("json", |json| Ok(ToolInputSchema::Json(json.document())));
    built(
        ToolSpecification::builder()
            .name(node.text("name")?)
            .set_description(node.optional_text("description")?)
            .set_input_schema(node.get("inputSchema", schema)?.flatten())
            .set_strict(node.get("strict", |node| node.as_bool())?)
            .build(),
    )
}

fn tool_choice(node: Node<'_>) -> Result<ToolChoice, Unreadable> {
    node.one_of(|kind, inner| {
        Ok(match kind {
            "auto" => ToolChoice::Auto(AutoToolChoice::builder().build()),
            "any" => ToolChoice::Any(AnyToolChoice::builder().build()),
            "tool" => ToolChoice::Tool(built(SpecificToolChoice::builder().name(inner.text("name")?).build())?),
            _ => return Err(Unreadable::new("auto, any or tool")),
        })
    })
}

/// Returns `None` if a `%` is not followed by two hex digits, or if the result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        // `from_str_radix` accepts a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
