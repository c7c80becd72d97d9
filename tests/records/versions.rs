//! Records of schema version 1, one call per file. Later versions of the library read, restore and write them
//! unchanged.
//!
//! - `v1_contents.jsonl`: messages, summaries, media, tool calls, custom data and references to stored contents.
//! - `v1_decisions.jsonl`: steps, policies, hints and forks.
//! - `v1_parts.jsonl`: the parts of merged messages.
//! - `v1_turns.jsonl`: the requests of a turn, with keys of a newer version.

use std::fs;
use std::path::Path;

use verbale::{MessagesManager, PlainMessage, Record};

use crate::schema::validator;

#[test]
fn stored_records_read_restore_and_write_unchanged() {
    let validator = validator();
    let mut files = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut records: Vec<Record> = Vec::new();
        for line in text.lines() {
            let record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
            assert_eq!(serde_json::to_string(&record).unwrap(), line);
            assert!(validator.is_valid(&serde_json::from_str(line).unwrap()), "invalid: {line}");
            records.push(record);
        }
        let manager = MessagesManager::<PlainMessage>::restore(records.iter().cloned()).unwrap();
        assert_eq!(manager.records(), records, "{}", path.display());
        assert!(manager.messages().count() > 0);
        files += 1;
    }
    assert_eq!(files, 4);
}
