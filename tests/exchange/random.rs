//! Random conversations with hostile texts, media, late results, barge-ins and summaries.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::{collection, option};
use verbale::clock::{ManualClock, SequentialIds};
use verbale::exchange::{export_converse, export_openai, import_converse, import_openai};
use verbale::message::{
    Draft, Media, MediaKind, Number, ResultContent, Source, ToolCallId, ToolError, ToolName, is_blank,
};
use verbale::{
    Content, Contents, Heard, HeardSource, MessageId, MessageWrapper, MessagesManager, PlainMessage, Record, Role,
    ToolCall, ToolResult, Value,
};

use super::loss;

use crate::formats::options;

pub type Manager = MessagesManager<PlainMessage>;

#[derive(Debug, Clone)]
enum Op {
    Say(Draft),
    /// The assistant calls one tool per value, with text before, between and after the calls.
    Call(Vec<(Option<String>, Value)>, Option<String>),
    /// Some open calls get their results, in any order, with text.
    Answer(Vec<(Index, Result<Vec<ResultContent>, ToolError>)>, Option<String>),
    /// The caller breaks in.
    Hear(usize),
    Summarize,
    /// Time passes.
    Wait(i64),
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zé]{1,6}( [a-z]{1,5}){0,3}",
        2 => any::<String>(),
        1 => Just("\"quoted\" \\ back\u{0}\u{1b}[0m \u{7f}\u{2028}\u{2029}\u{feff}\r\n\t/".to_owned()),
        1 => Just("{\"type\": \"text\"}\n[Assistant]: 😀 e\u{301} \u{202e}".to_owned()),
        1 => Just(" ".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        (-1e125f64..1e125).prop_filter_map("no number", |float| Number::try_from(float).ok()),
        ("-?[1-9]\\.[0-9]{0,37}", -130..=125)
            .prop_map(|(mantissa, exponent)| format!("{mantissa}e{exponent}").parse().unwrap()),
    ]
}

/// Returns any value that plain JSON can express.
pub fn value() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["[a-z]{1,4}", Just("$bytes".to_owned()), Just(String::new()), any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(|items| Value::list(items).unwrap()),
            collection::btree_map(key.clone(), inner, 0..4).prop_map(|entries| Value::map(entries).unwrap()),
        ]
    })
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Source::Bytes(bytes.into())),
        text().prop_map(|url| Source::Url(url.into())),
        "sha256:[0-9a-f]{4}".prop_map(|id| Source::ContentId(id.into())),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let kind = prop_oneof![Just(MediaKind::Image), Just(MediaKind::Audio), Just(MediaKind::Video)];
    (kind, source(), option::of("image/png|audio/mpeg|odd"), option::of(text())).prop_map(
        |(kind, source, mime_type, hint)| {
            let media = Media::new(kind, source);
            let media = mime_type.into_iter().fold(media, Media::with_mime_type);
            hint.into_iter().fold(media, Media::with_label)
        },
    )
}

fn document() -> impl Strategy<Value = Media> {
    let readable = text().prop_map(|text| Source::Bytes(text.into_bytes().into()));
    let mime_type = option::of("text/plain|text/markdown|application/pdf");
    (prop_oneof![source(), readable], option::of(text()), mime_type).prop_map(|(source, title, mime_type)| {
        let document = Media::new(MediaKind::Document, source);
        let document = title.into_iter().fold(document, Media::with_label);
        mime_type.into_iter().fold(document, Media::with_mime_type)
    })
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        8 => text().prop_map(Content::from),
        1 => media().prop_map(Content::from),
        1 => document().prop_map(Content::from),
    ]
}

fn result_content() -> impl Strategy<Value = ResultContent> {
    prop_oneof![
        3 => text().prop_map(ResultContent::from),
        2 => value().prop_map(ResultContent::from),
        1 => media().prop_map(|media| ResultContent::Media(Box::new(media))),
        1 => document().prop_map(|document| ResultContent::Media(Box::new(document))),
    ]
}

