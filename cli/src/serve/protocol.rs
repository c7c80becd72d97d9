//! The messages of a call's socket. `docs/socket.schema.json` is their JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The version of the protocol. It rises when an older client would misunderstand a message.
pub const VERSION: u32 = 1;

/// A message of the client.
///
/// `event_id` is the client's own id of the message. A message whose id the call has seen changes nothing, also after the
/// server was restarted, so a client can send a message again if it is not sure that it arrived.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct FromClient {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(flatten)]
    pub event: ClientEvent,
}

/// What the client reports or asks for. Times are in milliseconds since the Unix epoch; without one, the time of arrival.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientEvent {
    /// Opens the call, resumes it, or connects to it again. The first message of each socket.
    Start(Box<Start>),
    /// The caller started to speak. This is a barge-in if the assistant is speaking.
    CallerStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<i64>,
    },
    /// Words of the caller, from the speech recognition. The answer follows, unless `reply` is false.
    CallerSaid {
        text: String,
        /// The confidence of the recognition, from 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<f32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_ms: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_ms: Option<i64>,
        #[serde(default = "yes")]
        reply: bool,
    },
    /// Asks for an answer without new words, for example after `result_ready`. Its `accepted` says if there is nothing to
    /// answer, or if an answer is running.
    Reply {},
    /// Says a fixed sentence.
    Say { text: String },
    /// The playback of a speech started.
    PlaybackStarted {
        speech: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<i64>,
    },
    /// A speech was played to its end.
    PlaybackFinished {
        speech: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<i64>,
    },
    /// The playback of a speech was interrupted after these words, or after this time. Without both, the server estimates
    /// what was heard.
    PlaybackInterrupted {
        speech: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        played_ms: Option<u64>,
        /// The length of the whole speech.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<i64>,
    },
    /// The result of a tool call: `output`, or the text of an `error`. `not_found` answers a `tool_lookup` if there is no
    /// such act.
    ToolResult {
        tool_call_id: String,
        #[serde(default)]
        not_found: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Ends the call.
    Close {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// How a call is opened. A live call keeps its settings; a call that is resumed has its messages from the log.
#[derive(Clone, Default, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The instance of the call, as the last `started` named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The last `seq` that the client has of this instance. It gets what followed.
    #[serde(default)]
    pub after_seq: u64,
    /// The instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// A sentence that a new call begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greeting: Option<String>,
    /// The tools that the client runs, or services at their callbacks.
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// Sentences that fill a silence.
    #[serde(default)]
    pub fillers: Vec<String>,
    /// The number of the caller. The log has a salted hash of it, if the server has a salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The tenant of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Data of the call, in its header.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub attributes: Map<String, Value>,
}

/// A tool that the client runs, or the service at its callback.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The tool changes nothing, so it may be called before the log has the call.
    #[serde(default)]
    pub read_only: bool,
    /// The tool must never act twice. It is called only once the log has stored the call.
    #[serde(default)]
    pub acts_once: bool,
    /// A second call with the same idempotency key has no second effect.
    #[serde(default)]
    pub deduplicates_by_key: bool,
    /// The client can say whether an act with a key has happened: it answers `tool_lookup`.
    #[serde(default)]
    pub can_look_up: bool,
    /// How long the tool may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The server sends calls of the tool to this URL instead of the client. It has to be below one that the server allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,
}

/// A message of the server. `seq` counts the messages of an instance, from 1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToClient<'a> {
    pub seq: u64,
    pub at_ms: i64,
    #[serde(flatten)]
    pub event: &'a ServerEvent,
}

