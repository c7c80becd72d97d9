//! Each row of the event table in the documentation of `call`.

use std::time::Duration;

use verbale::MessageWrapper;
use verbale::MessagesManager;
use verbale::Timing;
use verbale::call::{CallSession, CallSettings, Played, ReplyEnd, ReplyEvent, Utterance};
use verbale::conversation::ConversationErrorKind;
use verbale::model::{StopReason, Tool};

use crate::support::{
    BLANK, CLOSED, REPEATED, START_MS, STILL_GENERATED, SUPERSEDED, Scripted, Step, UNKNOWN_SPEECH, answer, builder,
    call, pass, read, shown, turn, why_ignored, window, words,
};

#[tokio::test(start_paused = true)]
async fn turn_has_all_its_times() {
    let model = Scripted::new([words("I am fine, and you?")]);
    let call = builder(&model).system("You answer the phone.").open().unwrap();
    call.caller_started_speaking(START_MS + 100);
    pass(900).await;
    let said = Utterance::new("How are you?")
        .with_times(START_MS + 120, START_MS + 800)
        .with_confidence(0.5)
        .with_data("recognizer", "r-7");
    assert!(call.caller_said(said).unwrap().is_applied());
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await, ("I am fine, and you?".to_owned(), ReplyEnd::Complete(StopReason::EndTurn)));
    call.playback_started(speech, START_MS + 1_300);
    call.playback_finished(speech, START_MS + 3_000);
    assert_eq!(
        shown(&call),
        ["system \"You answer the phone.\"", "user \"How are you?\"", "assistant \"I am fine, and you?\""]
    );
    let times = |index: usize| {
        call.conversation().read(|manager| {
            let all = manager.meta_messages()[index].metadata().timings().map(|(timing, ms)| (timing, ms - START_MS));
            all.filter(|(timing, _)| *timing != Timing::Creation).collect::<Vec<_>>()
        })
    };
    assert_eq!(times(1), [(Timing::ListenStart, 120), (Timing::ListenEnd, 800)]);
    let answer = [
        (Timing::LlmStart, 900),
        (Timing::LlmFirstToken, 1_100),
        (Timing::LlmEnd, 1_150),
        (Timing::PlayStart, 1_300),
        (Timing::PlayEnd, 3_000),
    ];
    assert_eq!(times(2), answer);
    let request = &model.requests()[0];
    assert_eq!(request.system, ["You answer the phone."]);
    assert_eq!(request.messages.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn start_of_speech_is_kept_or_is_a_barge_in() {
    let model = Scripted::new([words("I am fine, and you?"), vec![Step::Hang]]);
    let call = call(&model);
    // No reply is running and no speech is open, so the time is kept, once.
    assert!(call.caller_started_speaking(START_MS).is_applied());
    assert_eq!(why_ignored(call.caller_started_speaking(START_MS + 5)), REPEATED);
    turn(&call, "How are you?").await;
    // Everything was played, so nothing is interrupted.
    call.caller_started_speaking(call.now_ms());
    assert_eq!(shown(&call)[1], "assistant \"I am fine, and you?\"");
    // Before the first token, no message is added.
    call.caller_said("Hm").unwrap();
    let reply = call.reply().unwrap();
    pass(500).await;
    assert!(call.caller_started_speaking(call.now_ms()).is_applied());
    assert_eq!(read(reply).await, (String::new(), ReplyEnd::Interrupted));
    tokio::task::yield_now().await;
    assert_eq!(model.cancelled(), 1);
    assert_eq!(shown(&call).len(), 3);
    assert_eq!(shown(&call)[2], "user \"Hm\"");
}

#[tokio::test(start_paused = true)]
async fn words_are_added_merged_or_ignored() {
    let model = Scripted::new([words("I am fine, and you?"), words("Good."), words("Yes.")]);
    let call = call(&model);
    let said = || Utterance::new("Hello").with_times(START_MS, START_MS + 10);
    assert!(call.caller_said(said()).unwrap().is_applied());
    assert_eq!(why_ignored(call.caller_said(said()).unwrap()), REPEATED);
    assert_eq!(why_ignored(call.caller_said(" \u{200b}").unwrap()), BLANK);
    assert!(call.caller_said("how are you?").unwrap().is_applied());
    assert_eq!(shown(&call), ["user \"Hello\" \"how are you?\""]);
    // Words without a reported start are a barge-in while a reply is running.
    let reply = call.reply().unwrap();
    pass(215).await;
    assert!(call.caller_said("wait").unwrap().is_applied());
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    assert_eq!(
        shown(&call)[1..],
        ["assistant \"I am \" heard \"\" by estimate llmInterrupted speechInterrupted", "user \"wait\""]
    );
    assert_eq!(window(&call), ["user \"Hello\" \"how are you?\" \"wait\""]);
}

#[tokio::test(start_paused = true)]
async fn doubtful_words_are_answered_with_a_request_to_repeat() {
    let model = Scripted::new([words("Good.")]);
    let settings = CallSettings::default().with_ask_to_repeat(0.4, "Pardon?");
    let call = builder(&model).settings(settings).open().unwrap();
    call.caller_said(Utterance::new("mumble").with_confidence(0.2)).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await, ("Pardon?".to_owned(), ReplyEnd::AskedToRepeat));
    assert_eq!(model.requests().len(), 0);
    assert_eq!(shown(&call), ["user \"mumble\"", "assistant \"Pardon?\" hardcoded"]);
    call.playback_finished(speech, call.now_ms());
    call.caller_said(Utterance::new("my balance").with_confidence(0.9)).unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "Good.");
}

