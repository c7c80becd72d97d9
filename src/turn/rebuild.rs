//! Rebuilds the prompt of an earlier request from the messages of a conversation.

use super::core::{Core, Manager};
use super::setup::Setup;
use crate::memory::ToolHistory;
use crate::message::{
    Content, Message, MessageWrapper, PlainMessage, PromptHash, RequestRecord, Text, ToolCall, ToolName, ToolResult,
    TurnRecord, Value,
};
use crate::model::{Inference, ModelRequest, NoResult, Tool, ToolSpec};

/// Rebuilds the request that was sent at `asked_ms`, in milliseconds since the Unix epoch. Returns it, and whether its prompt
/// has the hash of the one that was sent, if the log has that hash. Returns `None` if no request was sent at that time.
///
/// The messages are those that were there at that time. Tools that the setup lacks and that were called are added without
/// their descriptions, because the rules about tools and the memory of acts are part of the prompt.
pub(crate) fn prompt_at(manager: &Manager, setup: &Setup, asked_ms: i64) -> Option<(ModelRequest, Option<bool>)> {
    let messages = || manager.all().map(PlainMessage::message);
    let turns = || messages().filter_map(|message| message.metadata().turn()).flat_map(with_earlier);
    let at_ms = |turn: &TurnRecord, request: &RequestRecord| turn.start_ms.saturating_add(request.after_ms.or_zero());
    let requests = || turns().flat_map(|turn| turn.requests.iter().map(move |request| (at_ms(turn, request), request)));
    let first_ms = requests().map(|(at_ms, _)| at_ms).min()?;
    let (_, sent) = requests().find(|(at_ms, _)| *at_ms == asked_ms)?;

    let then = manager.rewritten(|message| message.as_asked(asked_ms).map(|message| without_late(message, asked_ms)));
    let calls: Vec<&ToolCall> = messages().flat_map(Message::contents).filter_map(Content::as_tool_call).collect();
    let mut setups = vec![with_called(setup.clone(), &calls)];
    if calls.is_empty() {
        // Tools that are never called add their rule all the same.
        setups.extend(setups.first().cloned().and_then(with_any));
    }
    // After a takeover, the first request has the instructions that were added before it.
    let attempts = setups.iter().flat_map(|setup| [(setup, first_ms), (setup, asked_ms)]);
    let mut rebuilt = None;
    for (known, first_ms) in attempts {
        let mut core = core_at(then.clone(), known.clone(), first_ms);
        let Some((mut request, _)) = core.prompt() else { continue };
        let hash = request.prompt_fingerprint();
        let is_same = sent.prompt_hash.as_ref().map(|sent| PromptHash::of_fingerprint(&hash).as_ref() == Some(sent));
        (request.tools, request.inference) = (setup.tools.specs(), Inference::clone(&setup.inference));
        if is_same != Some(false) {
            return Some((request, is_same));
        }
        rebuilt.get_or_insert((request, is_same));
    }
    rebuilt
}

fn with_earlier(turn: &TurnRecord) -> impl Iterator<Item = &TurnRecord> {
    turn.rare.earlier.iter().chain([turn])
}

/// Returns the state of a conversation whose first request was sent at `first_ms`.
fn core_at(manager: Manager, setup: Setup, first_ms: i64) -> Core {
    let mut tools = ToolHistory::default();
    // A call that is known before its result is not lost, but runs.
    for message in manager.all().map(PlainMessage::message) {
        for part in message.parts() {
            for call in part.contents().iter().filter_map(Content::as_tool_call) {
                tools.add_call(call, part.created_ms(), message.position().seq());
            }
        }
    }
    tools.extend(manager.all().map(PlainMessage::message));
    let system = manager.system_messages().map(PlainMessage::message);
    let instructions = system.flat_map(Message::parts).filter(|part| part.created_ms() <= first_ms);
    let count = instructions.flat_map(|part| part.contents()).filter_map(Content::as_text).count();
    let mut core = Core::of(manager, setup, tools, &[]);
    core.stable_system = Some(count);
    core
}

/// Returns a message with the results that it had before a late one replaced them.
fn without_late(mut message: Message, asked_ms: i64) -> Message {
    let results = message.contents().iter().filter_map(Content::as_result);
    let late: Vec<ToolResult> =
        results.filter(|result| result.late_ms().is_some_and(|late_ms| late_ms > asked_ms)).cloned().collect();
    for result in late {
        let call = ToolCall::of(result.tool_call_id().clone(), result.name().clone(), Value::Null);
        message.replace_result(&NoResult::TimedOut.of(&call));
    }
    message
}

/// Adds the tools that were called and that the setup lacks. A call of a tool that may act has a key.
fn with_called(mut setup: Setup, calls: &[&ToolCall]) -> Setup {
    let acts = |name: &ToolName| calls.iter().any(|call| call.name() == name && call.idempotency_key().is_some());
    for call in calls {
        if setup.tools.get(call.name()).is_none() {
            let tool = tool(call.name().clone());
            setup.tools = setup.tools.with(if acts(call.name()) { tool } else { tool.read_only() });
        }
    }
    setup
}

/// Adds a tool, unless there is one.
fn with_any(mut setup: Setup) -> Option<Setup> {
    let name = ToolName::new("tool").ok().filter(|_| setup.tools.all().is_empty())?;
    setup.tools = setup.tools.with(tool(name).read_only());
    Some(setup)
}

fn tool(name: ToolName) -> Tool {
    Tool::external(ToolSpec { name, description: Text::from(""), input_schema: Value::Null })
}
