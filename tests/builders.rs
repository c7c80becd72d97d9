//! Messages built step by step: the log keeps their decisions, and no incomplete call reaches a provider.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, Message};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use verbale::bedrock::{converse_input, to_json, validate};
use verbale::clock::{ManualClock, SequentialIds};
use verbale::conversation::{MessageBuilder, ResultBuilder};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, WriterLease};
use verbale::message::{Decision, Media, MediaKind, RoleHint, Source, ToolError};
use verbale::model::{ModelRequest, ToolSpec};
use verbale::{
    Attribute, BedrockMessage, Content, Draft, MessageWrapper, MessagesManager, PlainMessage, Role, ToolCall, Value,
};

fn decision(step: u32) -> Decision {
    let mut decision = Decision::default();
    decision.step = Some(step);
    decision
}

fn decision_of(step: u32, policy: &str, role_hint: impl Into<Option<RoleHint>>) -> Decision {
    let mut decision = decision(step);
    (decision.decided_by, decision.role_hint) = (Some(policy.into()), role_hint.into());
    decision
}

fn greeting() -> Media {
    Media::from_url(MediaKind::Audio, "https://example.com/1.mp3").unwrap().with_label("the greeting")
}

/// Returns the step that the manager records for a draft.
fn step_of(draft: &Draft) -> u32 {
    let mut manager = MessagesManager::<PlainMessage>::new();
    let entry = manager.add(draft.clone()).unwrap();
    entry.message().metadata().decision().unwrap().step.unwrap()
}

fn image() -> Media {
    Media::from_bytes(MediaKind::Image, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), None).unwrap()
}

#[test]
fn builder_continues_a_step_or_begins_the_next() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    macro_rules! steps {
        ($last:expr) => {
            [MessageBuilder::continue_step($last), MessageBuilder::next_step($last)]
                .map(|mut one| step_of(&one.add_text("Hi").to_draft().unwrap()))
        };
    }
    assert_eq!(steps!(manager.meta_messages().last()), [0, 1]);
    manager.add_user("Hi").unwrap();
    assert_eq!(steps!(manager.meta_messages().last()), [0, 1]);
    manager.add(Draft::new(Role::User, "I am Mia").with_decision(decision_of(6, "voice", None))).unwrap();
    assert_eq!(steps!(&manager.meta_messages()[1]), [6, 7]);
    assert_eq!(steps!(manager.meta_messages()[1].message()), [6, 7]);
    assert_eq!(steps!(6_u32), [6, 7]);
    assert_eq!(steps!(&MessageBuilder::next_step(5)), [6, 7]);
    assert_eq!(steps!(&Draft::new(Role::User, "Hi").with_decision(decision(6))), [6, 7]);
    assert_eq!(steps!(u32::MAX), [u32::MAX, u32::MAX]);
}

#[test]
fn messages_of_several_decisions_merge_in_the_window_only() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    for (step, text) in [(1, "a"), (2, "b"), (2, "c"), (3, "d")] {
        manager.add(Draft::new(Role::User, text).with_decision(decision(step))).unwrap();
    }
    let merges = |message: &verbale::Message| message.metadata().attributes().collect::<Vec<_>>();
    let list: Vec<_> = manager.meta_messages().iter().map(|wrapper| merges(wrapper.message())).collect();
    assert_eq!(list, [vec![], vec![Attribute::Merged], vec![]]);
    let window: Vec<_> = manager.messages().map(|wrapper| merges(wrapper.message())).collect();
    assert_eq!(window, [[Attribute::Merged; 3]]);
}