#[tokio::test(start_paused = true)]
async fn doubtful_words_stay_doubtful_after_a_takeover() {
    let settings = || CallSettings::default().with_ask_to_repeat(0.4, "Pardon?");
    let model = Scripted::new([words("Good.")]);
    let call = builder(&model).settings(settings()).open().unwrap();
    call.caller_said(Utterance::new("mumble").with_confidence(0.2)).unwrap();
    let resume = |call: &CallSession| {
        let manager = call.conversation().read(|manager| MessagesManager::restore(manager.records()).unwrap());
        builder(&model).settings(settings()).resume(manager).unwrap()
    };
    let second = resume(&call);
    assert_eq!(read(second.reply().unwrap()).await.1, ReplyEnd::AskedToRepeat);
    // The caller was asked already.
    let third = resume(&second);
    assert_eq!(read(third.reply().unwrap()).await.0, "Good.");
}

#[tokio::test(start_paused = true)]
async fn doubtful_part_stays_doubtful_when_a_clear_one_follows() {
    let settings = CallSettings::default().with_ask_to_repeat(0.4, "Pardon?");
    let call = builder(&Scripted::new([words("Good.")])).settings(settings).open().unwrap();
    let start_ms = call.now_ms();
    call.caller_said(Utterance::new("mumble").with_confidence(0.2).with_times(start_ms, start_ms + 400)).unwrap();
    call.caller_said(Utterance::new("my").with_confidence(0.93).with_times(start_ms + 900, start_ms + 999)).unwrap();
    assert_eq!(read(call.reply().unwrap()).await.1, ReplyEnd::AskedToRepeat);
    call.conversation().read(|manager| {
        let record = serde_json::to_value(&manager.records()[0]).unwrap();
        let part = |index: usize| {
            let part = &record["metadata"]["parts"][index];
            (part["confidence"].to_string(), part["listenStart"].as_i64(), part["listenEnd"].as_i64())
        };
        // In milliseconds after the creation.
        assert_eq!(part(0), ("0.2".to_owned(), Some(0), Some(400)));
        assert_eq!(part(1), ("0.93".to_owned(), Some(900), Some(999)));
    });
    // Times in seconds are refused, and no message is added.
    let said = Utterance::new("my balance").with_times(1_744_815_823, 1_744_815_824);
    let before = shown(&call);
    assert!(call.caller_said(said).is_err());
    assert_eq!(shown(&call), before);
}

#[tokio::test(start_paused = true)]
async fn reply_needs_something_to_answer() {
    let model = Scripted::new([words("Good.")]);
    let call = call(&model);
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::NothingToAnswer);
    call.say("Hello!").unwrap();
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::NothingToAnswer);
    call.caller_said("Hi").unwrap();
    let reply = call.reply().unwrap();
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::InUse);
    assert_eq!(call.say("Hm").unwrap_err().kind(), ConversationErrorKind::InUse);
    read(reply).await;
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::NothingToAnswer);
}

