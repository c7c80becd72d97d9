//! Plays a recording through a conversation of the library and keeps each request.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use verbale::conversation::{Config, Conversation, Models};
use verbale::log::CallId;
use verbale::message::ResultContent;
use verbale::model::{ModelRequest, Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{ScriptedModel, ScriptedReply};
use verbale::{Content, Policy, Value};

use crate::recording::{Item, Recording};

/// A prompt as the model gets it.
pub struct Prompt {
    pub memory: String,
    pub window: String,
    /// The number of recorded items before the prompt, and of those before the window.
    pub items: usize,
    pub covered: usize,
}

/// Returns the prompt of each answer of the assistant.
pub fn play(recording: &Recording, policy: Policy) -> Vec<Prompt> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (requests, before) = runtime.block_on(run(recording, policy));
    requests.iter().zip(before).map(|(request, items)| prompt(recording, request, items)).collect()
}

async fn run(recording: &Recording, policy: Policy) -> (Vec<ModelRequest>, Vec<usize>) {
    let model = ScriptedModel::default();
    let mut before = Vec::new();
    let mut turns: Vec<(String, bool)> = Vec::new();
    let mut index = 0;
    while index < recording.items.len() {
        if let Item::Caller(text) = &recording.items[index] {
            turns.push((text.clone(), false));
            index += 1;
            continue;
        }
        if let Some(turn) = turns.last_mut() {
            turn.1 = true;
        }
        before.push(index);
        index = answer(recording, index, &model);
        // A result is the tool's, and a turn ends with words.
        while matches!(recording.items.get(index), Some(Item::Result { .. })) {
            index += 1;
        }
    }
    let config = Config::new(Models::default().with("recorded", "recorded", model.clone()));
    let config = config.with_policy(policy).with_max_window(1_000_000).with_max_tool_rounds(100);
    let config = tools(recording).into_iter().fold(config, Config::with_tool);
    let conversation = Conversation::new(CallId::new("CA1").unwrap()).with_config(config);
    if !recording.system.is_empty() {
        conversation.add_system(recording.system.as_str()).unwrap();
    }
    for (text, is_answered) in turns {
        conversation.add_user(text.as_str()).unwrap();
        if !is_answered {
            continue;
        }
        let mut run = conversation.run();
        while let Some(message) = run.next().await {
            message.unwrap();
        }
        drop(run);
        // The summary is made in the background.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    (model.requests(), before)
}

/// Adds one answer to the script: words, tool calls, or both. Returns the index after it.
fn answer(recording: &Recording, mut index: usize, model: &ScriptedModel) -> usize {
    let mut reply = ScriptedReply::default();
    if let Some(Item::Assistant(text)) = recording.items.get(index) {
        reply = ScriptedReply::text(text.as_str());
        index += 1;
    }
    while let Some(Item::Call { id, tool, arguments }) = recording.items.get(index) {
        reply = reply.tool_call(id.as_str(), tool.as_str(), arguments.clone());
        index += 1;
    }
    model.reply(reply);
    index
}

fn tools(recording: &Recording) -> Vec<Tool> {
    let results = recording.items.iter().filter_map(|item| match item {
        Item::Result { id, text } => Some((id.clone(), (text.clone(), item.has_failed()))),
        _ => None,
    });
    let results: Arc<HashMap<String, (String, bool)>> = Arc::new(results.collect());
    let names: BTreeSet<&str> = recording
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Call { tool, .. } => Some(tool.as_str()),
            _ => None,
        })
        .collect();
    let tool = |name: &str| {
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        let results = results.clone();
        let spec = ToolSpec::new(name, "A recorded tool.", schema).unwrap();
        let tool = Tool::raw(spec, move |_: Value, context: ToolContext| {
            let done = results.get(context.tool_call_id().as_str()).cloned();
            async move {
                match done {
                    Some((text, false)) => Ok(vec![ResultContent::from(text)]),
                    Some((text, true)) => Err(ToolError::new(text)),
                    None => Err(ToolError::new("no result is recorded")),
                }
            }
        });
        if recording.acting.contains(name) { tool } else { tool.read_only() }
    };
    names.into_iter().map(tool).collect()
}

fn prompt(recording: &Recording, request: &ModelRequest, items: usize) -> Prompt {
    let mut window = String::new();
    let (mut shown, mut is_first) = (None, true);
    for content in request.messages.iter().flat_map(|message| message.contents().iter()) {
        let text = match content {
            Content::Text(text) => text.as_str().to_owned(),
            Content::ToolCall(call) => format!("{} {}", call.name(), serde_json::to_string(call.arguments()).unwrap()),
            Content::ToolResult(result) => match result.outcome() {
                Ok(contents) => contents.iter().map(result_text).collect(),
                Err(error) => error.message().to_owned(),
            },
            _ => String::new(),
        };
        if text == "..." {
            continue;
        }
        if std::mem::take(&mut is_first) {
            shown = Some(text.clone());
        }
        window.push_str(&text);
        window.push('\n');
    }
    let count = request.messages.iter().flat_map(|message| message.contents().iter());
    let count = count.filter(|content| content.as_text().is_none_or(|text| text.as_str() != "...")).count();
    let covered = items.saturating_sub(count);
    if let (Some(shown), Some(Item::Caller(said) | Item::Assistant(said))) = (shown, recording.items.get(covered)) {
        assert!(shown == *said, "{}: {shown:?} is not {said:?}", recording.name);
    }
    let memory = request.memory.as_ref().map(|text| text.as_str().to_owned()).unwrap_or_default();
    // Rules that come with the memory count as memory.
    let rules = request.system.iter().skip(1).chain(&request.late_system).map(|text| text.as_str());
    let memory = rules.filter(|_| !memory.is_empty()).chain([memory.as_str()]).collect::<Vec<_>>().join("\n");
    Prompt { memory, window, items, covered }
}

fn result_text(content: &ResultContent) -> &str {
    match content {
        ResultContent::Text(text) => text.as_str(),
        _ => "",
    }
}