#[test]
fn contents_keep_their_order_and_decide_the_role() {
    let mut shows = MessageBuilder::next_step(1);
    shows.policy("stylist").role_hint(RoleHint::User);
    shows.add_image("the girl", "s3://pictures/1.png").unwrap().add_text("and");
    let from_url = |kind, url| Media::from_url(kind, url).unwrap();
    shows.add(from_url(MediaKind::Audio, "https://example.com/1.mp3").with_label("her voice"));
    shows.add(from_url(MediaKind::Video, "s3://pictures/1.mp4").with_label("her walk"));
    shows.add(Media::from_url(MediaKind::Document, "data:text/csv;base64,YSxi").unwrap().with_label("Prices"));
    let media = |kind, url: &str, hint: &str| Media::new(kind, Source::Url(url.into())).with_label(hint);
    let contents = vec![
        Content::from(media(MediaKind::Image, "s3://pictures/1.png", "the girl")),
        "and".into(),
        media(MediaKind::Audio, "https://example.com/1.mp3", "her voice").into(),
        media(MediaKind::Video, "s3://pictures/1.mp4", "her walk").into(),
        Media::from_bytes(MediaKind::Document, b"a,b".as_slice(), Some("text/csv"))
            .unwrap()
            .with_label("Prices")
            .into(),
    ];
    let of = decision_of(2, "stylist", RoleHint::User);
    assert_eq!(shows.to_draft().unwrap(), Draft::new(Role::User, contents).with_decision(of));

    let mut asks = MessageBuilder::continue_step(2);
    asks.add_text("One moment.");
    let asked = Content::from(asks.add_tool_call("find_dress", Value::Null).unwrap());
    let call = asks.add_tool_call("find_hat", Value::from(7)).unwrap();
    let contents = vec!["One moment.".into(), asked, call.into()];
    assert_eq!(asks.to_draft().unwrap(), Draft::new(Role::Assistant, contents).with_decision(decision(2)));
    let mut says = MessageBuilder::continue_step(2);
    says.role(Role::System).add_text("You sell dresses.");
    let system = Draft::new(Role::System, "You sell dresses.").with_decision(decision(2));
    assert_eq!(says.to_draft().unwrap(), system);
}

/// The usage example of the design, in its order: the parts follow the call in one message.
#[test]
fn builder_example_of_the_design_runs() {
    let mut manager = MessagesManager::<BedrockMessage>::new();
    manager.add_user("Show me in that dress").unwrap();
    let last_message = manager.meta_messages().last();
    let (url_1, url_2) = ("https://example.com/1.png", "https://example.com/2.png");

    let mut builder = MessageBuilder::continue_step(last_message);

    let call = builder.add_tool_call("search_web", Value::map([("query", "hobbit movie")]).unwrap()).unwrap();
    // The executor runs it.
    let result_builder = ResultBuilder::response_to(&call);
    let result = result_builder.success("three pages");

    builder.add_image("girl wearing a hat", url_1).unwrap();
    builder.add_image("fancy dress", url_2).unwrap();
    builder.add_text("Take the dress from the second image and apply it to the person in the first image");

    let message = builder.to_draft().unwrap();

    manager.add_all([message, result]).unwrap();
    let record = manager.meta_messages()[1].message();
    assert_eq!((record.role(), record.contents().len()), (Role::Assistant, 4), "one message has all parts");
    assert_eq!(manager.open_tool_calls(), Vec::<&verbale::message::ToolCallId>::new());
    // Bedrock takes the window: nothing follows the call, and the images of the assistant are shown by their labels.
    let raw = manager.to_raw().unwrap();
    let texts: Vec<_> = raw[1].content().iter().filter_map(|block| block.as_text().ok()).collect();
    assert!(texts[0].contains("girl wearing a hat") && texts[1].contains("fancy dress"), "{texts:?}");
    assert!(texts[2].starts_with("Take the dress") && raw[1].content()[3].is_tool_use() && raw.len() == 3);
    assert!(raw[2].content()[0].is_tool_result());
    assert_eq!(validate(&request(&manager)), []);
}

