//! [`Config`]: how a conversation takes its turns.
//!
//! Owns the names of models, the settings that a prompt may change, and the check for contradictions. Never calls a
//! model and never changes a message.

mod data;
mod error;
mod layers;
mod models;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use error::ConfigError;
pub use models::Models;

use crate::contents::ContentStore;
use crate::memory::{ExtractiveSummarizer, FactFinder, RuleFactFinder};
use crate::message::{Rarely, Text, ToolName};
use crate::model::{Inference, Summarizer, Tool};
use crate::policy::{Policy, Tokens};
use crate::turn::{Setup, Tools};

/// The configuration of a conversation: how runs and live calls take its turns.
///
/// A setting that is not set has its default. A [prompt](super::Prompt) changes settings in code, with
/// [`Prompt::config`](super::Prompt::config), or by key, with [`Prompt::set`](super::Prompt::set). A refused prompt
/// changes nothing. `Prompt::set` takes these keys; a time is a whole number of milliseconds, above 0:
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `provider`, `model` | the model to call, by its names in [`Models`] | the first one |
/// | `first_token_timeout_ms` | the maximum time until the first words of a turn | 8,000 in a call, 60,000 in a run |
/// | `event_timeout_ms` | the maximum silence of the model after its first words | `first_token_timeout_ms` |
/// | `turn_timeout_ms` | the maximum time of a whole turn, without its tools | no limit |
/// | `tool_timeout_ms` | the maximum time of a tool without a timeout of its own | 15,000 |
/// | `max_tool_rounds` | the maximum number of rounds of tool calls in a turn; the next request offers no tools | 5 |
/// | `temperature`, `top_p`, `max_tokens`, `stop_sequences`, `model_fields` | the [`Inference`] settings | the model's |
///
/// A later prompt replaces the settings of earlier ones, key by key and tool by tool. Choosing a model of another
/// provider also chooses that provider. Choosing a provider keeps the model if the provider has one of that name, and
/// otherwise chooses the provider's first model. One prompt must not contradict itself: two values for a key, two
/// different tools of one name, and a provider without the chosen model are errors. So are unknown keys, unknown names,
/// and values of the wrong kind.
#[derive(Clone, Default)]
pub struct Config {
    models: Models,
    provider: Option<Text>,
    model: Option<Text>,
    tools: Tools,
    /// The tools that a prompt removes from the conversation's configuration.
    removed_tools: Vec<ToolName>,
    inference: Rarely<Inference>,
    first_token_timeout: Option<Duration>,
    event_timeout: Option<Duration>,
    turn_timeout: Option<Duration>,
    tool_timeout: Option<Duration>,
    max_tool_rounds: Option<u32>,
    log_timeout: Option<Duration>,
    max_result_bytes: Option<usize>,
    max_window: Option<Tokens>,
    contents: Option<Arc<dyn ContentStore>>,
    fact_finder: Option<Arc<dyn FactFinder>>,
    policy: Option<Policy>,
    summarizer: Option<Arc<dyn Summarizer>>,
    keeps_all_messages: Option<bool>,
}

impl Config {
    /// Creates a configuration with the defaults and these models.
    pub fn new(models: Models) -> Self {
        Self { models, ..Self::default() }
    }

    pub(super) fn of_provider(name: Text) -> Self {
        Self { provider: Some(name), ..Self::default() }
    }

    pub(super) fn of_model(name: Text) -> Self {
        Self { model: Some(name), ..Self::default() }
    }

    /// Sets the store that holds the contents which messages reference by id.
    ///
    /// The model gets the content, or a description if there is no store or the store lacks it. Each request reads the
    /// store, so use a [`Cached`](crate::contents::Cached) one.
    #[must_use]
    pub fn with_contents(self, store: impl ContentStore + 'static) -> Self {
        Self { contents: Some(Arc::new(store)), ..self }
    }

    /// Adds a tool, or replaces the tool of the same name.
    #[must_use]
    pub fn with_tool(self, tool: Tool) -> Self {
        Self { tools: self.tools.with(tool), ..self }
    }

    /// Removes a tool. A call of it that is running completes. In a prompt, the tool is removed from the conversation.
    #[must_use]
    pub fn without_tool(mut self, name: &ToolName) -> Self {
        self.removed_tools.push(name.clone());
        Self { tools: self.tools.without(name), ..self }
    }

