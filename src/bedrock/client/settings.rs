//! [`BedrockSettings`]: the model, its inference settings, and Bedrock's options for a request.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    GuardrailConfiguration, GuardrailStreamConfiguration, PerformanceConfigLatency, PerformanceConfiguration,
    ServiceTier, ServiceTierType, ToolChoice,
};

use crate::bedrock::error::BedrockError;
use crate::bedrock::profile::Profile;
use crate::model::Inference;

/// The settings of a [`BedrockModel`](super::BedrockModel): model, inference, cache points, and Bedrock's options.
///
/// It has no timeouts: a conversation's `Config` limits each wait for an event.
///
/// ```
/// use aws_sdk_bedrockruntime::types::{GuardrailStreamConfiguration, PerformanceConfigLatency};
/// use verbale::bedrock::BedrockSettings;
/// use verbale::model::Inference;
///
/// let guardrail = GuardrailStreamConfiguration::builder().guardrail_identifier("gr1a2b3c").guardrail_version("4").build();
/// let settings = BedrockSettings::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0")
///     .with_inference(Inference { max_tokens: Some(300), temperature: Some(0.3), ..Inference::default() })
///     .with_guardrail(guardrail)
///     .with_latency(PerformanceConfigLatency::Optimized)
///     .with_request_metadata([("tenant", "bank-7")]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BedrockSettings {
    pub(super) model_id: String,
    pub(super) profile: Profile,
    pub(super) inference: Inference,
    pub(super) cache_points: bool,
    pub(super) guardrail: Option<GuardrailStreamConfiguration>,
    service_tier: Option<ServiceTierType>,
    latency: Option<PerformanceConfigLatency>,
    tool_choice: Option<ToolChoice>,
    request_metadata: BTreeMap<String, String>,
}

impl BedrockSettings {
    /// Creates the settings of `model_id`: a model, an inference profile, or any other `modelId` of Converse.
    ///
    /// Requests keep the rules of the model that the id names, and have cache points if that model supports them.
    pub fn new(model_id: impl Into<String>) -> Self {
        let model_id = model_id.into();
        Self {
            profile: Profile::for_model(&model_id),
            model_id,
            inference: Inference::default(),
            cache_points: true,
            guardrail: None,
            service_tier: None,
            latency: None,
            tool_choice: None,
            request_metadata: BTreeMap::new(),
        }
    }

    /// Sets the model whose rules requests keep, by its id.
    ///
    /// Needed if the model's id is the ARN of an application inference profile, which does not name the model. For a model
    /// that this crate does not know, name one that it resembles.
    #[must_use]
    pub fn with_base_model(self, model_id: &str) -> Self {
        Self { profile: Profile::for_model(model_id), ..self }
    }

    /// Sets the default inference settings. A request's own settings take precedence, one by one.
    ///
    /// [`Inference::model_fields`] are the `additionalModelRequestFields` of Converse.
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference, ..self }
    }

    /// Sets whether requests have cache points: `true` by default.
    ///
    /// Requests to a model without a prompt cache, and requests for summaries, never have any.
    #[must_use]
    pub fn with_cache_points(self, cache_points: bool) -> Self {
        Self { cache_points, ..self }
    }

    /// Sets the [guardrail](https://docs.aws.amazon.com/bedrock/latest/userguide/guardrails-use-converse-api.html) that
    /// checks requests and answers. An answer that it blocks stops with
    /// [`StopReason::Filtered`](crate::model::StopReason::Filtered).
    ///
    /// `Sync`, Bedrock's default mode for streams, holds text back until it is checked, which costs time to first token.
    #[must_use]
    pub fn with_guardrail(self, guardrail: GuardrailStreamConfiguration) -> Self {
        Self { guardrail: Some(guardrail), ..self }
    }

    /// Sets the [service tier](https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html), such
    /// as `Priority`. Without a tier, Bedrock uses its default.
    #[must_use]
    pub fn with_service_tier(self, tier: ServiceTierType) -> Self {
        Self { service_tier: Some(tier), ..self }
    }

    /// Sets the [latency mode](https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html):
    /// `Optimized` for models that have it. Bedrock refuses it for others.
    #[must_use]
    pub fn with_latency(self, latency: PerformanceConfigLatency) -> Self {
        Self { latency: Some(latency), ..self }
    }

    /// Sets which tools the model must call.
    ///
    /// The choice applies to requests that end with words of the user. After the results of a tool the model chooses
    /// freely, so that it can answer. A choice that the model does not support is removed and reported.
    #[must_use]
    pub fn with_tool_choice(self, choice: ToolChoice) -> Self {
        Self { tool_choice: Some(choice), ..self }
    }

    /// Adds metadata to each request, which Bedrock writes to its invocation logs: at most 16 entries, with 1 to 256
    /// characters of `[a-zA-Z0-9\s:_@$#=/+,-.]` in a key and at most 256 in a value. Do not put secrets into it.
    #[must_use]
    pub fn with_request_metadata<K: Into<String>, V: Into<String>>(
        mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.request_metadata.extend(entries.into_iter().map(|(key, value)| (key.into(), value.into())));
        self
    }

    /// Sets the options of the request. A stream has a guardrail of its own type, with a mode.
    ///
    /// Returns [`BedrockError`] if the SDK refuses to build an option.
    pub(super) fn apply(&self, input: &mut ConverseInput) -> Result<(), BedrockError> {
        input.guardrail_config = self.guardrail.as_ref().map(|guardrail| {
            GuardrailConfiguration::builder()
                .guardrail_identifier(&guardrail.guardrail_identifier)
                .guardrail_version(&guardrail.guardrail_version)
                .trace(guardrail.trace.clone())
                .build()
        });
        let tier = self.service_tier.clone().map(|tier| ServiceTier::builder().r#type(tier).build());
        input.service_tier = tier.transpose().map_err(BedrockError::build("a service tier"))?;
        input.performance_config =
            self.latency.clone().map(|latency| PerformanceConfiguration::builder().latency(latency).build());
        input.request_metadata = (!self.request_metadata.is_empty()).then(|| {
            self.request_metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<HashMap<_, _>>()
        });
        let has_results =
            input.messages().last().is_some_and(|last| last.content.iter().any(|block| block.is_tool_result()));
        if let Some(config) = input.tool_config.as_mut().filter(|_| !has_results) {
            config.tool_choice = self.tool_choice.clone();
        }
        Ok(())
    }
}