#[test]
fn contents_that_contradict_the_role_are_refused() {
    let builder = || MessageBuilder::next_step(1);
    let call = ToolCall::new("call_1", "find_dress", Value::Null).unwrap();
    let (asked, result) = (Content::from(call.clone()), Content::from(call.success(["a"])));
    let build = |role: Option<Role>, contents: Vec<Content>| {
        let mut builder = builder();
        if let Some(role) = role {
            builder.role(role);
        }
        for content in contents {
            builder.add(content);
        }
        builder.to_draft().map_err(|error| error.to_string())
    };
    let built = |role, contents: Vec<Content>| Ok(Draft::new(role, contents).with_decision(decision(2)));
    let wrong = |role: Role, content: &str, wanted: Role| {
        let remedy = "build a message of its own for it";
        Err(format!("{content} belongs to role {wanted}, but the message has role {role}; {remedy}"))
    };
    let blank = || Err("the message is empty or blank; add a text, media, a document or a tool call".to_owned());
    let (text, image) = (|| Content::from("a"), || Content::from(image()));
    assert_eq!(build(None, vec![]), blank());
    assert_eq!(build(None, vec![" ".into(), "\u{200b}".into()]), blank());
    let summary = "a builder cannot make a summary; add it with `MessagesManager::add_summary`";
    assert_eq!(build(Some(Role::Summary), vec![text()]), Err(summary.to_owned()));
    assert_eq!(build(Some(Role::User), vec![asked.clone()]), wrong(Role::User, "a tool call", Role::Assistant));
    let of_user = "the result of a tool call";
    assert_eq!(build(None, vec![asked.clone(), result.clone()]), wrong(Role::Assistant, of_user, Role::User));
    assert_eq!(build(Some(Role::Assistant), vec![result.clone()]), wrong(Role::Assistant, of_user, Role::User));
    let contents = vec![result, text()];
    assert_eq!(build(None, contents.clone()), built(Role::User, contents));
    let document = Content::from(Media::new(MediaKind::Document, Source::ContentId("a".into())));
    for contents in [vec![asked.clone(), image()], vec![document, asked.clone()]] {
        assert_eq!(build(None, contents.clone()), built(Role::Assistant, contents));
    }
    for contents in [vec![asked, image()], vec![text(), image()]] {
        assert_eq!(build(Some(Role::Assistant), contents.clone()), built(Role::Assistant, contents));
    }
    let mut builder = builder();
    let error = builder.add_tool_call("no tool", 1).unwrap_err().to_string();
    assert!(error.starts_with("a tool name has 1 to 64 characters"), "{error}");
    let error = builder.add_image("a", "no url").unwrap_err().to_string();
    assert!(error.starts_with("a URL has a scheme"), "{error}");
    assert!(builder.to_draft().is_err());
}

#[test]
fn tool_calls_get_unique_ids() {
    let mut ids = BTreeSet::new();
    for _ in 0..100 {
        let mut builder = MessageBuilder::next_step(1);
        ids.extend((0..10).map(|_| builder.add_tool_call("a", Value::Null).unwrap().id().as_str().to_owned()));
    }
    assert_eq!(ids.len(), 1_000);
    let from = |first| {
        let ids = Arc::new(SequentialIds::from(first));
        let mut builder = MessageBuilder::next_step(1).with_clock(Arc::new(ManualClock::new(0)), ids);
        builder.add_tool_call("a", Value::Null).unwrap().id().to_string()
    };
    assert_eq!(from(7), "call_00000000000000000000000007");
    assert_eq!(from(u128::MAX), "call_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

#[test]
fn result_has_the_id_and_the_step_of_its_call() {
    let mut asks = MessageBuilder::next_step(3);
    let first = asks.add_tool_call("find_dress", Value::Null).unwrap();
    let second = asks.add_tool_call("find_hat", Value::Null).unwrap();
    let of = |policy: &str| {
        let mut decision = decision_of(4, policy, RoleHint::Tool);
        decision.step = None;
        decision
    };
    let found = ResultBuilder::response_to(&first).success(["two"]);
    assert_eq!(found, Draft::new(Role::User, first.success(["two"])).with_decision(of("find_dress")));
    let late = ResultBuilder::response_to(&second).policy("runtime");
    let error = ToolError::new("no answer").with_type("Timeout").with_retryable(true);
    let expected = Draft::new(Role::User, second.failure(error)).with_decision(of("runtime"));
    assert_eq!(late.error("Timeout", "no answer", true), expected);

    // The manager gives each result the step of its call.
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add(asks.to_draft().unwrap()).unwrap();
    let drafts = [&first, &second].map(|call| ResultBuilder::response_to(call).success([image()]));
    manager.add_all(drafts.clone()).unwrap();
    let records = manager.records();
    let steps = records.iter().map(|record| record.metadata().decision().and_then(|it| it.step));
    assert!(steps.skip(1).all(|step| step == Some(4)));
    let id = first.id().clone();
    let (index, refused) = manager.add_all(drafts).unwrap_err();
    assert_eq!(
        (index, refused.to_string()),
        (0, format!("tool call `{id}` already has a result; drop the second one"))
    );
}

#[tokio::test]
async fn log_keeps_step_policy_and_hint() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    let mut asks = MessageBuilder::next_step(manager.meta_messages().last());
    asks.policy("planner").role_hint(RoleHint::Assistant).add_text("One moment.");
    let call = asks.add_tool_call("find_dress", Value::Null).unwrap();
    let answer = ResultBuilder::response_to(&call).success(["two"]);
    let mut shows = MessageBuilder::next_step(&asks);
    shows.add_text("Which one?");
    manager.add_all([asks.to_draft().unwrap(), answer, shows.to_draft().unwrap()]).unwrap();

    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client);
    let lease = WriterLease::from(CallId::new("CA1").unwrap());
    for record in &manager.records() {
        log.put_record(&lease, record).await.unwrap();
    }
    let records = CallLog::read_call(&log, lease.call_id()).await.unwrap().records;
    let decisions: Vec<_> = records.iter().map(|record| record.metadata().decision().cloned()).collect();
    let of_result = decision_of(1, "find_dress", RoleHint::Tool);
    assert_eq!(
        decisions,
        [None, Some(decision_of(1, "planner", RoleHint::Assistant)), Some(of_result), Some(decision(2)),]
    );
    assert!(MessagesManager::restore(records).unwrap() == manager);
}

