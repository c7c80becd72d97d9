//! Parts of merged messages, and message ids chosen by the service.

use serde_json::json;

use super::*;
use crate::clock::{ManualClock, SequentialIds};
use crate::message::{Content, Draft, Heard, HeardSource, Number, PlainMessage, Role, Timing, ToolCall, Value};

type Manager = MessagesManager<PlainMessage>;

const START_MS: i64 = 1_744_815_823_058;

fn manager() -> (Manager, ManualClock) {
    let clock = ManualClock::new(START_MS);
    (Manager::new().with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::from(1))), clock)
}

fn said(text: &str, confidence: f64) -> Draft {
    Draft::new(Role::User, text).with_confidence(confidence.try_into().unwrap()).unwrap()
}

/// Returns the id, times, confidence and texts of each part.
fn shown(message: &Message) -> Vec<String> {
    let part = |part: crate::message::Part<'_>| {
        let times: Vec<_> = part.timings().map(|(timing, at_ms)| format!("{timing}+{}", at_ms - START_MS)).collect();
        let texts: Vec<_> = part.contents().iter().filter_map(Content::as_text).map(|text| text.as_str()).collect();
        let confidence = part.confidence().map_or("-".to_owned(), Number::to_string);
        format!("{} {} {confidence} {}", u128::from(part.id()), times.join(" "), texts.join("|"))
    };
    message.parts().map(part).collect()
}

