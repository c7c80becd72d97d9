//! Reporters whose clocks differ from the call's clock.

use verbale::call::{CallSession, Utterance};
use verbale::model::StopReason;

use crate::support::{Scripted, Step, call, pass, read, shown};

const ANSWER: &str = "Your balance is twelve euros and fifty cents. Would you like to hear more?";

fn answers() -> Scripted {
    let answer = || vec![Step::Wait(100), Step::Say(ANSWER), Step::Stop(StopReason::EndTurn)];
    Scripted::new([answer(), answer(), answer(), answer(), answer()])
}

/// Says words whose times are ahead, and whose start is reported by a clock that is `start_ahead_ms` ahead, if at all.
/// Plays the answer for a second by a clock that is `player_ahead_ms` ahead.
async fn ask(call: &CallSession, start_ahead_ms: Option<i64>, words_ahead_ms: i64, player_ahead_ms: i64) {
    if let Some(ahead_ms) = start_ahead_ms {
        call.caller_started_speaking(call.now_ms() + ahead_ms);
    }
    let started_ms = call.now_ms() + words_ahead_ms;
    pass(900).await;
    let ended_ms = call.now_ms() + words_ahead_ms;
    call.caller_said(Utterance::new("My balance?").with_times(started_ms, ended_ms)).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    call.playback_started(speech, call.now_ms() + player_ahead_ms);
    pass(1_000).await;
}

#[tokio::test(start_paused = true)]
async fn barge_in_is_not_ignored_if_the_recognition_is_ahead() {
    for (start_ahead_ms, barge_in_ahead_ms) in [(None, 0), (Some(0), 0), (Some(2_000), 2_000), (None, 2_000)] {
        let call = call(&answers());
        ask(&call, start_ahead_ms, 2_000, 0).await;
        assert!(call.caller_started_speaking(call.now_ms() + barge_in_ahead_ms).is_applied());
        assert_eq!(call.conversation().metrics().barge_ins, 1);
        assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"), "{:?}", shown(&call));
    }
}

#[tokio::test(start_paused = true)]
async fn barge_in_is_not_ignored_if_the_reports_of_speech_are_behind() {
    let call = call(&answers());
    for _ in 0..3 {
        ask(&call, Some(-3_000), 0, 0).await;
        assert!(call.caller_started_speaking(call.now_ms() - 3_000).is_applied());
        call.caller_said("").unwrap();
    }
    assert_eq!(call.conversation().metrics().barge_ins, 3);
    assert!(shown(&call)[5].contains("heard \"Your balance is\" by estimate"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn heard_text_does_not_depend_on_the_clock_of_the_player() {
    for player_ahead_ms in [0, 2_000, 40_000] {
        let call = call(&answers());
        ask(&call, Some(0), 0, player_ahead_ms).await;
        call.caller_started_speaking(call.now_ms());
        assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"), "{:?}", shown(&call));
    }
}

#[tokio::test(start_paused = true)]
async fn late_start_of_known_words_is_no_barge_in() {
    for words_ahead_ms in [0, 2_000] {
        let call = call(&answers());
        let started_ms = call.now_ms();
        ask(&call, None, words_ahead_ms, 0).await;
        assert!(!call.caller_started_speaking(started_ms).is_applied());
        let call = self::call(&answers());
        let started_ms = call.now_ms();
        ask(&call, Some(0), words_ahead_ms, 0).await;
        assert!(!call.caller_started_speaking(started_ms).is_applied());
        assert!(!call.caller_started_speaking(started_ms + 500).is_applied());
    }
}
