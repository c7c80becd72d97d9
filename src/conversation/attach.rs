//! Gives the turns of a [`Conversation`] to a live call.

use super::config::Config;
use super::shared::Conversation;
use super::state::Attached;
use crate::turn::{Ear, Nobody};

/// A run or another call owns the turns.
#[derive(Debug)]
pub(crate) struct InUse;

impl Conversation {
    /// Gives the turns to a live call and sets the configuration.
    ///
    /// Returns [`InUse`] if a run or another call owns them.
    pub(crate) fn attach_call(&self, ear: Box<dyn Ear>, config: Config) -> Result<(), InUse> {
        self.with_state(|state| {
            if state.attached != Attached::Nobody {
                return Err(InUse);
            }
            state.core.ear = ear;
            state.config = config;
            state.attach(Attached::Call);
            Ok(())
        })
    }

    /// Takes the turns back when the live call is over.
    pub(crate) fn detach_call(&self) {
        self.with_state(|state| {
            state.core.ear = Box::new(Nobody);
            state.attach(Attached::Nobody);
        });
    }

    /// Cancels the running summary.
    pub(crate) fn stop_summary(&self) {
        self.state().summaries.stop();
    }
}
