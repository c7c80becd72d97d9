//! The windows for OpenAI and Anthropic never hold anything that these providers refuse.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::exchange::{export_openai, import_anthropic, import_openai, window_anthropic, window_openai};
use verbale::log::LoggedCall;
use verbale::message::{Decision, Draft, RoleHint};
use verbale::{Role, ToolCall, Value};

use super::loss;

use crate::formats::{manager, options};
use crate::random::{Manager, conversation};

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Asserts the rules of OpenAI: each call is directly followed by its result, and no list or text is empty.
fn assert_openai_accepts(messages: &Json) {
    let mut open: HashSet<String> = HashSet::new();
    for message in messages.as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            assert!(open.remove(message["tool_call_id"].as_str().unwrap()), "{messages:#}");
            assert!(message["content"].is_string() || !message["content"].as_array().unwrap().is_empty());
            continue;
        }
        assert!(open.is_empty(), "{messages:#}");
        assert!(["system", "user", "assistant"].contains(&role));
        let calls = message.get("tool_calls").map_or(&[][..], |calls| calls.as_array().unwrap());
        assert!(message.get("tool_calls").is_none_or(|_| role == "assistant" && !calls.is_empty()));
        for call in calls {
            assert!(open.insert(call["id"].as_str().unwrap().to_owned()));
            serde_json::from_str::<Json>(call["function"]["arguments"].as_str().unwrap()).unwrap();
        }
        match &message["content"] {
            Json::String(text) => assert!(!is_blank(text), "{messages:#}"),
            Json::Null => assert!(!calls.is_empty(), "{messages:#}"),
            parts => {
                let parts = parts.as_array().unwrap();
                assert!(!parts.is_empty());
                for part in parts {
                    assert!(role == "user" || part["type"] == "text", "{messages:#}");
                    assert!(part["type"] != "text" || !is_blank(part["text"].as_str().unwrap()));
                }
            }
        }
    }
    assert!(open.is_empty(), "{messages:#}");
}

/// Asserts the rules of Anthropic: roles alternate, the user is first, results open the message after their calls, no text
/// is blank, and each input is an object.
fn assert_anthropic_accepts(request: &Json) {
    let mut asked: HashSet<&str> = HashSet::new();
    for (index, message) in request["messages"].as_array().unwrap().iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "{request:#}");
        let blocks = message["content"].as_array().unwrap();
        assert!(!blocks.is_empty(), "{request:#}");
        let kind = |block: &Json| block["type"].as_str().unwrap().to_owned();
        let results = blocks.iter().take_while(|block| kind(block) == "tool_result");
        let answered: HashSet<&str> = results.map(|block| block["tool_use_id"].as_str().unwrap()).collect();
        assert_eq!(answered, asked, "{request:#}");
        let said = blocks.iter().skip(answered.len());
        let calls: Vec<&Json> = blocks.iter().rev().take_while(|block| kind(block) == "tool_use").collect();
        for block in said.take(blocks.len() - answered.len() - calls.len()) {
            let allowed: &[&str] = if role == "user" { &["text", "image", "document"] } else { &["text"] };
            assert!(allowed.contains(&kind(block).as_str()), "{request:#}");
            assert!(kind(block) != "text" || !is_blank(block["text"].as_str().unwrap()), "{request:#}");
        }
        assert!(calls.iter().all(|call| call["input"].is_object()), "{request:#}");
        asked = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    }
    assert!(asked.is_empty(), "{request:#}");
}

fn assert_both_accept(manager: &Manager) {
    let (openai, anthropic) = (window_openai(manager), window_anthropic(manager));
    assert_openai_accepts(&serde_json::from_str(&openai.text).unwrap());
    assert_anthropic_accepts(&serde_json::from_str(&anthropic.text).unwrap());
    import_openai::<verbale::PlainMessage>(&openai.text, &options()).unwrap();
    import_anthropic::<verbale::PlainMessage>(&anthropic.text, &options()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn windows_are_valid(records in conversation(true)) {
        assert_both_accept(&Manager::restore(records).unwrap());
    }

    #[test]
    fn windows_without_some_messages_are_valid(
        records in conversation(true), lost in prop::collection::vec(prop::bool::weighted(0.2), 1..16),
    ) {
        let mut lost = lost.iter().cycle();
        let kept = records.into_iter().filter(|_| !lost.next().unwrap()).collect();
        let manager: Manager = LoggedCall::new(None, kept).restore();
        assert_both_accept(&manager);
    }

    #[test]
    fn windows_with_any_role_hints_are_valid(
        hints in prop::collection::vec((any::<bool>(), 0..5_usize, "[a-z]{1,3}"), 0..12),
    ) {
        let mut manager = manager();
        for (number, (is_user, hint, text)) in hints.into_iter().enumerate() {
            let role = if is_user { Role::User } else { Role::Assistant };
            let hints = [RoleHint::User, RoleHint::Assistant, RoleHint::Tool, RoleHint::System];
            let mut decision = Decision::default();
            (decision.step, decision.role_hint) = (Some(number as u32), hints.get(hint).copied());
            manager.add(Draft::new(role, text.as_str()).with_decision(decision)).unwrap();
            if number % 3 == 0 {
                let call = ToolCall::new(format!("call_{number}"), "f", Value::Null).unwrap();
                manager.add_assistant(call.clone()).unwrap();
                manager.add_user(call.success(["ok"])).unwrap();
            }
        }
        assert_both_accept(&manager);
    }
}

#[test]
fn window_equals_current_messages() {
    let mut manager = manager();
    manager.add_system("Be brief.").unwrap();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Is it open?").unwrap();
    let summarizing = manager.summarizing().unwrap();
    let summary = manager.add_summary("They greet.", &summarizing).unwrap().id();
    let call = ToolCall::new("a", "hours", Value::Null).unwrap();
    manager.add_assistant([verbale::Content::from("One moment."), call.clone().into()]).unwrap();
    manager.add_user("Hello?").unwrap();
    manager.add_user(call.success(["until six"])).unwrap();
    let openai = window_openai(&manager);
    let losses = openai.losses;
    assert_eq!(losses, [(summary, loss::SUMMARY)]);
    let call = json!({"id": "a", "type": "function", "function": {"name": "hours", "arguments": "null"}});
    assert_eq!(
        serde_json::from_str::<Json>(&openai.text).unwrap(),
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it open?"},
            {"role": "assistant", "content": "One moment.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "until six"},
            {"role": "user", "content": "Hello?"},
        ])
    );
    assert_eq!(manager.messages().count(), 3);
}

#[test]
fn role_hint_becomes_the_role() {
    let mut manager = manager();
    let mut add = |role, text: &str, hint| {
        let mut decision = Decision::default();
        decision.role_hint = Some(hint);
        manager.add(Draft::new(role, text).with_decision(decision)).unwrap();
    };
    add(Role::User, "Hi", RoleHint::User);
    add(Role::Assistant, "A rule.", RoleHint::System);
    add(Role::User, "A thought.", RoleHint::Assistant);
    add(Role::Assistant, "Hello!", RoleHint::Tool);
    let roles = |messages: &Json| -> Vec<String> {
        messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let openai: Json = serde_json::from_str(&window_openai(&manager).text).unwrap();
    assert_eq!(roles(&openai), ["user", "system", "assistant", "assistant"]);
    assert_eq!(openai, serde_json::from_str::<Json>(&export_openai(&manager).text).unwrap());
    let anthropic: Json = serde_json::from_str(&window_anthropic(&manager).text).unwrap();
    assert_eq!(roles(&anthropic["messages"]), ["user", "assistant"]);
}
