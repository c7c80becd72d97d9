//! Exports of conversations that were restored without some messages hold only complete pairs of tool calls and results.

use proptest::prelude::*;
use verbale::exchange::{
    Export, export_chat, export_converse, export_json_lines, export_openai, export_versioned, window_anthropic,
    window_openai,
};
use verbale::log::LoggedCall;
use verbale::{Record, ToolCall, Value};

use super::loss;

use crate::formats::{ALL, Manager, manager};
use crate::random::conversation;

type Named = (&'static str, fn(&Manager) -> Export);

/// Every export and window.
const EXPORTS: [Named; 7] = [
    ("openai", |manager| export_openai(manager)),
    ("converse", |manager| export_converse(manager)),
    ("versioned", |manager| export_versioned(manager)),
    ("json_lines", |manager| export_json_lines(manager)),
    ("chat", |manager| export_chat([("default", manager)])),
    ("the window of openai", |manager| window_openai(manager)),
    ("the window of anthropic", |manager| window_anthropic(manager)),
];

/// A call that is answered, one that is open, and something said between them.
fn records() -> Vec<Record> {
    let mut manager = manager();
    manager.add_user("Is it open?").unwrap();
    let call = ToolCall::new("lost-1", "look", Value::Null).unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success(["Until six."])).unwrap();
    manager.add_assistant("It is open until six.").unwrap();
    manager.add_user("Then book.").unwrap();
    manager.add_assistant(ToolCall::new("open-2", "book", Value::Null).unwrap()).unwrap();
    manager.records()
}

#[test]
fn half_of_a_pair_is_left_out_and_reported() {
    // Without the call, then without its result.
    for (missing, half) in [(1, 2), (2, 1)] {
        let mut kept = records();
        let half = kept[half].id();
        kept.remove(missing);
        let manager: Manager = LoggedCall::new(None, kept).restore();
        assert_eq!(manager.left_out().len(), 1);
        for (name, export) in EXPORTS {
            let Export { text, losses, .. } = export(&manager);
            assert!(!text.contains("lost-1") && !text.contains("Until six."), "{name} without {missing}: {text}");
            assert!(losses.contains(&(half, loss::TOOL_CALL)), "{name} without {missing}: {losses:?}");
            assert!(text.contains("It is open until six."), "{name}: {text}");
        }
        // Its result may still come.
        for (name, export) in &EXPORTS[1..4] {
            assert!(export(&manager).text.contains("open-2"), "{name}");
        }
    }
}

#[test]
fn complete_pairs_are_kept() {
    let manager: Manager = LoggedCall::new(None, records()[1..].to_vec()).restore();
    for (name, export) in EXPORTS.iter().filter(|(name, _)| *name != "chat") {
        assert!(export(&manager).text.contains("Until six."), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// An import refuses a result without its call.
    #[test]
    fn export_without_some_messages_can_be_imported(
        records in conversation(true), lost in prop::collection::vec(prop::bool::weighted(0.2), 1..16),
    ) {
        let mut lost = lost.iter().cycle();
        let kept = records.into_iter().filter(|_| !lost.next().unwrap()).collect();
        let manager: Manager = LoggedCall::new(None, kept).restore();
        for format in ALL {
            if let Some(text) = (format.export)(&manager) {
                let imported = (format.import)(text.as_bytes());
                prop_assert!(imported.is_ok(), "{}: {:?} {text}", format.name, imported.err());
            }
        }
    }
}
