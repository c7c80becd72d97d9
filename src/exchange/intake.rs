//! [`Intake`]: a conversation that is being imported.

use std::sync::Arc;

use super::aliases::Aliases;
use super::budget::{self, Budget};
use super::error::{ExchangeError, Problem};
use super::path::Path;
use super::reader::Reader;
use crate::clock::{Clock, IdSource};
use crate::manager::{Entry, MessagesManager};
use crate::message::{Content, InvocationId, MessageWrapper, Role, ToolName};

/// Bytes of text in which more than one message may have to be begun where one was counted, because what is merged
/// has its limits.
const BYTES_PER_EXTRA_MESSAGE: usize = 8 * 1024;

/// Reads all of a text with `read`.
pub(super) fn read_all<T>(
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, ExchangeError>,
) -> Result<T, ExchangeError> {
    let text = utf8(bytes)?;
    let budget = Budget::of(text.len());
    let mut reader = Reader::new(text, 1, &budget);
    let all = read(&mut reader)?;
    reader.end()?;
    Ok(all)
}

/// The bytes as text, without the mark that some editors put in front of UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, ExchangeError> {
    let text = std::str::from_utf8(bytes).map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
    text.map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line_start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let before = good.get(line_start..).unwrap_or_default();
        // Of what is UTF-8 every character has one byte that is no continuation.
        let column = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        ExchangeError::new(Path::default().at((line, column)), Problem::NotUtf8)
    })
}

/// What a text holds, counted before it is read: so that lists need not grow, and never stand in memory twice.
#[derive(Debug, Default)]
pub(super) struct Shape {
    messages: usize,
    calls: usize,
    last: Option<Role>,
}

impl Shape {
    /// Counts a message; one that is merged into the last counts for nothing.
    pub fn message(&mut self, role: Role) {
        if self.last != Some(role) || !role.is_spoken() {
            self.messages += 1;
        }
        self.last = Some(role);
    }

    /// Counts tool calls.
    pub fn calls(&mut self, calls: usize) {
        self.calls += calls;
    }
}

/// A conversation that is being imported, within the budget of its reader.
#[derive(Debug)]
pub(super) struct Intake<W> {
    manager: MessagesManager<W>,
    aliases: Aliases,
}

impl<W: MessageWrapper> Intake<W> {
    /// For what was counted.
    pub fn new(
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        shape: &Shape,
        reader: &Reader<'_>,
    ) -> Result<Self, ExchangeError> {
        // One more for the fake that opens.
        let messages = shape.messages + 1 + reader.len() / BYTES_PER_EXTRA_MESSAGE;
        reader.take(messages.saturating_mul(size_of::<W>()))?;
        reader.take(budget::calls_bytes(shape.calls))?;
        let mut manager = MessagesManager::with_clock(clock, ids);
        manager.reserve(messages, shape.calls);
        Ok(Self { manager, aliases: Aliases::default() })
    }

    /// Adds a message that stands where the reader is, or has just been. The reader has counted what its contents hold.
    pub fn add(
        &mut self,
        reader: &Reader<'_>,
        role: Role,
        contents: Vec<Content>,
    ) -> Result<Entry<'_, W>, ExchangeError> {
        reader.take(budget::contents_bytes(contents.len()))?;
        if let Some(last) = self.manager.meta_messages().last().filter(|last| role.is_spoken() && last.role() == role) {
            reader.take(budget::merged_bytes(last.contents().len(), contents.len()))?;
        }
        self.manager.add_message(role, contents).map_err(|error| reader.error(error))
    }

    /// The id under which a tool call is kept. One that was used before, and answered, gets another.
    pub fn id_of_call(&mut self, reader: &Reader<'_>, id: InvocationId) -> Result<InvocationId, ExchangeError> {
        self.aliases.of_call(id, |id| self.manager.invoked(id), reader.budget()).map_err(|error| reader.error(error))
    }

    /// The call that a result under this id answers, and the tool.
    ///
    /// Errors: there is no such call before the result.
    pub fn answered(&self, reader: &Reader<'_>, id: &InvocationId) -> Result<(InvocationId, ToolName), ExchangeError> {
        let id = self.aliases.of_result(id);
        let (name, _) = self.manager.invoked(id).ok_or_else(|| {
            reader.error(Problem::Invalid { reason: "this answers a tool call that does not stand before it" })
        })?;
        Ok((id.clone(), name.clone()))
    }

    /// The conversation.
    pub fn into_manager(self) -> MessagesManager<W> {
        self.manager
    }
}