#[tokio::test(start_paused = true)]
async fn fixed_sentence_is_no_answer() {
    let model = Scripted::new([words("Good.")]);
    let call = call(&model);
    call.caller_said("How are you?").unwrap();
    call.say("One moment.").unwrap();
    assert!(call.is_answerable());
    assert_eq!(read(call.reply().unwrap()).await.0, "Good.");
    assert_eq!(shown(&call)[1..], ["assistant \"One moment.\" hardcoded", "assistant \"Good.\""]);
    assert_eq!(window(&call)[1], "assistant \"One moment.\" \"Good.\" hardcoded");
    let asked: Vec<String> = model.requests()[0].messages.iter().map(crate::support::line).collect();
    assert_eq!(asked, ["user \"How are you?\"", "assistant \"One moment.\" hardcoded", "user \"...\""]);
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::NothingToAnswer);
}

#[tokio::test(start_paused = true)]
async fn dropped_reply_stops_the_model() {
    let model = Scripted::new([words("I am fine, and you?"), words("Good.")]);
    let call = call(&model);
    call.caller_said("Hello").unwrap();
    let mut reply = call.reply().unwrap();
    assert_eq!(reply.next().await, Some(ReplyEvent::Text("I ".into())));
    drop(reply);
    pass(1).await;
    assert_eq!(model.cancelled(), 1);
    assert_eq!(shown(&call), ["user \"Hello\"", "assistant \"I \" llmInterrupted"]);
}

#[tokio::test(start_paused = true)]
async fn reports_of_playback_are_applied_once() {
    let model = Scripted::new([words("I am fine, and you?")]);
    let call = call(&model);
    call.caller_said("Hello").unwrap();
    let mut reply = call.reply().unwrap();
    let speech = reply.speech();
    reply.next().await;
    let now_ms = call.now_ms();
    assert!(call.playback_started(speech, now_ms).is_applied());
    assert_eq!(why_ignored(call.playback_started(speech, now_ms + 1)), REPEATED);
    assert_eq!(why_ignored(call.playback_finished(speech, now_ms)), STILL_GENERATED);
    read(reply).await;
    assert!(call.playback_finished(speech, now_ms + 900).is_applied());
    assert_eq!(why_ignored(call.playback_finished(speech, now_ms + 900)), REPEATED);
    assert_eq!(why_ignored(call.playback_interrupted(speech, Played::Unknown, now_ms + 950)), SUPERSEDED);
    let other = {
        let other = crate::support::call(&Scripted::default());
        other.say("a").unwrap();
        other.say("b").unwrap()
    };
    assert_eq!(why_ignored(call.playback_started(other, 1)), UNKNOWN_SPEECH);
    assert_eq!(why_ignored(call.playback_finished(other, 1)), UNKNOWN_SPEECH);
    assert_eq!(why_ignored(call.playback_interrupted(other, Played::Unknown, 1)), UNKNOWN_SPEECH);
}

#[tokio::test(start_paused = true)]
async fn closed_call_ignores_all_events() {
    let model = Scripted::new([words("I am fine, and you?")]);
    let call = call(&model);
    call.caller_said("Hello").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    pass(215).await;
    let closed = call.close("hangup", Duration::from_secs(1)).await.unwrap();
    assert!(closed.unstored.is_empty() && closed.not_accepted.is_none());
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    tokio::task::yield_now().await;
    assert_eq!(model.cancelled(), 1);
    let before = shown(&call);
    assert_eq!(before[1], "assistant \"I am \" heard \"\" by estimate llmInterrupted speechInterrupted");
    assert_eq!(why_ignored(call.caller_started_speaking(1)), CLOSED);
    assert_eq!(why_ignored(call.caller_said("Hello?").unwrap()), CLOSED);
    assert_eq!(why_ignored(call.playback_started(speech, 1)), CLOSED);
    assert_eq!(why_ignored(call.playback_finished(speech, 1)), CLOSED);
    assert_eq!(why_ignored(call.playback_interrupted(speech, Played::Unknown, 1)), CLOSED);
    assert_eq!(call.reply().unwrap_err().kind(), ConversationErrorKind::Closed);
    assert_eq!(call.say("Hm").unwrap_err().kind(), ConversationErrorKind::Closed);
    call.close("hangup", Duration::from_secs(1)).await.unwrap();
    assert_eq!(shown(&call), before);
}

