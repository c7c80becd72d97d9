use serde_json::{Value, json};
use verbale::call::{CallSession, ReplyEvent, Utterance};

/// Handles a turn: takes the event of the Lambda function and returns its response.
async fn on_turn(call: &CallSession, event: &Value) -> Result<Value, Box<dyn std::error::Error>> {
    let mut utterance = Utterance::new(event["inputTranscript"].as_str().unwrap_or_default());
    if let Some(confidence) = event["transcriptions"][0]["transcriptionConfidence"].as_f64() {
        utterance = utterance.with_confidence(confidence as f32);
    }
    call.caller_said(utterance)?;
    let mut answer = String::new();
    if call.is_answerable() {
        let mut reply = call.reply()?;
        while let Some(event) = reply.next().await {
            if let ReplyEvent::Text(piece) = event {
                answer.push_str(&piece);
            }
        }
    }
    Ok(json!({
        "sessionState": {"dialogAction": {"type": "ElicitIntent"}},
        "messages": [{"contentType": "PlainText", "content": answer}],
    }))
}
