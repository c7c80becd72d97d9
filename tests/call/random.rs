//! Random events in a random order. The call stays valid, and no words are lost.
//!
//! `VERBALE_SEED=17 cargo test --test call random` repeats one sequence.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use verbale::call::{CallBuilder, CallSettings, Played, Reply, ReplyEvent, SpeechId, Utterance};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::message::{ToolCallId, ToolResult};
use verbale::model::{
    Failure, ModelError, ModelRequest, StopReason, Summarizer, SummaryFuture, Tool, ToolContext, ToolSpec,
};
use verbale::{Content, Message, MessageWrapper, Policy, Role, Summarizing, ToolCall, Value};

use crate::seeded::Seeded;
use crate::seeds;
use crate::support::{START_MS, Scripted, Step, builder, pass, read};

const SEQUENCES: u64 = 2_000;

#[test]
fn random_events_lose_no_words() {
    let seeds = seeds::chosen(SEQUENCES);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let seeds = seeds.clone().skip(first).step_by(threads);
            scope.spawn(move || seeds.for_each(run));
        }
    });
}

fn run(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let outcome = std::panic::catch_unwind(|| runtime.block_on(sequence(seed)));
    assert!(outcome.is_ok(), "VERBALE_SEED={seed} repeats it");
}

struct Dice(Seeded);

impl Dice {
    fn below(&self, sides: u64) -> u64 {
        self.0.next_u64() % sides
    }

    fn of<T: Copy>(&self, all: &[T]) -> Option<T> {
        (!all.is_empty()).then(|| all[self.below(all.len() as u64) as usize])
    }
}

const WORDS: [&str; 8] =
    ["Certainly. ", "Your balance ", "is 12.50. ", "One moment, ", "please. ", "Is there ", "anything ", "else? "];
const IDS: [&str; 12] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"];
const TOOLS: [&str; 4] = ["quick", "slow", "panics", "external"];

/// Answers of the model, including wrong ones.
fn script(dice: &Dice) -> Vec<Vec<Step>> {
    let mut ids = IDS.iter();
    let mut answers = Vec::new();
    for _ in 0..12 {
        let mut steps = vec![Step::Wait(dice.below(800))];
        for _ in 0..dice.below(6) {
            steps.extend([Step::Say(dice.of(&WORDS).unwrap()), Step::Wait(dice.below(60))]);
        }
        let stop = match dice.below(12) {
            0 => Step::Hang,
            1 => Step::Fail(Failure::Cut),
            2 => Step::Fail(Failure::Throttled),
            3 => Step::Fail(Failure::TimedOut { wait: "the whole answer", after: Duration::from_secs(1) }),
            // No stop.
            4 => Step::Wait(1),
            5..8 => {
                for _ in 0..=dice.below(2) {
                    // Some calls repeat an id.
                    let id = if dice.below(10) == 0 { Some(&IDS[0]) } else { ids.next() };
                    if let Some(id) = id {
                        steps.push(Step::Call(id, dice.of(&TOOLS).unwrap()));
                    }
                }
                Step::Stop(StopReason::ToolUse)
            }
            8 => Step::Stop(StopReason::MaxTokens),
            _ => Step::Stop(StopReason::EndTurn),
        };
        steps.extend([stop, Step::Use(20)]);
        answers.push(steps);
    }
    answers
}

/// A summarizer that is quick, slow or wrong, or fails.
struct Unsteady(Dice);

impl Summarizer for Unsteady {
    fn summarize<'a>(&'a self, _summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        let (kind, ms) = (self.0.below(5), self.0.below(4_000));
        Box::pin(async move {
            pass(ms).await;
            match kind {
                0 => Err(ModelError::new(Failure::Unreachable)),
                1 => std::panic::resume_unwind(Box::new("a summarizer of the service")),
                2 => std::future::pending().await,
                _ => Ok("They spoke.".into()),
            }
        })
    }
}

