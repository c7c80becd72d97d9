//! [`Aliases`]: other ids for tool calls whose own was used before.

use std::collections::HashMap;

use super::error::Problem;
use crate::message::{ToolCallId, ToolName};

/// The longest id that leaves room for a number.
const LONGEST_STEM: usize = 56;

/// Tool calls whose own id was used before, and answered: recordings have them, while a conversation here has each id
/// once. Such a call is kept as `call_1-2`.
#[derive(Debug)]
pub(super) struct Aliases {
    by_id: HashMap<ToolCallId, ToolCallId>,
    /// Goes up only, so that no number is tried twice.
    next_number: u32,
}

impl Aliases {
    /// The id for a call that comes under `id`; `invoked` knows the calls before it, and whether they have their result.
    ///
    /// While the other call is open, the id is kept and refused: a result would be ambiguous.
    pub fn of_call<'a>(
        &mut self,
        id: ToolCallId,
        invoked: impl Fn(&ToolCallId) -> Option<(&'a ToolName, bool)>,
    ) -> Result<ToolCallId, Problem> {
        let latest = self.by_id.get(&id).unwrap_or(&id);
        let is_answered = |id| invoked(id).is_some_and(|(_, is_answered)| is_answered);
        if !is_answered(latest) {
            return Ok(latest.clone());
        }
        let stem: String = id.as_str().chars().take(LONGEST_STEM).collect();
        loop {
            let alias = ToolCallId::new(format!("{stem}-{}", self.next_number))?;
            self.next_number = self.next_number.saturating_add(1);
            if invoked(&alias).is_none() {
                self.by_id.insert(id, alias.clone());
                return Ok(alias);
            }
        }
    }

    /// The id of the call that a result under `id` answers.
    pub fn of_result<'a>(&'a self, id: &'a ToolCallId) -> &'a ToolCallId {
        self.by_id.get(id).unwrap_or(id)
    }
}

impl Default for Aliases {
    fn default() -> Self {
        Self { by_id: HashMap::new(), next_number: 2 }
    }
}