/// A message that a part of a service builds.
#[derive(Debug, Clone)]
enum Built {
    Said {
        role: Role,
        parts: Vec<Part>,
    },
    Asked {
        text: Option<String>,
        calls: usize,
    },
    /// The answer to one of the open calls.
    Answered {
        call: Index,
        fails: bool,
        image: bool,
    },
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Image,
    Audio,
    Document,
}

const HINTS: [RoleHint; 4] = [RoleHint::User, RoleHint::Assistant, RoleHint::Tool, RoleHint::System];

/// The policy and the hint of a message.
#[derive(Debug, Clone)]
struct Labels {
    policy: Option<&'static str>,
    hint: Option<RoleHint>,
}

fn built() -> impl Strategy<Value = Built> {
    let text = || prop_oneof![4 => "[a-z]{1,6}", 1 => Just(" ".to_owned())];
    let part = prop_oneof![
        5 => text().prop_map(Part::Text),
        1 => Just(Part::Image),
        1 => Just(Part::Audio),
        1 => Just(Part::Document),
    ];
    let role = prop_oneof![6 => Just(Role::User), 4 => Just(Role::Assistant), 1 => Just(Role::System)];
    prop_oneof![
        4 => (role, prop::collection::vec(part, 1..4)).prop_map(|(role, parts)| Built::Said { role, parts }),
        4 => (prop::option::of(text()), 1..4usize).prop_map(|(text, calls)| Built::Asked { text, calls }),
        5 => (any::<Index>(), any::<bool>(), any::<bool>())
            .prop_map(|(call, fails, image)| Built::Answered { call, fails, image }),
    ]
}

fn labels() -> impl Strategy<Value = Labels> {
    let policy = prop::option::of(prop::sample::select(vec!["planner", "voice", "runtime"]));
    (policy, prop::option::of(prop::sample::select(HINTS.to_vec()))).prop_map(|(policy, hint)| Labels { policy, hint })
}

/// A conversation that is built, and its tool calls.
struct World {
    manager: MessagesManager<BedrockMessage>,
    ids: Arc<SequentialIds>,
    open: Vec<(ToolCall, u32)>,
    answered: BTreeSet<String>,
}

impl World {
    fn new() -> Self {
        let ids = Arc::new(SequentialIds::from(1));
        Self { manager: MessagesManager::new(), ids, open: Vec::new(), answered: BTreeSet::new() }
    }

    fn builder(&self, continues: bool, labels: &Labels) -> MessageBuilder {
        let last = self.manager.meta_messages().last();
        let builder = if continues { MessageBuilder::continue_step(last) } else { MessageBuilder::next_step(last) };
        let mut builder = builder.with_clock(Arc::new(ManualClock::new(0)), self.ids.clone());
        if let Some(policy) = labels.policy {
            builder.policy(policy);
        }
        if let Some(hint) = labels.hint {
            builder.role_hint(hint);
        }
        builder
    }

