//! The messages of a ConversationRelay WebSocket, in both directions.
//!
//! Most are documented: <https://www.twilio.com/docs/voice/conversationrelay/websocket-messages> (read 2026-11-22). The
//! events of the attribute `events` are not. Twilio's demos read them as messages of type `info`: `agentSpeaking` and
//! `clientSpeaking` are `on` or `off`, and `tokensPlayed` holds the words, as in
//! <https://github.com/twilio-demos/twilio-aws-blueprint> and
//! <https://github.com/pBread/twilio-signal-2025-keynote-demo> (read 2026-11-22). So the program works without them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message from Twilio. `Debug` shows its kind instead of the words.
#[derive(PartialEq)]
pub enum Incoming {
    Setup(Setup),
    /// Words of the caller.
    Prompt {
        text: String,
        is_last: bool,
    },
    /// The caller interrupted the playback.
    Interrupt {
        words: String,
        played_ms: Option<u64>,
    },
    /// A key of the telephone.
    Digit(char),
    /// Twilio refused a message of this program, or has another problem.
    Error,
    /// The assistant began or ceased to be audible.
    AgentSpeaks(bool),
    /// The caller began or ceased to speak.
    CallerSpeaks(bool),
    /// These words were played.
    Played(String),
}

/// The first message.
#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Setup {
    pub call_sid: String,
    #[serde(default)]
    pub from: String,
}

/// Why a message is ignored. It has no words of the message, because these may be the caller's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is no JSON")]
    NoJson,
    #[error("its type or name is unknown")]
    Unknown,
    #[error("a field of it is missing or has another type")]
    Fields,
}

/// The fields, under the names of Twilio. `type` and `name` are read first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    voice_prompt: String,
    /// Without it, the words are complete.
    #[serde(default = "yes")]
    last: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interrupt {
    #[serde(default)]
    utterance_until_interrupt: String,
    /// A number in some of Twilio's examples, a string in others.
    #[serde(default)]
    duration_until_interrupt_ms: Value,
}

#[derive(Deserialize)]
struct Dtmf {
    digit: char,
}

#[derive(Deserialize)]
struct Info {
    name: String,
    #[serde(default)]
    value: Value,
}

impl Incoming {
    /// Reads a message.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let json: Value = serde_json::from_str(text).map_err(|_| Unreadable::NoJson)?;
        match json.get("type").and_then(Value::as_str) {
            Some("setup") => fields(json).map(Self::Setup),
            Some("prompt") => {
                fields(json).map(|Prompt { voice_prompt: text, last: is_last }| Self::Prompt { text, is_last })
            }
            Some("interrupt") => fields(json).map(|interrupt: Interrupt| Self::Interrupt {
                words: interrupt.utterance_until_interrupt,
                played_ms: whole(&interrupt.duration_until_interrupt_ms),
            }),
            Some("dtmf") => fields(json).map(|Dtmf { digit }| Self::Digit(digit)),
            Some("error") => Ok(Self::Error),
            Some("info") => {
                let Info { name, value } = fields(json)?;
                match (name.as_str(), &value) {
                    ("agentSpeaking", value) => is_on(value).map(Self::AgentSpeaks),
                    ("clientSpeaking", value) => is_on(value).map(Self::CallerSpeaks),
                    ("tokensPlayed", Value::String(words)) => Ok(Self::Played(words.clone())),
                    ("tokensPlayed", _) => Err(Unreadable::Fields),
                    _ => Err(Unreadable::Unknown),
                }
            }
            _ => Err(Unreadable::Unknown),
        }
    }
}

