//! All formats, as one list.

use std::sync::Arc;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::exchange::{
    ExchangeError, ImportOptions, export_chat, export_converse, export_json_lines, export_openai, export_versioned,
    import_anthropic, import_chat, import_converse, import_json_lines, import_openai, import_versioned,
};
use verbale::{Contents, MessageWrapper, MessagesManager, PlainMessage, Role};

use super::loss;

pub type Manager = MessagesManager<PlainMessage>;

pub struct Format {
    pub name: &'static str,
    pub import: fn(&[u8]) -> Result<Manager, ExchangeError>,
    /// Returns `None` if the format cannot express the conversation.
    pub export: fn(&Manager) -> Option<String>,
}

pub const ALL: &[Format] = &[
    Format {
        name: "openai",
        import: |json| import_openai(json, &options()),
        export: |manager| {
            let export = export_openai(manager);
            let is_whole = |(_, loss): &(_, &str)| ![loss::ORDER, loss::TOOL_CALL].contains(loss);
            export.losses.iter().all(is_whole).then_some(export.text)
        },
    },
    Format {
        name: "converse",
        import: |json| import_converse(json, &options()),
        export: |manager| Some(export_converse(manager).text),
    },
    Format {
        name: "versioned",
        import: |json| import_versioned(json, &options()),
        export: |manager| Some(export_versioned(manager).text),
    },
    Format {
        name: "json_lines",
        import: |lines| import_json_lines(lines, &options()),
        export: |manager| Some(export_json_lines(manager).text),
    },
    Format {
        name: "chat",
        // The first of several conversations.
        import: |json| Ok(import_chat(json, &options())?.into_iter().next().map_or_else(manager, |(_, first)| first)),
        export: |manager| {
            let export = export_chat([("default", manager)]);
            export.losses.iter().all(|(_, loss)| *loss == loss::PARTS).then_some(export.text)
        },
    },
    Format {
        name: "anthropic",
        import: |json| import_anthropic(json, &options()),
        // Anthropic has only a window.
        export: |_| None,
    },
];

pub fn options() -> ImportOptions {
    ImportOptions::default().with_clock(clock(), ids())
}

pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(1_744_815_823_058))
}

pub fn ids() -> Arc<SequentialIds> {
    Arc::new(SequentialIds::default())
}

pub fn manager() -> Manager {
    MessagesManager::new().with_clock(clock(), ids())
}

/// Removes the ids from JSON Lines.
pub fn without_ids(lines: &str) -> String {
    let line = |line: &str| match line.split_once(r#","message_id":""#) {
        Some((before, after)) => format!("{before}{}\n", after.split_once('"').unwrap().1),
        None => format!("{line}\n"),
    };
    lines.lines().map(line).collect()
}

/// Returns the role and heard contents of each message except fakes and summaries.
pub fn said(manager: &Manager) -> Vec<(Role, Contents)> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message);
    let said = messages.filter(|message| !message.is_fake() && message.role() != Role::Summary);
    said.map(|message| (message.role(), message.heard_contents().into_owned())).collect()
}
