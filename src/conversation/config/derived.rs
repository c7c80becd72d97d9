//! What follows from a [`Config`]: the engine's setup, and the configuration that a prompt makes of it.

use std::time::Duration;

use super::setting::Said;
use super::{Config, ConfigError, Setting};
use crate::message::Text;
use crate::turn::Setup;

impl Config {
    /// What the turn engine needs of it. A caller on the phone waits less patiently than a run.
    pub(in crate::conversation) fn setup(&self, is_call: bool) -> Setup {
        let (provider, model) = self.choice.as_ref().map(|(provider, model)| (provider, model)).unzip();
        let chosen = self.models.find(provider, model).ok();
        let patience = Duration::from_secs(if is_call { 8 } else { 60 });
        let first_token_timeout = self.first_token_timeout.unwrap_or(patience);
        Setup {
            model: chosen.map(|chosen| (chosen.name.clone(), chosen.model.clone())),
            tools: self.tools.clone(),
            inference: self.inference.clone(),
            first_token_timeout,
            event_timeout: self.event_timeout.unwrap_or(first_token_timeout),
            turn_timeout: self.turn_timeout,
            tool_timeout: self.tool_timeout,
            attempts: self.attempts,
            max_tool_rounds: self.max_tool_rounds,
            max_window: self.max_window,
            contents: self.contents.clone(),
        }
    }

    /// The same with the models of another configuration, if this one has none.
    pub(in crate::conversation) fn or_models_of(mut self, other: &Self) -> Self {
        if self.models.is_empty() {
            (self.models, self.choice) = (other.models.clone(), other.choice.clone());
        }
        self
    }

    /// The configuration with what one prompt says. Errors: see [`Config`].
    pub(in crate::conversation) fn with(
        &self,
        settings: impl IntoIterator<Item = Setting>,
    ) -> Result<Self, ConfigError> {
        let said = Said::by(settings)?;
        let tools = said.without_tools.iter().fold(self.tools.clone(), |tools, name| tools.without(name));
        Ok(Self {
            choice: self.choice(said.provider.as_ref(), said.model.as_ref())?,
            tools: said.tools.into_iter().fold(tools, |tools, tool| tools.with(tool)),
            inference: said.inference.or(&self.inference),
            first_token_timeout: said.first_token_timeout.or(self.first_token_timeout),
            event_timeout: said.event_timeout.or(self.event_timeout),
            turn_timeout: said.turn_timeout.or(self.turn_timeout),
            tool_timeout: said.tool_timeout.unwrap_or(self.tool_timeout),
            max_tool_rounds: said.max_tool_rounds.unwrap_or(self.max_tool_rounds),
            ..self.clone()
        })
    }

    fn choice(&self, provider: Option<&Text>, model: Option<&Text>) -> Result<Option<(Text, Text)>, ConfigError> {
        let (provider_now, model_now) = self.choice.as_ref().map(|(provider, model)| (provider, model)).unzip();
        let find = |provider, model| self.models.find(provider, model);
        let chosen = match (provider, model) {
            (None, None) => return Ok(self.choice.clone()),
            (Some(_), Some(_)) => find(provider, model)?,
            (Some(_), None) => find(provider, model_now).or_else(|_| find(provider, None))?,
            (None, Some(_)) => find(provider_now, model).or_else(|_| find(None, model))?,
        };
        Ok(Some((chosen.provider.clone(), chosen.name.clone())))
    }
}
