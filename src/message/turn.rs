//! [`TurnRecord`]: the requests and the end of one turn of the assistant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Amount, Empty, PromptHash, Rarely, Text, Value};

/// A record of one turn of the assistant: the requests to the model, their times and tokens, and the end of the turn.
///
/// Serialize it to read its fields; `docs/record.schema.json` describes them. It is logged with the reply, as
/// `metadata.turn` of the reply's last message. If a turn added no message, such as one that the caller interrupted before
/// the first word, it is logged with the message that it was to answer.
///
/// It contains no words of the call. The start is in milliseconds since the Unix epoch, other times in milliseconds after
/// it, or after the request that they belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// The end of the turn: `complete`, `cut`, `interrupted`, or `failed`.
    pub(crate) end: Text,
    /// The reason if the turn was cut or failed, such as `maxTokens` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Text>,
    /// The time when the first request was sent, or when the turn ended if it sent none, in milliseconds since the Unix
    /// epoch.
    #[serde(default)]
    pub(crate) start_ms: i64,
    /// The time from the start to the end of the turn, in milliseconds.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub(crate) took_ms: Amount,
    /// The requests to the model in order: one for each round of tools, and one more for each retry.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) requests: Box<[RequestRecord]>,
    /// The number of sentences that filled a silence.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) fillers: u32,
    /// The level of the log at the end of the turn, if it had not stored all changes until then: `accepted`, in memory
    /// only, or `spooled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<Text>,
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "RareTurnData"))]
    pub(crate) rare: Rarely<RareTurnData>,
}

/// The data that few turns have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RareTurnData {
    /// The latest of the earlier turns that were logged with the same message, at most 16, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<TurnRecord>,
    /// The number of other earlier turns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u32,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// One request to the model: in the record of a turn, or of a summary that a model wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestRecord {
    /// The service's name for the model, if it is not that of the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// The time from the start of the turn until the request was sent, in milliseconds.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub after_ms: Amount,
    /// The time from the request to the first token, in milliseconds.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub first_token_ms: Amount,
    /// The time from the request to the end of the answer or the failure, in milliseconds.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub took_ms: Amount,
    /// The reason if there was no answer, such as `timeout` or `throttled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Text>,
    /// All tokens of the input, including cached ones, if the model reported them.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub input: Amount,
    /// The tokens of the answer, if the model reported them.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub output: Amount,
    /// The tokens of the input that were read from the provider's cache.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_read: Amount,
    /// The tokens of the input that were written to the provider's cache.
    #[serde(default, skip_serializing_if = "Amount::is_unknown")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_write: Amount,
    /// The `seq` of the last message that the memory covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_covers: Option<u32>,
    /// The version of the memory: the number of summaries in the conversation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_version: u32,
    /// The first 8 bytes of the SHA-256 of the prompt, which is instructions, memory and window, in hexadecimal. Equal
    /// prompts have equal hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Text>"))]
    pub prompt_hash: Option<PromptHash>,
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "RareRequestData"))]
    pub rare: Rarely<RareRequestData>,
}

/// The data that few requests have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RareRequestData {
    /// The switches to another model before the answer, such as `model-a -> model-b: throttled`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Text>,
    /// The changes that made the request valid for the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Text>,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

impl Empty for RareTurnData {
    const EMPTY: &'static Self = &Self { earlier: Vec::new(), left_out: 0, unknown: BTreeMap::new() };
}

impl Empty for RareRequestData {
    const EMPTY: &'static Self = &Self { switches: Vec::new(), repairs: Vec::new(), unknown: BTreeMap::new() };
}

impl RequestRecord {
    /// The approximate size of the record in bytes.
    pub fn record_bytes(&self) -> usize {
        const REQUEST: usize = 240;
        REQUEST + self.rare.switches.iter().chain(&self.rare.repairs).map(|text| text.len() + 3).sum::<usize>()
    }

    /// Returns the time from the request to `at_ms`, in a turn that started at `start_ms`.
    pub fn since_asked(&self, start_ms: i64, at_ms: i64) -> i64 {
        at_ms.saturating_sub(start_ms).saturating_sub(self.after_ms.or_zero())
    }
}

impl TurnRecord {
    /// The end of a turn with a complete answer.
    pub(crate) const COMPLETE: &str = "complete";

    /// Appends `before`, the record that the message had until now, and its earlier turns to
    /// [`earlier`](Self::earlier).
    ///
    /// A caller may interrupt any number of turns before their first word. The record has the latest ones, so that it fits
    /// an item, and those with a complete answer.
    #[must_use]
    pub(crate) fn after(mut self, before: Option<&Self>) -> Self {
        const MAX_EARLIER: usize = 16;
        if let Some(before) = before {
            let mut last = before.clone();
            self.rare.earlier = std::mem::take(&mut last.rare.earlier);
            self.rare.left_out = std::mem::take(&mut last.rare.left_out);
            self.rare.earlier.push(last);
        }
        if self.rare.earlier.len() > MAX_EARLIER {
            let oldest = self.rare.earlier.iter().position(|turn| !turn.is_complete()).unwrap_or_default();
            self.rare.earlier.remove(oldest);
            self.rare.left_out = self.rare.left_out.saturating_add(1);
        }
        self
    }

    /// Returns whether the turn of the message, or one that was logged with it earlier, has a complete answer.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.as_str() == Self::COMPLETE || self.rare.earlier.iter().any(Self::is_complete)
    }

    /// The approximate size of the record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        const TURN: usize = 64;
        TURN + self.requests.iter().map(RequestRecord::record_bytes).sum::<usize>()
            + self.rare.earlier.iter().map(Self::record_bytes).sum::<usize>()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(end: &str) -> TurnRecord {
        TurnRecord { end: end.into(), ..TurnRecord::default() }
    }

    #[test]
    fn record_keeps_the_latest_turns_and_the_complete_one() {
        let mut record = turn(TurnRecord::COMPLETE);
        for _ in 0..2_000 {
            record = turn("interrupted").after(Some(&record));
        }
        assert_eq!((record.rare.earlier.len(), record.rare.left_out), (16, 1_984));
        assert!(record.is_complete() && record.rare.earlier.iter().all(|turn| turn.rare.left_out == 0));
        let json = serde_json::to_string(&record).unwrap();
        assert!(json.len() <= record.record_bytes() && record.record_bytes() < 2_000, "{}", json.len());
    }

    #[test]
    fn record_of_a_turn_is_small() {
        // A live call keeps one of each for every turn of the window.
        assert!(size_of::<TurnRecord>() <= 64 && size_of::<RequestRecord>() <= 80);
    }

    #[test]
    fn size_of_a_record_counts_repairs_and_switches() {
        let change = || vec![Text::from("x".repeat(5_000)); 4];
        let request = RequestRecord {
            rare: RareRequestData { repairs: change(), switches: change(), ..RareRequestData::default() }.into(),
            ..RequestRecord::default()
        };
        let record = TurnRecord { requests: [request].into(), ..turn("cut") };
        let json = serde_json::to_string(&record).unwrap();
        assert!((json.len()..json.len() + 500).contains(&record.record_bytes()), "{}", record.record_bytes());
    }
}
