use serde_json::{Value, json};
use verbale::call::{CallSession, Played, SpeechId};

/// A speech that Twilio plays: the sent pieces, each followed by a mark.
struct Playing {
    speech: SpeechId,
    pieces: Vec<String>,
    played: usize,
    is_complete: bool,
}

/// Returns the name of the mark after a piece.
fn mark(speech: SpeechId, piece: usize) -> String {
    format!("{speech}/{piece}")
}

/// Handles a mark that came back.
fn on_mark(call: &CallSession, playing: &mut Option<Playing>, message: &Value) {
    if let Some(now) = playing
        && message["mark"]["name"] == mark(now.speech, now.played)
    {
        now.played += 1;
        report_if_finished(call, playing);
    }
}

/// Handles the end of the reply, which may come after its last mark.
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

/// Handles the start of the caller's speech. Returns the message for Twilio if something is being played.
fn on_speech(call: &CallSession, playing: &mut Option<Playing>, stream_sid: &str) -> Option<Value> {
    let now_ms = call.now_ms();
    call.caller_started_speaking(now_ms);
    // The count is taken before `clear`, which sends all marks back.
    let cut = playing.take()?;
    let heard = cut.pieces.iter().take(cut.played).cloned().collect();
    call.playback_interrupted(cut.speech, Played::Words(heard), now_ms);
    Some(json!({"event": "clear", "streamSid": stream_sid}))
}
