//! [`Profile`]: the differences between models on Bedrock.
//!
//! Owns the knowledge about models, as data: `service` has the limits of AWS's machine-readable model, which apply to
//! all models, `families` the differences by family, and `refusals` the observed refusals, each with a date and a link.
//! It checks and repairs nothing.

mod families;
mod refusals;
pub(in crate::bedrock) mod service;

pub(super) use refusals::{Refusal, Remedy, refusals};

use super::identifier::Characters;

/// The capabilities and limits of a model on Bedrock.
///
/// [`for_model`](Self::for_model) knows many models. The default has the limits of Converse for all models.
///
/// If Bedrock behaves differently for your model, choose the profile of a model that it resembles, or
/// [`strict`](Self::strict).
///
/// ```
/// use verbale::bedrock::Profile;
///
/// let claude = Profile::for_model("anthropic.claude-sonnet-5");
/// assert_eq!(Profile::for_model("eu.anthropic.claude-sonnet-5"), claude);
/// assert_ne!(claude, Profile::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Whether the model refuses a conversation that ends with the assistant. Other models continue it.
    pub(in crate::bedrock) must_end_with_user: bool,
    /// Whether the model refuses white space at the end of a conversation that ends with the assistant.
    pub(in crate::bedrock) last_text_trimmed: bool,
    /// Whether tool results must come first in their message.
    pub(in crate::bedrock) tool_results_first: bool,
    /// Whether tool calls must come last in their message.
    pub(in crate::bedrock) tool_calls_last: bool,
    /// Whether a message with tool calls or results may have other contents.
    pub(in crate::bedrock) text_beside_tools: bool,
    /// Whether the model streams its answer to a request with tools. Otherwise the answer arrives in one piece.
    pub(crate) streams_with_tools: bool,
    /// The characters of the ids of tool calls.
    pub(in crate::bedrock) ids: Characters,
    /// Whether a tool result may have a status.
    pub(in crate::bedrock) result_status: bool,
    /// Whether a tool result may have images.
    pub(in crate::bedrock) result_images: bool,
    pub(in crate::bedrock) schemas: Schemas,
    pub(in crate::bedrock) tool_choice: ToolChoices,
    /// Whether a request may have both a temperature and `top_p`.
    pub(in crate::bedrock) temperature_and_top_p: bool,
    pub(in crate::bedrock) supports_images: bool,
    pub(in crate::bedrock) supports_videos: bool,
    /// Whether Bedrock fetches attachments from `s3://` URLs for the model.
    pub(in crate::bedrock) supports_s3: bool,
    pub(in crate::bedrock) max_images: usize,
    pub(in crate::bedrock) max_image_bytes: usize,
    /// The maximum height and width of an image, in pixels.
    pub(in crate::bedrock) max_image_side: u32,
    pub(in crate::bedrock) max_documents: usize,
    pub(in crate::bedrock) max_document_bytes: usize,
    /// The maximum number of images and documents together.
    pub(in crate::bedrock) max_attachments: usize,
    pub(in crate::bedrock) max_cache_points: usize,
    pub(in crate::bedrock) cache_points: CachePlaces,
}

/// The places where a model accepts cache points. A model without a prompt cache refuses any cache point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum CachePlaces {
    Nowhere,
    /// In the system prompt, and after texts in messages.
    SystemAndTexts,
    /// After the tools, in the system prompt, and anywhere in messages except after a document that is a text.
    Everywhere,
}

/// The JSON Schemas of arguments that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum Schemas {
    Any,
    /// No `oneOf`, `allOf` or `anyOf` at the top level.
    PlainTop,
    /// Only `type`, `properties` and `required` at the top level, so no definitions either.
    BasicTop,
}

/// The tool choices that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum ToolChoices {
    All,
    AutoAndAny,
    Auto,
}

impl Default for Profile {
    fn default() -> Self {
        families::CONVERSE
    }
}

impl Profile {
    /// Returns the profile of a model, by its id or by the id or ARN of an inference profile.
    ///
    /// Returns the default, which has no cache points, if the id does not name the model. The ARN of an application
    /// inference profile does not name it; pass the id of its model instead.
    pub fn for_model(model_id: &str) -> Self {
        families::of(model_id)
    }

    /// Returns a profile that refuses whatever any known model with tools refuses. Any model with tools accepts a
    /// request that follows it.
    pub fn strict() -> Self {
        families::STRICT
    }

    /// The profile of Anthropic's models from Claude 4.6 on.
    #[cfg(test)]
    pub(in crate::bedrock) fn claude() -> Self {
        families::CLAUDE
    }
}
