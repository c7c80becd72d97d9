//! [`BedrockSettings`]: which model, how it is asked, and how long it is waited for.

use std::time::Duration;

use crate::bedrock::validate::Profile;
use crate::model::Inference;

/// Which model is asked, how, and how long it is waited for.
///
/// The settings of a request win over the inference settings here; what neither sets is the model's own default.
///
/// ```
/// use std::time::Duration;
/// use verbale::bedrock::{BedrockSettings, Deadlines};
/// use verbale::model::Inference;
///
/// let settings = BedrockSettings::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0")
///     .with_inference(Inference { max_tokens: Some(300), temperature: Some(0.3), ..Inference::default() })
///     .with_deadlines(Deadlines::default().with_first_token(Duration::from_secs(3)));
/// assert_eq!(settings.model_id(), "eu.anthropic.claude-haiku-4-5-20251001-v1:0");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BedrockSettings {
    pub(super) model_id: String,
    pub(super) profile: Profile,
    pub(super) inference: Inference,
    pub(super) cache_points: bool,
    pub(super) deadlines: Deadlines,
}

/// How long an answer is waited for. How long a connection may take is set with the client:
/// [`turn_client`](super::turn_client).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// From asking to the first piece of the answer, connecting and a second attempt included. Not for an answer that
    /// comes whole.
    pub first_token: Duration,
    /// From one piece of the answer to the next.
    pub between_events: Duration,
    /// From asking to the end of the answer.
    pub whole_answer: Duration,
}

/// 5 s, 3 s and 30 s.
impl Default for Deadlines {
    fn default() -> Self {
        Self {
            first_token: Duration::from_secs(5),
            between_events: Duration::from_secs(3),
            whole_answer: Duration::from_secs(30),
        }
    }
}

impl Deadlines {
    /// The same with another one for the first piece of the answer.
    #[must_use]
    pub fn with_first_token(self, first_token: Duration) -> Self {
        Self { first_token, ..self }
    }

    /// The same with another one between two pieces of the answer.
    #[must_use]
    pub fn with_between_events(self, between_events: Duration) -> Self {
        Self { between_events, ..self }
    }

    /// The same with another one for the whole answer.
    #[must_use]
    pub fn with_whole_answer(self, whole_answer: Duration) -> Self {
        Self { whole_answer, ..self }
    }
}

impl BedrockSettings {
    /// A model, an inference profile, or anything else that Converse takes as `modelId`, with
    /// [its profile](Profile::for_model) and cache points where it takes them.
    pub fn new(model_id: impl Into<String>) -> Self {
        let model_id = model_id.into();
        Self {
            profile: Profile::for_model(&model_id),
            model_id,
            inference: Inference::default(),
            cache_points: true,
            deadlines: Deadlines::default(),
        }
    }

    /// The same with another profile, such as for the ARN of an inference profile, which does not name its model.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Sets the inference settings of requests that do not set them: see [`Inference::or`].
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference, ..self }
    }

    /// Sets the maximum number of tokens of an answer, at least 1, for requests that do not set it.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u32) -> Self {
        self.inference.max_tokens = Some(max_tokens);
        self
    }

    /// The same with cache points or without; a model that takes none gets none either way.
    #[must_use]
    pub fn with_cache_points(self, cache_points: bool) -> Self {
        Self { cache_points, ..self }
    }

    /// The same with other deadlines.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    /// What is asked.
    pub fn model_id(&self) -> &str {
        &self.model_id
    }

    /// What it takes.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}