/// A message to Twilio.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outgoing<'a> {
    /// Words to be spoken. The last message of a reply has `last`.
    Text { token: &'a str, last: bool },
    /// Ends the session. Twilio sends `handoff_data` to the action of `<Connect>`.
    End { handoff_data: &'a str },
}

fn fields<T: for<'de> Deserialize<'de>>(json: Value) -> Result<T, Unreadable> {
    serde_json::from_value(json).map_err(|_| Unreadable::Fields)
}

fn yes() -> bool {
    true
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn is_on(value: &Value) -> Result<bool, Unreadable> {
    match value.as_str() {
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        _ => Err(Unreadable::Fields),
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setup(_) => "Setup",
            Self::Prompt { .. } => "Prompt",
            Self::Interrupt { .. } => "Interrupt",
            Self::Digit(_) => "Digit",
            Self::Error => "Error",
            Self::AgentSpeaks(_) => "AgentSpeaks",
            Self::CallerSpeaks(_) => "CallerSpeaks",
            Self::Played(_) => "Played",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_messages_are_read() {
        let setup = r#"{"type": "setup", "sessionId": "VX00000000000000000000000000000000", "accountSid": "AC",
            "parentCallSid": "", "callSid": "CA00000000000000000000000000000000", "from": "+18005550100",
            "to": "+18005550101", "forwardedFrom": "+18005550102", "callType": "PSTN", "callerName": "",
            "direction": "inbound", "callStatus": "RINGING", "customParameters": {"callReference": "bar"}}"#;
        let (call_sid, from) = ("CA00000000000000000000000000000000".to_owned(), "+18005550100".to_owned());
        assert_eq!(Incoming::read(setup), Ok(Incoming::Setup(Setup { call_sid, from })));
        let prompt =
            r#"{"type": "prompt", "voicePrompt": "Hi! Can you tell me about life?", "lang": "en-US", "last": true}"#;
        let text = "Hi! Can you tell me about life?".to_owned();
        assert_eq!(Incoming::read(prompt), Ok(Incoming::Prompt { text, is_last: true }));
        for duration in ["460", "\"460\""] {
            let interrupt = format!(
                r#"{{"type": "interrupt", "utteranceUntilInterrupt": "Life is", "durationUntilInterruptMs": {duration}}}"#
            );
            let read = Incoming::Interrupt { words: "Life is".to_owned(), played_ms: Some(460) };
            assert_eq!(Incoming::read(&interrupt), Ok(read));
        }
        assert_eq!(Incoming::read(r#"{"type": "dtmf", "digit": "1"}"#), Ok(Incoming::Digit('1')));
        assert_eq!(
            Incoming::read(r#"{"type": "error", "description": "Invalid message received"}"#),
            Ok(Incoming::Error)
        );
    }

    #[test]
    fn events_of_speakers_and_tokens_are_read() {
        let info = |name: &str, value: &str| {
            Incoming::read(&format!(r#"{{"type":"info","name":"{name}","value":{value},"ts":1752091234567}}"#))
        };
        assert_eq!(info("agentSpeaking", r#""on""#), Ok(Incoming::AgentSpeaks(true)));
        assert_eq!(info("clientSpeaking", r#""off""#), Ok(Incoming::CallerSpeaks(false)));
        assert_eq!(info("tokensPlayed", r#""Hi, this is""#), Ok(Incoming::Played("Hi, this is".to_owned())));
        assert_eq!(info("agentSpeaking", "true"), Err(Unreadable::Fields));
        assert_eq!(info("tokensPlayed", "7"), Err(Unreadable::Fields));
        assert_eq!(info("roundTripDelayMs", "7"), Err(Unreadable::Unknown));
    }

    #[test]
    fn unknown_and_malformed_messages_are_errors_without_their_words() {
        for (text, expected) in [
            ("secret", Unreadable::NoJson),
            (r#"{"type": "prompt", "voicePrompt": "sec"#, Unreadable::NoJson),
            ("[]", Unreadable::Unknown),
            ("null", Unreadable::Unknown),
            (r#"{"type": "secret"}"#, Unreadable::Unknown),
            (r#"{"type": {"secret": 1}}"#, Unreadable::Unknown),
            (r#"{"type": "prompt"}"#, Unreadable::Fields),
            (r#"{"type": "prompt", "voicePrompt": ["secret"]}"#, Unreadable::Fields),
            (r#"{"type": "prompt", "voicePrompt": "secret", "last": "secret"}"#, Unreadable::Fields),
            (r#"{"type": "setup"}"#, Unreadable::Fields),
            (r#"{"type": "dtmf", "digit": "12"}"#, Unreadable::Fields),
            (r#"{"type": "info"}"#, Unreadable::Fields),
        ] {
            let error = Incoming::read(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
            assert_eq!(error, expected, "{text}");
        }
        let prompt = Incoming::read(r#"{"type": "prompt", "voicePrompt": "secret"}"#).unwrap();
        assert_eq!(format!("{prompt:?}"), "Prompt");
    }

    #[test]
    fn outgoing_messages_have_the_documented_form() {
        let json = |message: &Outgoing<'_>| serde_json::to_string(message).unwrap();
        assert_eq!(
            json(&Outgoing::Text { token: "Hi. ", last: false }),
            r#"{"type":"text","token":"Hi. ","last":false}"#
        );
        assert_eq!(json(&Outgoing::End { handoff_data: "{}" }), r#"{"type":"end","handoffData":"{}"}"#);
    }
}
