//! The length of prompts: memory never makes one longer, and a budget bounds instructions, memory and window together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::sleep;
use verbale::conversation::{CallEvent, Observer};
use verbale::conversation::{Config, Conversation, Models};
use verbale::log::CallId;
use verbale::message::ResultContent;
use verbale::model::{ModelRequest, Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{ScriptedModel, ScriptedReply};
use verbale::{MessagesManager, PlainMessage, Policy, Value, estimate_tokens};

/// A tool call: its tool, its arguments, and its result, which may be an error.
#[derive(Debug, Clone)]
struct Call {
    tool: usize,
    argument: String,
    result: Result<String, String>,
}

#[derive(Debug, Clone)]
struct Turn {
    said: String,
    rounds: Vec<Vec<Call>>,
    answer: String,
}

const TOOLS: [&str; 3] = ["look", "book", "cancel"];

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z]{2,9}( [a-z]{1,9}){0,40}",
        // Facts, which the memory has beside the summary.
        4 => "(My code is [A-Z]{2}[0-9]{3}\\. |I want [2-9] seats on May [1-9]\\. |No, not for \\$[0-9]{2,3}\\. ){1,4}",
        1 => "[A-Z]{3}[0-9]{3}( [0-9]{1,5}){0,20}",
        1 => "[äöüßéèàñçł]{2,9}( [a-zäöü]{1,9}){0,20}",
        1 => "[訂船票位子]{1,40}",
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let result = prop_oneof![4 => "\\{\"id\":\"[A-Z]{2}[0-9]{2}\"(,\"[a-c]\":[0-9]{1,4}){0,3}\\}".prop_map(Ok),
        2 => words().prop_map(Ok), 1 => words().prop_map(Err)];
    (0..TOOLS.len(), "[A-Z]{0,2}[0-9]{1,4}", result).prop_map(|(tool, argument, result)| Call {
        tool,
        argument,
        result,
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let rounds = proptest::collection::vec(proptest::collection::vec(call(), 1..3), 0..3);
    (words(), rounds, words()).prop_map(|(said, rounds, answer)| Turn { said, rounds, answer })
}

fn policy() -> impl Strategy<Value = Policy> {
    let budget = proptest::option::of(100_u64..1_500);
    (10_u64..200, 0_u64..400, 2_usize..12, 1_usize..4, 0_u64..600, budget).prop_map(
        |(low, gap, messages, keep, memory, budget)| {
            let policy = Policy::default().with_tokens(low..=low + gap).with_messages(messages / 2..=messages);
            policy.with_keep_turns(keep).with_memory(memory).with_budget(budget)
        },
    )
}

#[derive(Default, Clone)]
struct OverBudget(Arc<Mutex<Vec<u64>>>);

impl Observer for OverBudget {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::OverBudget { tokens } = event {
            self.0.lock().unwrap().push((*tokens).into());
        }
    }
}

/// Plays the turns and returns each request, and the reported lengths.
fn play(turns: &[Turn], policy: Policy, max_window: u64) -> (Vec<ModelRequest>, Vec<u64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let model = ScriptedModel::default();
        let mut results = std::collections::HashMap::new();
        for (number, turn) in turns.iter().enumerate() {
            for (round, calls) in turn.rounds.iter().enumerate() {
                // Without usage, estimates are not corrected.
                let mut reply = ScriptedReply::default().usage(0, 1);
                for (index, call) in calls.iter().enumerate() {
                    let id = format!("c{number}-{round}-{index}");
                    let arguments = serde_json::json!({"id": call.argument});
                    reply = reply.tool_call(id.as_str(), TOOLS[call.tool], arguments);
                    results.insert(id, call.result.clone());
                }
                model.reply(reply);
            }
            model.reply(ScriptedReply::text(turn.answer.as_str()).usage(0, 1));
        }
        let results = Arc::new(results);
        let config = Config::new(Models::default().with("a", "b", model.clone())).with_policy(policy);
        let config = config.with_max_window(max_window);
        let config = TOOLS.iter().fold(config, |config, name| {
            let schema = Value::map([("type", Value::from("object"))]).unwrap();
            let results = results.clone();
            let spec = ToolSpec::new(*name, "A tool.", schema).unwrap();
            let tool = Tool::raw(spec, move |_: Value, context: ToolContext| {
                let result = results[context.tool_call_id().as_str()].clone();
                async move { result.map(|text| vec![ResultContent::from(text)]).map_err(ToolError::new) }
            });
            config.with_tool(if *name == "look" { tool.read_only() } else { tool })
        });
        let over = OverBudget::default();
        let conversation =
            Conversation::new(CallId::new("CA1").unwrap()).with_config(config).with_observer(over.clone());
        conversation.add_system("Be brief.").unwrap();
        for turn in turns {
            conversation.add_user(turn.said.as_str()).unwrap();
            let mut run = conversation.run();
            while let Some(message) = run.next().await {
                message.unwrap();
            }
            drop(run);
            sleep(Duration::from_secs(1)).await;
        }
        let over = over.0.lock().unwrap().clone();
        (model.requests(), over)
    })
}

