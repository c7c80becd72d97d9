//! All formats, as one list.

use std::error::Error;
use std::sync::Arc;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::exchange::{converse, openai};
use verbale::{Contents, MessageWrapper, MessagesManager, PlainMessage, Role};

pub type Manager = MessagesManager<PlainMessage>;

pub struct Format {
    pub name: &'static str,
    pub import: fn(&[u8]) -> Result<Manager, Box<dyn Error>>,
    /// The text, and whether it says everything.
    pub export: fn(&Manager) -> Option<String>,
}

pub const ALL: &[Format] = &[
    Format {
        name: "openai",
        import: |json| Ok(openai::import_with_clock(json, clock(), ids())?),
        export: |manager| Some(openai::export(manager).text),
    },
    Format {
        name: "converse",
        import: |json| Ok(converse::import_with_clock(json, clock(), ids())?),
        export: |manager| Some(converse::export(manager).text),
    },
];

pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(1_744_815_823_058))
}

pub fn ids() -> Arc<SequentialIds> {
    Arc::new(SequentialIds::default())
}

pub fn manager() -> Manager {
    MessagesManager::with_clock(clock(), ids())
}

/// Who said what, fakes and summaries aside.
pub fn said(manager: &Manager) -> Vec<(Role, Contents)> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message);
    let said = messages.filter(|message| !message.is_fake() && message.role() != Role::Summary);
    said.map(|message| (message.role(), message.heard_contents().into_owned())).collect()
}
