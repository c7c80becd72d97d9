use serde_json::Value;
use verbale::call::{CallSession, Played, SpeechId, Utterance};

/// The played part of a speech, added up from its segments.
struct Playing {
    speech: SpeechId,
    words: String,
    played_s: f64,
}

/// Converts seconds to milliseconds.
fn ms(seconds: f64) -> i64 {
    (seconds * 1_000.0).round() as i64
}

/// Handles an event of the worker. Your worker chooses the `type` of the events of the audio output.
fn on_event(call: &CallSession, playing: &mut Playing, event: &Value) -> Result<(), Box<dyn std::error::Error>> {
    let at_ms = event["created_at"].as_f64().map_or_else(|| call.now_ms(), ms);
    match event["type"].as_str().unwrap_or_default() {
        "user_state_changed" if event["new_state"] == "speaking" => {
            call.caller_started_speaking(at_ms);
        }
        "user_input_transcribed" if event["is_final"] == true => {
            call.caller_said(Utterance::new(event["transcript"].as_str().unwrap_or_default()))?;
        }
        "playback_started" => {
            call.playback_started(playing.speech, at_ms);
        }
        "playback_finished" => {
            playing.played_s += event["playback_position"].as_f64().unwrap_or_default();
            let words = event["synchronized_transcript"].as_str();
            playing.words.push_str(words.unwrap_or_default());
            if event["interrupted"] == true {
                let played = match words {
                    Some(_) => Played::Words(playing.words.clone()),
                    None => Played::For { played_ms: ms(playing.played_s).unsigned_abs(), total_ms: None },
                };
                call.playback_interrupted(playing.speech, played, at_ms);
            }
        }
        // Your worker sends it when the `SpeechHandle` is done. It is ignored after an interruption.
        "speech_done" => {
            call.playback_finished(playing.speech, at_ms);
        }
        _ => {}
    }
    Ok(())
}
