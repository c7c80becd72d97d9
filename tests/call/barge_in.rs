//! Barge-ins: the request is cancelled, and reports refine the heard text, however late they come.

use verbale::Timing;
use verbale::call::{Played, ReplyEnd};
use verbale::model::StopReason;

use crate::support::{
    REPEATED, SUPERSEDED, Scripted, Step, answer, call, pass, read, shown, turn, why_ignored, window, words,
};

const ANSWER: &str = "Your balance is twelve euros and fifty cents. Would you like to hear more?";

fn all_at_once() -> Vec<Step> {
    vec![Step::Wait(100), Step::Say(ANSWER), Step::Stop(StopReason::EndTurn)]
}

#[tokio::test(start_paused = true)]
async fn more_exact_reports_replace_the_estimate() {
    let model = Scripted::new([all_at_once(), words("Yes?")]);
    let call = call(&model);
    let speech = answer(&call, "My balance?").await;
    let start_ms = call.now_ms();
    call.playback_started(speech, start_ms);
    pass(1_000).await;
    assert!(call.caller_started_speaking(start_ms + 1_000).is_applied());
    // 15 of 74 bytes, rounded down to a whole word.
    let heard = |what: &str| format!("assistant {ANSWER:?} heard {what} speechInterrupted");
    assert_eq!(shown(&call)[1], heard("\"Your balance is\" by estimate"));
    let at_ms = start_ms + 1_010;
    let played = |played_ms| Played::For { played_ms, total_ms: Some(5_000) };
    assert!(call.playback_interrupted(speech, played(2_000), at_ms).is_applied());
    assert_eq!(shown(&call)[1], heard("\"Your balance is twelve euros\" by playbackTime"));
    assert_eq!(why_ignored(call.playback_interrupted(speech, played(2_000), at_ms)), REPEATED);
    // The word times arrive after the next turn has begun.
    call.caller_said("Stop, please").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "Yes?");
    let words = Played::Words("Your balance is twelve".to_owned());
    assert!(call.playback_interrupted(speech, words, at_ms).is_applied());
    assert_eq!(shown(&call)[1], heard("\"Your balance is twelve\" by wordTiming"));
    assert_eq!(why_ignored(call.playback_interrupted(speech, played(4_000), at_ms)), SUPERSEDED);
    assert_eq!(why_ignored(call.playback_finished(speech, at_ms + 1)), SUPERSEDED);
    assert_eq!(
        window(&call),
        [
            "user \"My balance?\"",
            "assistant \"Your balance is twelve\" speechInterrupted",
            "user \"Stop, please\"",
            "assistant \"Yes?\""
        ]
    );
    let asked = &model.requests()[1].messages;
    assert_eq!(crate::support::line(&asked[1]), "assistant \"Your balance is twelve euros\" speechInterrupted");
}

#[tokio::test(start_paused = true)]
async fn end_of_dropped_audio_is_not_the_end_of_the_speech() {
    let model = Scripted::new([all_at_once()]);
    let call = call(&model);
    let speech = answer(&call, "My balance?").await;
    let start_ms = call.now_ms();
    call.playback_started(speech, start_ms);
    pass(1_000).await;
    call.caller_started_speaking(start_ms + 1_000);
    assert_eq!(why_ignored(call.playback_finished(speech, start_ms + 1_020)), SUPERSEDED);
    assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"));
    // The speech had ended before the barge-in; the report was late.
    assert!(call.playback_finished(speech, start_ms + 990).is_applied());
    assert_eq!(window(&call)[1], format!("assistant {ANSWER:?} speechInterrupted"));
}

#[tokio::test(start_paused = true)]
async fn late_start_of_playback_renews_the_estimate() {
    let call = call(&Scripted::new([all_at_once()]));
    let speech = answer(&call, "My balance?").await;
    let start_ms = call.now_ms();
    pass(1_000).await;
    call.caller_started_speaking(start_ms + 1_000);
    // Until then, playback counts from when the words were handed out.
    assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"));
    let played = || {
        call.conversation().read(|manager| {
            let metadata = manager.meta_messages()[1].metadata();
            [Timing::PlayStart, Timing::PlayEnd].map(|timing| metadata.timing(timing).map(|ms| ms - start_ms))
        })
    };
    assert_eq!(played(), [None, Some(1_000)]);
    assert!(call.playback_started(speech, start_ms + 500).is_applied());
    assert_eq!(played(), [Some(500), Some(1_000)]);
    assert!(shown(&call)[1].contains("heard \"Your\" by estimate"));
}

#[tokio::test(start_paused = true)]
async fn player_may_report_the_barge_in_first() {
    let model = Scripted::new([words(ANSWER)]);
    let call = call(&model);
    call.caller_said("My balance?").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    pass(225).await;
    let words = Played::Words("Your".to_owned());
    assert!(call.playback_interrupted(speech, words, call.now_ms()).is_applied());
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    tokio::task::yield_now().await;
    assert_eq!(model.cancelled(), 1);
    assert_eq!(
        shown(&call)[1],
        "assistant \"Your balance is \" heard \"Your\" by wordTiming llmInterrupted speechInterrupted"
    );
}

#[tokio::test(start_paused = true)]
async fn speeches_in_one_message_have_their_own_reports() {
    let call = call(&Scripted::default());
    let first = call.say("Good morning.").unwrap();
    let second = call.say("This call is recorded.").unwrap();
    call.playback_started(first, call.now_ms());
    pass(400).await;
    call.caller_started_speaking(call.now_ms());
    let line = |heard: &str| {
        format!("assistant \"Good morning.\" \"This call is recorded.\" heard {heard} hardcoded speechInterrupted")
    };
    assert_eq!(shown(&call)[1], line("\"Good\" by estimate"));
    // The first speech was played, and the second had not started.
    assert!(call.playback_finished(first, call.now_ms() - 1).is_applied());
    assert_eq!(shown(&call)[1], line("\"Good morning.\" by estimate"));
    let words = Played::Words("This call".to_owned());
    assert!(call.playback_interrupted(second, words, call.now_ms()).is_applied());
    assert_eq!(shown(&call)[1], line("\"Good morning.This call\" by wordTiming"));
}

#[tokio::test(start_paused = true)]
async fn rate_of_speech_is_measured() {
    let call = call(&Scripted::new([all_at_once(), all_at_once()]));
    // 74 bytes in 2.5 s are twice the default rate.
    let speech = answer(&call, "My balance?").await;
    call.playback_started(speech, call.now_ms());
    call.playback_finished(speech, call.now_ms() + 2_500);
    let speech = answer(&call, "Again?").await;
    call.playback_started(speech, call.now_ms());
    pass(1_000).await;
    call.caller_started_speaking(call.now_ms());
    assert!(shown(&call)[3].contains("heard \"Your balance is twelve euros\" by estimate"), "{:?}", shown(&call));
}

#[tokio::test]
async fn barge_in_cancels_the_request_at_once() {
    let model = Scripted::new([vec![Step::Say("One "), Step::Hang]]);
    let call = call(&model);
    call.caller_said("Hello").unwrap();
    let mut reply = call.reply().unwrap();
    reply.next().await;
    call.caller_started_speaking(call.now_ms());
    // The first time that another task runs.
    tokio::task::yield_now().await;
    assert_eq!(model.cancelled(), 1);
    assert_eq!(turn(&call, "Hello?").await.0, "okay");
}
