//! Regression tests: combinations of events, faults and extreme times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use verbale::Value;
use verbale::call::{CallBuilder, CallSettings, Played, ReplyEnd, Utterance};
use verbale::conversation::{CallEvent, ConversationErrorKind, Observer};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::model::{Failure, Generation, Model, ModelRequest, StopReason, Tool, ToolContext, ToolError, ToolSpec};

use crate::support::{
    CLOSED, REPEATED, START_MS, STILL_GENERATED, Scripted, Step, answer, builder, call, calls, pass, read, shown, turn,
    why_ignored, window, words,
};

const ANSWER: &str = "Your balance is twelve euros and fifty cents. Would you like to hear more?";

fn all_at_once() -> Vec<Step> {
    vec![Step::Wait(100), Step::Say(ANSWER), Step::Stop(StopReason::EndTurn)]
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

async fn quick(_: Value, _: ToolContext) -> Result<Vec<verbale::message::ResultContent>, ToolError> {
    Ok(vec!["done".into()])
}

/// A model that panics when it is asked.
struct Panics;

impl Model for Panics {
    fn generate(&self, _request: ModelRequest) -> Generation {
        std::panic::resume_unwind(Box::new("a model of the user's"))
    }
}

/// An observer that panics at every event.
struct Clumsy;

impl Observer for Clumsy {
    fn observe(&self, _: &verbale::log::CallId, _event: &CallEvent) {
        std::panic::resume_unwind(Box::new("an observer of the user's"))
    }
}

#[tokio::test(start_paused = true)]
async fn barge_in_ends_a_reply_that_is_read_late() {
    let call = call(&Scripted::new([all_at_once(), all_at_once()]));
    call.caller_said("My balance?").unwrap();
    let mut sentences = call.reply().unwrap();
    assert_eq!(sentences.next_sentence().await.as_deref(), Some("Your balance is twelve euros and fifty cents. "));
    // The reply is complete, and its second sentence is read after the playback of the first.
    pass(1_000).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(sentences.next_sentence().await, None);
    assert_eq!(sentences.end(), Some(&ReplyEnd::Interrupted));

    call.caller_said("Again?").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    call.playback_interrupted(reply.speech(), Played::Unknown, call.now_ms());
    assert_eq!(read(reply).await, (String::new(), ReplyEnd::Interrupted));
}

#[tokio::test(start_paused = true)]
async fn closing_call_starts_nothing_new() {
    let slow = |_: Value, _: ToolContext| async {
        pass(3_000).await;
        Ok(vec!["done".into()])
    };
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let model = Scripted::new([calls("One moment. ", "c1", "slow")]);
    let call = builder(&model)
        .tool(Tool::raw(spec("slow"), slow))
        .log(writer.open(CallHeader::new(id.clone(), START_MS).unwrap()).unwrap())
        .open()
        .unwrap();
    call.caller_said("Transfer it").unwrap();
    let reply = call.reply().unwrap();
    pass(500).await;
    let (closed, ()) = tokio::join!(call.close("hangup", Duration::from_secs(10)), async {
        pass(500).await;
        assert_eq!(why_ignored(call.caller_said("Hello?").unwrap()), CLOSED);
        assert_eq!(why_ignored(call.caller_started_speaking(call.now_ms())), CLOSED);
        assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::Closed);
        assert_eq!(call.say("Hello?").unwrap_err().kind(), ConversationErrorKind::Closed);
        assert!(!call.is_answerable());
    });
    assert!(closed.unwrap().unstored.is_empty());
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    pass(10_000).await;
    assert_eq!(shown(&call).last().unwrap(), "user result(c1: done)");
    let logged = log.read_call(&id).await.unwrap().records;
    assert_eq!(logged, call.conversation().read(verbale::MessagesManager::records));
}

