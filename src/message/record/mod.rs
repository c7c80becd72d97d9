//! [`Record`]: a message as the log keeps it.

mod read;
mod read_metadata;
#[cfg(feature = "schema")]
mod schema;
mod write;

use std::ops::Deref;

use crate::message::Message;

/// A message as the log keeps it, with serde. In JSON:
///
/// ```json
/// { "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
///   "message":  { "role": "user", "contents": ["Hi, there", "how are you"] },
///   "metadata": { "attribute": ["merged"], "timing": { "creation": 1744815823058 }, "aux": { "stopped": true } } }
/// ```
///
/// - A text is a plain string in `contents`, any other content a map with `type`; [`Value`](crate::Value) says how
///   values stand in JSON. A key whose value is not set is absent.
/// - A summary has `after` in place of `seq`: the `seq` of the last message it covers; `summary`, its number among
///   the summaries of the conversation, from 1; and in `metadata` `coversFrom`, the `seq` of the first message it covers,
///   and `previousSummary`, the id of the summary that it replaces.
/// - An assistant message of which not all was heard has `"heard": {"contents": […], "by": "wordTiming"}` in `message`:
///   the beginning of its texts.
/// - A message that was made in steps has `step`, `policy` and `roleHint` in `metadata`, and one behind which a
///   conversation left another `"forkedFrom": {"conversation": "CA1", "behind": "01JRZJ166J2WRMF990535EVSQS"}`.
/// - A message that was merged, or has a confidence, has `parts` in `metadata`: a list of
///   `{"id": "01JR…", "contents": 1, "creation": 1744815823058, "listenEnd": 1744815823050, "confidence": 0.93}`, in which
///   `contents` is how many of the message's contents are the part's.
/// - Keys, attributes, timings and types of contents that a newer writer added are kept, and written back. A
///   `role` that is not known is an error.
///
/// Its JSON Schema is `docs/record.schema.json`, which [`schemars::schema_for!`] makes of it.
///
/// It holds the message; clones share its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record(Message);

impl Record {
    /// The message.
    pub fn into_message(self) -> Message {
        self.0
    }
}

impl From<Message> for Record {
    fn from(message: Message) -> Self {
        Self(message)
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
    use crate::message::{Attribute, Decision, ForkedFrom, Heard, HeardSource, RoleHint, Step, Timing};

    fn read(json: serde_json::Value) -> Record {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_design_s_record_reads_and_writes() {
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
    fn a_summary_says_what_it_covers() {
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
    fn a_step_and_a_fork_read_and_write() {
        let json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 2,
            "message": {"role": "user", "contents": ["a"]},
            "metadata": {"step": 4, "policy": "planner", "roleHint": "tool",
                "forkedFrom": {"conversation": "CA1", "behind": "01JRZJ1675E4S7Y4ZD7RNWNXWB"}, "timing": {"creation": 5}},
        });
        let record = read(json.clone());
        let decision = Decision::of_step(Step::new(4)).with_policy("planner").with_role_hint(RoleHint::Tool);
        assert_eq!(record.metadata().decision(), Some(&decision));
        assert_eq!(record.metadata().forked_from(), Some(&ForkedFrom::new("CA1", Some(record.id()))));
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
        for (key, wrong) in [("step", json!(-1)), ("step", json!("4")), ("policy", json!(4)), ("forkedFrom", json!({}))]
        {
            let mut bad = json.clone();
            bad["metadata"][key] = wrong;
            assert!(serde_json::from_value::<Record>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_heard_is_a_prefix() {
        let mut json = json!({
            "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 3, "revision": 1,
            "message": {"role": "assistant", "contents": ["I am fine,", "and you?"],
                "heard": {"contents": ["I am fine,", "and"], "by": "wordTiming"}},
            "metadata": {"timing": {"creation": 5}},
        });
        let record = read(json.clone());
        assert_eq!(record.heard(), Some(Heard::bytes(13, HeardSource::WordTiming)));
        assert_eq!(serde_json::to_value(&record).unwrap(), json);
        json["message"]["heard"]["contents"] = json!(["I was"]);
        assert!(serde_json::from_value::<Record>(json).is_err());
    }

    #[test]
    fn what_a_newer_writer_added_is_kept() {
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
    fn what_is_no_record_is_refused() {
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
