//! How a live call takes the turns of a [`Conversation`].

use super::config::Config;
use super::shared::Conversation;
use super::state::Attached;
use crate::turn::{Ear, Nobody};

/// Somebody else takes the turns.
#[derive(Debug)]
pub(crate) struct InUse;

impl Conversation {
    /// Lets a live call take the turns, with this configuration.
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

    /// The live call is over.
    pub(crate) fn detach_call(&self) {
        self.with_state(|state| {
            state.core.ear = Box::new(Nobody);
            state.attach(Attached::Nobody);
        });
    }

    /// Drops the summary that is being made, if there is one.
    pub(crate) fn stop_summary(&self) {
        self.state().summaries.stop();
    }
}