#[tokio::test(start_paused = true)]
async fn cancelled_close_loses_nothing() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let hangs = |_: Value, _: ToolContext| std::future::pending();
    let model = Scripted::new([calls("One moment. ", "c1", "hangs")]);
    let call = builder(&model)
        .tool(Tool::raw(spec("hangs"), hangs))
        .log(writer.open(CallHeader::new(id.clone(), START_MS).unwrap()).unwrap())
        .open()
        .unwrap();
    call.caller_said("Please").unwrap();
    let _reply = call.reply().unwrap();
    pass(500).await;
    assert!(timeout(Duration::from_secs(1), call.close("hangup", Duration::MAX)).await.is_err());
    assert_eq!(call.conversation().open_tool_calls().len(), 1);
    drop(call);
    assert!(writer.flush(Duration::from_secs(5)).await.is_empty());
    assert_eq!(log.read_call(&id).await.unwrap().records.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn panic_of_the_model_leads_to_the_apology() {
    let clock = Arc::new(crate::support::TokioClock(Instant::now()));
    let ids = Arc::new(verbale::clock::SequentialIds::default());
    let call = CallBuilder::new(Panics).clock(clock, ids).open().unwrap();
    call.caller_said("Hello").unwrap();
    let (text, end) = timeout(Duration::from_secs(60), read(call.reply().unwrap())).await.unwrap();
    assert!(text.contains("sorry"), "{text}");
    assert_eq!(end, ReplyEnd::Failed(None));
    assert!(call.conversation().metrics().to_string().contains("apologies 1,"));
}

#[tokio::test(start_paused = true)]
async fn panic_of_an_observer_ends_no_turn() {
    let model = Scripted::new([calls("One moment. ", "c1", "quick"), words("It is done.")]);
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).observer(Clumsy).open().unwrap();
    call.caller_said("Hello").unwrap();
    let (text, _) = timeout(Duration::from_secs(60), read(call.reply().unwrap())).await.unwrap();
    assert_eq!(text, "One moment. It is done.");
}

#[tokio::test(start_paused = true)]
async fn stream_that_never_ends_times_out() {
    let hangs_after_words = vec![Step::Say("One moment. "), Step::Hang];
    let hangs_after_stop = vec![Step::Call("c1", "quick"), Step::Stop(StopReason::ToolUse), Step::Hang];
    let model = Scripted::new([hangs_after_words, hangs_after_stop, words("It is done.")]);
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap();
    call.caller_said("Hello").unwrap();
    let begun = Instant::now();
    let (text, end) = timeout(Duration::from_secs(60), read(call.reply().unwrap())).await.unwrap();
    assert!(text.contains("sorry") && matches!(end, ReplyEnd::Failed(Some(Failure::TimedOut { .. }))), "{end:?}");
    assert_eq!(begun.elapsed(), Duration::from_secs(8));
    call.caller_said("Hello?").unwrap();
    let (text, _) = timeout(Duration::from_secs(60), read(call.reply().unwrap())).await.unwrap();
    assert_eq!(text, "It is done.");
}

#[tokio::test(start_paused = true)]
async fn extreme_timeouts_and_times_are_accepted() {
    let settings = CallSettings::default().with_speech_rate(u64::MAX);
    let model = Scripted::new([calls("", "c1", "quick"), words("It is done.")]);
    let call = builder(&model)
        .tool(Tool::raw(spec("quick"), quick))
        .tool(Tool::external(spec("other")))
        .settings(settings)
        .config(|config| config.with_first_token_timeout(Duration::MAX).with_tool_timeout(Duration::MAX))
        .open()
        .unwrap();
    call.caller_said("Hello").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    let (text, _) = timeout(Duration::from_secs(60), read(reply)).await.unwrap();
    assert_eq!(text, "It is done.");
    call.playback_started(speech, i64::MAX);
    call.playback_interrupted(speech, Played::Unknown, i64::MIN);
    let speech = call.say("Good bye.").unwrap();
    call.playback_started(speech, i64::MAX);
    call.playback_finished(speech, i64::MIN);
    call.close("hangup", Duration::MAX).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn endless_tool_calls_are_stopped() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = move |_: Value, _: ToolContext| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(vec!["done".into()]) }
    };
    let model = Scripted::new((0..20).map(|_| calls("", "c1", "tool")));
    let call = builder(&model)
        .tool(Tool::raw(spec("tool"), tool))
        .config(|config| config.with_max_tool_rounds(2))
        .open()
        .unwrap();
    call.caller_said("Hello").unwrap();
    let (text, end) = read(call.reply().unwrap()).await;
    assert!(text.contains("sorry") && end == ReplyEnd::Failed(None), "{end:?}");
    // The last request offers no tool. The model calls one anyway, and the call gets an outcome.
    assert!(model.requests()[2].tools.is_empty());
    assert!(
        call.conversation().open_tool_calls().is_empty() && shown(&call)[6].contains("c1-3: NotRun"),
        "{:?}",
        shown(&call)
    );
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn end_of_playback_counts_if_no_text_follows() {
    // The player reports the end once, between the last word and the stop.
    let slow_end = || vec![Step::Say("It is done."), Step::Wait(3_000), Step::Stop(StopReason::EndTurn)];
    let call = call(&Scripted::new([slow_end(), slow_end(), words("It is done. And more.")]));
    call.caller_said("Hello").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    pass(1_000).await;
    assert_eq!(why_ignored(call.playback_finished(speech, call.now_ms())), STILL_GENERATED);
    read(reply).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(shown(&call)[1], "assistant \"It is done.\"");
    assert_eq!(call.conversation().metrics().barge_ins, 0);
    // A barge-in before the stop: all words were heard.
    call.caller_said("Well").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    call.playback_finished(reply.speech(), call.now_ms());
    call.caller_started_speaking(call.now_ms() + 10);
    assert_eq!(shown(&call)[3], "assistant \"It is done.\" llmInterrupted");
    // More text follows the report, so it does not count.
    call.caller_said("Go on").unwrap();
    let reply = call.reply().unwrap();
    pass(205).await;
    call.playback_finished(reply.speech(), call.now_ms());
    read(reply).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(shown(&call)[5], "assistant \"It is done. And more.\" heard \"\" by estimate speechInterrupted");
}

