//! [`KnownIds`]: ids that messages bring.

use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::IdSource;
use crate::message::MessageId;

/// Yields the ids that messages bring, and new ones for messages that bring none.
#[derive(Debug)]
pub(super) struct KnownIds {
    /// The id of the next message, and whether a fake message comes before it.
    next: Mutex<(Option<MessageId>, bool)>,
    others: Arc<dyn IdSource>,
}

impl KnownIds {
    pub fn new(others: Arc<dyn IdSource>) -> Self {
        Self { next: Mutex::default(), others }
    }

    /// Sets the id of the next message, if it has one. A fake message, which has none, may come before it.
    pub fn set(&self, id: Option<MessageId>, has_fake_before: bool) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = (id, has_fake_before);
    }
}

impl IdSource for KnownIds {
    fn next_id(&self, now_ms: i64) -> u128 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (id, has_fake_before) = &mut *next;
        let id = if std::mem::take(has_fake_before) { None } else { id.take() };
        id.map_or_else(|| self.others.next_id(now_ms), u128::from)
    }
}
