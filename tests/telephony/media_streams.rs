use serde_json::{Value, json};
use verbale::call::{CallSession, Played, SpeechId};

/// What Twilio plays: the pieces that were sent, each with a mark behind it.
struct Playing {
    speech: SpeechId,
    pieces: Vec<String>,
    played: usize,
    is_complete: bool,
}

/// The name of the mark behind a piece.
fn mark(speech: SpeechId, piece: usize) -> String {
    format!("{speech}/{piece}")
}

/// A mark came back.
fn on_mark(call: &CallSession, playing: &mut Option<Playing>, message: &Value) {
    if let Some(now) = playing
        && message["mark"]["name"] == mark(now.speech, now.played)
    {
        now.played += 1;
        report_if_finished(call, playing);
    }
}

/// The reply gives no more sentences. It may be later than its last mark.
fn on_end_of_reply(call: &CallSession, playing: &mut Option<Playing>) {
    if let Some(now) = playing {
        now.is_complete = true;
        report_if_finished(call, playing);
    }
}

fn report_if_finished(call: &CallSession, playing: &mut Option<Playing>) {
    if let Some(now) = playing.take_if(|now| now.is_complete && now.played == now.pieces.len()) {
        call.playback_finished(now.speech, call.now_ms());
    }
}

/// The speech recognition hears the caller: what is to be sent to Twilio, if anything is played.
fn on_speech(call: &CallSession, playing: &mut Option<Playing>, stream_sid: &str) -> Option<Value> {
    let now_ms = call.now_ms();
    call.caller_started_speaking(now_ms);
    // Before `clear`, which sends all marks back.
    let cut = playing.take()?;
    let heard = cut.pieces.iter().take(cut.played).cloned().collect();
    call.playback_interrupted(cut.speech, Played::Words(heard), now_ms);
    Some(json!({"event": "clear", "streamSid": stream_sid}))
}
