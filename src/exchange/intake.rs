//! [`Intake`]: a conversation that is being imported.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::aliases::Aliases;
use super::error::ExchangeError;
use super::node::Node;
use super::options::ImportOptions;
use super::wrong::{JsonKind, Refused};
use crate::clock::{Clock, read_moment};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Draft, MessageError, MessageId, MessageWrapper, Outcome, Role, Text, ToolCall, ToolCallId, ToolName,
    ToolResult, Value,
};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: &'a RawValue,
}

/// A conversation that is being imported.
#[derive(Debug)]
pub(super) struct Intake<W> {
    manager: MessagesManager<W>,
    aliases: Aliases,
}

impl<W: MessageWrapper> Intake<W> {
    pub fn new(options: &ImportOptions) -> Self {
        Self::with_clock(options, options.clock.clone())
    }

    /// An import of messages that bring their times along.
    pub fn with_clock(options: &ImportOptions, clock: Arc<dyn Clock>) -> Self {
        let manager = MessagesManager::with_clock(clock, options.ids.clone());
        Self { manager, aliases: Aliases::default() }
    }

    /// Imports a request: an object with `messages` and maybe `system`, or the list of messages alone. Instructions come
    /// first, also if `system` is the last key.
    pub fn request(
        options: &ImportOptions,
        node: &Node<'_, '_>,
        system: impl FnOnce(&mut Self, &Node<'_, '_>) -> Result<(), ExchangeError>,
        message: impl Fn(&mut Self, &Node<'_, '_>) -> Result<(), ExchangeError>,
    ) -> Result<MessagesManager<W>, ExchangeError> {
        let mut intake = Self::new(options);
        if node.kind() == JsonKind::List {
            node.each(|item| message(&mut intake, &item))?;
            return Ok(intake.into_manager());
        }
        let request: Request<'_> = node.object()?;
        if let Some(instructions) = request.system {
            system(&mut intake, &node.under("system", instructions))?;
        }
        node.under("messages", request.messages).each(|item| message(&mut intake, &item))?;
        Ok(intake.into_manager())
    }

    /// Adds the message that `node` holds.
    pub fn add(&mut self, node: &Node<'_, '_>, role: Role, contents: Vec<Content>) -> Result<(), ExchangeError> {
        self.add_draft(node, Draft::new(role, contents))
    }

    /// Adds a message with what is known of it.
    pub fn add_draft(&mut self, node: &Node<'_, '_>, draft: Draft) -> Result<(), ExchangeError> {
        self.manager.add(draft).map(drop).map_err(|error| node.error(error))
    }

    /// A tool call. An id that an answered call had before is replaced by another, such as `call_1-2`.
    pub fn call(
        &mut self,
        node: &Node<'_, '_>,
        id: ToolCallId,
        name: ToolName,
        arguments: Value,
    ) -> Result<ToolCall, ExchangeError> {
        let id = self.aliases.of_call(id, |id| self.manager.invoked(id)).map_err(|problem| node.error(problem))?;
        Ok(ToolCall::of(id, name, arguments))
    }

    /// The result of the tool call that came under `id`.
    ///
    /// Returns an error if there is no such call before the result.
    pub fn result(&self, node: &Node<'_, '_>, id: &ToolCallId, outcome: Outcome) -> Result<ToolResult, ExchangeError> {
        let id = self.aliases.of_result(id);
        let (name, _) =
            self.manager.invoked(id).ok_or_else(|| node.invalid("no tool call with this id precedes the result"))?;
        Ok(ToolResult::new(id.clone(), name.clone(), outcome))
    }

    pub fn into_manager(self) -> MessagesManager<W> {
        self.manager
    }
}

/// The id of a tool call, as text.
#[derive(Deserialize)]
#[serde(try_from = "Text")]
pub(super) struct CallId(pub ToolCallId);

/// The name of a tool, as text.
#[derive(Deserialize)]
#[serde(try_from = "Text")]
pub(super) struct Tool(pub ToolName);

impl TryFrom<Text> for CallId {
    type Error = Refused;

    fn try_from(id: Text) -> Result<Self, Refused> {
        ToolCallId::new(id).map(Self).map_err(|error| Refused(error.to_string()))
    }
}

impl TryFrom<Text> for Tool {
    type Error = Refused;

    fn try_from(name: Text) -> Result<Self, Refused> {
        ToolName::new(name).map(Self).map_err(|error| Refused(error.to_string()))
    }
}

/// The id of a message or a part, as text.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(try_from = "Text")]
pub(super) struct OwnId(pub MessageId);

impl TryFrom<Text> for OwnId {
    type Error = Refused;

    fn try_from(id: Text) -> Result<Self, Refused> {
        id.parse().map(Self).map_err(|error: MessageError| Refused(error.to_string()))
    }
}

/// A moment as in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), in milliseconds since the Unix epoch.
#[derive(Deserialize, Clone, Copy)]
#[serde(try_from = "Text")]
pub(super) struct Moment(pub i64);

impl TryFrom<Text> for Moment {
    type Error = Refused;

    fn try_from(moment: Text) -> Result<Self, Refused> {
        const REASON: &str = "a moment as in RFC 3339 belongs here, such as 2025-11-18T10:30:00Z";
        read_moment(&moment).map(Self).ok_or_else(|| Refused(REASON.to_owned()))
    }
}

/// Who speaks, in the formats that know three roles.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
    System,
}

/// Who speaks, in the formats that know two roles.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spoken {
    User,
    Assistant,
}

impl From<Speaker> for Role {
    fn from(speaker: Speaker) -> Self {
        match speaker {
            Speaker::User => Self::User,
            Speaker::Assistant => Self::Assistant,
            Speaker::System => Self::System,
        }
    }
}

impl From<Spoken> for Role {
    fn from(spoken: Spoken) -> Self {
        match spoken {
            Spoken::User => Self::User,
            Spoken::Assistant => Self::Assistant,
        }
    }
}
