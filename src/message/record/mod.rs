//! [`Record`]: a message in the log.

mod read;
mod read_metadata;
#[cfg(feature = "schema")]
mod schema;
mod write;

use std::ops::Deref;

pub(crate) use write::AsRecord;

use crate::message::Message;

/// A message in the form in which the log stores it. Serde reads and writes it, in JSON as:
///
/// ```json
/// { "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
///   "message":  { "role": "user", "contents": ["Hi, there", "how are you"] },
///   "metadata": { "attribute": ["merged"], "timing": { "creation": 1744815823058 }, "aux": { "stopped": true } } }
/// ```
///
/// - A text is a plain string in `contents`. Any other content is a map with `type`. [`Value`](crate::Value) describes
///   the JSON of values. A key without a value is absent.
/// - A summary has `after` instead of `seq`, the `seq` of the last message that it covers, and `summary`, its number in
///   the conversation, from 1. In `metadata` it has `coversFrom`, the `seq` of the first message that it covers, and
///   `previousSummary`, the id of the summary that it replaces. A summary by a model has `request`, with the time and tokens
///   of the request.
/// - An assistant message that was heard in part has `"heard": {"contents": […], "by": "wordTiming"}` in `message`, with
///   the heard prefix of its texts.
/// - A message of a decision has `step`, `policy` and `roleHint` in `metadata`. The last message that a fork shares with
///   its source has `"forkedFrom": {"conversation": "CA1", "after": "01JRZJ166J2WRMF990535EVSQS"}`.
/// - A message that was merged or has a confidence has `parts` in `metadata`, a list of
///   `{"id": "01JR…", "contents": 1, "creation": 1744815823058, "listenEnd": -8, "confidence": 0.93}`. There `contents`
///   is the number of contents of the part. The first part omits its id and creation, which are those of the message.
/// - Times other than `creation` are in milliseconds after it.
/// - A message that is logged with a turn has `turn` in `metadata`, a [`TurnRecord`](crate::message::TurnRecord).
/// - A message from which text was [redacted](crate::message::Metadata::redacted) before it was stored has the kinds, as
///   in `"redacted": ["card"]`, in `metadata`.
/// - Keys, attributes, timings and types of contents that a newer version added are kept and written back. An unknown
///   `role` is an error.
///
/// Its JSON Schema is `docs/record.schema.json`, which [`schemars::schema_for!`] generates.
///
/// Clones share the texts of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record(Message);

impl From<Message> for Record {
    fn from(message: Message) -> Self {
        Self(message)
    }
}

impl From<Record> for Message {
    fn from(record: Record) -> Self {
        record.0
    }
}

impl Deref for Record {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{Attribute, Decision, ForkedFrom, Heard, HeardSource, RoleHint, Timing};

    fn read(json: serde_json::Value) -> Record {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn merged_message_round_trips() {
        let json = json!({
            "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
            "message": {"role": "user", "contents": ["Hi, there", "how are you"]},
            "metadata": {"attribute": ["merged"], "timing": {"creation": 1_744_815_823_058_i64}, "aux": {"stopped": true}},
        });
        let record = read(json.clone());
        assert_eq!(record.position().seq(), 2);
        assert_eq!(record.revision(), 3);
        assert_eq!(record.metadata().attributes().collect::<Vec<_>>(), [Attribute::Merged]);
        assert_eq!(record.metadata().timing(Timing::Creation), Some(1_744_815_823_058));
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
        let text = serde_json::to_string(&record).unwrap();
        assert!(
            text.starts_with(r#"{"id":"01JRZJ166J2WRMF990535EVSQS","seq":2,"revision":3,"message":{"role":"user","#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn summary_round_trips() {
        let json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "after": 3, "summary": 1, "revision": 1,
            "message": {"role": "summary", "contents": ["..."]},
            "metadata": {"coversFrom": 1, "previousSummary": "01JRZJ166HZFPP405DV1QQB2X9", "timing": {"creation": 5}},
        });
        let record = read(json.clone());
        assert_eq!((record.metadata().covers_from(), record.position().seq()), (Some(1), 3));
        assert_eq!(record.metadata().previous_summary(), Some("01JRZJ166HZFPP405DV1QQB2X9".parse().unwrap()));
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
    }

    #[test]
    fn decision_and_fork_round_trip() {
        let json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 2,
            "message": {"role": "user", "contents": ["a"]},
            "metadata": {"step": 4, "policy": "planner", "roleHint": "tool",
                "forkedFrom": {"conversation": "CA1", "after": "01JRZJ1675E4S7Y4ZD7RNWNXWB"}, "timing": {"creation": 5}},
        });
        let record = read(json.clone());
        let decision = Decision { step: Some(4), decided_by: Some("planner".into()), role_hint: Some(RoleHint::Tool) };
        assert_eq!(record.metadata().decision(), Some(&decision));
        assert_eq!(
            record.metadata().forked_from(),
            Some(&ForkedFrom { conversation: "CA1".into(), after: Some(record.id()) })
        );
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
        for (key, wrong) in [("step", json!(-1)), ("step", json!("4")), ("policy", json!(4)), ("forkedFrom", json!({}))]
        {
            let mut bad = json.clone();
            bad["metadata"][key] = wrong;
            assert!(serde_json::from_value::<Record>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn heard_text_is_a_prefix_of_the_contents() {
        let mut json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 1,
            "message": {"role": "assistant", "contents": ["I am fine,", "and you?"],
                "heard": {"contents": ["I am fine,", "and"], "by": "wordTiming"}},
            "metadata": {"timing": {"creation": 5}},
        });
        let record = read(json.clone());
        assert_eq!(record.heard(), Some(Heard::new(13, HeardSource::WordTiming)));
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
        json["message"]["heard"]["contents"] = json!(["I was"]);
        assert!(serde_json::from_value::<Record>(json).is_err());
    }

    #[test]
    fn entries_of_a_newer_version_are_kept() {
        let json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 1, "epoch": 2,
            "message": {"role": "assistant", "contents": ["a", {"type": "hologram"}], "language": "it",
                "heard": {"contents": ["a"], "by": "estimate", "confidence": 0.5}},
            "metadata": {
                "attribute": ["merged", "merged", "translated"],
                "timing": {"creation": 5, "llmStart": 6, "ttsStart": 7},
                "aux": {"a": [1, {"b": null}]}, "episode": {"number": 4}, "roleHint": "narrator",
                "forkedFrom": {"conversation": "CA1", "by": {"name": "planner"}},
            },
        });
        assert_eq!(serde_json::to_value(read(json.clone())).unwrap(), json);
    }

    #[test]
    fn invalid_record_is_refused() {
        let good = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 1,
            "message": {"role": "user", "contents": ["a"]}, "metadata": {"timing": {"creation": 5}},
        });
        assert!(serde_json::from_value::<Record>(good.clone()).is_ok());
        for (pointer, wrong) in [
            ("/id", json!("x")),
            ("/seq", json!(-1)),
            ("/seq", json!(100_000_000)),
            ("/seq", json!(null)),
            ("/revision", json!(0)),
            ("/message/role", json!("narrator")),
            ("/message/role", json!("summary")),
            ("/message/contents", json!("a")),
            ("/metadata/timing", json!({})),
            ("/metadata/timing/creation", json!("yesterday")),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = wrong;
            assert!(serde_json::from_value::<Record>(bad.clone()).is_err(), "{bad}");
        }
        for key in ["id", "seq", "revision", "message", "metadata"] {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(key);
            assert!(serde_json::from_value::<Record>(bad.clone()).is_err(), "{bad}");
        }
    }
}
