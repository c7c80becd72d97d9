//! [`Entry`]: a message in the manager, to be changed.

use std::ops::Deref;

use crate::manager::MessagesManager;
use crate::manager::error::ManagerError;
use crate::message::{
    Attribute, Confidence, Heard, IntoValue, Map, Message, MessageError, MessageId, MessageWrapper, Part, Role, Timing,
    TurnRecord, Value, check_ms,
};

/// A message in the manager. Every change through it raises the message's revision, so that the log hears of it.
///
/// It dereferences to the wrapper.
#[derive(Debug)]
pub struct Entry<'a, W> {
    manager: &'a mut MessagesManager<W>,
    index: usize,
}

impl<'a, W: MessageWrapper> Entry<'a, W> {
    /// The message at `index`, which there is.
    pub(super) fn new(manager: &'a mut MessagesManager<W>, index: usize) -> Self {
        Self { manager, index }
    }

    /// The id of the message.
    pub fn id(&self) -> MessageId {
        self.message().id()
    }

    /// The message.
    pub fn message(&self) -> &Message {
        (**self).message()
    }

    /// Sets custom data and returns what was under this key before.
    ///
    /// Errors, which change nothing: [`IntoValue::into_value`].
    pub fn set_data(&mut self, key: impl Into<String>, value: impl IntoValue) -> Result<Option<Value>, MessageError> {
        let (key, value) = (key.into(), value.into_value()?);
        let before = self.message().metadata().aux().get(&key).cloned();
        if before.as_ref() != Some(&value) {
            self.change(|message| message.metadata_mut().aux_mut().insert(key, value));
        }
        Ok(before)
    }

    /// Sets custom data in the place of all that there was.
    pub(crate) fn set_all_data(&mut self, entries: Map) {
        if *self.message().metadata().aux() != entries {
            self.change(|message| *message.metadata_mut().aux_mut() = entries);
        }
    }

    /// Takes custom data away, and gives it.
    pub fn remove_data(&mut self, key: &str) -> Option<Value> {
        self.message().metadata().aux().get(key)?;
        self.change(|message| message.metadata_mut().remove_aux(key)).flatten()
    }

    /// Sets when something happened to the message as a whole, in milliseconds since the Unix epoch, and returns what was
    /// set before.
    ///
    /// Returns a [`MessageError`] if the time is in seconds.
    pub fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Result<Option<i64>, MessageError> {
        Ok(self.put_timing(timing, check_ms(at_ms)?))
    }

    /// Sets when something happened to the last part, in milliseconds since the Unix epoch. The message as a whole keeps
    /// the first start and gets this end.
    ///
    /// Returns a [`MessageError`] if the time is in seconds.
    pub fn set_part_timing(&mut self, timing: Timing, at_ms: i64) -> Result<(), MessageError> {
        self.put_part_timing(timing, check_ms(at_ms)?);
        Ok(())
    }

    /// [`set_part_timing`](Self::set_part_timing) with a time that is known to be in milliseconds.
    pub(crate) fn put_part_timing(&mut self, timing: Timing, at_ms: i64) {
        if self.message().parts().next_back().and_then(|part| part.timing(timing)) != Some(at_ms) {
            self.change(|message| message.set_part_timing(timing, at_ms));
        }
    }

    /// Sets how sure the speech recognition was of the last part.
    pub fn set_confidence(&mut self, confidence: Confidence) {
        if self.message().parts().next_back().and_then(Part::confidence) != Some(&confidence) {
            self.change(|message| message.set_confidence(confidence));
        }
    }

    /// [`set_timing`](Self::set_timing) with a time that is known to be in milliseconds.
    pub(crate) fn put_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        let before = self.message().metadata().timing(timing);
        if before != Some(at_ms) {
            self.change(|message| message.metadata_mut().set_timing(timing, at_ms));
        }
        before
    }

    /// Sets that something happens now, and gives the manager's time, in milliseconds since the epoch.
    pub fn now(&mut self, timing: Timing) -> i64 {
        let now = self.manager.clock.now_ms();
        self.put_timing(timing, now);
        now
    }

    /// Marks the message; says whether the mark is new. [`Attribute::Fake`] and [`Attribute::Merged`] are the
    /// manager's own: they are never added here.
    pub fn add_attribute(&mut self, attribute: Attribute) -> bool {
        let addable =
            !matches!(attribute, Attribute::Fake | Attribute::Merged) && !self.message().metadata().has(attribute);
        addable && self.change(|message| message.metadata_mut().add_attribute(attribute)).is_some()
    }

    /// Sets what happened in the turn that the message answers.
    pub(crate) fn set_turn(&mut self, turn: TurnRecord) {
        self.change(|message| message.metadata_mut().set_turn(turn));
    }

    /// Sets what the caller heard of an assistant message; `None` is all of it. A later, better report may say
    /// otherwise. The model and the summary see what was heard, the log keeps both.
    ///
    /// Errors: not an assistant message.
    pub fn set_heard(&mut self, heard: impl Into<Option<Heard>>) -> Result<(), ManagerError> {
        let role = self.message().role();
        if role != Role::Assistant {
            return Err(ManagerError::NotSpoken { role });
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

    #[expect(clippy::expect_used, reason = "`new` is given an index of the list, and here nothing leaves it")]
    fn deref(&self) -> &W {
        self.manager.list.get(self.index).expect("an entry borrows the list, so its message is still there")
    }
}
