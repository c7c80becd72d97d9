//! Passes late tool results on to a call that was opened again while the tools ran.

use crate::conversation::{Conversation, WeakConversation};
use crate::message::{ToolCallId, ToolResult};
use crate::turn::{Core, Host};

/// Adds the results of tools that still run in a closed conversation to the conversation that continues its call.
pub(super) async fn pass_results(closed: Conversation, current: WeakConversation) {
    let results = closed.with(|core| core.results.clone());
    loop {
        // Registered before the check, so that a result in between is not missed.
        let changed = results.notified();
        let Some(current) = current.upgrade() else { return };
        let unknown: Vec<ToolCallId> =
            current.with(|core| core.tools_used.unknown().map(|used| used.id().clone()).collect());
        let (is_running, late) = closed.with(|core| (core.tools_used.is_any_running(), results_of(core, &unknown)));
        for result in late {
            // An unknown outcome stays unknown.
            let _ = current.with(|core| core.add_result(&result));
        }
        if !is_running {
            return;
        }
        drop(current);
        changed.await;
    }
}

fn results_of(core: &Core, calls: &[ToolCallId]) -> Vec<ToolResult> {
    calls.iter().filter_map(|id| core.manager.result_of(id)).cloned().collect()
}
