//! [`BedrockSettings`]: the model, its inference settings and its deadlines.

use std::time::Duration;

use crate::bedrock::validate::Profile;
use crate::model::Inference;

/// The settings of a [`BedrockModel`](super::BedrockModel): model, inference, cache points and deadlines.
///
/// An answer that misses a deadline fails with [`Failure::TimedOut`](crate::model::Failure::TimedOut).
///
/// ```
/// use std::time::Duration;
/// use verbale::bedrock::BedrockSettings;
/// use verbale::model::Inference;
///
/// let settings = BedrockSettings::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0")
///     .with_inference(Inference { max_tokens: Some(300), temperature: Some(0.3), ..Inference::default() })
///     .with_first_token_timeout(Duration::from_secs(3));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BedrockSettings {
    pub(super) model_id: String,
    pub(super) profile: Profile,
    pub(super) inference: Inference,
    pub(super) cache_points: bool,
    pub(super) first_token_timeout: Duration,
    pub(super) event_timeout: Duration,
    pub(super) answer_timeout: Duration,
}

impl BedrockSettings {
    /// Creates the settings of `model_id`: a model, an inference profile, or any other `modelId` of Converse.
    ///
    /// The profile is [`Profile::for_model`], and requests have cache points if the model supports them.
    pub fn new(model_id: impl Into<String>) -> Self {
        let model_id = model_id.into();
        Self {
            profile: Profile::for_model(&model_id),
            model_id,
            inference: Inference::default(),
            cache_points: true,
            first_token_timeout: Duration::from_secs(5),
            event_timeout: Duration::from_secs(3),
            answer_timeout: Duration::from_secs(30),
        }
    }

    /// Replaces the profile of the model.
    ///
    /// Needed if `model_id` is the ARN of an application inference profile, which does not name the model: pass
    /// [`Profile::for_model`] with the id of the model.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Sets the default inference settings. A request's own settings take precedence, as in [`Inference::or`].
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference, ..self }
    }

    /// Sets the default maximum number of tokens of an answer, at least 1. A request's own maximum takes precedence.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u32) -> Self {
        self.inference.max_tokens = Some(max_tokens);
        self
    }

    /// Sets whether requests have cache points: `true` by default.
    ///
    /// Requests to a model without a prompt cache, and requests for summaries, never have any.
    #[must_use]
    pub fn with_cache_points(self, cache_points: bool) -> Self {
        Self { cache_points, ..self }
    }

    /// Sets the maximum time from the request to the first text or tool call: 5 s by default.
    ///
    /// The time includes connecting and retries. An answer in one piece has no such limit.
    #[must_use]
    pub fn with_first_token_timeout(self, timeout: Duration) -> Self {
        Self { first_token_timeout: timeout, ..self }
    }

    /// Sets the maximum time between two events of a streamed answer: 3 s by default.
    #[must_use]
    pub fn with_event_timeout(self, timeout: Duration) -> Self {
        Self { event_timeout: timeout, ..self }
    }

    /// Sets the maximum time from the request to the end of the answer: 30 s by default.
    #[must_use]
    pub fn with_answer_timeout(self, timeout: Duration) -> Self {
        Self { answer_timeout: timeout, ..self }
    }
}
