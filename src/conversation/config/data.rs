//! Settings as data: the keys of [`Config`], and the values that each takes.

use std::time::Duration;

use super::{Config, ConfigError};
use crate::message::{Map, Text, Value};
use crate::model::Inference;

pub(super) const PROVIDER: &str = "provider";
pub(super) const MODEL: &str = "model";
pub(super) const FIRST_TOKEN_TIMEOUT: &str = "first_token_timeout_ms";
pub(super) const EVENT_TIMEOUT: &str = "event_timeout_ms";
pub(super) const TURN_TIMEOUT: &str = "turn_timeout_ms";
pub(super) const TOOL_TIMEOUT: &str = "tool_timeout_ms";
pub(super) const MAX_TOOL_ROUNDS: &str = "max_tool_rounds";
pub(super) const TEMPERATURE: &str = "temperature";
pub(super) const TOP_P: &str = "top_p";
pub(super) const MAX_TOKENS: &str = "max_tokens";
pub(super) const STOP_SEQUENCES: &str = "stop_sequences";
pub(super) const MODEL_FIELDS: &str = "model_fields";

/// The keys that a prompt can set by data. Tools are functions, so they have no key.
pub(super) const KEYS: [&str; 12] = [
    PROVIDER,
    MODEL,
    FIRST_TOKEN_TIMEOUT,
    EVENT_TIMEOUT,
    TURN_TIMEOUT,
    TOOL_TIMEOUT,
    MAX_TOOL_ROUNDS,
    TEMPERATURE,
    TOP_P,
    MAX_TOKENS,
    STOP_SEQUENCES,
    MODEL_FIELDS,
];

impl Config {
    /// Reads one setting from data.
    ///
    /// Returns an error if the key is unknown or does not take the value.
    pub(in crate::conversation) fn read(key: &Text, value: &Value) -> Result<Self, ConfigError> {
        let Some(known) = KEYS.into_iter().find(|known| *known == key.as_str()) else {
            return Err(ConfigError::UnknownKey { key: key.clone() });
        };
        let (config, inference) = (Self::default(), Inference::default());
        let inference = match known {
            PROVIDER => return Ok(Self::of_provider(name(known, value)?)),
            MODEL => return Ok(Self::of_model(name(known, value)?)),
            FIRST_TOKEN_TIMEOUT => return Ok(config.with_first_token_timeout(duration(known, value)?)),
            EVENT_TIMEOUT => return Ok(config.with_event_timeout(duration(known, value)?)),
            TURN_TIMEOUT => return Ok(config.with_turn_timeout(duration(known, value)?)),
            TOOL_TIMEOUT => return Ok(config.with_tool_timeout(duration(known, value)?)),
            MAX_TOOL_ROUNDS => return Ok(config.with_max_tool_rounds(count(known, value)?)),
            TEMPERATURE => Inference { temperature: Some(share(known, value)?), ..inference },
            TOP_P => Inference { top_p: Some(share(known, value)?), ..inference },
            MAX_TOKENS => Inference { max_tokens: Some(count(known, value)?), ..inference },
            STOP_SEQUENCES => Inference { stop_sequences: texts(known, value)?, ..inference },
            _ => Inference { model_fields: map(known, value)?, ..inference },
        };
        Ok(config.with_inference(inference))
    }
}

fn wrong(key: &'static str, expected: &'static str) -> ConfigError {
    ConfigError::WrongValue { key, expected }
}

fn name(key: &'static str, value: &Value) -> Result<Text, ConfigError> {
    match value {
        Value::String(name) => Ok(name.clone()),
        _ => Err(wrong(key, "a name, as a string")),
    }
}

fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        _ => None,
    }
}

fn duration(key: &'static str, value: &Value) -> Result<Duration, ConfigError> {
    let ms = whole_number(value).ok_or_else(|| wrong(key, "a whole number of milliseconds, from 1"))?;
    Ok(Duration::from_millis(ms))
}

fn count(key: &'static str, value: &Value) -> Result<u32, ConfigError> {
    let number = whole_number(value).and_then(|number| number.try_into().ok());
    number.ok_or_else(|| wrong(key, "a whole number from 0 to 4,294,967,295"))
}

fn share(key: &'static str, value: &Value) -> Result<f64, ConfigError> {
    let number: Option<f64> = match value {
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| wrong(key, "a number from 0 to 1"))
}

fn texts(key: &'static str, value: &Value) -> Result<Vec<Text>, ConfigError> {
    let text = |item: &Value| match item {
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let texts = match value {
        Value::List(list) => list.iter().map(text).collect(),
        _ => None,
    };
    texts.ok_or_else(|| wrong(key, "a list of strings"))
}

fn map(key: &'static str, value: &Value) -> Result<Map, ConfigError> {
    match value {
        Value::Map(map) => Ok(map.clone()),
        _ => Err(wrong(key, "a map")),
    }
}
