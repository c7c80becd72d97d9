//! [`CallBuilder`]: the parts of a live call.

use std::fmt;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::ear::CallEar;
use super::session::CallSession;
use super::settings::CallSettings;
use crate::clock::{Clock, IdSource};
use crate::conversation::{Config, Conversation, one_model, system_texts};
use crate::log::CallWriter;
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{PlainMessage, Text, is_blank};
use crate::model::{Model, Summarizer, Tool};
use crate::turn::{Host, Observer};

/// The parts of a live call; made by [`CallSession::with_model`], or by [`CallSession::of`] in a conversation.
#[must_use = "`open` begins the call"]
pub struct CallBuilder {
    /// `None` makes a new one.
    conversation: Option<Conversation>,
    config: Config,
    system: Option<Text>,
    settings: CallSettings,
    observer: Option<Arc<dyn Observer>>,
    log: Option<CallWriter>,
    clock: Option<(Arc<dyn Clock>, Arc<dyn IdSource>)>,
}

impl CallBuilder {
    pub(super) fn with_model(model: impl Model + 'static) -> Self {
        Self::new(None, Config::new(one_model(model)))
    }

    pub(super) fn of(conversation: Conversation) -> Self {
        let config = conversation.config();
        Self::new(Some(conversation), config)
    }

    fn new(conversation: Option<Conversation>, config: Config) -> Self {
        let (system, observer, log, clock) = (None, None, None, None);
        Self { conversation, config, system, settings: CallSettings::default(), observer, log, clock }
    }

    /// Adds instructions for the model. They are logged as a supervisor message, unless the conversation has them already.
    pub fn system(mut self, prompt: impl Into<Text>) -> Self {
        self.system = Some(prompt.into()).filter(|prompt| !is_blank(prompt));
        self
    }

    /// Changes the configuration: deadlines, retries, policy, inference, and all else that a [`Config`] says.
    pub fn config(mut self, change: impl FnOnce(Config) -> Config) -> Self {
        self.config = change(self.config);
        self
    }

    /// Adds a tool, in place of one with its name. An [external](Tool::external) one is run by the service, which learns of a
    /// call by the [reply](super::ReplyEvent::ToolCalled) and reports its result with
    /// [`tool_result`](CallSession::tool_result).
    pub fn tool(self, tool: Tool) -> Self {
        self.config(|config| config.with_tool(tool))
    }

    /// Sets what makes the summaries. See [`Config::with_summarizer`].
    pub fn summarizer(self, summarizer: impl Summarizer + 'static) -> Self {
        self.config(|config| config.with_summarizer(summarizer))
    }

    /// Sets what the caller hears where there is no answer, and how playback is reported.
    pub fn settings(mut self, settings: CallSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the handle for logging: [`LogWriter::open`](crate::log::LogWriter::open), or what
    /// [`resume`](crate::log::LogWriter::resume) gave. Without one nothing is logged, unless the conversation is.
    pub fn log(mut self, writer: CallWriter) -> Self {
        self.log = Some(writer);
        self
    }

    /// Sets who is told what happens.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Takes the time and the ids of a new conversation from elsewhere than the machine.
    pub fn clock(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        self.clock = Some((clock, ids));
        self
    }

    /// Begins the call.
    ///
    /// Errors: [`OpenError`].
    pub fn open(self) -> Result<CallSession, OpenError> {
        let manager = match &self.clock {
            Some((clock, ids)) => MessagesManager::with_clock(clock.clone(), ids.clone()),
            None => MessagesManager::new(),
        };
        self.resume(manager)
    }

    /// Continues a call that was restored. Tool calls without a result get an error: what their tools did is not known.
    ///
    /// A builder [of](CallSession::of) a conversation has its messages already, and ignores `manager`.
    ///
    /// Errors: [`OpenError`].
    pub fn resume(self, manager: MessagesManager<PlainMessage>) -> Result<CallSession, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let conversation = match self.conversation {
            Some(conversation) => conversation,
            None => match &self.log {
                Some(writer) => Conversation::of(writer.lease().call_id().clone(), manager),
                None => Conversation::unnamed_of(manager),
            },
        };
        let conversation = match self.observer {
            Some(observer) => conversation.with_observer(observer),
            None => conversation,
        };
        let settings = Arc::new(self.settings);
        let ear = CallEar::new(settings.clone(), conversation.now_ms());
        conversation.attach_call(Box::new(ear), self.config).map_err(|_| OpenError::InUse)?;
        let session = CallSession::new(conversation, settings, runtime);
        let conversation = session.conversation();
        if let Some(system) = self.system
            && !conversation.read(system_texts).contains(&system)
        {
            conversation.with(|core| {
                core.manager.add_system(system)?;
                core.changed();
                Ok::<(), ManagerError>(())
            })?;
        }
        if let Some(writer) = self.log {
            conversation.log(writer);
        }
        conversation.with(|core| {
            core.end_open_calls("The call was taken over before the tool answered; whether it acted is not known.");
            core.is_to_be_logged = true;
        });
        Ok(session)
    }
}

/// Why a call does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Tasks make its replies and summaries.
    #[error("a call needs a tokio runtime: open it in one, for instance in a task")]
    NoRuntime,
    /// Another call or a run takes the turns of the conversation.
    #[error("another call or a run takes the turns of the conversation; close it first, or wait for its end")]
    InUse,
    /// The conversation takes no more messages.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

impl fmt::Debug for CallBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder")
            .field("conversation", &self.conversation)
            .field("config", &self.config)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
