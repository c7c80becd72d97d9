//! Combines configurations: the settings of one prompt, and a prompt's settings with the conversation's.

use std::time::Duration;

use super::data::{
    EVENT_TIMEOUT, FIRST_TOKEN_TIMEOUT, MAX_TOKENS, MAX_TOOL_ROUNDS, MODEL, MODEL_FIELDS, PROVIDER, STOP_SEQUENCES,
    TEMPERATURE, TOOL_TIMEOUT, TOP_P, TURN_TIMEOUT,
};
use super::{Config, ConfigError};
use crate::message::Text;
use crate::model::Inference;
use crate::turn::Tools;

impl Config {
    /// Joins the settings of one prompt.
    ///
    /// Returns an error if a key has two different values, or if a timeout is zero.
    pub(in crate::conversation) fn join(self, other: Self) -> Result<Self, ConfigError> {
        Ok(Self {
            models: if other.models.is_empty() { self.models } else { other.models },
            provider: same(self.provider, other.provider, PROVIDER)?,
            model: same(self.model, other.model, MODEL)?,
            tools: join_tools(
                other.removed_tools.iter().fold(self.tools, |tools, name| tools.without(name)),
                &other.tools,
            )?,
            removed_tools: [self.removed_tools, other.removed_tools].concat(),
            inference: join_inference(&self.inference, &other.inference)?.into(),
            first_token_timeout: same_timeout(
                self.first_token_timeout,
                other.first_token_timeout,
                FIRST_TOKEN_TIMEOUT,
            )?,
            event_timeout: same_timeout(self.event_timeout, other.event_timeout, EVENT_TIMEOUT)?,
            turn_timeout: same_timeout(self.turn_timeout, other.turn_timeout, TURN_TIMEOUT)?,
            tool_timeout: same_timeout(self.tool_timeout, other.tool_timeout, TOOL_TIMEOUT)?,
            max_tool_rounds: same(self.max_tool_rounds, other.max_tool_rounds, MAX_TOOL_ROUNDS)?,
            log_timeout: same(self.log_timeout, other.log_timeout, "log_timeout")?,
            max_result_bytes: same(self.max_result_bytes, other.max_result_bytes, "max_result_bytes")?,
            max_window: same(self.max_window, other.max_window, "max_window")?,
            contents: other.contents.or(self.contents),
            fact_finder: other.fact_finder.or(self.fact_finder),
            policy: same(self.policy, other.policy, "policy")?,
            summarizer: other.summarizer.or(self.summarizer),
            keeps_all_messages: same(self.keeps_all_messages, other.keeps_all_messages, "keeps_all_messages")?,
        })
    }

    /// Returns these settings, with those of `base` where nothing is set here.
    ///
    /// Returns an error if a name is unknown, or if the provider does not have the model.
    pub(in crate::conversation) fn over(self, base: &Self) -> Result<Self, ConfigError> {
        let models = if self.models.is_empty() { base.models.clone() } else { self.models };
        let find = |provider, model| models.find(provider, model);
        let (old_provider, old_model) = (base.provider.as_ref(), base.model.as_ref());
        let chosen = match (self.provider.as_ref(), self.model.as_ref()) {
            (None, None) => None,
            (Some(provider), Some(model)) => Some(find(Some(provider), Some(model))?),
            (provider @ Some(_), None) => Some(find(provider, old_model).or_else(|_| find(provider, None))?),
            (None, model @ Some(_)) => Some(find(old_provider, model).or_else(|_| find(None, model))?),
        };
        let (provider, model) = match chosen {
            Some(chosen) => (Some(chosen.provider.clone()), Some(chosen.name.clone())),
            None => (base.provider.clone(), base.model.clone()),
        };
        let tools = self.removed_tools.iter().fold(base.tools.clone(), |tools, name| tools.without(name));
        Ok(Self {
            models,
            provider,
            model,
            tools: self.tools.all().iter().cloned().fold(tools, |tools, tool| tools.with(tool)),
            removed_tools: Vec::new(),
            inference: Inference::clone(&self.inference).or(&base.inference).into(),
            first_token_timeout: self.first_token_timeout.or(base.first_token_timeout),
            event_timeout: self.event_timeout.or(base.event_timeout),
            turn_timeout: self.turn_timeout.or(base.turn_timeout),
            tool_timeout: self.tool_timeout.or(base.tool_timeout),
            max_tool_rounds: self.max_tool_rounds.or(base.max_tool_rounds),
            log_timeout: self.log_timeout.or(base.log_timeout),
            max_result_bytes: self.max_result_bytes.or(base.max_result_bytes),
            max_window: self.max_window.or(base.max_window),
            contents: self.contents.or_else(|| base.contents.clone()),
            fact_finder: self.fact_finder.or_else(|| base.fact_finder.clone()),
            policy: self.policy.or_else(|| base.policy.clone()),
            summarizer: self.summarizer.or_else(|| base.summarizer.clone()),
            keeps_all_messages: self.keeps_all_messages.or(base.keeps_all_messages),
        })
    }

    /// Returns this configuration, with the models of `other` if it has none.
    pub(in crate::conversation) fn or_models_of(mut self, other: &Self) -> Self {
        if self.models.is_empty() {
            let Self { models, provider, model, .. } = other.clone();
            (self.models, self.provider, self.model) = (models, provider, model);
        }
        self
    }
}

fn same<T: PartialEq>(one: Option<T>, other: Option<T>, key: &'static str) -> Result<Option<T>, ConfigError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(ConfigError::Contradiction { key }),
        (one, other) => Ok(one.or(other)),
    }
}

fn same_timeout(
    one: Option<Duration>,
    other: Option<Duration>,
    key: &'static str,
) -> Result<Option<Duration>, ConfigError> {
    match same(one, other, key)? {
        Some(Duration::ZERO) => Err(ConfigError::WrongValue { key, expected: "a time above zero" }),
        timeout => Ok(timeout),
    }
}

fn join_tools(tools: Tools, more: &Tools) -> Result<Tools, ConfigError> {
    more.all().iter().try_fold(tools, |tools, tool| match tools.get(tool.name()) {
        Some(known) if known.spec() != tool.spec() => Err(ConfigError::TwoTools { name: tool.name().clone() }),
        _ => Ok(tools.with(tool.clone())),
    })
}

fn join_inference(one: &Inference, other: &Inference) -> Result<Inference, ConfigError> {
    let listed = |texts: &Vec<Text>| Some(texts.clone()).filter(|texts| !texts.is_empty());
    let stop_sequences = same(listed(&one.stop_sequences), listed(&other.stop_sequences), STOP_SEQUENCES)?;
    let fields = &one.model_fields;
    if other.model_fields.iter().any(|(key, value)| fields.get(key).is_some_and(|known| known != value)) {
        return Err(ConfigError::Contradiction { key: MODEL_FIELDS });
    }
    Ok(Inference {
        temperature: same(one.temperature, other.temperature, TEMPERATURE)?,
        top_p: same(one.top_p, other.top_p, TOP_P)?,
        max_tokens: same(one.max_tokens, other.max_tokens, MAX_TOKENS)?,
        stop_sequences: stop_sequences.unwrap_or_default(),
        model_fields: other.model_fields.clone().or(&one.model_fields),
    })
}
