//! Ids and names of tool calls: which ones Bedrock accepts, and how others are renamed.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::profile::service;
use crate::message::{ToolCallId, ToolName};

/// The characters that an id or a name may have besides letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum Characters {
    /// `_` and `-`: names of tools, and ids for Anthropic's models.
    Narrow,
    /// `_`, `.`, `:` and `-`: ids by the service's own model.
    Wide,
}

impl Characters {
    pub(in crate::bedrock) fn pattern(self) -> &'static str {
        match self {
            Self::Narrow => service::TOOL_NAME_PATTERN,
            Self::Wide => service::TOOL_USE_ID_PATTERN,
        }
    }

    fn has(self, c: char) -> bool {
        c.is_ascii_alphanumeric() || matches!((self, c), (_, '_' | '-') | (Self::Wide, '.' | ':'))
    }

    /// Returns whether the text is an id or a name of these characters.
    pub(in crate::bedrock) fn accept(self, text: &str) -> bool {
        (1..=service::MAX_IDENTIFIER).contains(&text.len()) && text.chars().all(|c| self.has(c))
    }

    /// Returns the text if it is accepted, and otherwise its accepted characters with a hash of the whole text.
    ///
    /// Equal texts get equal names, and different texts different ones: `get parcel` becomes `get_parcel-4f1c0a9e2b7d`.
    pub(in crate::bedrock) fn rename(self, text: &str) -> Cow<'_, str> {
        const HASH_BYTES: usize = 6;
        const MAX_STEM: usize = service::MAX_IDENTIFIER - 2 * HASH_BYTES - 1;
        if self.accept(text) {
            return Cow::Borrowed(text);
        }
        let stem: String = text.chars().map(|c| if self.has(c) { c } else { '_' }).take(MAX_STEM).collect();
        let hash = Sha256::digest(text);
        let hash: String = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Cow::Owned(if stem.is_empty() { hash } else { format!("{stem}-{hash}") })
    }
}

/// Returns the id that this library uses for a tool call of the model.
pub(super) fn call_id(id: &str) -> Option<ToolCallId> {
    ToolCallId::new(Characters::Wide.rename(id).into_owned()).ok()
}

/// Returns the name that this library uses for a tool call of the model. A renamed one is never a tool of the request,
/// so no tool runs that the model did not name.
pub(super) fn tool_name(name: &str) -> Option<ToolName> {
    ToolName::new(Characters::Narrow.rename(name).into_owned()).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepted_ids_stay_and_others_are_renamed() {
        assert_eq!(Characters::Wide.rename("functions.balance:0"), "functions.balance:0");
        let renamed = Characters::Narrow.rename("functions.balance:0");
        assert!(renamed.starts_with("functions_balance_0-"), "{renamed}");
        assert_eq!(renamed, Characters::Narrow.rename("functions.balance:0"));
        let others = ["", " ", "$READFILE", "functions.balance:1", "functions:balance.0", "functions_balance_0"];
        let renamed: HashSet<_> = others.iter().map(|text| Characters::Narrow.rename(text)).collect();
        assert_eq!(renamed.len(), others.len());
        let long = "functions.a_very_long_name_of_a_tool_of_another_service:".repeat(3);
        assert_ne!(Characters::Wide.rename(&format!("{long}0")), Characters::Wide.rename(&format!("{long}1")));
    }

    proptest! {
        #[test]
        fn any_text_becomes_an_id_and_a_name(text in ".{0,100}") {
            prop_assert!(call_id(&text).is_some() && tool_name(&text).is_some());
            for characters in [Characters::Narrow, Characters::Wide] {
                let renamed = characters.rename(&text);
                prop_assert!(characters.accept(&renamed));
                prop_assert_eq!(characters.rename(&renamed), renamed.clone());
            }
        }
    }
}