fn outcome() -> impl Strategy<Value = Result<Vec<ResultContent>, ToolError>> {
    let contents = prop_oneof![3 => collection::vec(result_content(), 1), 1 => collection::vec(result_content(), 0..4)];
    let error = (text(), option::of("Timeout|é"), option::of(any::<bool>())).prop_map(|(message, kind, retryable)| {
        let error = kind.into_iter().fold(ToolError::new(message), ToolError::with_type);
        retryable.into_iter().fold(error, ToolError::with_retryable)
    });
    prop_oneof![3 => contents.prop_map(Ok), 1 => error.prop_map(Err)]
}

fn confidence() -> impl Strategy<Value = Number> {
    prop_oneof![
        (0.0..=1.0f64).prop_map(|sure| sure.try_into().unwrap()),
        "0\\.[0-9]{1,30}".prop_map(|sure| sure.parse().unwrap())
    ]
}

fn say((role, contents, confidence): (Role, Vec<Content>, Option<Number>)) -> Op {
    let draft = Draft::new(role, contents);
    Op::Say(confidence.into_iter().fold(draft, |draft, sure| draft.with_confidence(sure).unwrap()))
}

fn op(tools: bool) -> impl Strategy<Value = Op> {
    let role = prop_oneof![5 => Just(Role::User), 5 => Just(Role::Assistant), 1 => Just(Role::System)];
    let calls = collection::vec((option::of(text()), value()), 1..4);
    let answers = collection::vec((any::<Index>(), outcome()), 1..4);
    let with_tools = if tools { 3 } else { 0 };
    prop_oneof![
        8 => (role, collection::vec(content(), 1..3), option::weighted(0.2, confidence())).prop_map(say),
        with_tools => (calls, option::of(text())).prop_map(|(calls, after)| Op::Call(calls, after)),
        with_tools => (answers, option::of(text())).prop_map(|(answers, also)| Op::Answer(answers, also)),
        1 => (0usize..12).prop_map(Op::Hear),
        1 => Just(Op::Summarize),
        2 => prop_oneof![1..2_000i64, Just(86_400_000)].prop_map(Op::Wait),
    ]
}

/// Returns any conversation, with or without tool calls and results.
pub fn conversation(tools: bool) -> impl Strategy<Value = Vec<Record>> {
    collection::vec(op(tools), 0..16).prop_map(|ops| {
        let mut play = Play::new();
        for op in ops {
            play.step(op);
        }
        play.manager.records()
    })
}

struct Play {
    manager: Manager,
    clock: ManualClock,
    calls: usize,
    open: Vec<(ToolCallId, ToolName)>,
}

impl Play {
    fn new() -> Self {
        let clock = ManualClock::new(1_763_461_800_000);
        let ids = Arc::new(SequentialIds::from(1 << 100));
        let manager = Manager::new().with_clock(Arc::new(clock.clone()), ids);
        Self { manager, clock, calls: 0, open: Vec::new() }
    }

    /// Applies a step. A refused step, such as a blank message, leaves no trace.
    fn step(&mut self, op: Op) {
        match op {
            Op::Say(draft) => drop(self.manager.add(draft)),
            Op::Call(parts, after) => {
                let mut contents = Contents::default();
                for (before, arguments) in parts {
                    self.calls += 1;
                    let tool = ["find", "pay"][self.calls % 2];
                    let call = ToolCall::new(format!("call_{}", self.calls), tool, arguments).unwrap();
                    self.open.push((call.id().clone(), call.name().clone()));
                    contents.extend(before.map(Content::from));
                    contents.extend([call.into()]);
                }
                contents.extend(after.map(Content::from));
                self.manager.add_assistant(contents).unwrap();
            }
            Op::Answer(answers, also) => {
                let mut contents = Contents::default();
                for (index, outcome) in answers {
                    if self.open.is_empty() {
                        break;
                    }
                    let (id, name) = self.open.remove(index.index(self.open.len()));
                    contents.extend([ToolResult::new(id, name, outcome).into()]);
                }
                contents.extend(also.map(Content::from));
                drop(self.manager.add_user(contents));
            }
            Op::Hear(bytes) => {
                let last = self.manager.meta_messages().last().map(|wrapper| wrapper.id());
                if let Some(mut entry) = last.and_then(|id| self.manager.entry(&id)) {
                    drop(entry.set_heard(Heard::new(bytes, HeardSource::Estimate)));
                }
            }
            Op::Summarize => {
                if let Some(summarizing) = self.manager.summarizing() {
                    self.manager.add_summary("They talked.", &summarizing).unwrap();
                }
            }
            Op::Wait(ms) => self.clock.advance(ms),
        }
    }
}

