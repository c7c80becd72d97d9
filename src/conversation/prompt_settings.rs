//! What a [`Prompt`] says about the configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use super::config::{Setting, Wait};
use super::prompt::{Delta, Prompt};
use crate::message::{Text, ToolName, Value};
use crate::model::{Inference, Tool};

impl Prompt {
    /// Has a model of this provider asked, by the name under which it is [registered](super::Models::with).
    #[must_use]
    pub fn provider(&self, name: impl Into<Text>) -> Self {
        self.with(Delta::Setting(Setting::Provider(name.into())))
    }

    /// Has this model asked, by the name under which it is [registered](super::Models::with).
    #[must_use]
    pub fn model(&self, name: impl Into<Text>) -> Self {
        self.with(Delta::Setting(Setting::Model(name.into())))
    }

    /// Offers a tool, in the place of an earlier one of its name.
    #[must_use]
    pub fn tool(&self, tool: Tool) -> Self {
        self.with(Delta::Setting(Setting::Tool(tool)))
    }

    /// Offers several tools.
    #[must_use]
    pub fn tools(&self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self.clone(), |prompt, tool| prompt.tool(tool))
    }

    /// Withdraws a tool.
    #[must_use]
    pub fn without_tool(&self, name: &ToolName) -> Self {
        self.with(Delta::Setting(Setting::WithoutTool(name.clone())))
    }

    /// Sets how the model generates. What is not set in `inference` stays as it was.
    #[must_use]
    pub fn inference(&self, inference: Inference) -> Self {
        self.with(Delta::Setting(Setting::Inference(inference)))
    }

    /// Bounds how long the model may take until the first words of a turn.
    #[must_use]
    pub fn first_token_timeout(&self, within: Duration) -> Self {
        self.wait(Wait::FirstToken, within)
    }

    /// Bounds how long the model may be silent after its first words.
    #[must_use]
    pub fn event_timeout(&self, within: Duration) -> Self {
        self.wait(Wait::Event, within)
    }

    /// Bounds how long a whole turn may take, tools included.
    #[must_use]
    pub fn turn_timeout(&self, within: Duration) -> Self {
        self.wait(Wait::Turn, within)
    }

    /// Bounds how long a tool may take that has no deadline of its own.
    #[must_use]
    pub fn tool_timeout(&self, within: Duration) -> Self {
        self.wait(Wait::Tool, within)
    }

    /// Bounds how often the model may call tools in one run. Then it is asked without them.
    #[must_use]
    pub fn max_tool_rounds(&self, rounds: u32) -> Self {
        self.with(Delta::Setting(Setting::MaxToolRounds(rounds)))
    }

    /// Says something about the configuration that comes as data, under a key of [`Config`](super::Config). An unknown
    /// key and a value that it does not take are errors when it is applied.
    #[must_use]
    pub fn set(&self, key: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(Delta::Data(key.into(), value.into()))
    }

    /// The same with several keys.
    #[must_use]
    pub fn configure(&self, settings: &BTreeMap<String, Value>) -> Self {
        settings.iter().fold(self.clone(), |prompt, (key, value)| prompt.set(key, value.clone()))
    }

    fn wait(&self, wait: Wait, within: Duration) -> Self {
        self.with(Delta::Setting(Setting::Wait(wait, within)))
    }
}
