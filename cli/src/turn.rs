//! [`Turn`]: the record of a turn, as the log has it.

use serde::Deserialize;
use verbale::message::TurnRecord;

use crate::text::{count, visible};
use crate::time::lasting;

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
    /// The level of the log at the end, if it had not stored everything until then.
    pub log: Option<String>,
    /// The latest of the earlier turns that were logged with the same message, oldest first.
    pub earlier: Vec<Turn>,
    /// The number of other earlier turns.
    pub left_out: u32,
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
    pub cache_write: u64,
    /// The number of the last message that the memory covered.
    pub memory_covers: Option<u32>,
    /// The hash of instructions, memory and window.
    pub prompt_hash: Option<String>,
    pub switches: Vec<String>,
    pub repairs: Vec<String>,
}

impl Turn {
    /// Reads a record. Returns `None` if a newer version wrote it in another form.
    pub fn read(record: &TurnRecord) -> Option<Self> {
        serde_json::to_value(record).and_then(serde_json::from_value).ok()
    }

    /// Returns the earlier turns and this one, oldest first.
    pub fn each(mut self) -> Vec<Self> {
        let mut turns = std::mem::take(&mut self.earlier);
        turns.push(self);
        turns
    }

    /// Returns when a request of the turn was sent.
    pub fn sent_ms(&self, request: &Request) -> i64 {
        self.start_ms.saturating_add(request.after_ms)
    }

    /// Describes the turn on one line: its number, its end, its times, its tokens and its failures.
    pub fn words(&self, number: u32) -> String {
        let mut parts = vec![format!(
            "turn {number} {}",
            [Some(self.end.as_str()), self.reason.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(": ")
        )];
        parts.push(format!("in {}", lasting(self.took_ms)));
        if let Some(first) = self.requests.iter().find_map(|request| request.first_token_ms) {
            parts.push(format!("first token after {first} ms"));
        }
        let models: Vec<&str> = self.requests.iter().filter_map(|request| request.model.as_deref()).collect();
        parts.extend(models.last().map(|model| visible(model)));
        let input: u64 = self.requests.iter().filter_map(|request| request.input).sum();
        let cached: u64 = self.requests.iter().map(|request| request.cache_read).sum();
        let output: u64 = self.requests.iter().filter_map(|request| request.output).sum();
        if input > 0 {
            let cached = if cached > 0 { format!(" ({cached} cached)") } else { String::new() };
            parts.push(format!("{input} tokens in{cached}, {output} out"));
        }
        let failures: Vec<&str> = self.requests.iter().filter_map(|request| request.failure.as_deref()).collect();
        if !failures.is_empty() {
            parts.push(format!(
                "{} failed: {}",
                count(failures.len() as u64, "request"),
                visible(&failures.join(", "))
            ));
        }
        if self.fillers > 0 {
            parts.push(count(self.fillers.into(), "filler"));
        }
        parts.join(", ")
    }
}
