//! [`Entry`]: a message in the manager, to be changed.

use std::ops::Deref;

use crate::manager::MessagesManager;
use crate::manager::error::ManagerError;
use crate::message::{Attribute, Entries, Heard, Message, MessageId, MessageWrapper, Role, Timing, TurnRecord, Value};

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

    /// Sets custom data, and gives what stood under this key before.
    pub fn set_data(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        let before = self.message().metadata().aux().get(&key).cloned();
        if before.as_ref() != Some(&value) {
            self.change(|message| message.metadata_mut().aux_mut().insert(key, value));
        }
        before
    }

    /// Sets custom data in the place of all that there was.
    pub(crate) fn set_all_data(&mut self, entries: Entries) {
        if *self.message().metadata().aux() != entries {
            self.change(|message| *message.metadata_mut().aux_mut() = entries);
        }
    }

    /// Takes custom data away, and gives it.
    pub fn remove_data(&mut self, key: &str) -> Option<Value> {
        self.message().metadata().aux().get(key)?;
        self.change(|message| message.metadata_mut().remove_aux(key)).flatten()
    }

    /// Sets when something happened, in milliseconds since the epoch, and gives what was set before.
    pub fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        let before = self.message().metadata().timing(timing);
        if before != Some(at_ms) {
            self.change(|message| message.metadata_mut().set_timing(timing, at_ms));
        }
        before
    }

    /// Sets that something happens now, and gives the manager's time, in milliseconds since the epoch.
    pub fn now(&mut self, timing: Timing) -> i64 {
        let now = self.manager.clock.now_ms();
        self.set_timing(timing, now);
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
