//! [`KnownIds`]: ids that messages bring along.

use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::IdSource;
use crate::message::MessageId;

/// Ids that messages bring along, and others for those that bring none.
#[derive(Debug)]
pub(super) struct KnownIds {
    next: Mutex<Option<Next>>,
    others: Arc<dyn IdSource>,
}

#[derive(Debug)]
struct Next {
    id: MessageId,
    is_behind_fake: bool,
}

impl KnownIds {
    pub fn new(others: Arc<dyn IdSource>) -> Self {
        Self { next: Mutex::new(None), others }
    }

    /// The next message has this id, or none of its own; a fake, which has none, may come before it.
    pub fn set(&self, id: Option<MessageId>, is_behind_fake: bool) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = id.map(|id| Next { id, is_behind_fake });
    }
}

impl IdSource for KnownIds {
    fn next_id(&self, now_ms: i64) -> u128 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = next.as_mut().filter(|next| next.is_behind_fake) {
            next.is_behind_fake = false;
            return self.others.next_id(now_ms);
        }
        next.take().map_or_else(|| self.others.next_id(now_ms), |next| next.id.into())
    }
}