#[tokio::test(start_paused = true)]
async fn only_the_last_64_speeches_are_known() {
    let call = call(&Scripted::default());
    let speeches: Vec<_> = (0..65).map(|number| call.say(format!("Sentence {number}.")).unwrap()).collect();
    assert_eq!(why_ignored(call.playback_finished(speeches[0], call.now_ms())), UNKNOWN_SPEECH);
    assert!(call.playback_finished(speeches[1], call.now_ms()).is_applied());
}

#[tokio::test(start_paused = true)]
async fn report_updates_a_message_that_a_summary_covers() {
    let policy = verbale::Policy::default().with_tokens(None).with_messages(2..=4).with_keep_turns(1);
    let long = "Your order was sent three weeks ago, and it should have come by now, I am sorry to say.";
    let model = Scripted::new((0..5).map(|_| vec![Step::Say(long), Step::Stop(StopReason::EndTurn)]));
    let call = builder(&model).config(|config| config.with_policy(policy)).open().unwrap();
    let speech = answer(&call, "I would like to know what became of my last order, please.").await;
    call.playback_started(speech, call.now_ms());
    pass(3_000).await;
    for _ in 0..3 {
        turn(&call, "I would like to know what became of my last order, please.").await;
    }
    assert!(shown(&call)[2..].iter().any(|line| line.starts_with("summary")), "{:?}", shown(&call));
    let revision = || call.conversation().read(|manager| manager.meta_messages()[1].message().revision());
    let (before, seen) = (revision(), window(&call));
    let words = Played::Words("Your order was sent".to_owned());
    assert!(call.playback_interrupted(speech, words, call.now_ms()).is_applied());
    assert!(shown(&call)[1].contains("heard \"Your order was sent\" by wordTiming"));
    assert!(revision() > before);
    assert_eq!(window(&call), seen);
}

#[tokio::test(start_paused = true)]
async fn result_during_another_reply_is_in_the_next_request() {
    let slow = |_: verbale::Value, _: verbale::model::ToolContext| async {
        pass(2_000).await;
        Ok(vec!["done".into()])
    };
    let schema = verbale::Value::map([("type", verbale::Value::from("object"))]).unwrap();
    let spec = verbale::model::ToolSpec::new("transfer", "It transfers.", schema).unwrap();
    let long = vec![Step::Wait(3_000), Step::Say("It runs."), Step::Stop(StopReason::EndTurn)];
    let model = Scripted::new([crate::support::calls("One moment. ", "c1", "transfer"), long, words("It is done.")]);
    let call = builder(&model).tool(Tool::raw(spec, slow)).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    let _reply = call.reply().unwrap();
    pass(500).await;
    call.caller_said("Did you?").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, "It runs.");
    assert_eq!(shown(&call)[2..], ["user \"Did you?\" result(c1: done)", "assistant \"It runs.\""],);
    call.playback_finished(speech, call.now_ms());
    turn(&call, "And now?").await;
    let record = |index: usize| model.requests()[index].memory.clone().unwrap();
    assert!(record(1).contains("#1 transfer running"));
    // The words in between did not report the outcome.
    assert!(record(2).contains("#1 transfer succeeded callerKnows=false"));
    turn(&call, "Well").await;
    assert_eq!(model.requests()[3].memory, None);
}

#[tokio::test(start_paused = true)]
async fn events_with_times_in_seconds_are_ignored() {
    const SECONDS: i64 = 1_744_815_823;
    const IN_SECONDS: &str =
        "its time is in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000";
    let call = call(&Scripted::new([]));
    let greeting = call.say("Good morning").unwrap();
    assert_eq!(why_ignored(call.playback_started(greeting, SECONDS)), IN_SECONDS);
    assert_eq!(why_ignored(call.caller_started_speaking(SECONDS)), IN_SECONDS);
    let played = Played::Words("Good".into());
    assert_eq!(why_ignored(call.playback_interrupted(greeting, played, SECONDS)), IN_SECONDS);
    assert_eq!(why_ignored(call.playback_finished(greeting, SECONDS)), IN_SECONDS);
    assert_eq!(shown(&call), ["user \"...\" fake", "assistant \"Good morning\" hardcoded"]);
    // The events take effect at the right times.
    assert!(call.playback_started(greeting, START_MS).is_applied());
    assert!(call.playback_finished(greeting, START_MS + 900).is_applied());
}
