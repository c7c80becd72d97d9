//! What a model is asked, as one request to Converse that Bedrock takes.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{self, Tool, ToolConfiguration, ToolInputSchema, ToolSpecification};

use super::cache::add_cache_points;
use super::formats::tell_attachments;
use super::inference;
use super::repair::repair;
use super::settings::BedrockSettings;
use crate::bedrock::document::to_document;
use crate::bedrock::error::BedrockError;
use crate::bedrock::message::BedrockMessage;
use crate::bedrock::request::ConverseRequest;
use crate::bedrock::validate::validate;
use crate::message::{MessageWrapper, Text, is_blank};
use crate::model::{Failure, ModelRequest, Repair, ToolSpec};

/// The request, and what was changed in it.
///
/// Errors: [`Failure::Invalid`], with what cannot be mended and its place.
pub(super) fn prepare(
    request: ModelRequest,
    settings: &BedrockSettings,
    caches: bool,
) -> Result<(ConverseInput, Vec<Repair>), Failure> {
    let mut repairs = Vec::new();
    let messages = raw_messages(&request, &mut repairs)?;
    let system = request.system.iter().chain(&request.late_system).map(Text::as_str);
    let asked = system
        .fold(ConverseRequest::new(&settings.model_id), ConverseRequest::system)
        .summary(request.memory.as_deref())
        .messages(messages);
    let asked = match tool_config(&request.tools)? {
        Some(tools) => asked.tools(tools),
        None => asked,
    };
    let mut input = asked.into_input().map_err(invalid)?;
    repairs.extend(repair(&mut input, &settings.profile));
    if caches && settings.cache_points {
        let stable = request.system.iter().filter(|prompt| !is_blank(prompt)).count();
        add_cache_points(&mut input, stable, &settings.profile);
    }
    inference::set(&mut input, request.inference.or(&settings.inference))?;
    if let Some(violation) = validate(&input, &settings.profile).first() {
        return Err(Failure::Invalid(format!("{:?} at {}: {violation}", violation.rule(), violation.place())));
    }
    Ok((input, repairs))
}

/// What has no place among the messages, or says nothing, is left out.
fn raw_messages(request: &ModelRequest, repairs: &mut Vec<Repair>) -> Result<Vec<types::Message>, Failure> {
    let mut raw = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match BedrockMessage::wrap(message.clone()).to_raw() {
            Ok(converted) => {
                tell_attachments(message, repairs);
                raw.push(converted);
            }
            Err(left_out @ (BedrockError::NotSpoken { .. } | BedrockError::Empty { .. })) => {
                repairs.push(Repair::new(format!("left out: {left_out}")));
            }
            Err(error) => return Err(invalid(error)),
        }
    }
    Ok(raw)
}

fn tool_config(tools: &[ToolSpec]) -> Result<Option<ToolConfiguration>, Failure> {
    if tools.is_empty() {
        return Ok(None);
    }
    let specs = tools.iter().map(|tool| {
        ToolSpecification::builder()
            .name(tool.name.as_str())
            // Bedrock refuses a blank one.
            .set_description(Some(tool.description.as_str().to_owned()).filter(|text| !is_blank(text)))
            .input_schema(ToolInputSchema::Json(to_document(&tool.input_schema)))
            .build()
            .map(Tool::ToolSpec)
            .map_err(BedrockError::build("a tool"))
    });
    let specs = specs.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    let config = ToolConfiguration::builder().set_tools(Some(specs)).build();
    config.map(Some).map_err(BedrockError::build("the tools")).map_err(invalid)
}

fn invalid(why: impl ToString) -> Failure {
    Failure::Invalid(why.to_string())
}
