//! Builds a valid request to Converse from a [`ModelRequest`].

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types;

use super::cache::add_cache_points;
use super::formats::report_attachments;
use super::repair::repair_for;
use super::settings::BedrockSettings;
use crate::bedrock::error::BedrockError;
use crate::bedrock::flatten::tools_as_texts;
use crate::bedrock::inference;
use crate::bedrock::message::BedrockMessage;
use crate::bedrock::profile::Remedy;
use crate::bedrock::request::{ConverseRequest, tool_config};
use crate::bedrock::validate::validate_for;
use crate::message::{MessageWrapper, is_blank};
use crate::model::{Failure, ModelRequest};

/// Builds the request, in the form of the remedy, and lists its repairs.
///
/// Returns [`Failure::Invalid`] with the place and the rule if the request cannot be repaired.
pub(super) fn prepare(
    request: &ModelRequest,
    settings: &BedrockSettings,
    caches: bool,
    remedy: Remedy,
) -> Result<(ConverseInput, Vec<String>), Failure> {
    let mut repairs = Vec::new();
    let mut messages = raw_messages(request, &mut repairs)?;
    if remedy == Remedy::ToolsAsTexts {
        tools_as_texts(&mut messages);
    }
    let mut converse = ConverseRequest::of(&settings.model_id, request).messages(messages);
    if !request.tools.is_empty() && remedy != Remedy::WithoutTools {
        converse = converse.tools(tool_config(&request.tools).map_err(invalid)?);
    }
    let mut input = converse.into_input().map_err(invalid)?;
    settings.apply(&mut input).map_err(invalid)?;
    inference::set(&mut input, request.inference.clone().or(&settings.inference)).map_err(invalid)?;
    repairs.extend(repair_for(&mut input, &settings.profile));
    if caches && settings.cache_points {
        let stable = request.system.iter().filter(|prompt| !is_blank(prompt)).count();
        add_cache_points(&mut input, stable, &settings.profile);
    }
    if let Some(violation) = validate_for(&input, &settings.profile).first() {
        return Err(Failure::Invalid(format!("{}: {violation}", violation.place())));
    }
    Ok((input, repairs))
}

/// Converts the messages. Messages that Converse does not accept are left out and reported.
fn raw_messages(request: &ModelRequest, repairs: &mut Vec<String>) -> Result<Vec<types::Message>, Failure> {
    let mut raw = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match BedrockMessage::from(message.clone()).to_raw() {
            Ok(converted) => {
                report_attachments(message, repairs);
                raw.push(converted);
            }
            Err(error) if error.is_of_a_message() => {
                repairs.push(format!("left out a message: {error}"));
            }
            Err(error) => return Err(invalid(error)),
        }
    }
    Ok(raw)
}

fn invalid(error: BedrockError) -> Failure {
    Failure::Invalid(error.to_string())
}
