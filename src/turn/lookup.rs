//! Looks up the outcome of acts of another process whose outcome is unknown.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::core::{Core, Host};
use crate::message::{ToolCall, ToolCallId, ToolResult};
use crate::model::{LookedUp, NoResult, Tool, ToolContext};

/// The pauses before the attempts to look an act up, in seconds. Its request may still be under way.
const PAUSES_S: [u64; 9] = [0, 1, 2, 4, 8, 15, 30, 60, 120];

/// Starts to look up the inherited acts whose tools have a handler for it. Each is looked up only once. `upgrade`
/// returns the host while it is in use.
pub(crate) fn look_up_inherited<H: Host>(host: &H, upgrade: impl Fn() -> Option<H> + Clone + Send + 'static) {
    let (due, limit) = host.with(|core| (core.take_lookups(), core.setup.tool_timeout));
    for (call, tool) in due {
        let context = ToolContext::of(host.call_id().as_str(), &call);
        let limit = tool.timeout_or(limit);
        tokio::spawn(look_up(upgrade.clone(), call, tool, context, limit));
    }
}

/// Looks an act up until its outcome is known, or until the pauses are over.
async fn look_up<H: Host>(
    upgrade: impl Fn() -> Option<H>,
    call: ToolCall,
    tool: Tool,
    context: ToolContext,
    limit: Duration,
) {
    for pause_s in PAUSES_S {
        sleep(Duration::from_secs(pause_s)).await;
        let is_lost = |host: H| host.with(|core| core.tools_used.is_lost(call.id()));
        if !upgrade().is_some_and(is_lost) {
            return;
        }
        let Some(looking_up) = tool.look_up(call.clone(), context.clone()) else { return };
        let looked_up = timeout(limit, looking_up).await.unwrap_or(LookedUp::Unknown);
        if let (Some(result), Some(host)) = (result_of(&call, looked_up), upgrade()) {
            // A result that arrived in the meantime stays.
            let _ = host.with(|core| core.add_result(&result));
            return;
        }
    }
}

fn result_of(call: &ToolCall, looked_up: LookedUp) -> Option<ToolResult> {
    match looked_up {
        LookedUp::Acted(result) => Some(result),
        LookedUp::DidNotAct => Some(NoResult::NotFound.of(call)),
        LookedUp::Unknown => None,
    }
}

impl Core {
    /// Takes the inherited acts that can be looked up, with their tools.
    fn take_lookups(&mut self) -> Vec<(ToolCall, Tool)> {
        let tools = &self.setup.tools;
        let tool_of = |id: &ToolCallId| {
            let call = self.tools_used.get(id)?.act()?;
            let tool = tools.get(call.name()).filter(|tool| tool.acting.can_look_up())?;
            Some((call.clone(), tool.clone()))
        };
        let due: Vec<_> = self.inherited.iter().filter_map(tool_of).collect();
        self.inherited.retain(|id| !due.iter().any(|(call, _)| call.id() == id));
        due
    }
}
