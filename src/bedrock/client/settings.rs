//! [`BedrockSettings`]: which model, how it is asked, and how long it is waited for.

use std::time::Duration;

use aws_sdk_bedrockruntime::types::InferenceConfiguration;

use crate::bedrock::validate::Profile;

/// Which model is asked, how, and how long it is waited for.
///
/// What is not set is the model's own default. Set the temperature or `top_p`, not both: newer Claude models refuse the
/// two together.
///
/// ```
/// use std::time::Duration;
/// use verbale::bedrock::{BedrockSettings, Deadlines};
///
/// let settings = BedrockSettings::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0")
///     .with_max_tokens(300)
///     .with_temperature(0.3)
///     .with_deadlines(Deadlines::default().with_first_token(Duration::from_secs(3)));
/// assert_eq!(settings.model_id(), "eu.anthropic.claude-haiku-4-5-20251001-v1:0");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BedrockSettings {
    pub(super) model_id: String,
    pub(super) profile: Profile,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f32>,
    pub(super) top_p: Option<f32>,
    pub(super) stop_sequences: Vec<String>,
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
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop_sequences: Vec::new(),
            cache_points: true,
            deadlines: Deadlines::default(),
        }
    }

    /// The same with another profile, such as for the ARN of an inference profile, which does not name its model.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// The same with a bound on the tokens of an answer, at least 1.
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: u32) -> Self {
        Self { max_tokens: Some(max_tokens), ..self }
    }

    /// The same with a temperature from 0 to 1.
    #[must_use]
    pub fn with_temperature(self, temperature: f32) -> Self {
        Self { temperature: Some(temperature), ..self }
    }

    /// The same, sampling from the likeliest tokens only, which have this probability together: from 0 to 1.
    #[must_use]
    pub fn with_top_p(self, top_p: f32) -> Self {
        Self { top_p: Some(top_p), ..self }
    }

    /// The same with texts at which the model stops.
    #[must_use]
    pub fn with_stop_sequences<T: Into<String>>(self, sequences: impl IntoIterator<Item = T>) -> Self {
        Self { stop_sequences: sequences.into_iter().map(Into::into).collect(), ..self }
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

    /// As Converse takes them, or what is wrong with them.
    pub(super) fn inference(&self) -> Result<Option<InferenceConfiguration>, &'static str> {
        let is_share = |number: &Option<f32>| number.is_none_or(|number| (0.0..=1.0).contains(&number));
        if !is_share(&self.temperature) {
            return Err("the temperature has to be from 0 to 1");
        }
        if !is_share(&self.top_p) {
            return Err("top_p has to be from 0 to 1");
        }
        let max_tokens = self.max_tokens.map(i32::try_from).transpose().unwrap_or(None);
        if self.max_tokens == Some(0) || self.max_tokens.is_some() && max_tokens.is_none() {
            return Err("max_tokens has to be from 1 to 2,147,483,647");
        }
        if self.stop_sequences.iter().any(String::is_empty) {
            return Err("a stop sequence is empty");
        }
        let config = InferenceConfiguration::builder()
            .set_max_tokens(max_tokens)
            .set_temperature(self.temperature)
            .set_top_p(self.top_p)
            .set_stop_sequences(Some(self.stop_sequences.clone()).filter(|sequences| !sequences.is_empty()))
            .build();
        Ok(Some(config).filter(|config| *config != InferenceConfiguration::builder().build()))
    }
}
