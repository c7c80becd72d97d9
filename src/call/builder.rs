//! [`CallBuilder`]: the parts of a live call.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::observer::Observer;
use super::request;
use super::session::CallSession;
use super::settings::CallSettings;
use super::shared::Shared;
use super::state::State;
use super::tool::{Tool, Tools};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::log::CallWriter;
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{MessageWrapper, PlainMessage, Role, Text};
use crate::model::{Extractive, Model, Summarizer, ToolSpec};

/// The parts of a live call; made by [`CallSession::with_model`]. Only the model has to be there.
#[must_use = "`open` begins the call"]
pub struct CallBuilder {
    model: Arc<dyn Model>,
    summarizer: Arc<dyn Summarizer>,
    tools: Tools,
    system: Option<Text>,
    settings: CallSettings,
    observer: Option<Arc<dyn Observer>>,
    log: Option<CallWriter>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl CallBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            summarizer: Arc::new(Extractive::default()),
            tools: Tools::default(),
            system: None,
            settings: CallSettings::default(),
            observer: None,
            log: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        }
    }

    /// What the model is to do. It is logged as a supervisor message where the call does not have it yet. Where there are
    /// tools, the model is told behind it not to make a call again that the record of the call lists.
    pub fn system(mut self, prompt: impl Into<Text>) -> Self {
        self.system = Some(prompt.into()).filter(|prompt| !crate::message::is_blank(prompt));
        self
    }

    /// A tool that runs here.
    pub fn tool(mut self, spec: ToolSpec, tool: impl Tool + 'static) -> Self {
        self.tools.add(spec, Some(Arc::new(tool)));
        self
    }

    /// A tool that the service runs: it is told of calls by the [reply](super::ReplyEvent::ToolCalled), and gives what came
    /// of them to [`tool_result`](CallSession::tool_result).
    pub fn external_tool(mut self, spec: ToolSpec) -> Self {
        self.tools.add(spec, None);
        self
    }

    /// What makes the summaries; the extractive summariser, which needs no model, if nothing is set. That one takes its
    /// place whenever it fails.
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.summarizer = Arc::new(summarizer);
        self
    }

    /// How it takes its turns.
    pub fn settings(mut self, settings: CallSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The way into the log: [`LogWriter::open`](crate::log::LogWriter::open), or what
    /// [`resume`](crate::log::LogWriter::resume) gave. Without one nothing is logged.
    pub fn log(mut self, writer: CallWriter) -> Self {
        self.log = Some(writer);
        self
    }

    /// Is told of what happens.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The time and the ids of the conversation, from elsewhere than the machine.
    pub fn clock(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        (self.clock, self.ids) = (clock, ids);
        self
    }

    /// Begins the call.
    ///
    /// Errors: [`OpenError`].
    pub fn open(self) -> Result<CallSession, OpenError> {
        let manager = MessagesManager::with_clock(self.clock.clone(), self.ids.clone());
        self.resume(manager)
    }

    /// Goes on with a call that was restored. What tools without a result have done is not known: they get an error.
    ///
    /// Errors: [`OpenError`].
    pub fn resume(self, mut manager: MessagesManager<PlainMessage>) -> Result<CallSession, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        if let Some(system) = &self.system {
            let is_it = |message: &&PlainMessage| message.role() == Role::Supervisor;
            let last = manager.meta_messages().iter().rfind(is_it);
            if last.is_none_or(|last| last.contents().texts().last() != Some(system)) {
                manager.add_supervisor(system.clone())?;
            }
        }
        let settings = Arc::new(self.settings);
        let mut state = State::new(manager, settings.clone(), self.clock);
        state.writer = self.log.map(Arc::new);
        state.end_open_calls("The call was taken over before the tool answered; whether it acted is not known.");
        state.log();
        let has_tools = !self.tools.specs.is_empty();
        let shared = Shared {
            runtime,
            call_id: state.writer.as_ref().map(|writer| writer.claim().call_id().clone()),
            model: self.model,
            summarizer: self.summarizer,
            tools: self.tools,
            instructions: request::instructions(self.system, has_tools),
            settings,
            observer: self.observer,
            results: Notify::new(),
            state: Mutex::new(state),
        };
        Ok(CallSession::new(Arc::new(shared)))
    }
}

/// Why a call does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its replies and summaries are made by tasks.
    #[error("a call needs a tokio runtime: open it in one, for instance in a task")]
    NoRuntime,
    /// The conversation that was restored takes no more messages.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

impl fmt::Debug for CallBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder")
            .field("tools", &self.tools)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
