//! [`CallBuilder`]: configures and opens a live call.

use std::fmt;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::ear::CallEar;
use super::session::CallSession;
use super::settings::CallSettings;
use crate::clock::{Clock, IdSource, Sources};
use crate::conversation::{Config, Conversation, ConversationError, Problem, one_model, system_texts};
use crate::log::CallWriter;
use crate::manager::MessagesManager;
use crate::message::{PlainMessage, Text, is_blank};
use crate::model::{Model, NoResult, Summarizer, Tool};
use crate::turn::{Host, Observer, look_up_inherited};

/// Configures and opens a live call: [`new`](Self::new) for a new conversation, [`of`](Self::of) for an existing one.
#[must_use = "`open` begins the call"]
pub struct CallBuilder {
    base: Base,
    /// The changes of the configuration, in order.
    changes: Vec<Box<dyn FnOnce(Config) -> Config + Send>>,
    system: Option<Text>,
    settings: CallSettings,
    observer: Option<Arc<dyn Observer>>,
    log: Option<CallWriter>,
    sources: Option<Arc<Sources>>,
}

/// The conversation of a new call.
enum Base {
    /// A new conversation with this configuration.
    New(Box<Config>),
    /// A conversation that exists, with the configuration that it has when the call opens.
    Existing(Conversation),
}

impl CallBuilder {
    /// Creates a builder for a call in a new conversation, whose replies come from `model`.
    pub fn new(model: impl Model + 'static) -> Self {
        Self::with(Base::New(Box::new(Config::new(one_model(model)))))
    }

    /// Creates a builder for a call in an existing conversation. The call uses the configuration that the conversation
    /// has when the call opens.
    ///
    /// A call that was closed and is opened again has its earlier [end](crate::log::CallHeader::call_end) in the log until it
    /// is closed again, with more messages, or [resumed](crate::log::LogWriter::resume).
    pub fn of(conversation: &Conversation) -> Self {
        Self::with(Base::Existing(conversation.clone()))
    }

    fn with(base: Base) -> Self {
        let (system, observer, log, sources) = (None, None, None, None);
        Self { base, changes: Vec::new(), system, settings: CallSettings::default(), observer, log, sources }
    }

    /// Sets the instructions for the model. They become a system message, unless they are blank or the conversation
    /// already has the same one.
    pub fn system(mut self, prompt: impl Into<Text>) -> Self {
        self.system = Some(prompt.into()).filter(|prompt| !is_blank(prompt));
        self
    }

    /// Changes the configuration when the call opens: deadlines, retries, policy, inference, and everything else in
    /// [`Config`].
    pub fn config(mut self, change: impl FnOnce(Config) -> Config + Send + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// Adds a tool, or replaces the one with the same name.
    ///
    /// The service runs an [external](Tool::external) tool: the [reply](super::ReplyEvent::ToolCalled) reports each call, and
    /// [`tool_result`](CallSession::tool_result) takes the result.
    pub fn tool(self, tool: Tool) -> Self {
        self.config(|config| config.with_tool(tool))
    }

    /// Sets the summarizer. See [`Config::with_summarizer`].
    pub fn summarizer(self, summarizer: impl Summarizer + 'static) -> Self {
        self.config(|config| config.with_summarizer(summarizer))
    }

    /// Sets the fixed sentences, and how the session measures speech.
    pub fn settings(mut self, settings: CallSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the handle for logging, from [`LogWriter::open`](crate::log::LogWriter::open) or
    /// [`resume`](crate::log::LogWriter::resume).
    ///
    /// Without a handle the call is not logged, unless its conversation is.
    pub fn log(mut self, writer: CallWriter) -> Self {
        self.log = Some(writer);
        self
    }

    /// Sets the observer of the call's events.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the sources of time and ids for the new conversation of [`open`](Self::open).
    ///
    /// [`resume`](Self::resume) ignores them, because a manager has its own. So does a builder [of](Self::of) a
    /// conversation.
    pub fn clock(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        self.sources = Some(Arc::new(Sources { clock, ids }));
        self
    }

    /// Opens the call.
    ///
    /// Returns [`InUse`] if another call or a run uses the conversation. Returns [`Refused`] outside a tokio runtime,
    /// if a tool [acts once](Tool::acts_once) and there is no log, or if the conversation refuses the instructions.
    ///
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    pub fn open(self) -> Result<CallSession, ConversationError> {
        self.resume_hosted(MessagesManager::new())
    }

    /// Opens the call with the messages of a restored one, and with the builder's sources of time and ids.
    pub(super) fn resume_hosted(
        self,
        manager: MessagesManager<PlainMessage>,
    ) -> Result<CallSession, ConversationError> {
        let manager = match &self.sources {
            Some(sources) => manager.with_sources(sources.clone()),
            None => manager,
        };
        self.resume(manager)
    }

    /// Opens the call with the messages of a restored one. The outcome of open tool calls is unknown, so they get an
    /// error result. If the tool has a [handler](Tool::resume) for it, the outcome is looked up in the background.
    ///
    /// A builder [of](Self::of) a conversation already has its messages and ignores `manager`.
    ///
    /// Returns the errors of [`open`](Self::open).
    pub fn resume(self, manager: MessagesManager<PlainMessage>) -> Result<CallSession, ConversationError> {
        let runtime = Handle::try_current().map_err(|_| Problem::NoRuntime)?;
        let (conversation, config) = match (self.base, &self.log) {
            (Base::Existing(conversation), _) => (conversation.clone(), conversation.config()),
            (Base::New(config), Some(writer)) => {
                (Conversation::from_manager(writer.lease().call_id().clone(), manager), *config)
            }
            (Base::New(config), None) => (Conversation::unnamed_of(manager), *config),
        };
        let config = self.changes.into_iter().fold(config, |config, change| change(config));
        let conversation = match self.observer {
            Some(observer) => conversation.with_observer(observer),
            None => conversation,
        };
        let is_logged = self.log.is_some() || conversation.is_logged();
        if let Some(tool) = config.tools().iter().find(|tool| tool.acting.acts_once() && !is_logged) {
            return Err(Problem::NotLogged { tool: tool.name().clone() }.into());
        }
        let settings = Arc::new(self.settings);
        let ear = CallEar::new(settings.clone(), conversation.now_ms());
        conversation.attach_call(Box::new(ear), config).map_err(|_| Problem::NotFree)?;
        let session = CallSession::new(conversation, settings, runtime);
        let conversation = session.conversation();
        if let Some(system) = self.system
            && !conversation.read(system_texts).contains(&system)
        {
            conversation.add_system(system)?;
        }
        match (self.log, conversation.writer()) {
            (Some(writer), _) => conversation.log(writer),
            // The conversation may belong to a call that was closed.
            (None, Some(writer)) => writer.reopen(),
            (None, None) => {}
        }
        conversation.with(|core| {
            core.end_open_calls(&NoResult::TakenOver);
            core.is_to_be_logged = true;
        });
        let weak = conversation.downgrade();
        look_up_inherited(conversation, move || weak.upgrade());
        session.live(|ear, core| ear.resume(core));
        Ok(session)
    }
}

impl fmt::Debug for CallBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder")
            .field("base", &self.base)
            .field("changes", &self.changes.len())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New(config) => config.fmt(f),
            Self::Existing(conversation) => conversation.fmt(f),
        }
    }
}
