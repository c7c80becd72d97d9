//! The printed form of a manager.

use std::sync::{Arc, Mutex};

use crate::clock::{Clock, IdSource, ManualClock, SequentialIds};
use crate::message::{
    Content, Decision, Draft, Heard, HeardSource, MessageId, PlainMessage, RareRequestData, RequestRecord, Role,
    RoleHint, Timing, ToolCall, TurnRecord, Value,
};
use crate::{LastMessage, MessagesManager};

type Manager = MessagesManager<PlainMessage>;

/// Returns the ids of the sample in order.
#[derive(Debug)]
struct SampleIds(Mutex<std::vec::IntoIter<&'static str>>);

impl IdSource for SampleIds {
    fn next_id(&self, _now_ms: i64) -> u128 {
        self.0.lock().unwrap().next().unwrap().parse::<MessageId>().unwrap().into()
    }
}

#[test]
fn sample_prints_line_by_line() {
    let ids = vec![
        "01JRZJ166HZFPP405DV1QQB2X8",
        "01JRZJ166HZFPP405DV1QQB2X9",
        "01JRZJ166J2WRMF990535EVSQS",
        "01JRZJ166J2WRMF990535EVSQT", // the merged part
        "01JRZJ166Q8CAVB8348M4NHC1J",
        "01JRZJ166Q8CAVB8348M4NHC1K",
        "01JRZJ1675E4S7Y4ZD7RNWNXWB",
        "01JRZJ1676BES92QBJC6ZMKG36",
        "01JRZJ1676BES92QBJC6ZMKG37", // the merged part
        "01JRZJ1678TK4476R5VW3J899K",
    ];
    let clock = ManualClock::new(1_744_815_823_057);
    let mut manager =
        Manager::new().with_clock(Arc::new(clock.clone()), Arc::new(SampleIds(Mutex::new(ids.into_iter()))));
    manager.add_assistant("Hello!").unwrap();
    clock.advance(1);
    manager.add_user("Hi, there").unwrap();
    manager.add_user("how are you").unwrap();
    clock.advance(5);
    manager.add_assistant(["I am fine,", "and you?"]).unwrap();
    manager.add_message(Role::User, ["Good, ", "thank you!"]).unwrap();
    let summarizing = manager.summarizing().unwrap();
    assert_eq!(
        summarizing.to_string(),
        "[Assistant]: Hello!\n[User]: Hi, there how are you\n[Assistant]: I am fine, and you?"
    );
    clock.advance(14);
    manager.add_summary("...", &summarizing).unwrap();
    clock.advance(1);
    manager.add_assistant("How can I help you?").unwrap();
    let changes = manager.changes(LastMessage::Exclude);
    assert_eq!(changes.len(), 6);
    manager.acknowledge(&changes);
    manager.add_assistant("Are you still there?").unwrap();
    clock.advance(2);
    let now_ms = clock.now_ms();
    let mut entry = manager.add_user("Yes, but I do not need help!").unwrap();
    entry.set_data("stopped", true).unwrap();
    entry.put_timing(Timing::PlayStart, now_ms);
    let changes = manager.changes(LastMessage::Include);
    assert_eq!(changes.len(), 2);
    insta::assert_snapshot!("pending", manager.to_string());
    manager.acknowledge(&changes);
    insta::assert_snapshot!("logged", manager.to_string());
    assert_eq!(manager.last_summary().unwrap().contents()[0], Content::from("..."));
}

#[test]
fn print_shows_heard_part_and_escapes_control_sequences() {
    let ids = Arc::new(SequentialIds::from(1));
    let mut manager = Manager::new().with_clock(Arc::new(ManualClock::new(5)), ids);
    manager.add_system("Be \"kind\".").unwrap();
    manager.add_user("it's '\u{1b}[31mred'} \u{202e}\n0  [assistant] {'no'").unwrap();
    let call = ToolCall::new("c1", "lookup", Value::map([("of", "a\tb")]).unwrap()).unwrap();
    let mut entry = manager.add_assistant([Content::from("Let me look"), call.clone().into()]).unwrap();
    entry.set_heard(Heard::new(6, HeardSource::WordTiming)).unwrap();
    manager.add_user(call.success(["12.50"])).unwrap();
    insta::assert_snapshot!(manager.to_string());
}

#[test]
fn print_shows_decision_and_fork_source() {
    let ids = Arc::new(SequentialIds::from(1));
    let mut manager = Manager::new().with_clock(Arc::new(ManualClock::new(5)), ids);
    let decision = Decision { step: Some(4), decided_by: Some("the\nplanner".into()), role_hint: Some(RoleHint::Tool) };
    let asked = manager.add(Draft::new(Role::User, "a").with_decision(decision)).unwrap().id();
    let shown = manager.fork(&asked, "CA'1").unwrap().to_string();
    let line = shown.lines().last().unwrap();
    assert!(
        line.ends_with(r"{forkedFrom='CA'1', step=4, policy='the\nplanner', roleHint=tool, timing=[{creation=5}]}."),
        "{line}"
    );
}

#[test]
fn print_of_a_turn_shows_everything_that_its_record_has() {
    let mut manager = Manager::new();
    let request = RequestRecord {
        model: Some("haiku".into()),
        first_token_ms: 200_i64.into(),
        took_ms: 900_i64.into(),
        input: 1_200_u64.into(),
        output: 30_u64.into(),
        cache_read: 1_000_u64.into(),
        cache_write: 100_u64.into(),
        memory_covers: Some(11),
        memory_version: 2,
        prompt_hash: Some("0123456789abcdef".into()),
        rare: RareRequestData {
            switches: vec!["sonnet -> haiku: throttled".into()],
            repairs: vec!["an image was made smaller".into()],
            ..RareRequestData::default()
        }
        .into(),
        ..RequestRecord::default()
    };
    let failed = RequestRecord { failure: Some("timeout".into()), ..RequestRecord::default() };
    let requests = [failed, request].into();
    let turn = TurnRecord { end: "complete".into(), requests, fillers: 1, ..TurnRecord::default() };
    manager.add_user("a").unwrap().set_turn(turn);
    let shown = manager.to_string();
    let expected = "turn={complete, model failed: timeout, haiku prompt 0123456789abcdef memory 2 to 11 first token 200 ms \
                    end 900 ms tokens 1200 in 30 out 1000 read 100 written switched: 'sonnet -> haiku: throttled' \
                    repaired: 'an image was made smaller', 1 fillers}";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn summary_line_has_position_role_and_what_was_heard() {
    let mut manager = Manager::new();
    let line = |manager: &Manager| manager.all().next_back().unwrap().summary_line();
    manager.add_user("What's\n\u{202e}up?").unwrap();
    assert_eq!(line(&manager), r"0 [user] 'What's\n\u{202e}up?'");
    let call = ToolCall::new("c1", "lookup", Value::Null).unwrap();
    let mut entry = manager.add_assistant([Content::from("Let me look"), call.clone().into()]).unwrap();
    entry.set_heard(Heard::new(6, HeardSource::WordTiming)).unwrap();
    assert_eq!(line(&manager), "1 [assistant] 'Let me' call lookup (c1) null");
    manager.add_user(call.success(["é".repeat(500)])).unwrap();
    assert_eq!(line(&manager).chars().count(), 100);
    assert!(line(&manager).starts_with("2 [user] result lookup (c1) ['éé") && line(&manager).ends_with("é…"));
    manager.add_assistant("Done.").unwrap();
    let summarizing = manager.summarizing().unwrap();
    manager.add_summary("They talked.", &summarizing).unwrap();
    assert_eq!(manager.last_summary().unwrap().summary_line(), "3 [summary 1] 'They talked.'");
}
