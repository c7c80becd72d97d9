//! Sends a request to `ConverseStream` or `Converse`.

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::SdkError;
use aws_sdk_bedrockruntime::operation::converse::{ConverseError, ConverseInput, ConverseOutput};
use aws_sdk_bedrockruntime::operation::converse_stream::{ConverseStreamError, ConverseStreamOutput};
use aws_sdk_bedrockruntime::types::GuardrailStreamConfiguration;

use super::stable::sort_keys;

pub(super) async fn converse_stream(
    client: &Client,
    input: ConverseInput,
    guardrail: Option<GuardrailStreamConfiguration>,
) -> Result<ConverseStreamOutput, SdkError<ConverseStreamError, HttpResponse>> {
    let has_objects = has_objects(&input);
    let request = client
        .converse_stream()
        .set_model_id(input.model_id)
        .set_system(input.system)
        .set_messages(input.messages)
        .set_tool_config(input.tool_config)
        .set_inference_config(input.inference_config)
        .set_guardrail_config(guardrail)
        .set_performance_config(input.performance_config)
        .set_service_tier(input.service_tier)
        .set_request_metadata(input.request_metadata)
        .set_additional_model_request_fields(input.additional_model_request_fields);
    let request = request.customize();
    let request = if has_objects { request.mutate_request(sort_keys) } else { request };
    request.send().await
}

pub(super) async fn converse(
    client: &Client,
    input: ConverseInput,
) -> Result<ConverseOutput, SdkError<ConverseError, HttpResponse>> {
    let has_objects = has_objects(&input);
    let request = client
        .converse()
        .set_model_id(input.model_id)
        .set_system(input.system)
        .set_messages(input.messages)
        .set_tool_config(input.tool_config)
        .set_inference_config(input.inference_config)
        .set_guardrail_config(input.guardrail_config)
        .set_performance_config(input.performance_config)
        .set_service_tier(input.service_tier)
        .set_request_metadata(input.request_metadata)
        .set_additional_model_request_fields(input.additional_model_request_fields);
    let request = request.customize();
    let request = if has_objects { request.mutate_request(sort_keys) } else { request };
    request.send().await
}

/// Returns whether the request has JSON objects: of tools, model fields or metadata. Only their keys have no fixed
/// order.
fn has_objects(input: &ConverseInput) -> bool {
    input.tool_config.is_some() || input.additional_model_request_fields.is_some() || input.request_metadata.is_some()
}