    fn add(&mut self, built: &Built, continues: bool, labels: &Labels) {
        let mut builder = self.builder(continues, labels);
        let draft = match built {
            Built::Said { role, parts } => {
                builder.role(*role);
                for part in parts {
                    match part {
                        Part::Text(text) => builder.add_text(text.as_str()),
                        Part::Image => builder.add(image()),
                        Part::Audio => builder.add(greeting()),
                        Part::Document => builder.add(
                            Media::from_url(MediaKind::Document, "data:text/csv;base64,YSxi")
                                .unwrap()
                                .with_label("Prices"),
                        ),
                    };
                }
                builder.to_draft()
            }
            Built::Asked { text, calls } => {
                if let Some(text) = text {
                    builder.add_text(text.as_str());
                }
                let calls = (0..*calls).map(|_| builder.add_tool_call("find_dress", Value::Null).unwrap());
                let calls: Vec<_> = calls.collect();
                let draft = builder.to_draft();
                if let Ok(draft) = &draft {
                    let step = step_of(draft);
                    self.open.extend(calls.into_iter().map(|call| (call, step)));
                }
                draft
            }
            Built::Answered { .. } if self.open.is_empty() => return,
            Built::Answered { call, fails, image: with_image } => {
                let (call, _) = self.open.remove(call.index(self.open.len()));
                self.answered.insert(call.id().to_string());
                let answer = ResultBuilder::response_to(&call);
                let answer = labels.policy.into_iter().fold(answer, ResultBuilder::policy);
                match (fails, with_image) {
                    (true, _) => Ok(answer.error("Timeout", "no answer", true)),
                    (false, true) => Ok(answer.success([image()])),
                    (false, false) => Ok(answer.success(["two"])),
                }
            }
        };
        match draft {
            Ok(draft) => drop(self.manager.add(draft).unwrap()),
            Err(error) => assert!(error.to_string().starts_with("the message is empty or blank"), "{error}"),
        }
    }

    /// The roles and contents of the window, and the messages for Bedrock.
    fn sent(&self) -> (Vec<(Role, Vec<Content>)>, Vec<serde_json::Value>) {
        let window = self.manager.messages().map(|message| (message.role(), message.contents().to_vec()));
        (window.collect(), self.manager.to_raw().unwrap().iter().map(to_json).collect())
    }
}

fn request<W: MessageWrapper>(manager: &MessagesManager<W>) -> ConverseInput {
    let mut request = ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect());
    request.tools = [ToolSpec::new("find_dress", "", json!({"type": "object"})).unwrap()].into();
    converse_input("anthropic.claude-sonnet-5", &request).unwrap()
}

fn ids(messages: &[Message], id: impl Fn(&ContentBlock) -> Option<String>) -> BTreeSet<String> {
    messages.iter().flat_map(|message| &message.content).filter_map(id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_incomplete_call_reaches_a_provider(steps in prop::collection::vec((built(), any::<bool>(), labels()), 1..30)) {
        let mut world = World::new();
        // The client repairs the end of a conversation and the number of its attachments.
        let repaired = ["ends-with-user", "text-trailing-space", "attachments-number", "document-number"];
        for (built, continues, labels) in &steps {
            world.add(built, *continues, labels);
            let raw = world.manager.to_raw().unwrap();
            let called = ids(&raw, |block| block.as_tool_use().ok().map(|call| call.tool_use_id.clone()));
            prop_assert_eq!(&called, &world.answered);
            let answered = ids(&raw, |block| block.as_tool_result().ok().map(|result| result.tool_use_id.clone()));
            prop_assert_eq!(&answered, &world.answered);
            if !raw.is_empty() {
                let mut violations = validate(&request(&world.manager));
                violations.retain(|violation| !repaired.contains(&violation.rule()));
                prop_assert_eq!(violations, []);
            }
        }
        let open: Vec<_> = world.open.iter().map(|(call, _)| call.id()).collect();
        prop_assert_eq!(world.manager.open_tool_calls(), open);
    }

    #[test]
    fn model_does_not_see_policy_and_hint(
        steps in prop::collection::vec((built(), any::<bool>(), labels(), labels()), 1..30),
    ) {
        let (mut one, mut other) = (World::new(), World::new());
        for (built, continues, labels, other_labels) in &steps {
            one.add(built, *continues, labels);
            other.add(built, *continues, other_labels);
            prop_assert_eq!(one.sent(), other.sent());
        }
    }
}
