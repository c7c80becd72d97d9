//! Reports of playback that differ from the text, through a call.

use verbale::call::{CallSession, Played, ReplyEvent, SpeechId};
use verbale::model::StopReason;

use crate::support::{Scripted, Step, answer, call, pass, shown};

fn at_once(text: &'static str) -> Scripted {
    Scripted::new([vec![Step::Wait(100), Step::Say(text), Step::Stop(StopReason::EndTurn)]])
}

/// Returns what was heard of the answer.
fn heard(call: &CallSession) -> String {
    let line = shown(call).pop().unwrap();
    line.split_once(" heard ").map_or_else(|| "all".to_owned(), |(_, heard)| heard.replace(" speechInterrupted", ""))
}

async fn heard_of(text: &'static str, played: Played) -> String {
    let call = call(&at_once(text));
    let speech = answer(&call, "Hello").await;
    call.playback_started(speech, call.now_ms());
    pass(2_000).await;
    assert!(call.playback_interrupted(speech, played, call.now_ms()).is_applied());
    heard(&call)
}

fn words(words: &str) -> Played {
    Played::Words(words.to_owned())
}

#[tokio::test(start_paused = true)]
async fn chinese_is_heard_by_time() {
    let text = "您的余额是12.50元，请在3月5日下午2点30分之前付款。谢谢您的来电。";
    let heard = async |played_ms| heard_of(text, Played::For { played_ms, total_ms: Some(16_287) }).await;
    assert_eq!(heard(16_150).await, "all");
    let most = heard(15_000).await;
    assert!(most.starts_with("\"您的余额是12.50元，请在3月5日下午2点30分之前付款。谢谢您"), "{most}");
    assert_eq!(heard(1_300).await, "\"您的\" by playbackTime");
}

#[tokio::test(start_paused = true)]
async fn length_of_the_speech_is_estimated_if_it_is_not_reported() {
    let text = "Your table is booked for tonight at seven.";
    let heard = async |played_ms| heard_of(text, Played::For { played_ms, total_ms: None }).await;
    assert_eq!(heard(0).await, "\"\" by playbackTime");
    // Five syllables.
    assert_eq!(heard(1_000).await, "\"Your table is booked\" by playbackTime");
    assert_eq!(heard(60_000).await, "all");
}

#[tokio::test(start_paused = true)]
async fn numbers_may_be_reported_as_words() {
    for (text, played, expected) in [
        ("It costs $12.50 a month.", "It costs twelve dollars fifty a", "\"It costs $12.50 a\""),
        ("Das kostet 12,50 € im Monat.", "das kostet zwölf euro fünfzig im", "\"Das kostet 12,50 € im\""),
        ("Sono 21 euro al mese.", "sono ventuno euro al", "\"Sono 21 euro al\""),
        ("Son 345 euros al mes.", "son trescientos cuarenta y cinco euros", "\"Son 345 euros\""),
        ("C'est 91 euros par mois.", "c'est quatre-vingt-onze euros", "\"C'est 91 euros\""),
        ("São 250 euros por mês.", "são duzentos e cinquenta euros", "\"São 250 euros\""),
        ("一共12元，谢谢。", "一共 十二 元", "\"一共12元，\""),
        // Swedish: by position.
        ("Det kostar 12 kronor i månaden.", "det kostar tolv kronor", "\"Det kostar 12 kronor\""),
    ] {
        assert_eq!(heard_of(text, words(played)).await, format!("{expected} by wordTiming"));
    }
}

#[tokio::test(start_paused = true)]
async fn differing_mark_does_not_void_the_report() {
    for (text, played, expected) in [
        ("Your café is open until five today.", "Your cafe\u{301} is open", "Your café is open"),
        ("Your cafe\u{301} is open until five.", "your CAFÉ is", "Your cafe\u{301} is"),
        ("Your table is booked for tonight.", "Your chair is booked", "Your table is booked"),
        ("Your table is booked for tonight.", "Your table booked for", "Your table is booked for"),
        ("I cannot change the booking.", "I can", "I"),
        ("I cannot change the booking.", "I c a n n o t c h a n g e", "I cannot change"),
    ] {
        assert_eq!(heard_of(text, words(played)).await, format!("{expected:?} by wordTiming"));
    }
    let text = "Your table is booked for tonight, and we look forward to seeing you.";
    let other = heard_of(text, words("Good morning, how may I help you?")).await;
    assert!(other.ends_with("by estimate"), "{other}");
}

#[tokio::test(start_paused = true)]
async fn playback_counts_from_the_first_words_without_a_report_of_its_start() {
    // The caller waited for the end, and nothing was interrupted.
    let call = call(&at_once("Your table is booked."));
    call.caller_said("Hello").unwrap();
    let mut reply = call.reply().unwrap();
    while reply.next_sentence().await.is_some() {}
    pass(8_000).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(shown(&call)[1], "assistant \"Your table is booked.\"");
    assert_eq!(call.conversation().metrics().barge_ins, 0);
}

#[tokio::test(start_paused = true)]
async fn playback_counts_from_the_first_sentence_and_not_from_the_answer() {
    let text = "Your table is booked for tonight at eight, and we look forward to it.";
    let wait = 5_000;
    for takes_sentences in [true, false] {
        let call = call(&at_once(text));
        call.caller_said("Hello").unwrap();
        let mut reply = call.reply().unwrap();
        // The service takes the first words late.
        pass(wait).await;
        if takes_sentences {
            reply.next_sentence().await.unwrap();
        } else {
            assert!(matches!(reply.next().await, Some(ReplyEvent::Text(_))));
        }
        pass(1_200).await;
        call.caller_started_speaking(call.now_ms());
        assert_eq!(heard(&call), "\"Your table is booked for\" by estimate");
        assert_eq!(call.conversation().metrics().barge_ins, 1);
    }
    // A reply that nobody reads is not played.
    let call = call(&at_once(text));
    call.caller_said("Hello").unwrap();
    let _reply = call.reply().unwrap();
    pass(wait).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(heard(&call), "\"\" by estimate");
}

#[tokio::test(start_paused = true)]
async fn greeting_counts_from_its_report() {
    let call = call(&Scripted::default());
    call.say("Good morning, this is the service desk. How can I help you?").unwrap();
    pass(800).await;
    call.caller_started_speaking(call.now_ms());
    assert!(heard(&call).starts_with("\"Good morning,\" by estimate"), "{}", heard(&call));
}

fn play(call: &CallSession, speech: SpeechId, ms: i64) {
    call.playback_started(speech, call.now_ms());
    call.playback_finished(speech, call.now_ms() + ms);
}

#[tokio::test(start_paused = true)]
async fn rate_is_learned_from_what_is_said() {
    let call = call(&Scripted::default());
    // Much slower than usual: numbers take their time.
    let speech = call.say("Your number is 48213, and the code is 9071.").unwrap();
    play(&call, speech, 8_600);
    let speech = call.say("It costs $1,250.75 in 2026, all included, and that is the last price.").unwrap();
    call.playback_started(speech, call.now_ms());
    pass(7_000).await;
    call.caller_started_speaking(call.now_ms());
    let heard = heard(&call);
    assert!(heard.contains("It costs $1,250.75 in\" by estimate") || heard.contains("2026,\" by"), "{heard}");
}