/// What happened in the call.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerEvent {
    /// The first message on each socket. Its `seq` is that of the last message before it. If the instance is another one than
    /// the client knew, the server was restarted: what the client has not seen as stored, it sends again.
    Started {
        version: u32,
        call: String,
        instance: String,
        /// Whether the call existed before.
        is_resumed: bool,
        /// Whether messages after `after_seq` are no longer there. The conversation has their words.
        has_missed: bool,
    },
    /// The message of the client took effect, or why it did not.
    Accepted { event_id: String, effect: String },
    /// The message of the client cannot be understood or carried out.
    Refused {
        #[serde(skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
        error: String,
    },
    /// The log has stored these messages of the client. They need not be sent again.
    Stored { event_ids: Vec<String> },
    /// A fixed sentence, to be spoken.
    Said { speech: String, text: String },
    /// The next sentence of an answer, to be spoken.
    Sentence { speech: String, text: String },
    /// The answer has ended: `complete`, `interrupted`, `failed` or `asked_to_repeat`.
    ReplyEnded { speech: String, end: &'static str },
    /// A tool that the client runs. The same key means the same act.
    ToolCalled { tool_call_id: String, name: String, arguments: Value, idempotency_key: String },
    /// An earlier server was stopped before it knew the outcome of this act. The client says what it was with `tool_result`.
    ToolLookup { tool_call_id: String, name: String, idempotency_key: String },
    /// A tool call has a result, which may be that its outcome is unknown.
    ToolFinished { tool_call_id: String, outcome: &'static str },
    /// A result came that no answer has told yet. `reply` tells it.
    ResultReady { tool_call_id: String },
    /// The caller interrupted. What was not played is to be dropped.
    BargedIn {},
    /// Earlier turns were replaced by a summary.
    Summarized {},
    /// How durable the call is: `accepted`, `spooled` or `stored`.
    LogLevel { level: &'static str },
    /// The call has ended. It can be resumed if the server is stopping.
    Ended { reason: String, is_resumable: bool },
}

/// Shows the kind instead of the words.
impl std::fmt::Debug for ClientEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientEvent")
    }
}

/// Shows the kind instead of the words.
impl std::fmt::Debug for ServerEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerEvent")
    }
}

fn yes() -> bool {
    true
}

impl FromClient {
    /// Reads a message. The error has no words of it, because these may be the caller's.
    pub fn read(text: &str) -> Result<Self, (Option<String>, String)> {
        let json: Value = serde_json::from_str(text).map_err(|_| (None, "the message is no JSON".to_owned()))?;
        let event_id = json.get("event_id").and_then(Value::as_str).map(str::to_owned);
        let kind = json.get("type").and_then(Value::as_str).unwrap_or_default();
        const KINDS: [&str; 10] = [
            "start",
            "caller_started",
            "caller_said",
            "reply",
            "say",
            "playback_started",
            "playback_finished",
            "playback_interrupted",
            "tool_result",
            "close",
        ];
        let Some(kind) = KINDS.into_iter().find(|known| *known == kind) else {
            return Err((event_id, format!("the type is unknown; it is one of {}", KINDS.join(", "))));
        };
        match serde_json::from_value(json) {
            Ok(message) => Ok(message),
            Err(_) => {
                let error =
                    format!("a field of {kind} is missing, unknown, or of another type; see socket.schema.json");
                Err((event_id, error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SOCKET_SCHEMA=write` writes the file.
    #[test]
    fn schema_is_that_of_the_messages() {
        let mut schema = serde_json::Map::new();
        schema.insert("version".to_owned(), VERSION.into());
        schema.insert("fromClient".to_owned(), schemars::schema_for!(FromClient).to_value());
        schema.insert("toClient".to_owned(), schemars::schema_for!(ToClient).to_value());
        let now = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/socket.schema.json");
        if std::env::var("SOCKET_SCHEMA").is_ok_and(|mode| mode == "write") {
            std::fs::write(file, &now).unwrap();
        }
        let file = std::fs::read_to_string(file).unwrap();
        assert!(file == now, "SOCKET_SCHEMA=write cargo test -p verbale-cli schema writes docs/socket.schema.json");
    }

    #[test]
    fn unreadable_message_is_refused_without_its_words() {
        for (text, starts) in [
            ("no JSON, my card is 4111", "the message is no JSON"),
            (r#"{"type":"my card is 4111"}"#, "the type is unknown"),
            (r#"{"type":"say","event_id":"e1","txt":"my card is 4111"}"#, "a field of say"),
            (r#"{"type":"start","sytem":"my card is 4111"}"#, "a field of start"),
        ] {
            let (_, error) = FromClient::read(text).unwrap_err();
            assert!(error.starts_with(starts) && !error.contains("4111"), "{error}");
        }
        let (event_id, _) = FromClient::read(r#"{"type":"say","event_id":"e1"}"#).unwrap_err();
        assert_eq!(event_id.as_deref(), Some("e1"));
        let message = FromClient::read(r#"{"type":"caller_said","event_id":"e2","text":"Hello."}"#).unwrap();
        assert_eq!(message.event_id.as_deref(), Some("e2"));
        assert!(matches!(message.event, ClientEvent::CallerSaid { reply: true, .. }));
    }
}
