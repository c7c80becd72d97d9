//! Prompts are values: a prompt never changes, the conversation is exactly the prompts that were applied, and an error
//! leaves it as it was.

use proptest::prelude::*;
use serde_json::json;
use verbale::conversation::{Models, Prompt};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, LastMessage, Message, MessageWrapper, PlainMessage, Role, Value};

use super::tools::weather;
use super::{model, prompt, shown};

const SPEAKERS: [Speaker; 4] = [Speaker::Agent, Speaker::Assistant, Speaker::Context, Speaker::Request];
const PROVIDERS: [&str; 3] = ["a", "b", "nobody"];
const MODELS: [&str; 4] = ["x", "y", "z", "none"];
const REGISTERED: [(&str, &str); 4] = [("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")];

/// The step from one prompt to another.
#[derive(Debug, Clone)]
pub enum Delta {
    Say(Speaker, String),
    Provider(&'static str),
    Model(&'static str),
    Rounds(u8),
    Data(&'static str, u8),
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speaker {
    Agent,
    Assistant,
    Context,
    Request,
}

#[derive(Debug, Clone)]
enum Action {
    /// Makes a new prompt from an earlier one.
    Grow(prop::sample::Index, Delta),
    Apply(prop::sample::Index),
}

fn delta() -> impl Strategy<Value = Delta> {
    let words = prop_oneof![12 => "[a-c]{1,3}", 3 => " [a-c]{1,3}\n", 1 => "[ \n]{0,2}"];
    let key = prop_oneof![4 => Just("max_tool_rounds"), 1 => Just("rounds"), 1 => Just("model")];
    prop_oneof![
        12 => (prop::sample::select(&SPEAKERS), words).prop_map(|(speaker, text)| Delta::Say(speaker, text)),
        1 => prop::sample::select(&PROVIDERS).prop_map(Delta::Provider),
        1 => prop::sample::select(&MODELS).prop_map(Delta::Model),
        1 => (0_u8..3).prop_map(Delta::Rounds),
        1 => (key, 0_u8..3).prop_map(|(key, rounds)| Delta::Data(key, rounds)),
        1 => Just(Delta::Tool),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        3 => (any::<prop::sample::Index>(), delta()).prop_map(|(from, delta)| Action::Grow(from, delta)),
        1 => any::<prop::sample::Index>().prop_map(Action::Apply),
    ];
    prop::collection::vec(action, 1..60)
}

pub fn grown(prompt: &Prompt, delta: &Delta) -> Prompt {
    match delta {
        Delta::Say(Speaker::Agent, text) => prompt.agent(text.as_str()),
        Delta::Say(Speaker::Assistant, text) => prompt.assistant(text.as_str()),
        Delta::Say(Speaker::Context, text) => prompt.context(text.as_str()),
        Delta::Say(Speaker::Request, text) => prompt.request(text.as_str()),
        Delta::Provider(name) => prompt.provider(*name),
        Delta::Model(name) => prompt.model(*name),
        Delta::Rounds(rounds) => prompt.config(|config| config.with_max_tool_rounds((*rounds).into())),
        Delta::Data(key, rounds) => prompt.set(*key, Value::from(u32::from(*rounds))),
        Delta::Tool => prompt.tool(weather()),
    }
}

/// A naive model of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
struct Expected {
    said: Vec<(Role, String)>,
    choice: Option<(&'static str, &'static str)>,
    rounds: Option<u32>,
    has_tool: bool,
}

impl Expected {
    /// Applies a prompt. Returns `None` if it is refused.
    fn with(&self, deltas: &[Delta]) -> Option<Self> {
        let mut next = self.clone();
        let (mut providers, mut models, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
        for delta in deltas {
            match delta {
                Delta::Say(_, text) if text.trim().is_empty() => return None,
                Delta::Say(speaker, text) => {
                    let role = match speaker {
                        Speaker::Agent => Role::System,
                        Speaker::Assistant => Role::Assistant,
                        Speaker::Context | Speaker::Request => Role::User,
                    };
                    let said = (role, text.trim().to_owned());
                    // Instructions are not repeated.
                    if role != Role::System || !next.said.contains(&said) {
                        next.said.push(said);
                    }
                }
                Delta::Provider(name) => providers.push(*name),
                Delta::Model(name) => models.push(*name),
                Delta::Rounds(number) | Delta::Data("max_tool_rounds", number) => rounds.push(u32::from(*number)),
                Delta::Data(..) => return None,
                Delta::Tool => next.has_tool = true,
            }
        }
        let provider = only(&providers)?;
        let model = only(&models)?;
        next.rounds = only(&rounds)?.or(self.rounds);
        let of = |provider: &str| REGISTERED.iter().copied().filter(move |one| one.0 == provider).collect::<Vec<_>>();
        let named = |model: &str| REGISTERED.iter().copied().filter(move |one| one.1 == model).collect::<Vec<_>>();
        next.choice = match (provider, model, self.choice) {
            (None, None, now) => now,
            (Some(provider), Some(model), _) => Some(of(provider).into_iter().find(|one| one.1 == model)?),
            (Some(provider), None, now) => {
                let stays = now.and_then(|now| of(provider).into_iter().find(|one| one.1 == now.1));
                Some(stays.or(of(provider).first().copied())?)
            }
            (None, Some(model), now) => {
                let here = now.and_then(|now| named(model).into_iter().find(|one| one.0 == now.0));
                Some(here.or(Some(named(model)).filter(|all| all.len() == 1).map(|all| all[0]))?)
            }
        };
        Some(next)
    }
}

/// Returns the one value, `Some(None)` without values, or `None` if two differ.
fn only<T: PartialEq + Copy>(said: &[T]) -> Option<Option<T>> {
    said.windows(2).all(|two| two[0] == two[1]).then(|| said.first().copied())
}

/// Returns all texts with their roles, regardless of merges.
fn said(prompt: &Prompt) -> Vec<(Role, String)> {
    prompt.conversation().read(|manager| {
        let messages = manager.meta_messages().iter().map(PlainMessage::message).filter(|one| !one.is_fake());
        let texts = |message: &Message| -> Vec<_> {
            message.contents().texts().map(|text| (message.role(), text.as_str().to_owned())).collect()
        };
        messages.flat_map(texts).collect()
    })
}

fn check(prompt: &Prompt, expected: &Expected) -> Result<(), TestCaseError> {
    let config = prompt.conversation().config();
    prop_assert_eq!(said(prompt), expected.said.clone());
    prop_assert_eq!(config.model(), expected.choice);
    prop_assert_eq!(config.tools().len(), usize::from(expected.has_tool));
    let rounds = format!("max_tool_rounds: {:?},", expected.rounds);
    prop_assert!(format!("{config:?}").contains(&rounds), "{:?} lacks {}", config, rounds);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prompts_never_change_and_the_conversation_is_what_was_applied(actions in actions()) {
        let bedrock = FakeBedrock::default();
        let all = REGISTERED.into_iter();
        let models = all.fold(Models::default(), |models, (provider, name)| models.with(provider, name, model(&bedrock, name)));
        let empty = Prompt::new(models);
        let mut values: Vec<(Prompt, Vec<Delta>)> = vec![(empty.clone(), Vec::new())];
        let mut expected = Expected::default();
        for action in actions {
            match action {
                Action::Grow(from, delta) => {
                    let (prompt, deltas) = from.get(&values);
                    let deltas = [deltas.as_slice(), std::slice::from_ref(&delta)].concat();
                    values.push((grown(prompt, &delta), deltas));
                    check(&empty, &expected)?;
                }
                Action::Apply(which) => apply(which.get(&values), &mut expected)?,
            }
        }
        // Each prompt is still as it was.
        for value in values.iter().rev() {
            apply(value, &mut expected)?;
        }
        prop_assert_eq!(bedrock.counters().requests, 0);
    }
}

/// Applies a prompt, and checks that a refused one changes nothing.
fn apply((prompt, deltas): &(Prompt, Vec<Delta>), expected: &mut Expected) -> Result<(), TestCaseError> {
    let snapshot = || prompt.conversation().read(|manager| (manager.clone(), manager.changes(LastMessage::Include)));
    let before = snapshot();
    match expected.with(deltas) {
        Some(next) => {
            prop_assert!(prompt.apply().is_ok(), "{:?}", deltas);
            *expected = next;
        }
        None => {
            prop_assert!(prompt.apply().is_err(), "{:?}", deltas);
            prop_assert!(snapshot() == before);
        }
    }
    check(prompt, expected)
}

/// Steps of a run: its results are in the conversation, in order, and Bedrock accepts every request.
#[derive(Debug, Clone)]
pub enum Step {
    Apply(Speaker, String),
    /// Reads this number of items of a run, then drops it.
    Run(usize),
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (prop::sample::select(&SPEAKERS), "[a-c]{1,3}").prop_map(|(speaker, text)| Step::Apply(speaker, text)),
        1 => (0_usize..6).prop_map(Step::Run),
    ]
}

/// Calls two tools on every third request, and cuts off every fourth answer.
pub fn bedrock() -> FakeBedrock {
    FakeBedrock::answering(|request| {
        let number = request.number();
        let reply = ScriptedReply::text(format!("answer {number}"));
        let call = |reply: ScriptedReply, id| reply.tool_call(id, "get_weather", json!({"town": "Rome"}));
        let reply = if number % 3 == 1 { call(call(reply, "call_1"), "call_2") } else { reply };
        if number % 4 == 3 { reply.cut_after(3) } else { reply }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conversation_stays_valid_however_runs_end(steps in prop::collection::vec(step(), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let bedrock = bedrock();
            let llm = prompt(&bedrock).tool(weather()).apply().unwrap().continuation();
            let conversation = llm.conversation();
            for step in steps {
                match step {
                    Step::Apply(speaker, text) => drop(grown(&llm, &Delta::Say(speaker, text)).apply().unwrap()),
                    Step::Run(items) => {
                        let before = contents(&llm);
                        let mut read = Vec::new();
                        let mut run = conversation.run();
                        for _ in 0..items {
                            let Some(Ok(message)) = run.next().await else { break };
                            read.extend(message.contents().iter().cloned());
                            // Each item is in the conversation, with nothing else in between.
                            let now = contents(&llm);
                            prop_assert!(now.starts_with(&[before.as_slice(), &read].concat()), "{:?}", shown(conversation));
                        }
                    }
                }
                // Lets the tools of a dropped run complete.
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                prop_assert!(conversation.read(|manager| manager.open_tool_calls().is_empty()));
            }
            prop_assert_eq!(bedrock.counters().refused, 0);
            Ok(())
        })?;
    }
}

fn contents(prompt: &Prompt) -> Vec<Content> {
    prompt.conversation().read(|manager| {
        let messages = manager.meta_messages().iter().map(PlainMessage::message).filter(|one| !one.is_fake());
        messages.flat_map(|message| message.contents().iter().cloned()).collect()
    })
}
