//! All formats, as one list.

use std::sync::Arc;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::exchange::{
    ExchangeError, ImportOptions, Loss, Lost, anthropic, chat, converse, json_lines, openai, versioned,
};
use verbale::{Contents, MessageWrapper, MessagesManager, PlainMessage, Role};

pub type Manager = MessagesManager<PlainMessage>;

pub struct Format {
    pub name: &'static str,
    pub import: fn(&[u8]) -> Result<Manager, ExchangeError>,
    /// `None` where the conversation has what the format has no words for, and says nothing without it.
    pub export: fn(&Manager) -> Option<String>,
}

pub const ALL: &[Format] = &[
    Format {
        name: "openai",
        import: |json| openai::import_with(json, &options()),
        export: |manager| {
            let export = openai::export(manager);
            let is_whole = |loss: &Loss| !matches!(loss.what, Lost::Order | Lost::ToolCall | Lost::ToolResult);
            export.losses.iter().all(is_whole).then_some(export.text)
        },
    },
    Format {
        name: "converse",
        import: |json| converse::import_with(json, &options()),
        export: |manager| Some(converse::export(manager).text),
    },
    Format {
        name: "versioned",
        import: |json| versioned::import_with(json, &options()),
        export: |manager| Some(versioned::export(manager).text),
    },
    Format {
        name: "json_lines",
        import: |lines| json_lines::import_with(lines, &options()),
        export: |manager| Some(json_lines::export(manager).text),
    },
    Format {
        name: "chat",
        // Of several conversations the first.
        import: |json| {
            Ok(chat::import_with(json, &options())?.into_iter().next().map_or_else(manager, |(_, first)| first))
        },
        export: |manager| {
            let export = chat::export([("default", manager)]);
            export.losses.is_empty().then_some(export.text)
        },
    },
    Format {
        name: "anthropic",
        import: |json| anthropic::import_with(json, &options()),
        // It has a window only.
        export: |_| None,
    },
];

pub fn options() -> ImportOptions {
    ImportOptions::default().with_clock(clock()).with_ids(ids())
}

pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(1_744_815_823_058))
}

pub fn ids() -> Arc<SequentialIds> {
    Arc::new(SequentialIds::default())
}

pub fn manager() -> Manager {
    MessagesManager::with_clock(clock(), ids())
}

/// JSON Lines without their ids.
pub fn without_ids(lines: &str) -> String {
    let line = |line: &str| match line.split_once(r#","message_id":""#) {
        Some((before, behind)) => format!("{before}{}\n", behind.split_once('"').unwrap().1),
        None => format!("{line}\n"),
    };
    lines.lines().map(line).collect()
}

/// Who said what, fakes and summaries aside.
pub fn said(manager: &Manager) -> Vec<(Role, Contents)> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message);
    let said = messages.filter(|message| !message.is_fake() && message.role() != Role::Summary);
    said.map(|message| (message.role(), message.heard_contents().into_owned())).collect()
}
