//! [`Config`]: how a conversation takes its turns, and what a prompt may say about that.
//!
//! Owns the names of models, what a key takes, and what contradicts what. Never asks a model and never changes a message.

mod derived;
mod error;
mod models;
mod setting;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use error::ConfigError;
pub use models::Models;
pub(super) use setting::{Setting, Wait};

use crate::contents::ContentStore;
use crate::memory::ExtractiveSummarizer;
use crate::message::{Text, ToolName};
use crate::model::{Inference, Summarizer, Tool};
use crate::policy::{Policy, Tokens};
use crate::turn::Tools;

/// How a conversation takes its turns, in runs and in live calls. [Prompts](super::Prompt) change it; one that is refused
/// leaves it as it was.
///
/// A prompt sets these keys, by a method or by data:
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `provider`, `model` | which of the [`Models`] is asked, by their names | the first one |
/// | `tools` | the functions that the model may call; never data | none |
/// | `first_token_timeout_ms` | how long the model may take until the first words of a turn | 8,000 in a call, 60,000 in a run |
/// | `event_timeout_ms` | how long the model may be silent after that | the same |
/// | `turn_timeout_ms` | how long a whole turn may take, tools included | no limit |
/// | `tool_timeout_ms` | how long a tool without a deadline of its own may take | 15,000 |
/// | `max_tool_rounds` | how often the model may call tools in one turn; then it is asked without them | 5 |
/// | `temperature`, `top_p`, `max_tokens`, `stop_sequences`, `model_fields` | the [`Inference`] settings | the model's |
///
/// A later prompt replaces what earlier ones set, tool by tool and key by key. A model of another provider brings its
/// provider; a provider that has no model of the present name brings its first one. **One** prompt must not contradict
/// itself: two different values for a key, two tools of one name with different specifications, and a provider with a model
/// that it does not have are errors. So are unknown keys and names, and values of another kind.
///
/// The service alone sets the rest: the policy, the summariser, the content store, and the limits of attempts and of the
/// window.
#[derive(Clone)]
pub struct Config {
    models: Models,
    /// Provider and name.
    choice: Option<(Text, Text)>,
    tools: Tools,
    inference: Inference,
    first_token_timeout: Option<Duration>,
    event_timeout: Option<Duration>,
    turn_timeout: Option<Duration>,
    tool_timeout: Duration,
    max_tool_rounds: u32,
    attempts: u32,
    max_window: Tokens,
    contents: Option<Arc<dyn ContentStore>>,
    pub(super) policy: Policy,
    pub(super) summarizer: Arc<dyn Summarizer>,
    pub(super) summary_timeout: Duration,
    pub(super) summary_backoff: Duration,
}

impl Config {
    /// The defaults, with these models.
    pub fn new(models: Models) -> Self {
        Self {
            models,
            choice: None,
            tools: Tools::default(),
            inference: Inference::default(),
            first_token_timeout: None,
            event_timeout: None,
            turn_timeout: None,
            tool_timeout: Duration::from_secs(15),
            max_tool_rounds: 5,
            attempts: 2,
            max_window: Tokens::new(16_000),
            contents: None,
            policy: Policy::default(),
            summarizer: Arc::new(ExtractiveSummarizer::default()),
            summary_timeout: Duration::from_secs(30),
            summary_backoff: Duration::from_secs(10),
        }
    }

    /// Sets the store of what messages name by a content id: the model gets what it holds. Without a store, and where it
    /// lacks something, the model gets a description. Each request reads the store, so use a
    /// [`Cached`](crate::contents::Cached) one.
    #[must_use]
    pub fn with_contents(self, store: impl ContentStore + 'static) -> Self {
        Self { contents: Some(Arc::new(store)), ..self }
    }

    /// Adds a tool, in place of one with its name.
    #[must_use]
    pub fn with_tool(self, tool: Tool) -> Self {
        Self { tools: self.tools.with(tool), ..self }
    }

    /// Takes a tool away.
    #[must_use]
    pub fn without_tool(self, name: &ToolName) -> Self {
        Self { tools: self.tools.without(name), ..self }
    }

