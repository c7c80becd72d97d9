//! Times and marks of single messages, and contradicting reports.

use verbale::call::{Played, Utterance};
use verbale::model::{Failure, StopReason, Tool, ToolContext, ToolSpec};
use verbale::{Timing, Value};

use crate::support::{
    BLANK, REPEATED, START_MS, SUPERSEDED, Scripted, Step, answer, builder, call, calls, pass, read, shown, turn,
    why_ignored, words,
};

const ANSWER: &str = "Your balance is twelve euros and fifty cents. Would you like to hear more?";

fn all_at_once() -> Vec<Step> {
    vec![Step::Wait(100), Step::Say(ANSWER), Step::Stop(StopReason::EndTurn)]
}

#[tokio::test(start_paused = true)]
async fn start_of_speech_belongs_to_the_next_words() {
    let call = call(&Scripted::default());
    let start_of = |index: usize| {
        call.conversation().read(|manager| manager.meta_messages()[index].metadata().timing(Timing::ListenStart))
    };
    call.caller_started_speaking(START_MS);
    turn(&call, "Hello").await;
    turn(&call, "Hm").await;
    assert_eq!((start_of(0), start_of(2)), (Some(START_MS), None));
    // The caller only seemed to speak.
    assert!(call.caller_started_speaking(call.now_ms()).is_applied());
    assert_eq!(why_ignored(call.caller_said(" ").unwrap()), BLANK);
    assert!(call.caller_started_speaking(call.now_ms()).is_applied());
    assert_eq!(why_ignored(call.caller_started_speaking(call.now_ms())), REPEATED);
    // The assistant speaks anyway.
    call.say("Are you there?").unwrap();
    assert!(call.caller_started_speaking(call.now_ms()).is_applied());
    assert!(shown(&call).last().unwrap().contains("speechInterrupted"));
}

#[tokio::test(start_paused = true)]
async fn heard_text_ends_at_the_start_of_the_words() {
    let call = call(&Scripted::new([all_at_once()]));
    let speech = answer(&call, "My balance?").await;
    let start_ms = call.now_ms();
    call.playback_started(speech, start_ms);
    pass(2_500).await;
    call.caller_said(Utterance::new("Stop").with_times(start_ms + 1_000, start_ms + 1_500)).unwrap();
    assert!(shown(&call)[1].contains("heard \"Your balance is\" by estimate"), "{:?}", shown(&call));
    let end_ms = call.conversation().read(|manager| manager.meta_messages()[1].metadata().timing(Timing::PlayEnd));
    assert_eq!(end_ms, Some(start_ms + 1_000));
    // A later report of the end does not override the report of the player.
    let words = Played::Words("Your balance".to_owned());
    assert!(call.playback_interrupted(speech, words, start_ms + 1_000).is_applied());
    assert_eq!(why_ignored(call.playback_finished(speech, start_ms + 900)), SUPERSEDED);
}

#[tokio::test(start_paused = true)]
async fn apology_after_generated_words_is_not_marked_as_hardcoded() {
    let broken = vec![Step::Say("Your balance is"), Step::Fail(Failure::Cut)];
    let call = call(&Scripted::new([broken, vec![Step::Fail(Failure::Denied(String::new()))]]));
    call.caller_said("My balance?").unwrap();
    read(call.reply().unwrap()).await;
    assert!(shown(&call)[1].ends_with("please?\" llmInterrupted"), "{:?}", shown(&call));
    call.caller_said("My balance?").unwrap();
    read(call.reply().unwrap()).await;
    assert!(shown(&call)[3].ends_with("please?\" hardcoded"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn repeated_id_of_maximum_length_is_replaced() {
    const LONGEST: &str = "c123456789012345678901234567890123456789012345678901234567890123";
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let quick = |_: Value, _: ToolContext| async { Ok(vec!["done".into()]) };
    let model = Scripted::new([calls("", LONGEST, "quick"), calls("", LONGEST, "quick"), words("It is done.")]);
    let call =
        builder(&model).tool(Tool::raw(ToolSpec::new("quick", "It does it.", schema).unwrap(), quick)).open().unwrap();
    call.caller_said("Twice, please").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "It is done.");
    assert_eq!(shown(&call)[3], format!("assistant call({}-2)", &LONGEST[..56]));
}
