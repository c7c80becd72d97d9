//! A restored conversation equals the logged one and can be continued.

use super::tests::{Manager, call, restored_from_json, summarize, window};
use super::*;
use crate::message::{Content, Heard, HeardSource, ToolError};

#[test]
fn restored_call_continues() {
    let mut manager = Manager::new();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("a").unwrap();
    manager.add_assistant([Content::from("b"), call("c1").into()]).unwrap();
    manager.add_user(call("c1").success(["1"])).unwrap();
    manager.add_assistant("done it is").unwrap();
    summarize(&mut manager);
    manager.add_user("c").unwrap();
    manager.add_assistant("d e").unwrap().set_heard(Heard::new(1, HeardSource::Estimate)).unwrap();
    let mut records = manager.records();
    records.reverse();
    let mut older = records.clone();
    older.truncate(2);
    let mut restored = Manager::restore(older.into_iter().chain(records)).unwrap();
    assert!(restored == manager);
    assert_eq!(window(&restored), window(&manager));
    assert!(restored.changes(LastMessage::Include).is_empty());
    assert_eq!(
        restored.add_assistant(call("c1")).unwrap_err().to_string(),
        "tool call `c1` is already in this conversation; give each call an id of its own"
    );
    restored.add_user("f").unwrap();
    summarize(&mut restored);
    assert_eq!(window(&restored), ["user: f"]);
}

#[test]
fn new_heard_report_replaces_the_old_one() {
    let json = |heard: serde_json::Value| {
        serde_json::json!([
            {"id": "01JRZJ166HZFPP405DV1QQB2X8", "seq": 0, "revision": 1,
                "message": {"role": "user", "contents": ["Hi"]}, "metadata": {"timing": {"creation": 5}}},
            {"id": "01JRZJ166HZFPP405DV1QQB2X9", "seq": 1, "revision": 2,
                "message": {"role": "assistant", "contents": ["I am fine"], "heard": heard},
                "metadata": {"timing": {"creation": 5}}},
        ])
    };
    let records = json(serde_json::json!({"contents": ["I"], "by": "estimate", "confidence": 0.5}));
    let mut manager = Manager::restore(serde_json::from_value::<Vec<Record>>(records).unwrap()).unwrap();
    let id = manager.records()[1].id();
    manager.entry(&id).unwrap().set_heard(Heard::new(4, HeardSource::WordTiming)).unwrap();
    let mut expected = json(serde_json::json!({"contents": ["I am"], "by": "wordTiming"}));
    expected[1]["revision"] = 3.into();
    assert_eq!(serde_json::to_value(manager.records()).unwrap(), expected);
    assert!(restored_from_json(&manager) == manager);
}

#[test]
fn invalid_records_are_refused() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap();
    manager.add_user("c").unwrap();
    let records = manager.records();
    let without = |missing: usize| {
        let mut records = records.clone();
        records.remove(missing);
        Manager::restore(records).unwrap_err().0
    };
    assert_eq!(without(1), Refusal::Missing { seq: 1 });
    assert_eq!(without(0), Refusal::Missing { seq: 0 });
    let mut other = Manager::new();
    other.add_user("a").unwrap();
    let mixed = Manager::restore(records.iter().cloned().chain(other.records())).unwrap_err().0;
    assert!(matches!(mixed, Refusal::Conflict { .. }), "{mixed:?}");
    let mut headless = Manager::new();
    headless.add_assistant("a").unwrap();
    let json = serde_json::to_string(&headless.records()[1]).unwrap().replace("\"seq\":1", "\"seq\":0");
    let error = Manager::restore([serde_json::from_str(&json).unwrap()]).unwrap_err().0;
    assert!(matches!(error, Refusal::Misplaced { .. }), "{error:?}");
    let read = serde_json::from_str::<Manager>(&format!("[{json}]")).unwrap_err();
    assert!(read.to_string().starts_with(&error.to_string()), "{read}");
}

/// A call whose result is not in the log, because the process ended before it was written. Its message and summary are.
fn covered_open_call() -> Manager {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant(call("c1")).unwrap();
    manager.add_user("b").unwrap();
    let logged = manager.records();
    manager.add_user(call("c1").success(["1"])).unwrap();
    manager.add_assistant("d").unwrap();
    summarize(&mut manager);
    let later = manager.records().split_off(logged.len());
    Manager::restore(logged.into_iter().chain(later)).unwrap()
}

#[test]
fn result_of_covered_call_is_restored_but_not_in_the_window() {
    let mut manager = covered_open_call();
    assert_eq!(manager.open_tool_calls().len(), 1);
    manager.add_user(call("c1").failure(ToolError::new("unknown"))).unwrap();
    assert_eq!(window(&manager), ["user: ..."]);
    manager.add_user("e").unwrap();
    for turn in 0..3 {
        let restored = restored_from_json(&manager);
        assert!(restored == manager);
        assert_eq!(window(&restored), window(&manager));
        assert_eq!((window(&restored)[0].as_str(), restored.open_tool_calls().len()), ("user: e", 0));
        assert_eq!(
            manager.add_user(call("c1").success(["1"])).unwrap_err().to_string(),
            "tool call `c1` already has a result; drop the second one"
        );
        manager = restored;
        manager.add_assistant("f").unwrap();
        manager.add_user(format!("g{turn}")).unwrap();
    }
    // The next summary covers it.
    assert!(manager.summarizing().unwrap().for_model().contains("unknown"));
    summarize(&mut manager);
    assert!(restored_from_json(&manager) == manager);
}
