//! Applies a prompt to its [`Conversation`].

use std::collections::HashSet;

use super::config::Config;
use super::error::{ConversationError, Problem};
use super::shared::Conversation;
use super::state::Attached;
use crate::message::{Draft, Role, Text};
use crate::turn::Manager;

/// Whether a message counts as spoken. In a live call, only the session may report spoken words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Spoken,
    Unspoken,
}

impl Conversation {
    /// Adds the messages and changes the configuration, or returns an error and changes nothing.
    ///
    /// Skips system messages that the conversation already has. A conversation without models gets the models of
    /// `template`.
    pub(super) fn apply(
        &self,
        mut drafts: Vec<(Draft, Speech)>,
        settings: Config,
        template: &Config,
    ) -> Result<(), ConversationError> {
        self.with_state(|state| {
            if state.attached == Attached::Call && drafts.iter().any(|(_, speech)| *speech == Speech::Spoken) {
                let advice = "its session reports what is said; set only `agent`, `context` and the configuration";
                return Err(Problem::InCall { advice }.into());
            }
            let config = settings.over(&state.config.clone().or_models_of(template))?;
            let last = state.core.last_seq();
            let manager = &mut state.core.manager;
            let instructs = drafts.iter().any(|(draft, _)| draft.role == Role::System);
            let mut known = if instructs { system_texts(manager) } else { HashSet::new() };
            drafts.retain(|(draft, _)| {
                let texts: Vec<Text> = draft.contents.texts().cloned().collect();
                let is_new = texts.is_empty() || texts.iter().any(|text| !known.contains(text));
                known.extend(texts.into_iter().filter(|_| draft.role == Role::System));
                draft.role != Role::System || is_new
            });
            let drafts = drafts.into_iter().map(|(draft, _)| draft);
            manager.add_all(drafts).map_err(|(index, source)| Problem::Message { index, source })?;
            state.set_config(config);
            state.core.added_from(last);
            Ok(())
        })
    }
}

/// Returns the texts of the system messages.
pub(crate) fn system_texts(manager: &Manager) -> HashSet<Text> {
    manager.system_messages().flat_map(|message| message.contents().texts().cloned()).collect()
}