    /// Sets the inference settings.
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference, ..self }
    }

    /// Sets how long the model may take until the first words of a turn. The time that tools take does not count.
    #[must_use]
    pub fn with_first_token_timeout(self, within: Duration) -> Self {
        Self { first_token_timeout: Some(within), ..self }
    }

    /// Sets how long the model may be silent after its first words. Default: as long as until the first words.
    #[must_use]
    pub fn with_event_timeout(self, within: Duration) -> Self {
        Self { event_timeout: Some(within), ..self }
    }

    /// Sets how long a whole turn may take, tools included. Default: no limit.
    #[must_use]
    pub fn with_turn_timeout(self, within: Duration) -> Self {
        Self { turn_timeout: Some(within), ..self }
    }

    /// Sets how long a tool without a deadline of its own may take; 15 s by default. After it, its outcome is unknown.
    #[must_use]
    pub fn with_tool_timeout(self, within: Duration) -> Self {
        Self { tool_timeout: within, ..self }
    }

    /// Sets how often the model may call tools in one turn; 5 by default. Then it is asked without tools; a call that it
    /// makes all the same is not run.
    #[must_use]
    pub fn with_max_tool_rounds(self, rounds: u32) -> Self {
        Self { max_tool_rounds: rounds, ..self }
    }

    /// Sets how often the model is asked for one turn if it fails before it has said anything; 2 by default. Failures that
    /// the model's client retries by itself do not count.
    #[must_use]
    pub fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Sets when to summarise, and how many turns stay.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets how large the window may be that the model gets, whatever becomes of the summaries; 16,000 estimated tokens by
    /// default. The last turn always goes whole.
    #[must_use]
    pub fn with_max_window(self, tokens: Tokens) -> Self {
        Self { max_window: tokens, ..self }
    }

    /// Sets what makes the summaries; [`ExtractiveSummarizer`] by default, which also replaces a summariser that fails.
    #[must_use]
    pub fn with_summarizer(self, summarizer: impl Summarizer + 'static) -> Self {
        Self { summarizer: Arc::new(summarizer), ..self }
    }

    /// Sets how long a summary may take; 30 s by default.
    #[must_use]
    pub fn with_summary_timeout(self, within: Duration) -> Self {
        Self { summary_timeout: within, ..self }
    }

    /// Sets how long the summariser rests after it failed; 10 s by default, doubled with each further failure, up to 5 min.
    #[must_use]
    pub fn with_summary_backoff(self, backoff: Duration) -> Self {
        Self { summary_backoff: backoff, ..self }
    }

    /// The provider of the model that is asked, if a prompt named one, or a model.
    pub fn provider(&self) -> Option<&str> {
        self.choice.as_ref().map(|(provider, _)| provider.as_str())
    }

    /// The model that is asked, if a prompt named one, or a provider.
    pub fn model(&self) -> Option<&str> {
        self.choice.as_ref().map(|(_, model)| model.as_str())
    }

    /// The tools, in the order in which they were added.
    pub fn tools(&self) -> &[Tool] {
        self.tools.all()
    }

    /// The inference settings.
    pub fn inference(&self) -> &Inference {
        &self.inference
    }

    /// How long the model may take until the first words of a turn, if that was set.
    pub fn first_token_timeout(&self) -> Option<Duration> {
        self.first_token_timeout
    }

    /// How long a tool without a deadline of its own may take.
    pub fn tool_timeout(&self) -> Duration {
        self.tool_timeout
    }

    /// How often the model may call tools in one turn.
    pub fn max_tool_rounds(&self) -> u32 {
        self.max_tool_rounds
    }
}

/// The defaults, without a model: no turn can be taken with it.
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
            .field("first_token_timeout", &self.first_token_timeout)
            .field("event_timeout", &self.event_timeout)
            .field("turn_timeout", &self.turn_timeout)
            .field("tool_timeout", &self.tool_timeout)
            .field("max_tool_rounds", &self.max_tool_rounds)
            .field("policy", &self.policy)
            .field("has_contents", &self.contents.is_some())
            .finish_non_exhaustive()
    }
}
