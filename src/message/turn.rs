//! [`TurnRecord`]: what happened while the assistant answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Text, Value};

/// What happened while the assistant answered: what the model was asked, how often, how long it took, and what it cost.
///
/// It is logged with the reply, as `metadata.turn` of its last message. A turn without a message of its own, such as one
/// that the caller interrupts before the first word, is logged with the message that it was to answer.
///
/// It holds no words of the call. Moments are in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnRecord {
    /// How the turn ended: `complete`, `cut`, `interrupted`, or `failed`.
    pub end: Text,
    /// Why, if it was cut or failed, such as `maxTokens` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// When the turn ended.
    #[serde(default)]
    pub end_ms: i64,
    /// The requests to the model, in order: one for each round of tools, and one more for each retry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRecord>,
    /// Earlier turns that were logged with the same message, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<TurnRecord>,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub(crate) unknown: BTreeMap<String, Value>,
}

/// One request to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestRecord {
    /// The model that was asked, by the service's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// When it was asked.
    pub asked_ms: i64,
    /// When its first token came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<i64>,
    /// When it stopped, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<i64>,
    /// Why there was no answer, such as `timeout` or `throttled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Text>,
    /// The tokens of the request and its answer, if the model reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenRecord>,
    /// The `seq` of the last message that the memory covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_covers: Option<u32>,
    /// The version of the memory: how many summaries there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_version: u32,
    /// The first 16 bytes of the SHA-256 of the prompt, in hexadecimal. Equal prompts have equal hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<Text>,
    /// What was changed in the request so that the provider takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Text>,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub(crate) unknown: BTreeMap<String, Value>,
}

/// The tokens of a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenRecord {
    /// All tokens that were read, cached ones too.
    pub input: u64,
    /// The tokens of the answer.
    pub output: u64,
    /// Of the input, the tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero_tokens")]
    pub cache_read: u64,
    /// Of the input, the tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero_tokens")]
    pub cache_write: u64,
}

impl TurnRecord {
    /// The same with what was logged with the message before as [`earlier`](Self::earlier).
    #[must_use]
    pub(crate) fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            let mut last = before.clone();
            self.earlier = std::mem::take(&mut last.earlier);
            self.earlier.push(last);
        }
        self
    }

    /// About how many bytes of a record it takes.
    pub(crate) fn record_bytes(&self) -> usize {
        const TURN: usize = 64;
        const REQUEST: usize = 280;
        TURN + self.requests.len() * REQUEST + self.earlier.iter().map(Self::record_bytes).sum::<usize>()
    }
}

impl TokenRecord {
    /// A record of these numbers of tokens.
    pub(crate) fn new(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        Self { input, output, cache_read, cache_write }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_tokens(number: &u64) -> bool {
    *number == 0
}
