//! [`Config`]: how a conversation is run, and what a prompt may say about that.
//!
//! Owns the names of models, what a key takes, and what contradicts what. Never asks a model and never changes a message.

mod error;
mod models;
mod setting;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use error::ConfigError;
pub use models::Models;
pub(super) use models::NamedModel;
use setting::Said;
pub(super) use setting::Setting;

use super::tool::Tool;
use crate::contents::ContentStore;
use crate::message::{Text, ToolName};
use crate::model::ToolSpec;

/// How a conversation is run. [Prompts](super::Prompt) change it, and with an error leave it as it was.
///
/// | key | what it says | at first |
/// | --- | --- | --- |
/// | `provider`, `model` | which of the [`Models`] is asked, by their names | the first one |
/// | `tools` | what the model may have done; only as functions, never as data | none |
/// | `answer_within_ms` | how long one answer of the model may take; models bound their waits themselves | 60,000 |
/// | `tool_within_ms` | how long a tool may take that has no deadline of its own | 15,000 |
/// | `max_tool_rounds` | how often the model may call tools in one run; then it is asked without them | 5 |
///
/// What a prompt says takes the place of what earlier ones said, tool by tool and key by key: a model of another provider
/// brings its provider, and a provider that has no model of the present name brings its first one. But **one** prompt must
/// not contradict itself: two different values for a key, two tools of one name with different descriptions or schemas,
/// and a provider with a model that it does not have are errors. So are unknown keys and names, and values of another kind.
/// The same thing said twice is no contradiction.
#[derive(Clone)]
pub struct Config {
    models: Models,
    /// Provider and name.
    choice: Option<(Text, Text)>,
    tools: Arc<[Tool]>,
    /// Of the tools, for requests to share.
    specs: Arc<[ToolSpec]>,
    answer_within: Duration,
    tool_within: Duration,
    max_tool_rounds: u32,
    contents: Option<Arc<dyn ContentStore>>,
}

impl Config {
    /// The defaults, with these models.
    pub fn new(models: Models) -> Self {
        Self {
            models,
            choice: None,
            tools: Arc::new([]),
            specs: Arc::new([]),
            answer_within: Duration::from_secs(60),
            tool_within: Duration::from_secs(15),
            max_tool_rounds: 5,
            contents: None,
        }
    }

    /// The same with the store of what messages name by a content id: the model is given what it holds. Without one, and
    /// where it lacks something, the model is told of it as a text. Put a [`Cached`](crate::contents::Cached) one here, for
    /// it is asked with every request.
    #[must_use]
    pub fn with_contents(mut self, store: impl ContentStore + 'static) -> Self {
        self.contents = Some(Arc::new(store));
        self
    }

    /// The provider of the model that is asked, where one was named, or a model.
    pub fn provider(&self) -> Option<&str> {
        self.choice.as_ref().map(|(provider, _)| provider.as_str())
    }

    /// The model that is asked, where one was named, or a provider.
    pub fn model(&self) -> Option<&str> {
        self.choice.as_ref().map(|(_, model)| model.as_str())
    }

    /// The tools, in the order in which they came.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// How long one answer of the model may take.
    pub fn answer_within(&self) -> Duration {
        self.answer_within
    }

    /// How long a tool may take that has no deadline of its own.
    pub fn tool_within(&self) -> Duration {
        self.tool_within
    }

    /// How often the model may call tools in one run.
    pub fn max_tool_rounds(&self) -> u32 {
        self.max_tool_rounds
    }

    pub(super) fn contents(&self) -> Option<&dyn ContentStore> {
        self.contents.as_deref()
    }

    pub(super) fn tool(&self, name: &ToolName) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    pub(super) fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The model that is asked. Errors: there is none.
    pub(super) fn chosen(&self) -> Result<&NamedModel, ConfigError> {
        let (provider, model) = self.choice.as_ref().map(|(provider, model)| (provider, model)).unzip();
        self.models.find(provider, model)
    }

    /// The configuration with what one prompt says. Errors: see [`Config`].
    pub(super) fn with(&self, settings: impl IntoIterator<Item = Setting>) -> Result<Self, ConfigError> {
        let said = Said::by(settings)?;
        let mut tools: Vec<Tool> = self.tools.to_vec();
        for tool in said.tools {
            match tools.iter_mut().find(|known| known.name() == tool.name()) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }
        Ok(Self {
            models: self.models.clone(),
            choice: self.choice(said.provider.as_ref(), said.model.as_ref())?,
            specs: tools.iter().map(|tool| tool.spec().clone()).collect(),
            tools: tools.into(),
            answer_within: said.answer_within.unwrap_or(self.answer_within),
            tool_within: said.tool_within.unwrap_or(self.tool_within),
            max_tool_rounds: said.max_tool_rounds.unwrap_or(self.max_tool_rounds),
            contents: self.contents.clone(),
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

/// The defaults, without a model: nothing can be run with it.
impl Default for Config {
    fn default() -> Self {
        Self::new(Models::default())
    }
}

/// With the names of models and tools, which are the service's.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("models", &self.models)
            .field("provider", &self.provider())
            .field("model", &self.model())
            .field("tools", &self.tools)
            .field("answer_within", &self.answer_within)
            .field("tool_within", &self.tool_within)
            .field("max_tool_rounds", &self.max_tool_rounds)
            .field("has_contents", &self.contents.is_some())
            .finish()
    }
}