fn parts(model: &Scripted, seed: u64) -> CallBuilder {
    let spec = |name: &str| {
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        ToolSpec::new(name, "It does something.", schema).unwrap()
    };
    let settings = CallSettings::default().with_ask_to_repeat(0.3, "Pardon?");
    let policy = Policy::default().with_tokens(None).with_messages(2..=6).with_keep_turns(1);
    let quick = |_: Value, _: ToolContext| async { Ok(vec!["done".into()]) };
    let slow = |_: Value, _: ToolContext| async {
        pass(3_000).await;
        Ok(vec!["done".into()])
    };
    let panics = |_: Value, _: ToolContext| async {
        // Unlike `panic!`, this prints nothing.
        std::panic::resume_unwind(Box::new("a tool of the service"))
    };
    builder(model)
        .system("You answer the phone.")
        .settings(settings)
        .config(|config| config.with_policy(policy))
        .tool(Tool::raw(spec("quick"), quick))
        .tool(Tool::raw(spec("slow"), slow))
        .tool(Tool::raw(spec("panics"), panics))
        .tool(Tool::external(spec("external")))
        .summarizer(Unsteady(Dice(Seeded::from(seed + 1_000_000))))
}

async fn sequence(seed: u64) {
    let dice = Dice(Seeded::from(seed));
    let model = Scripted::new(script(&dice));
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let header = CallHeader::new(id.clone(), START_MS).unwrap();
    let call = parts(&model, seed).log(writer.open(header).unwrap()).open().unwrap();

    let mut said: Vec<String> = Vec::new();
    let mut spoken: BTreeMap<SpeechId, String> = BTreeMap::new();
    let mut speeches: Vec<SpeechId> = Vec::new();
    let mut replies: Vec<Reply> = Vec::new();
    for event in 0..8 + dice.below(25) {
        let at_ms = call.now_ms() - dice.below(400) as i64 + 200;
        match dice.below(14) {
            0 => drop(call.caller_started_speaking(at_ms)),
            1..4 => {
                let text = format!("{event} {}", dice.of(&WORDS).unwrap());
                let confidence = dice.below(100) as f32 / 100.0;
                let utterance = Utterance::new(text.clone()).with_times(at_ms - 500, at_ms).with_confidence(confidence);
                for _ in 0..=dice.below(2) {
                    if call.caller_said(utterance.clone()).unwrap().is_applied() {
                        said.push(text.clone());
                    }
                }
            }
            4..7 => {
                if let Ok(new) = call.reply() {
                    speeches.push(new.speech());
                    replies.push(new);
                }
            }
            7 => {
                if let Ok(speech) = call.say(format!("{event} fixed.")) {
                    spoken.insert(speech, format!("{event} fixed."));
                    speeches.push(speech);
                }
            }
            8 => {
                if let Some(speech) = dice.of(&speeches) {
                    call.playback_started(speech, at_ms);
                }
            }
            9 => {
                if let Some(speech) = dice.of(&speeches) {
                    call.playback_finished(speech, at_ms);
                }
            }
            10 => {
                if let Some(speech) = dice.of(&speeches) {
                    let played = match dice.below(3) {
                        0 => Played::Unknown,
                        1 => Played::For { played_ms: dice.below(3_000), total_ms: None },
                        _ => Played::Words(dice.of(&WORDS).unwrap().to_owned()),
                    };
                    call.playback_interrupted(speech, played, at_ms);
                }
            }
            11 => {
                let outcome = Ok(vec!["done".into()]);
                let id = dice.of(&IDS).unwrap().parse().unwrap();
                let tool = dice.of(&TOOLS).unwrap().parse().unwrap();
                call.tool_result(ToolResult::new(id, tool, outcome));
            }
            12 if dice.below(3) == 0 => drop(replies.pop()),
            _ => pass(dice.below(1_500)).await,
        }
        // Replies are read at once, or later.
        let is_read = dice.below(3) > 0;
        let which = dice.below(replies.len().max(1) as u64) as usize;
        while let Some(open) = replies.get_mut(which).filter(|_| is_read) {
            match tokio::time::timeout(Duration::from_millis(dice.below(300)), open.next()).await {
                Ok(Some(ReplyEvent::Text(text))) => spoken.entry(open.speech()).or_default().push_str(&text),
                Ok(Some(ReplyEvent::Ended(_)) | None) => drop(replies.remove(which)),
                Ok(Some(_)) => {}
                Err(_) => break,
            }
        }
        call.conversation().read(|manager| {
            let window: Vec<Message> = manager.messages().map(|wrapper| wrapper.message().clone()).collect();
            check_valid(&window);
        });
    }

    let is_closed = dice.below(4) > 0;
    let all: Vec<Message>;
    if is_closed {
        // Other tasks do not know yet that the call is closing.
        let others = async {
            pass(dice.below(1_000)).await;
            assert!(!call.caller_said("Hello?").unwrap().is_applied());
            assert!(call.say("Hello?").is_err() && call.reply().is_err());
            drop(replies.pop());
        };
        let (closed, ()) = tokio::join!(call.close("hangup", Duration::from_secs(10)), others);
        let closed = closed.unwrap();
        assert!(closed.unstored.is_empty() && closed.not_accepted.is_none(), "{closed:?}");
        // Covered messages have left memory.
        let whole = call.conversation().whole(&*log).await.unwrap();
        assert_eq!(log.read_call(&id).await.unwrap().records, whole.records());
        all = whole.meta_messages().iter().map(|w| w.message().clone()).collect();
    } else {
        drop(call);
        assert!(writer.flush(Duration::from_secs(10)).await.is_empty());
        let (manager, call_writer) = writer.resume(&id, Duration::from_secs(10)).await.unwrap();
        let call = parts(&model, seed).log(call_writer).resume(manager).unwrap();
        call.caller_said("Are you still there?").unwrap();
        said.push("Are you still there?".to_owned());
        read(call.reply().unwrap()).await;
        let closed = call.close("hangup", Duration::from_secs(10)).await.unwrap();
        assert!(closed.unstored.is_empty() && closed.not_accepted.is_none(), "{closed:?}");
        // Covered messages have left memory.
        let whole = call.conversation().whole(&*log).await.unwrap();
        assert_eq!(log.read_call(&id).await.unwrap().records, whole.records());
        all = whole.meta_messages().iter().map(|w| w.message().clone()).collect();
    }
    drop(replies);
    check_nothing_is_lost(&all, &said, spoken.values());
    check_outcomes(&all);
    model.requests().iter().for_each(check_request);
}

