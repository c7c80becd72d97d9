use serde_json::Value;
use verbale::call::{CallSession, Played, Reply, SpeechId};

/// Handles a message of Twilio. Returns the reply to send as text tokens, if there is one. `spoken` is the last speech.
fn on_message(
    call: &CallSession,
    spoken: &mut Option<SpeechId>,
    message: &Value,
) -> Result<Option<Reply>, Box<dyn std::error::Error>> {
    let now_ms = call.now_ms();
    let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
    match text("type").as_str() {
        "interrupt" => {
            call.caller_started_speaking(now_ms);
            if let Some(speech) = spoken.take() {
                call.playback_interrupted(speech, Played::Words(text("utteranceUntilInterrupt")), now_ms);
            }
        }
        "prompt" if message["last"] == true => {
            if let Some(speech) = spoken.take() {
                call.playback_finished(speech, now_ms);
            }
            call.caller_said(text("voicePrompt"))?;
            if call.is_answerable() {
                let reply = call.reply()?;
                *spoken = Some(reply.speech());
                return Ok(Some(reply));
            }
        }
        _ => {}
    }
    Ok(None)
}