#[tokio::test(start_paused = true)]
async fn outcome_counts_as_reported_only_after_later_words_were_heard() {
    // After the tool the model generates nothing, or fails.
    let silent = || vec![Step::Wait(100), Step::Stop(StopReason::EndTurn)];
    for answers in [vec![silent(), silent()], vec![vec![Step::Fail(Failure::Denied(String::new()))]]] {
        let first = std::iter::once(calls("One moment. ", "c1", "quick"));
        let model = Scripted::new(first.chain(answers).chain([words("Yes, it is done.")]));
        let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap();
        for (said, is_reported) in [("Transfer it", false), ("Did you?", true)] {
            call.caller_said(said).unwrap();
            let reply = call.reply().unwrap();
            let speech = reply.speech();
            read(reply).await;
            assert!(call.playback_finished(speech, call.now_ms()).is_applied());
            call.caller_said("And?").unwrap();
            read(call.reply().unwrap()).await;
            let record = model.requests().last().unwrap().memory.clone();
            assert_eq!(record.is_none_or(|record| !record.contains("callerKnows=false")), is_reported, "{said}");
            if !is_reported {
                break;
            }
        }
    }
    let model = Scripted::new([calls("One moment. ", "c1", "quick"), words("It is done.")]);
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap();
    turn(&call, "Transfer it").await;
    turn(&call, "And?").await;
    assert_eq!(model.requests().last().unwrap().memory, None);
}

#[tokio::test(start_paused = true)]
async fn heard_words_may_lack_punctuation() {
    for (reported, heard) in [
        ("your balance is twelve euros and fifty cents would", "Your balance is twelve euros and fifty cents. Would"),
        ("YOUR BALANCE", "Your balance"),
        ("your balance is twelve euros and fifty cents", "Your balance is twelve euros and fifty cents."),
        ("balance", "Your balance"),
    ] {
        let call = call(&Scripted::new([all_at_once()]));
        call.caller_said("My balance?").unwrap();
        let reply = call.reply().unwrap();
        let speech = reply.speech();
        read(reply).await;
        call.playback_interrupted(speech, Played::Words(reported.to_owned()), call.now_ms());
        assert!(shown(&call)[1].contains(&format!("heard {heard:?} by wordTiming")), "{:?}", shown(&call));
    }
    for other_words in ["...", "good morning, this is the bank"] {
        let call = call(&Scripted::new([all_at_once()]));
        call.caller_said("My balance?").unwrap();
        let reply = call.reply().unwrap();
        let speech = reply.speech();
        read(reply).await;
        call.playback_started(speech, call.now_ms());
        call.playback_interrupted(speech, Played::Words(other_words.to_owned()), call.now_ms() + 1_000);
        assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"), "{:?}", shown(&call));
    }
}