fn estimate(text: &str) -> u64 {
    let mut manager = MessagesManager::<PlainMessage>::new();
    let Ok(added) = manager.add_user(text) else { return 0 };
    estimate_tokens(&added) - 4
}

/// Returns the tokens of a prompt.
fn length(request: &ModelRequest) -> u64 {
    let texts = request.system.iter().chain(&request.late_system).chain(&request.memory);
    let texts: u64 = texts.map(|text| estimate(text.as_str())).sum();
    texts + request.messages.iter().map(estimate_tokens).sum::<u64>()
}

const NO_LIMIT: u64 = 1_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn prompt_with_memory_is_not_longer_than_the_whole_conversation(
        turns in proptest::collection::vec(turn(), 2..12), policy in policy(), max_window in 100_u64..2_000,
    ) {
        let never = Policy::default().with_tokens(None).with_messages(None);
        let (whole, _) = play(&turns, never, NO_LIMIT);
        for max_window in [NO_LIMIT, max_window] {
            let (cut, _) = play(&turns, policy.clone(), max_window);
            prop_assert_eq!(whole.len(), cut.len());
            for (whole, cut) in whole.iter().zip(&cut) {
                prop_assert!(length(cut) <= length(whole), "{} > {}: {:?}", length(cut), length(whole), cut.memory.as_deref());
            }
        }
    }

    #[test]
    fn budget_bounds_the_prompt_or_is_reported(
        turns in proptest::collection::vec(turn(), 2..12), policy in policy(), budget in 100_u64..1_500,
    ) {
        let (requests, over) = play(&turns, policy.with_budget(budget), NO_LIMIT);
        let longer: Vec<u64> = requests.iter().map(length).filter(|length| *length > budget).collect();
        prop_assert_eq!(longer, over);
    }
}

#[test]
fn acts_become_one_line_a_tool_before_the_budget_is_exceeded() {
    let act = |tool: usize, number: usize| Call {
        tool,
        argument: format!("R{number}"),
        result: Ok(format!("{{\"code\":\"KL{number}\",\"price\":{}}}", 100 + number)),
    };
    let turns: Vec<Turn> = (0..40)
        .map(|number| Turn {
            said: format!("I would like to change reservation R{number}, please, and I would like to do it now."),
            rounds: vec![vec![act(usize::from(number % 8 == 7) + 1, number)]],
            answer: "I have done it for you. What else can I do for you today?".to_owned(),
        })
        .collect();
    let policy = Policy::default().with_tokens(100..=300).with_keep_turns(1);
    let (requests, over) = play(&turns, policy.clone().with_budget(670), NO_LIMIT);
    assert!(requests.iter().all(|request| length(request) <= 670));
    assert!(over.is_empty());
    let memory = requests.last().unwrap().memory.as_deref().unwrap();
    let lines: Vec<&str> = memory.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(lines.len(), 2, "{memory}");
    assert!(
        lines[0].starts_with("#1 #2 #3 ") && lines[0].contains(" book succeeded: R0 KL0; R1 KL1; R2 KL2; "),
        "{memory}"
    );
    assert!(lines[1].starts_with("#8 #16 ") && lines[1].contains(" cancel succeeded: R7 KL7; R15 KL15; "), "{memory}");
    let (requests, over) = play(&turns, policy.with_budget(300), NO_LIMIT);
    assert!(!over.is_empty());
    let memory = requests.last().unwrap().memory.as_deref().unwrap();
    assert!((0..37).all(|number| memory.contains(&format!("R{number} KL{number}"))), "{memory}");
}
