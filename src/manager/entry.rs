//! [`Entry`]: a message of the manager, opened for editing.

use std::ops::Deref;

use crate::manager::MessagesManager;
use crate::manager::error::{ManagerError, Refusal};
use crate::message::{
    Attribute, Confidence, Heard, Map, Message, MessageError, MessageWrapper, Part, RequestRecord, Role, Timing,
    TurnRecord, Value, check_ms,
};

/// A message of the manager, opened for editing. Each edit raises the message's revision, so that the log gets it.
///
/// Dereferences to the wrapper.
#[derive(Debug)]
pub struct Entry<'a, W> {
    manager: &'a mut MessagesManager<W>,
    index: usize,
}

impl<'a, W: MessageWrapper> Entry<'a, W> {
    /// `index` is the index of a message in the list.
    pub(super) fn new(manager: &'a mut MessagesManager<W>, index: usize) -> Self {
        Self { manager, index }
    }

    /// Sets custom data and returns the previous value of this key.
    ///
    /// Returns a [`MessageError`], and changes nothing, if the value cannot be stored, such as NaN.
    pub fn set_data(
        &mut self,
        key: impl Into<String>,
        value: impl TryInto<Value, Error: Into<MessageError>>,
    ) -> Result<Option<Value>, MessageError> {
        let (key, value) = (key.into(), Value::checked(value)?);
        let before = self.message().metadata().aux().get(&key).cloned();
        if before.as_ref() != Some(&value) {
            self.change(|message| message.metadata_mut().aux_mut().insert(key, value));
        }
        Ok(before)
    }

    /// Replaces all custom data.
    pub(crate) fn set_all_data(&mut self, entries: Map) {
        if *self.message().metadata().aux() != entries {
            self.change(|message| message.metadata_mut().set_aux(entries));
        }
    }

    /// Sets a time of the whole message, in milliseconds since the Unix epoch, and returns the previous one.
    ///
    /// Returns a [`MessageError`] if `at_ms` is probably in seconds: from 100 million to below 100 billion.
    pub fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Result<Option<i64>, MessageError> {
        Ok(self.put_timing(timing, check_ms(at_ms)?))
    }

    /// Sets a time of the last part, in milliseconds since the Unix epoch. The whole message gets this time too, except
    /// that a merged message keeps its first start.
    ///
    /// Returns a [`MessageError`] if `at_ms` is probably in seconds: from 100 million to below 100 billion.
    pub fn set_part_timing(&mut self, timing: Timing, at_ms: i64) -> Result<(), MessageError> {
        self.put_part_timing(timing, check_ms(at_ms)?);
        Ok(())
    }

    /// [`set_part_timing`](Self::set_part_timing) for a time that is known to be in milliseconds.
    pub(crate) fn put_part_timing(&mut self, timing: Timing, at_ms: i64) {
        if self.message().parts().next_back().and_then(|part| part.timing(timing)) != Some(at_ms) {
            self.change(|message| message.set_part_timing(timing, at_ms));
        }
    }

    /// Sets the confidence of the speech recognition in the last part.
    pub(crate) fn set_confidence(&mut self, confidence: Confidence) {
        if self.message().parts().next_back().and_then(Part::confidence) != Some(confidence.number()) {
            self.change(|message| message.set_confidence(confidence));
        }
    }

    /// [`set_timing`](Self::set_timing) for a time that is known to be in milliseconds.
    pub(crate) fn put_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        let before = self.message().metadata().timing(timing);
        if before != Some(at_ms) {
            self.change(|message| message.metadata_mut().set_timing(timing, at_ms));
        }
        before
    }

    /// Marks the message and returns `true` if the mark is new. Ignores [`Attribute::Fake`] and [`Attribute::Merged`],
    /// which only the manager sets.
    pub fn add_attribute(&mut self, attribute: Attribute) -> bool {
        let addable =
            !matches!(attribute, Attribute::Fake | Attribute::Merged) && !self.message().metadata().has(attribute);
        addable && self.change(|message| message.metadata_mut().add_attribute(attribute)).is_some()
    }

    /// Sets the record of the turn that produced the message.
    pub(crate) fn set_turn(&mut self, turn: TurnRecord) {
        self.change(|message| message.metadata_mut().set_turn(turn));
    }

    /// Sets the record of the request that wrote the summary.
    pub(crate) fn set_request(&mut self, request: RequestRecord) {
        self.change(|message| message.metadata_mut().set_request(request));
    }

    /// Sets the part of an assistant message that the caller heard; `None` means all of it. A later report replaces an
    /// earlier one. The model and the summary get the heard part; the log keeps the whole text too.
    ///
    /// Returns an error if this is not an assistant message.
    pub fn set_heard(&mut self, heard: impl Into<Option<Heard>>) -> Result<(), ManagerError> {
        let role = self.message().role();
        if role != Role::Assistant {
            return Err(Refusal::WrongRole { role, content: "a heard part; only an assistant message can" }.into());
        }
        let heard = heard.into().map(|heard| heard.clamped_to(self.message().contents()));
        if self.message().heard() != heard {
            self.change(|message| message.set_heard(heard));
        }
        Ok(())
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut Message) -> T) -> Option<T> {
        self.manager.change(self.index, change)
    }
}

impl<W> Deref for Entry<'_, W> {
    type Target = W;

    #[expect(
        clippy::expect_used,
        reason = "`new` is given an index of the list, and no message leaves the list while the entry borrows it"
    )]
    fn deref(&self) -> &W {
        self.manager.list.get(self.index).expect("an entry borrows the list, so its message is in the list")
    }
}