#[tokio::test(start_paused = true)]
async fn late_start_of_speech_is_no_barge_in() {
    let call = call(&Scripted::new([words("I am fine.")]));
    pass(1_000).await;
    call.caller_said(Utterance::new("How are you?").with_times(START_MS + 100, START_MS + 900)).unwrap();
    let reply = call.reply().unwrap();
    pass(100).await;
    assert_eq!(why_ignored(call.caller_started_speaking(START_MS + 110)), REPEATED);
    assert_eq!(read(reply).await.0, "I am fine.");
}

#[tokio::test(start_paused = true)]
async fn barge_in_counts_though_the_clock_of_its_report_is_behind() {
    let call = call(&Scripted::new([words("I am fine, and I would like to know how you are.")]));
    pass(1_000).await;
    call.caller_said(Utterance::new("How are you?").with_times(START_MS + 100, START_MS + 900)).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    call.playback_started(speech, call.now_ms());
    pass(1_500).await;
    assert!(call.caller_started_speaking(call.now_ms() - 5_000).is_applied());
    assert_eq!(call.conversation().metrics().barge_ins, 1);
}

#[tokio::test(start_paused = true)]
async fn words_before_any_audio_are_no_barge_in() {
    let call = call(&Scripted::new([words("I am fine."), words("I am fine.")]));
    assert_eq!(call.say(" \n").unwrap_err().kind(), ConversationErrorKind::Refused);
    call.caller_said("How are you?").unwrap();
    drop(call.reply().unwrap());
    call.caller_said("Hello?").unwrap();
    assert_eq!(call.conversation().metrics().barge_ins, 0);
    read(call.reply().unwrap()).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(call.conversation().metrics().barge_ins, 1);
}

