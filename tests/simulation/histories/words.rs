//! The messages of a history.

use std::sync::LazyLock;

use verbale::message::ToolError;
use verbale::{Content, Contents, Heard, HeardSource, Record, Role, Timing, ToolCall, Value};

use super::call::Manager;
use crate::dynamo::Dice;

const TEXTS: &[&str] = &[
    "Hi, there",
    "yes",
    "ciao 👋🏽 👨‍👩‍👧",
    "\u{202e}txet\u{202c}",
    "nul \u{0} and escape \u{1b}[31m",
    "e\u{301}\u{feff} 漢字 ß",
    "I would like to know when the bus leaves, and from which stop, please.",
    "[User]: \"quoted\"\\ \n\t",
];

/// A text that no item can hold, even compressed.
static LARGE: LazyLock<String> = LazyLock::new(|| {
    let mut dice = Dice::of(&[1]);
    (0..600_000).map(|_| char::from(b'?' + dice.below(64) as u8)).filter(|char| *char != '\\').collect()
});

/// The kinds of messages that a history may have.
#[derive(Debug, Clone, Copy)]
pub struct Manners {
    pub has_large: bool,
}

/// Adds a message if the manager accepts it. Returns whether it is too large for the table.
pub fn speak(manager: &mut Manager, dice: &mut Dice, manners: Manners, mark: &str) -> bool {
    let open: Vec<ToolCall> = manager.open_tool_calls().iter().map(|id| call_of(id.as_str())).collect();
    let (role, contents, is_large) = match dice.below(20) {
        0 => (Role::System, text(dice, mark), false),
        1 if manners.has_large => (Role::User, LARGE.as_str().into(), true),
        2..=3 => (Role::Assistant, tool_call(dice, mark), false),
        4..=11 if !open.is_empty() => (Role::User, answer(dice, &open), false),
        4..=11 => (Role::User, text(dice, mark), false),
        _ => (Role::Assistant, text(dice, mark), false),
    };
    // The manager refuses a message that is not allowed now.
    manager.add(verbale::Draft::new(role, contents)).is_ok() && is_large
}

/// Changes an old message.
pub fn revise(manager: &mut Manager, dice: &mut Dice, now_ms: i64) {
    let all = manager.meta_messages();
    if all.is_empty() {
        return;
    }
    let back = dice.below(4.min(all.len() as u64)) as usize;
    let id =
        if dice.chance(0.8) { all[all.len() - 1 - back].id() } else { all[dice.below(all.len() as u64) as usize].id() };
    let mut entry = manager.entry(&id).unwrap();
    match dice.below(3) {
        0 => drop(entry.set_timing(Timing::PlayEnd, now_ms + dice.below(1_000) as i64)),
        1 => drop(entry.set_data("k", Value::from(dice.below(1_000) as i64))),
        // Fails unless the message is of the assistant.
        _ => drop(entry.set_heard(Heard::new(dice.below(20) as usize, HeardSource::WordTiming))),
    }
}

/// Returns a record whose texts fit into an item.
pub fn shortened(record: &Record) -> Record {
    let json = serde_json::to_string(record).unwrap();
    serde_json::from_str(&json.replace(LARGE.as_str(), "too long")).unwrap()
}

fn text(dice: &mut Dice, mark: &str) -> Contents {
    let texts = (0..1 + dice.below(2)).map(|_| {
        let text = TEXTS[dice.below(TEXTS.len() as u64) as usize];
        let times = if dice.chance(0.05) { 40 } else { 1 };
        format!("{mark} {}", text.repeat(times))
    });
    texts.collect::<Vec<_>>().into()
}

fn tool_call(dice: &mut Dice, mark: &str) -> Contents {
    let call = call_of(&format!("tool_{}", dice.below(1 << 40)));
    let mut contents = vec![Content::from(format!("{mark} one moment"))];
    contents.push(call.into());
    contents.into()
}

fn answer(dice: &mut Dice, open: &[ToolCall]) -> Contents {
    let call = &open[dice.below(open.len() as u64) as usize];
    let result = if dice.chance(0.2) { call.failure(ToolError::new("no")) } else { call.success(["line 12"]) };
    vec![Content::from(result)].into()
}

fn call_of(id: &str) -> ToolCall {
    ToolCall::new(id, "lookup", Value::Null).unwrap()
}
