//! How a prompt comes into its [`Conversation`].

use std::collections::HashSet;

use super::config::Setting;
use super::error::PromptError;
use super::shared::Conversation;
use super::state::Attached;
use crate::message::{Draft, MessageWrapper, Role, Text};
use crate::turn::Manager;

/// Whether a draft says something in the name of the user or the assistant, which a live call does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Said,
    Beside,
}

impl Conversation {
    /// Adds these messages and changes the configuration, or does nothing of it. System messages that the conversation has
    /// already are not added again.
    pub(super) fn apply(&self, mut drafts: Vec<(Draft, Kind)>, settings: Vec<Setting>) -> Result<(), PromptError> {
        self.with_state(|state| {
            if state.attached == Attached::Call && drafts.iter().any(|(_, kind)| *kind == Kind::Said) {
                return Err(PromptError::InCall);
            }
            let config = state.config.with(settings)?;
            let manager = &mut state.core.manager;
            let mut known = system_texts(manager);
            drafts.retain(|(draft, _)| {
                let texts: Vec<Text> = draft.contents.texts().cloned().collect();
                let is_new = texts.is_empty() || texts.iter().any(|text| !known.contains(text));
                known.extend(texts.into_iter().filter(|_| draft.role == Role::System));
                draft.role != Role::System || is_new
            });
            let drafts = drafts.into_iter().map(|(draft, _)| draft);
            manager.add_all(drafts).map_err(|(index, source)| PromptError::Message { index, source })?;
            state.set_config(config);
            state.core.changed();
            Ok(())
        })
    }
}

/// The texts of the system messages.
pub(crate) fn system_texts(manager: &Manager) -> HashSet<Text> {
    manager.system_messages().flat_map(|message| message.contents().texts().cloned()).collect()
}