#[test]
fn merged_message_keeps_time_id_and_confidence_of_each_part() {
    let (mut manager, clock) = manager();
    manager.add(said("Hi, there", 0.93)).unwrap().set_part_timing(Timing::ListenEnd, START_MS - 1).unwrap();
    clock.advance(99_000);
    let mut entry = manager.add_user(["how are", "you"]).unwrap();
    entry.set_part_timing(Timing::ListenStart, START_MS + 98_000).unwrap();
    entry.set_part_timing(Timing::ListenEnd, START_MS + 98_500).unwrap();
    manager.add(said("today", 0.4)).unwrap();

    let message = manager.meta_messages()[0].message();
    assert_eq!(
        shown(message),
        [
            "1 creation+0 listenEnd+-1 0.93 Hi, there",
            "2 creation+99000 listenStart+98000 listenEnd+98500 - how are|you",
            "3 creation+99000 0.4 today"
        ]
    );
    // The whole message has the first start and the last end.
    let times: Vec<_> = message.metadata().timings().map(|(_, at_ms)| at_ms - START_MS).collect();
    assert_eq!(times, [0, 98_000, 98_500]);

    assert!(manager.to_string().contains("{confidence=0.93/?/0.4, attribute=[merged, merged], "), "{manager}");
    let records = manager.records();
    insta::assert_snapshot!(serde_json::to_string_pretty(&records[0]).unwrap(), @r#"
    {
      "id": "00000000000000000000000001",
      "seq": 0,
      "revision": 6,
      "message": {
        "role": "user",
        "contents": [
          "Hi, there",
          "how are",
          "you",
          "today"
        ]
      },
      "metadata": {
        "attribute": [
          "merged",
          "merged"
        ],
        "parts": [
          {
            "contents": 1,
            "listenEnd": -1,
            "confidence": 0.93
          },
          {
            "id": "00000000000000000000000002",
            "contents": 2,
            "creation": 1744815922058,
            "listenStart": -1000,
            "listenEnd": -500
          },
          {
            "id": "00000000000000000000000003",
            "contents": 1,
            "creation": 1744815922058,
            "confidence": 0.4
          }
        ],
        "timing": {
          "creation": 1744815823058,
          "listenStart": 98000,
          "listenEnd": 98500
        }
      }
    }
    "#);
    let read: Vec<Record> = serde_json::from_str(&serde_json::to_string(&records).unwrap()).unwrap();
    assert_eq!(read, records);
    let restored = Manager::restore(read).unwrap();
    assert!(restored == manager);
    for id in 1..=3_u128 {
        assert_eq!(restored.get(&id.into()).map(|wrapper| wrapper.id()), Some(1.into()));
    }
    assert!(restored.get(&4.into()).is_none());
}

#[test]
fn unmerged_message_has_one_part_and_stores_none() {
    let (mut manager, _) = manager();
    manager.add_user(["a", "b"]).unwrap().set_timing(Timing::ListenEnd, START_MS + 1).unwrap();
    assert_eq!(shown(manager.meta_messages()[0].message()), ["1 creation+0 listenEnd+1 - a|b"]);
    assert!(!serde_json::to_string(&manager.records()[0]).unwrap().contains("parts"));
}

#[test]
fn corrected_creation_time_applies_to_the_part() {
    let (mut manager, _) = manager();
    manager.add_user("a").unwrap();
    manager.add_user("b").unwrap().set_part_timing(Timing::ListenEnd, START_MS + 2).unwrap();
    let mut entry = manager.add_user("c").unwrap();
    entry.set_part_timing(Timing::ListenEnd, START_MS + 9).unwrap();
    entry.set_timing(Timing::Creation, START_MS - 7).unwrap();
    entry.set_part_timing(Timing::Creation, START_MS + 7).unwrap();
    // The other times stay.
    let expected = ["1 creation+-7 - a", "2 creation+0 listenEnd+2 - b", "3 creation+7 listenEnd+9 - c"];
    assert_eq!(shown(entry.message()), expected);
    assert_eq!(entry.message().metadata().timing(Timing::ListenEnd), Some(START_MS + 9));
    assert!(Manager::restore(manager.records()).unwrap() == manager);
}

#[test]
fn partly_heard_message_keeps_its_parts() {
    let (mut manager, _) = manager();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("One moment.").unwrap();
    let id = manager.add_assistant("It costs ten euros.").unwrap().id();
    manager.entry(&id).unwrap().set_heard(Heard::new(19, HeardSource::Estimate)).unwrap();
    let message = manager.get(&id).unwrap().message();
    assert_eq!(shown(message), ["2 creation+0 - One moment.", "3 creation+0 - It costs ten euros."]);
    // A repaired message of the window has new contents, and so one part.
    let repaired: Vec<_> = manager.messages().map(|message| shown(message.message())).collect();
    assert_eq!(repaired, [vec!["1 creation+0 - Hi"], vec!["2 creation+0 - One moment.|It costs"]]);
    assert!(Manager::restore(manager.records()).unwrap() == manager);
}

#[test]
fn parts_that_do_not_fit_their_message_are_refused() {
    let (mut manager, _) = manager();
    manager.add_user("a").unwrap();
    manager.add(said("b", 1.0)).unwrap().set_part_timing(Timing::ListenEnd, START_MS).unwrap();
    let good = serde_json::to_value(&manager.records()[0]).unwrap();
    for (pointer, wrong) in [
        ("/metadata/parts", json!([])),
        ("/metadata/parts/0/contents", json!(0)),
        ("/metadata/parts/0/contents", json!(2)),
        ("/metadata/parts/1/contents", json!(u32::MAX)),
        ("/metadata/parts/0", json!({"id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "contents": 1, "creation": 7})),
        ("/metadata/parts/1/creation", json!(null)),
        ("/metadata/parts/1/listenEnd", json!("soon")),
        ("/metadata/parts/1/confidence", json!(1.5)),
        ("/metadata/parts/1/confidence", json!(null)),
        ("/metadata/parts/1", json!({"id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "contents": 1})),
        ("/message/contents", json!(["a"])),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = wrong;
        assert!(serde_json::from_value::<Record>(bad.clone()).is_err(), "{bad}");
    }
    let mut newer = good;
    newer["metadata"]["parts"][1]["language"] = json!("it");
    let record: Record = serde_json::from_value(newer.clone()).unwrap();
    assert_eq!(serde_json::to_value(record).unwrap(), newer);
}

#[test]
fn explicit_message_id_is_used_once() {
    let (mut manager, _) = manager();
    let first = manager.add_user("a").unwrap().id();
    let given: MessageId = "01JRZJ1675E4S7Y4ZD7RNWNXWB".parse().unwrap();
    let other: MessageId = "01JRZJ1675E4S7Y4ZD7RNWNXWC".parse().unwrap();
    let draft = |role, id| Draft::new(role, "b").with_id(id);
    manager.add(draft(Role::User, given)).unwrap();
    assert_eq!(manager.get(&given).map(|wrapper| wrapper.id()), Some(first));
    let generated = manager.add_user("c").unwrap().message().parts().next_back().map(|part| part.id()).unwrap();
    for id in [first, given, generated] {
        assert_eq!(manager.add(draft(Role::Assistant, id)).unwrap_err().0, Refusal::RepeatedId { id });
    }
    let twice = [draft(Role::Assistant, other), draft(Role::User, other)];
    assert_eq!(manager.add_all(twice), Err((1, Refusal::RepeatedId { id: other }.into())));
    assert_eq!(manager.add(draft(Role::Assistant, other)).unwrap().id(), other);
    let mut restored = Manager::restore(manager.records()).unwrap();
    assert!(restored == manager);
    assert_eq!(restored.add(draft(Role::User, given)).unwrap_err().0, Refusal::RepeatedId { id: given });
}

#[test]
fn time_in_seconds_is_refused() {
    let (mut manager, _) = manager();
    let mut entry = manager.add_user("a").unwrap();
    let seconds = START_MS / 1_000;
    let refused = entry.set_timing(Timing::ListenEnd, seconds).unwrap_err();
    assert_eq!(entry.set_part_timing(Timing::ListenEnd, seconds), Err(refused.clone()));
    assert_eq!(
        refused.to_string(),
        "1744815823 is a time in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000"
    );
    assert_eq!((entry.message().revision(), entry.set_timing(Timing::ListenEnd, 1_000)), (1, Ok(None)));
}

#[test]
fn message_with_parts_as_large_as_an_item_takes_no_merge() {
    let (mut manager, _) = manager();
    for _ in 0..1_200 {
        let draft = Draft::new(Role::User, "x".repeat(300)).with_confidence("0.123456789".parse().unwrap()).unwrap();
        manager.add(draft).unwrap();
    }
    let sizes: Vec<usize> = manager.records().iter().map(|record| serde_json::to_vec(record).unwrap().len()).collect();
    assert!(sizes.iter().all(|size| *size < 300 * 1024), "{sizes:?}");
    let parts: usize = manager.all().map(|wrapper| wrapper.message().parts().len()).sum();
    assert_eq!(parts, 1_200);
}

#[test]
fn tool_result_without_step_gets_the_step_of_its_call() {
    let (mut manager, _) = manager();
    let call = ToolCall::new("call_1", "lookup", Value::Null).unwrap();
    let step = 7;
    let decision = crate::message::Decision { step: Some(step), ..Default::default() };
    let policy = crate::message::Decision { decided_by: Some("lookup".into()), ..Default::default() };
    let asks = Draft::new(Role::Assistant, call.clone()).with_decision(decision);
    manager.add_all([asks, Draft::new(Role::User, call.success("found")).with_decision(policy)]).unwrap();
    let steps: Vec<_> = manager.all().map(|wrapper| wrapper.metadata().decision().and_then(|of| of.step)).collect();
    assert_eq!(steps, [None, Some(step), Some(step)]);
}
