//! [`Aliases`]: new ids for tool calls whose id was used before.

use std::collections::HashMap;

use super::error::Problem;
use crate::message::{ToolCallId, ToolName};

/// New ids for tool calls whose id was used before, and answered. Recordings repeat ids, but a conversation has each id
/// once. A call that repeats the id `call_1` is kept as `call_1-2`.
#[derive(Debug)]
pub(super) struct Aliases {
    by_id: HashMap<ToolCallId, ToolCallId>,
    /// Only increases, so that no number is tried twice.
    next_number: u32,
}

impl Aliases {
    /// Returns the id for a new call that has `id` in the text. `find` returns the tool of an earlier call, and whether
    /// the call has its result.
    ///
    /// While the earlier call is open, the id stays the same and the conversation refuses the new call, because it
    /// would be unclear which call a result answers.
    pub fn assign<'a>(
        &mut self,
        id: ToolCallId,
        find: impl Fn(&ToolCallId) -> Option<(&'a ToolName, bool)>,
    ) -> Result<ToolCallId, Problem> {
        let latest = self.resolve(&id);
        if !find(latest).is_some_and(|(_, is_answered)| is_answered) {
            return Ok(latest.clone());
        }
        loop {
            let alias = id.numbered(self.next_number)?;
            self.next_number = self.next_number.saturating_add(1);
            if find(&alias).is_none() {
                self.by_id.insert(id, alias.clone());
                return Ok(alias);
            }
        }
    }

    /// Returns the id of the latest call that has `id` in the text.
    pub fn resolve<'a>(&'a self, id: &'a ToolCallId) -> &'a ToolCallId {
        self.by_id.get(id).unwrap_or(id)
    }
}

impl Default for Aliases {
    fn default() -> Self {
        Self { by_id: HashMap::new(), next_number: 2 }
    }
}