    /// Sets the inference settings. In a prompt, a setting that `inference` leaves out stays as it was.
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference: inference.into(), ..self }
    }

    /// Sets the maximum time until the first words of an answer; 8 s in a call and 60 s in a run by default. It
    /// excludes the time of tools; after tools, it starts again.
    ///
    /// Within this time, a request that failed before its first words is retried, with growing pauses.
    #[must_use]
    pub fn with_first_token_timeout(self, timeout: Duration) -> Self {
        Self { first_token_timeout: Some(timeout), ..self }
    }

    /// Sets the maximum silence of the model after its first words; the first token timeout by default.
    #[must_use]
    pub fn with_event_timeout(self, timeout: Duration) -> Self {
        Self { event_timeout: Some(timeout), ..self }
    }

    /// Sets the maximum time of a whole turn, without the time of its tools; no limit by default.
    #[must_use]
    pub fn with_turn_timeout(self, timeout: Duration) -> Self {
        Self { turn_timeout: Some(timeout), ..self }
    }

    /// Sets the maximum time to wait for a tool without a timeout of its own; 15 s by default. After it, the outcome is
    /// unknown until the tool ends.
    #[must_use]
    pub fn with_tool_timeout(self, timeout: Duration) -> Self {
        Self { tool_timeout: Some(timeout), ..self }
    }

    /// Sets the maximum number of rounds of tool calls in a turn; 5 by default. The request after the last round offers
    /// no tools. A call that the model makes anyway does not run.
    #[must_use]
    pub fn with_max_tool_rounds(self, rounds: u32) -> Self {
        Self { max_tool_rounds: Some(rounds), ..self }
    }

    /// Sets how long a tool that [acts once](Tool::acts_once) waits until the log has stored its call; 2 s by default.
    /// After that, the call never runs.
    #[must_use]
    pub fn with_log_timeout(self, timeout: Duration) -> Self {
        Self { log_timeout: Some(timeout), ..self }
    }

    /// Sets the maximum size of a tool's result, in bytes; 64 KB by default, and at most 256 KB, which a log can always
    /// store. The rest is cut off, and the result ends with a note about it.
    #[must_use]
    pub fn with_max_result_bytes(self, bytes: usize) -> Self {
        Self { max_result_bytes: Some(bytes), ..self }
    }

    /// Sets the policy: when to summarize, and how many turns stay in the window.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// Sets the maximum window, in estimated tokens; 16,000 by default. It holds even if no summary succeeds. The model
    /// always gets the whole last turn.
    #[must_use]
    pub fn with_max_window(self, tokens: u64) -> Self {
        Self { max_window: Some(Tokens::new(tokens)), ..self }
    }

    /// Sets the finder of facts; [`RuleFactFinder`] by default.
    #[must_use]
    pub fn with_fact_finder(self, finder: impl FactFinder + 'static) -> Self {
        Self { fact_finder: Some(Arc::new(finder)), ..self }
    }

    /// Sets the summarizer; [`ExtractiveSummarizer`] by default, which also replaces a summarizer that fails or takes longer
    /// than 30 s.
    #[must_use]
    pub fn with_summarizer(self, summarizer: impl Summarizer + 'static) -> Self {
        Self { summarizer: Some(Arc::new(summarizer)), ..self }
    }

    /// Sets whether all messages stay in memory, except those over the limit of a
    /// [registry](crate::conversation::Conversations); false by default.
    ///
    /// With false, a message is released once a summary covers it and the log has acknowledged it. A conversation
    /// without a log keeps all messages. A message also stays while its tool runs, or while its playback is not
    /// reported, for up to eight speeches. A report of playback for a released message is ignored. The prompt, the
    /// metadata and the facts do not change. [`Conversation::whole`](crate::conversation::Conversation::whole) reads
    /// released messages from the log.
    #[must_use]
    pub fn with_all_messages(self, keep: bool) -> Self {
        Self { keeps_all_messages: Some(keep), ..self }
    }

    /// Returns the provider and the name of the chosen model, or `None` if no prompt has chosen one. Turns then use the
    /// first model.
    pub fn model(&self) -> Option<(&str, &str)> {
        Some((self.provider.as_ref()?.as_str(), self.model.as_ref()?.as_str()))
    }

    /// Returns the tools, in the order in which they were added.
    pub fn tools(&self) -> &[Tool] {
        self.tools.all()
    }

    /// Returns the settings of the turn engine. The defaults differ: a caller on the phone waits less patiently than a
    /// run.
    pub(super) fn setup(&self, is_call: bool) -> Setup {
        let chosen = self.models.find(self.provider.as_ref(), self.model.as_ref()).ok();
        let patience = Duration::from_secs(if is_call { 8 } else { 60 });
        let first_token_timeout = self.first_token_timeout.unwrap_or(patience);
        Setup {
            model: chosen.map(|chosen| (chosen.name.clone(), chosen.model.clone())),
            tools: self.tools.clone(),
            inference: self.inference.clone(),
            first_token_timeout,
            event_timeout: self.event_timeout.unwrap_or(first_token_timeout),
            turn_timeout: self.turn_timeout,
            tool_timeout: self.tool_timeout.unwrap_or(Duration::from_secs(15)),
            log_timeout: self.log_timeout.unwrap_or(Duration::from_secs(2)),
            max_result_bytes: self.max_result_bytes.unwrap_or(64 * 1024).min(256 * 1024),
            max_tool_rounds: self.max_tool_rounds.unwrap_or(5),
            max_window: self.max_window.unwrap_or(Tokens::new(16_000)),
            memory: self.policy().memory(),
            budget: self.policy().budget(),
            fact_finder: self.fact_finder.clone().unwrap_or_else(|| Arc::new(RuleFactFinder)),
            contents: self.contents.clone(),
        }
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy.clone().unwrap_or_default()
    }

    pub(super) fn keeps_all_messages(&self) -> bool {
        self.keeps_all_messages.unwrap_or_default()
    }

    pub(super) fn summarizer(&self) -> Arc<dyn Summarizer> {
        self.summarizer.clone().unwrap_or_else(|| Arc::new(ExtractiveSummarizer::for_memory(self.policy().memory())))
    }
}

/// Shows the names of models and tools, which the service chose.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("models", &self.models)
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
