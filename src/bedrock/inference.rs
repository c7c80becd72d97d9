//! Converts inference settings to Converse's.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::InferenceConfiguration;

use super::document::to_document;
use super::error::BedrockError;
use crate::message::Value;
use crate::model::Inference;

/// Sets the inference settings of the request, which [`validate()`](crate::bedrock::validate()) checks later.
///
/// Returns [`BedrockError`] if `max_tokens` does not fit an `i32`.
pub(super) fn set(input: &mut ConverseInput, inference: Inference) -> Result<(), BedrockError> {
    let max_tokens = inference.max_tokens.map(i32::try_from).transpose();
    let max_tokens = max_tokens.map_err(|_| BedrockError::max_tokens())?;
    let sequences: Vec<String> = inference.stop_sequences.iter().map(|text| text.as_str().to_owned()).collect();
    let config = InferenceConfiguration::builder()
        .set_max_tokens(max_tokens)
        .set_temperature(inference.temperature.map(|number| number as f32))
        .set_top_p(inference.top_p.map(|number| number as f32))
        .set_stop_sequences(Some(sequences).filter(|sequences| !sequences.is_empty()))
        .build();
    input.inference_config = Some(config).filter(|config| *config != InferenceConfiguration::builder().build());
    let fields = Some(inference.model_fields).filter(|fields| !fields.is_empty());
    input.additional_model_request_fields = fields.map(|fields| to_document(&Value::Map(fields)));
    Ok(())
}