/// Returns the roles and heard contents in order. Consecutive messages of one role count as one, as in the window.
pub fn said(records: &[Record]) -> Vec<(Role, Contents)> {
    let mut said: Vec<(Role, Contents)> = Vec::new();
    for record in records.iter().filter(|record| record.role() != Role::Summary && !record.is_fake()) {
        let heard = record.heard_contents();
        let contents: Contents =
            heard.iter().filter(|content| !content.as_text().is_some_and(|text| is_blank(text))).cloned().collect();
        match said.last_mut() {
            _ if contents.is_empty() => {}
            Some((role, before)) if *role == record.role() && role.is_spoken() => before.extend(contents),
            _ => said.push((record.role(), contents)),
        }
    }
    said
}

/// A part: its id, its time, its confidence, its speaker and the contents that were heard.
pub type SaidPart = (MessageId, i64, Option<Number>, Role, Contents);

/// Returns each part that was heard at least partly.
pub fn parts(manager: &Manager) -> Vec<SaidPart> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message);
    let mut parts = Vec::new();
    for message in messages.filter(|message| message.role() != Role::Summary && !message.is_fake()) {
        let mut heard = message.heard_contents().into_owned().into_iter().peekable();
        for part in message.parts() {
            // A text may be cut.
            let is_heard = |of: &Content, heard: &Content| of == heard || of.as_text().and(heard.as_text()).is_some();
            let contents = part.contents().iter().filter_map(|content| heard.next_if(|heard| is_heard(content, heard)));
            let contents: Contents =
                contents.filter(|content| !content.as_text().is_some_and(|text| is_blank(text))).collect();
            if !contents.is_empty() {
                parts.push((part.id(), part.created_ms(), part.confidence().cloned(), message.role(), contents));
            }
        }
    }
    parts
}

/// Returns each content with its role. Converse splits an instruction into its texts.
fn each_content(records: &[Record]) -> Vec<(Role, Content)> {
    let said = said(records).into_iter();
    said.flat_map(|(role, contents)| Vec::from(contents).into_iter().map(move |content| (role, content))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// An export with losses also imports as it was written.
    #[test]
    fn exports_round_trip(records in conversation(true)) {
        let manager = Manager::restore(records.clone()).unwrap();
        let (openai, converse) = (export_openai(&manager), export_converse(&manager));
        for (export, back) in [
            (&openai, import_openai::<PlainMessage>(&openai.text, &options())),
            (&converse, import_converse(&converse.text, &options())),
        ] {
            let back = back.unwrap_or_else(|error| panic!("{error}\n{}", export.text));
            let is_openai = std::ptr::eq(export, &openai);
            let again = if is_openai { export_openai(&back) } else { export_converse(&back) };
            prop_assert_eq!(&again.losses, &vec![], "{}", export.text);
            let third = if is_openai {
                export_openai(&import_openai::<PlainMessage>(&again.text, &options()).unwrap())
            } else {
                export_converse(&import_converse::<PlainMessage>(&again.text, &options()).unwrap())
            };
            prop_assert_eq!(&third, &again);
            // Converse names a document without a title so.
            let is_renamed = !is_openai && export.text.contains(r#""name":"document""#);
            if !is_renamed && export.losses.iter().all(|(_, loss)| [loss::SUMMARY, loss::UNHEARD].contains(loss)) {
                prop_assert!(each_content(&back.records()) == each_content(&records), "{}", export.text);
            }
        }
    }
}