#[tokio::test(start_paused = true)]
async fn blank_answer_is_retried_once() {
    let cut = vec![Step::Say("\n\n"), Step::Fail(Failure::Cut)];
    let blank = || vec![Step::Say(" \n"), Step::Stop(StopReason::EndTurn)];
    let call = call(&Scripted::new([cut, words("It is done."), blank(), words("Yes."), blank(), blank()]));
    call.caller_said("Hello").unwrap();
    let (text, end) = read(call.reply().unwrap()).await;
    assert_eq!((text.trim(), end), ("It is done.", ReplyEnd::Complete(StopReason::EndTurn)));
    call.caller_said("And?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0.trim(), "Yes.");
    call.caller_said("And now?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.1, ReplyEnd::Failed(None));
}

#[tokio::test(start_paused = true)]
async fn system_prompt_has_the_tool_rule() {
    let model = Scripted::new((0..2).map(|_| calls("", "c1", "quick")));
    let call = builder(&model)
        .system("You answer the phone.")
        .tool(Tool::raw(spec("quick"), quick))
        .config(|config| config.with_max_tool_rounds(1))
        .open()
        .unwrap();
    call.caller_said("Hello").unwrap();
    read(call.reply().unwrap()).await;
    turn(&call, "Hello?").await;
    let prompts: Vec<_> = model.requests().into_iter().map(|request| request.system).collect();
    assert!(prompts.len() > 2 && prompts.iter().all(|prompt| *prompt == prompts[0]));
    assert_eq!((prompts[0].len(), prompts[0][0].as_str()), (2, "You answer the phone."));
    assert!(prompts[0][1].starts_with("The record of the call lists"), "{:?}", prompts[0]);
    assert_eq!(shown(&call)[0], "system \"You answer the phone.\"");

    let model = Scripted::default();
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap();
    turn(&call, "Hello").await;
    assert!(model.requests()[0].system[0].starts_with("The record of the call lists"));
    let model = Scripted::default();
    let call = builder(&model).open().unwrap();
    turn(&call, "Hello").await;
    assert!(model.requests()[0].system.is_empty());
}

#[tokio::test(start_paused = true)]
async fn words_and_results_are_logged_before_the_answer() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let model = Scripted::new([calls("", "c1", "quick"), vec![Step::Hang]]);
    let call = builder(&model)
        .tool(Tool::raw(spec("quick"), quick))
        .log(writer.open(CallHeader::new(id.clone(), START_MS).unwrap()).unwrap())
        .open()
        .unwrap();
    call.caller_said("Transfer it").unwrap();
    pass(1_000).await;
    assert_eq!(log.read_call(&id).await.unwrap().records.len(), 1);
    let _reply = call.reply().unwrap();
    pass(1_000).await;
    let records = log.read_call(&id).await.unwrap().records;
    assert_eq!(records, call.conversation().read(verbale::MessagesManager::records));
    assert_eq!(records.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn apology_ends_the_wait_and_is_its_own_sentence() {
    let call = call(&Scripted::new([vec![Step::Hang], vec![Step::Say("Your balance is"), Step::Fail(Failure::Cut)]]));
    call.caller_said("My balance?").unwrap();
    read(call.reply().unwrap()).await;
    assert_eq!(call.conversation().metrics().response_gaps_ms.iter().max(), Some(&8_000));
    call.caller_said("My balance?").unwrap();
    let mut sentences = call.reply().unwrap();
    let mut spoken = Vec::new();
    while let Some(sentence) = sentences.next_sentence().await {
        spoken.push(sentence.trim().to_owned());
    }
    let apology = ["I am sorry, something went wrong.", "Could you say that again, please?"];
    assert_eq!(spoken, ["Your balance is", apology[0], apology[1]]);
    assert_eq!(call.conversation().metrics().response_gaps_ms.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn complete_reply_counts_as_heard_without_reports() {
    let settings = CallSettings::default().without_playback_reports();
    let model = Scripted::new([calls("One moment. ", "c1", "quick"), words("It is done."), words("Yes.")]);
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).settings(settings).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    read(call.reply().unwrap()).await;
    call.caller_said("Did you?").unwrap();
    read(call.reply().unwrap()).await;
    assert_eq!(window(&call)[3], "assistant \"It is done.\"");
    assert_eq!(model.requests()[2].memory, None);
    assert_eq!(call.conversation().metrics().barge_ins, 0);
}

#[tokio::test(start_paused = true)]
async fn start_after_an_interruption_renews_the_estimate() {
    let call = call(&Scripted::new([all_at_once()]));
    let speech = answer(&call, "My balance?").await;
    let start_ms = call.now_ms();
    call.playback_interrupted(speech, Played::Unknown, start_ms + 500);
    assert!(shown(&call)[1].contains("heard \"Your\" by estimate"));
    call.playback_started(speech, start_ms - 500);
    assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"));
    let report = call.conversation().metrics().to_string();
    assert!(report.contains("heard         15 of "), "{report}");
}

#[tokio::test(start_paused = true)]
async fn interruption_may_fall_into_the_second_message_of_a_speech() {
    let model = Scripted::new([calls("One moment. ", "c1", "quick"), words("It is done. Good bye.")]);
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap();
    let speech = answer(&call, "Transfer it").await;
    let heard = |words: &str| {
        call.playback_interrupted(speech, Played::Words(words.to_owned()), call.now_ms());
        (shown(&call)[1].clone(), shown(&call)[3].clone())
    };
    let first = "assistant \"One moment. \" call(c1)";
    let second =
        |heard: &str| format!("assistant \"It is done. Good bye.\" heard {heard:?} by wordTiming speechInterrupted");
    assert_eq!(heard("One moment. It is done."), (first.to_owned(), second("It is done.")));
    assert_eq!(heard("One"), (format!("{first} heard \"One\" by wordTiming speechInterrupted"), second("")));
    // The heard text ends exactly with the first message.
    let (first, second) = heard("One moment.");
    assert!(first.contains("heard \"One moment.\"") && second.contains("heard \"\""), "{first} {second}");
}

#[tokio::test(start_paused = true)]
async fn report_before_the_request_changes_the_prompt() {
    let model = Scripted::new([all_at_once(), words("As I said.")]);
    let call = call(&model);
    let speech = answer(&call, "My balance?").await;
    // The caller only seemed to speak, and the estimate is that nothing was heard.
    call.caller_started_speaking(call.now_ms());
    call.caller_said("").unwrap();
    let reply = call.reply().unwrap();
    call.playback_interrupted(speech, Played::Words("Your balance".to_owned()), call.now_ms());
    assert_eq!(read(reply).await.0, "As I said.");
    let asked: Vec<_> = model.requests()[1].messages.iter().map(crate::support::line).collect();
    assert_eq!(asked, ["user \"My balance?\"", "assistant \"Your balance\" speechInterrupted", "user \"...\""]);
}
