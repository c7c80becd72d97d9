//! The messages that the client of a call may forget, because the log has them.

use verbale::log::Durability;

use super::LiveCall;
use crate::serve::protocol::ServerEvent;

impl LiveCall {
    /// Tells the client which of its messages the log has, if it has all of them.
    pub fn tell_stored(&self) {
        let mut state = self.state();
        // Asked while no message can join the others.
        if self.session.conversation().log_level() == Some(Durability::Stored) {
            self.outbox.stored(std::mem::take(&mut state.unstored));
        }
    }

    /// Notes that the call is about to be closed.
    pub fn begin_closing(&self) {
        self.state().is_closing = true;
    }

    /// Tells the client that the call has ended, and whether the log has all of its messages.
    pub fn end(&self, reason: &str, is_resumable: bool, is_stored: bool) {
        if is_stored {
            self.outbox.stored(std::mem::take(&mut self.state().unstored));
        }
        self.outbox.push(&ServerEvent::Ended { reason: reason.to_owned(), is_resumable });
    }
}
