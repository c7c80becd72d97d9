//! [`Importer`]: builds a conversation from messages that a format reads.

use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::aliases::Aliases;
use super::error::ExchangeError;
use super::node::Node;
use super::options::ImportOptions;
use super::reason::{JsonKind, Refused};
use crate::clock::{Clock, read_moment};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Draft, MessageError, MessageWrapper, Outcome, Role, Text, ToolCall, ToolCallId, ToolName, ToolResult,
    Value,
};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: &'a RawValue,
}

/// Builds a conversation from messages that a format reads.
#[derive(Debug)]
pub(super) struct Importer<W> {
    manager: MessagesManager<W>,
    aliases: Aliases,
}

impl<W: MessageWrapper> Importer<W> {
    pub fn new(options: &ImportOptions) -> Self {
        Self::with_clock(options, options.clock.clone())
    }

    /// Returns an importer of messages whose times are set on `clock`.
    pub fn with_clock(options: &ImportOptions, clock: Arc<dyn Clock>) -> Self {
        let manager = MessagesManager::new().with_clock(clock, options.ids.clone());
        Self { manager, aliases: Aliases::default() }
    }

    /// Imports a request: an object with `messages` and maybe `system`, or the list of messages alone. Instructions
    /// come first, even if `system` is the last key.
    pub fn import_request(
        json: &[u8],
        options: &ImportOptions,
        add_instructions: impl FnOnce(&mut Self, &Node<'_, '_>) -> Result<(), ExchangeError>,
        add_message: impl Fn(&mut Self, &Node<'_, '_>) -> Result<(), ExchangeError>,
    ) -> Result<MessagesManager<W>, ExchangeError> {
        let mut importer = Self::new(options);
        options.read(json, |node| {
            if node.kind() == JsonKind::List {
                return node.each(|item| add_message(&mut importer, &item)).map(drop);
            }
            let request: Request<'_> = node.object()?;
            if let Some(system) = request.system {
                add_instructions(&mut importer, &node.under("system", system))?;
            }
            node.under("messages", request.messages).each(|item| add_message(&mut importer, &item)).map(drop)
        })?;
        Ok(importer.manager)
    }

    /// Adds the message that `node` holds.
    pub fn add(&mut self, node: &Node<'_, '_>, role: Role, contents: Vec<Content>) -> Result<(), ExchangeError> {
        self.add_draft(node, Draft::new(role, contents))
    }

    pub fn add_draft(&mut self, node: &Node<'_, '_>, draft: Draft) -> Result<(), ExchangeError> {
        self.manager.add(draft).map(drop).map_err(|error| node.error(error))
    }

    /// Returns a tool call. If an answered call already has the id, the new call gets another, such as `call_1-2`.
    pub fn call(
        &mut self,
        node: &Node<'_, '_>,
        id: ToolCallId,
        name: ToolName,
        arguments: Value,
    ) -> Result<ToolCall, ExchangeError> {
        let id = self.aliases.assign(id, |id| self.manager.invoked(id)).map_err(|problem| node.error(problem))?;
        Ok(ToolCall::of(id, name, arguments))
    }

    /// Returns the result of the tool call that was imported with `id`.
    ///
    /// Returns an error if no such call precedes the result.
    pub fn result(&self, node: &Node<'_, '_>, id: &ToolCallId, outcome: Outcome) -> Result<ToolResult, ExchangeError> {
        let id = self.aliases.resolve(id);
        let (name, _) =
            self.manager.invoked(id).ok_or_else(|| node.invalid("no tool call with this id precedes the result"))?;
        Ok(ToolResult::new(id.clone(), name.clone(), outcome))
    }

    pub fn into_manager(self) -> MessagesManager<W> {
        self.manager
    }
}

/// The `type` of an object, which decides how to read its other keys.
#[derive(Deserialize)]
pub(super) struct Typed<K> {
    pub r#type: K,
}

/// An id or a name, written as text.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(try_from = "Text", bound = "T: FromStr<Err = MessageError>")]
pub(super) struct Id<T>(pub T);

/// A time in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), in milliseconds since the Unix epoch.
#[derive(Deserialize, Clone, Copy)]
#[serde(try_from = "Text")]
pub(super) struct Moment(pub i64);

impl<T: FromStr<Err = MessageError>> TryFrom<Text> for Id<T> {
    type Error = Refused;

    fn try_from(text: Text) -> Result<Self, Refused> {
        text.parse().map(Self).map_err(|error| Refused(error.to_string()))
    }
}

impl TryFrom<Text> for Moment {
    type Error = Refused;

    fn try_from(moment: Text) -> Result<Self, Refused> {
        let refused = || Refused("expected a time in RFC 3339, such as 2025-11-18T10:30:00Z".to_owned());
        read_moment(&moment).map(Self).ok_or_else(refused)
    }
}

/// A role, in the formats that have three.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
    System,
}

/// A role, in the formats that have two.
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
