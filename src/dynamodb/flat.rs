//! The levels of a record's JSON that an item omits, because each map and each name costs bytes in every message.

use serde_json::{Map, Value as Json};

/// The maps whose keys an item stores among the keys of the surrounding map, the inner maps first.
const LIFTED: [(&str, &[&str]); 3] = [
    (
        "timing",
        &["creation", "listenStart", "listenEnd", "llmStart", "llmFirstToken", "llmEnd", "playStart", "playEnd"],
    ),
    (
        "metadata",
        &[
            "attribute",
            "coversFrom",
            "previousSummary",
            "step",
            "policy",
            "roleHint",
            "forkedFrom",
            "parts",
            "turn",
            "request",
            "timing",
            "redacted",
            "aux",
        ],
    ),
    ("message", &["role", "contents", "heard"]),
];

/// Returns whether a key of a record cannot be an attribute, because a key of an inner map has the same name.
pub(super) fn is_lifted(key: &str) -> bool {
    LIFTED.iter().any(|(_, keys)| keys.contains(&key))
}

/// Moves the known keys of the inner maps to the record. Keys of a newer version stay in their map; a map without any is
/// left out. No key of the record itself [is lifted](is_lifted).
pub(super) fn flatten(record: &mut Map<String, Json>) {
    for (level, keys) in LIFTED.iter().rev() {
        let Some(Json::Object(inner)) = record.get_mut(*level) else { continue };
        let lifted: Vec<_> = keys.iter().filter_map(|key| inner.remove_entry(*key)).collect();
        if inner.is_empty() {
            record.remove(*level);
        }
        record.extend(lifted);
    }
}

/// The inverse of [`flatten`]. It keeps what was never flattened.
pub(super) fn nest(record: &mut Map<String, Json>) {
    for (level, keys) in &LIFTED {
        let lifted: Vec<_> = keys.iter().filter_map(|key| record.remove_entry(*key)).collect();
        if lifted.is_empty() {
            continue;
        }
        if let Json::Object(inner) = record.entry(*level).or_insert_with(|| Json::Object(Map::new())) {
            inner.extend(lifted);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::Timing;

    #[test]
    fn every_time_is_a_key_of_its_own() {
        assert!(Timing::ALL.iter().all(|timing| is_lifted(timing.as_str())));
    }

    #[test]
    fn keys_of_a_newer_version_stay_in_their_map() {
        let record = json!({
            "id": "a", "message": {"role": "user", "contents": [], "role2": 1},
            "metadata": {"timing": {"creation": 5, "ttsStart": 7}, "aux": {}, "role": "narrator"},
        });
        let Json::Object(mut entries) = record.clone() else { panic!("{record}") };
        flatten(&mut entries);
        let flat = json!({
            "id": "a", "role": "user", "contents": [], "message": {"role2": 1}, "creation": 5, "timing": {"ttsStart": 7},
            "aux": {}, "metadata": {"role": "narrator"},
        });
        assert_eq!(Json::Object(entries.clone()), flat);
        nest(&mut entries);
        assert_eq!(Json::Object(entries), record);
    }
}