/// Checks that all words of the caller are there in order, and all text that was read to be spoken.
fn check_nothing_is_lost<'a>(all: &[Message], said: &[String], spoken: impl Iterator<Item = &'a String>) {
    let texts = |role: Role| {
        let messages = all.iter().filter(move |message| message.role() == role && !message.is_fake());
        messages.flat_map(|message| message.contents().texts()).map(|text| text.as_str().to_owned())
    };
    assert_eq!(texts(Role::User).collect::<Vec<_>>(), said);
    let generated = texts(Role::Assistant).collect::<String>();
    for text in spoken {
        // A line break separates the apology.
        assert!(generated.contains(&text.replace('\n', "")), "{text:?} is lost");
    }
}

/// Checks that each tool call has one outcome.
fn check_outcomes(all: &[Message]) {
    let contents = || all.iter().flat_map(|message| message.contents().iter());
    let calls: Vec<_> = contents().filter_map(Content::as_tool_call).map(ToolCall::id).collect();
    let results: Vec<_> = contents().filter_map(Content::as_result).map(ToolResult::tool_call_id).collect();
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len());
    assert_eq!(results.len(), calls.len());
    assert_eq!(results.iter().collect::<BTreeSet<_>>(), calls.iter().collect());
}

fn check_request(request: &ModelRequest) {
    check_valid(&request.messages);
    assert_eq!(request.messages.last().map(Message::role), Some(Role::User));
    // Bedrock needs the tools if the window has tool calls; the last round offers none.
    assert!(request.tools.len() == TOOLS.len() || request.tools.is_empty());
}

fn check_valid(window: &[Message]) {
    assert!(window.first().is_none_or(|first| first.role() == Role::User));
    assert!(window.windows(2).all(|pair| pair[0].role() != pair[1].role()));
    let mut asked: BTreeSet<&ToolCallId> = BTreeSet::new();
    for message in window {
        assert!(!message.contents().is_empty() && message.contents().texts().all(|text| !text.trim().is_empty()));
        let answered: BTreeSet<_> =
            message.contents().iter().filter_map(Content::as_result).map(ToolResult::tool_call_id).collect();
        assert_eq!(answered, asked);
        asked = message.contents().iter().filter_map(Content::as_tool_call).map(ToolCall::id).collect();
    }
    assert!(asked.is_empty());
}
