//! [`Turn`]: the record of a turn, as the log has it.

use serde::Deserialize;
use verbale::message::TurnRecord;

/// A turn: the requests to the model until it had answered the caller.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Turn {
    /// `complete`, `cut`, `interrupted`, or `failed`.
    pub end: String,
    /// The reason if the turn was cut or failed, such as `maxTokens` or `timeout`.
    pub reason: Option<String>,
    pub start_ms: i64,
    pub took_ms: i64,
    pub requests: Vec<Request>,
    /// The number of sentences that filled a silence.
    pub fillers: u32,
    /// Earlier turns that were logged with the same message, oldest first.
    pub earlier: Vec<Turn>,
}

/// A request to the model.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    pub model: Option<String>,
    /// The time from the start of the turn.
    pub after_ms: i64,
    /// The time from the request.
    pub first_token_ms: Option<i64>,
    pub took_ms: Option<i64>,
    /// Why there was no answer.
    pub failure: Option<String>,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: u64,
    pub switches: Vec<String>,
    pub repairs: Vec<String>,
}

impl Turn {
    /// Reads a record. Returns `None` if a newer version wrote it in another form.
    pub fn read(record: &TurnRecord) -> Option<Self> {
        serde_json::to_value(record).and_then(serde_json::from_value).ok()
    }

    /// Returns this turn and the earlier ones, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        self.earlier.iter().chain([self])
    }

    /// The time from the start of the turn to the first token of its first answer.
    pub fn first_token_ms(&self) -> Option<i64> {
        self.requests.iter().find_map(|request| Some(request.after_ms + request.first_token_ms?))
    }
}
