//! [`Setting`]: one thing that a prompt says about the configuration, and [`Said`]: what several of them say together.

use std::time::Duration;

use super::error::ConfigError;
use crate::message::{Map, Text, ToolName, Value};
use crate::model::{Inference, Tool};

pub(super) const PROVIDER: &str = "provider";
pub(super) const MODEL: &str = "model";
const FIRST_TOKEN: &str = "first_token_timeout_ms";
const EVENT: &str = "event_timeout_ms";
const TURN: &str = "turn_timeout_ms";
const TOOL: &str = "tool_timeout_ms";
const MAX_TOOL_ROUNDS: &str = "max_tool_rounds";
const TEMPERATURE: &str = "temperature";
const TOP_P: &str = "top_p";
const MAX_TOKENS: &str = "max_tokens";
const STOP_SEQUENCES: &str = "stop_sequences";
const MODEL_FIELDS: &str = "model_fields";

/// The keys that data can set. Tools are functions, which data cannot hold.
pub(super) const KEYS: [&str; 12] = [
    PROVIDER,
    MODEL,
    FIRST_TOKEN,
    EVENT,
    TURN,
    TOOL,
    MAX_TOOL_ROUNDS,
    TEMPERATURE,
    TOP_P,
    MAX_TOKENS,
    STOP_SEQUENCES,
    MODEL_FIELDS,
];

/// One thing that a prompt says about the configuration.
#[derive(Clone)]
pub(in crate::conversation) enum Setting {
    Provider(Text),
    Model(Text),
    Wait(Wait, Duration),
    MaxToolRounds(u32),
    Inference(Inference),
    Tool(Tool),
    WithoutTool(ToolName),
}

/// Which deadline a setting is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conversation) enum Wait {
    FirstToken,
    Event,
    Turn,
    Tool,
}

impl Wait {
    const ALL: [Self; 4] = [Self::FirstToken, Self::Event, Self::Turn, Self::Tool];

    const fn key(self) -> &'static str {
        match self {
            Self::FirstToken => FIRST_TOKEN,
            Self::Event => EVENT,
            Self::Turn => TURN,
            Self::Tool => TOOL,
        }
    }
}

impl Setting {
    /// Reads a setting from data.
    ///
    /// Returns an error for an unknown key, and for a value that the key does not take.
    pub fn read(key: &Text, value: &Value) -> Result<Self, ConfigError> {
        if let Some(wait) = Wait::ALL.into_iter().find(|wait| wait.key() == key.as_str()) {
            let ms = whole_number(wait.key(), value, u64::MAX, "a whole number of milliseconds, from 1")?;
            return Ok(Self::Wait(wait, Duration::from_millis(ms)));
        }
        Ok(match key.as_str() {
            PROVIDER => Self::Provider(name(PROVIDER, value)?),
            MODEL => Self::Model(name(MODEL, value)?),
            MAX_TOOL_ROUNDS => Self::MaxToolRounds(whole_u32(MAX_TOOL_ROUNDS, value)?),
            TEMPERATURE => {
                Self::Inference(Inference { temperature: Some(share(TEMPERATURE, value)?), ..Inference::default() })
            }
            TOP_P => Self::Inference(Inference { top_p: Some(share(TOP_P, value)?), ..Inference::default() }),
            MAX_TOKENS => {
                Self::Inference(Inference { max_tokens: Some(whole_u32(MAX_TOKENS, value)?), ..Inference::default() })
            }
            STOP_SEQUENCES => {
                Self::Inference(Inference { stop_sequences: texts(STOP_SEQUENCES, value)?, ..Inference::default() })
            }
            MODEL_FIELDS => {
                Self::Inference(Inference { model_fields: map(MODEL_FIELDS, value)?, ..Inference::default() })
            }
            _ => return Err(ConfigError::UnknownKey { key: key.clone() }),
        })
    }
}

fn wrong<T>(key: &'static str, expected: &'static str) -> Result<T, ConfigError> {
    Err(ConfigError::WrongValue { key, expected })
}

fn name(key: &'static str, value: &Value) -> Result<Text, ConfigError> {
    match value {
        Value::String(name) => Ok(name.clone()),
        _ => wrong(key, "a name, as a string"),
    }
}

fn whole_number(key: &'static str, value: &Value, most: u64, expected: &'static str) -> Result<u64, ConfigError> {
    match value {
        Value::Number(number) => number.as_u64().filter(|number| *number <= most),
        _ => None,
    }
    .ok_or(ConfigError::WrongValue { key, expected })
}

fn whole_u32(key: &'static str, value: &Value) -> Result<u32, ConfigError> {
    let number = whole_number(key, value, u32::MAX.into(), "a whole number from 0 to 4,294,967,295")?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

fn share(key: &'static str, value: &Value) -> Result<f64, ConfigError> {
    let number = match value {
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    number.filter(|share| (0.0..=1.0).contains(share)).map_or_else(|| wrong(key, "a number from 0 to 1"), Ok)
}

fn texts(key: &'static str, value: &Value) -> Result<Vec<Text>, ConfigError> {
    const EXPECTED: &str = "a list of strings";
    let Value::List(list) = value else { return wrong(key, EXPECTED) };
    list.iter()
        .map(|item| match item {
            Value::String(text) => Ok(text.clone()),
            _ => wrong(key, EXPECTED),
        })
        .collect()
}

fn map(key: &'static str, value: &Value) -> Result<Map, ConfigError> {
    match value {
        Value::Map(map) => Ok(map.clone()),
        _ => wrong(key, "a map"),
    }
}

/// What the settings of a prompt say together.
#[derive(Default)]
pub(super) struct Said {
    pub provider: Option<Text>,
    pub model: Option<Text>,
    pub first_token_timeout: Option<Duration>,
    pub event_timeout: Option<Duration>,
    pub turn_timeout: Option<Duration>,
    pub tool_timeout: Option<Duration>,
    pub max_tool_rounds: Option<u32>,
    pub inference: Inference,
    pub tools: Vec<Tool>,
    pub without_tools: Vec<ToolName>,
}

impl Said {
    /// Returns an error for two different values of one key, and for a deadline of no time.
    pub fn by(settings: impl IntoIterator<Item = Setting>) -> Result<Self, ConfigError> {
        let mut said = Self::default();
        for setting in settings {
            match setting {
                Setting::Provider(provider) => say(&mut said.provider, provider, PROVIDER),
                Setting::Model(model) => say(&mut said.model, model, MODEL),
                Setting::Wait(wait, within) if within.is_zero() => wrong(wait.key(), "more than no time at all"),
                Setting::Wait(wait, within) => {
                    let slot = match wait {
                        Wait::FirstToken => &mut said.first_token_timeout,
                        Wait::Event => &mut said.event_timeout,
                        Wait::Turn => &mut said.turn_timeout,
                        Wait::Tool => &mut said.tool_timeout,
                    };
                    say(slot, within, wait.key())
                }
                Setting::MaxToolRounds(rounds) => say(&mut said.max_tool_rounds, rounds, MAX_TOOL_ROUNDS),
                Setting::Inference(inference) => said.infer(inference),
                Setting::Tool(tool) => said.add_tool(tool),
                Setting::WithoutTool(name) => {
                    said.without_tools.push(name);
                    Ok(())
                }
            }?;
        }
        Ok(said)
    }

    fn infer(&mut self, new: Inference) -> Result<(), ConfigError> {
        let said = &mut self.inference;
        if let Some(temperature) = new.temperature {
            say(&mut said.temperature, temperature, TEMPERATURE)?;
        }
        if let Some(top_p) = new.top_p {
            say(&mut said.top_p, top_p, TOP_P)?;
        }
        if let Some(max_tokens) = new.max_tokens {
            say(&mut said.max_tokens, max_tokens, MAX_TOKENS)?;
        }
        if !new.stop_sequences.is_empty() {
            let mut known = Some(std::mem::take(&mut said.stop_sequences)).filter(|known| !known.is_empty());
            say(&mut known, new.stop_sequences, STOP_SEQUENCES)?;
            said.stop_sequences = known.unwrap_or_default();
        }
        for (key, value) in new.model_fields.iter() {
            if said.model_fields.get(key).is_some_and(|known| known != value) {
                return Err(ConfigError::Contradiction { key: MODEL_FIELDS });
            }
        }
        said.model_fields = new.model_fields.or(&said.model_fields);
        Ok(())
    }

    fn add_tool(&mut self, tool: Tool) -> Result<(), ConfigError> {
        match self.tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) if known.spec() != tool.spec() => {
                return Err(ConfigError::TwoTools { name: tool.name().clone() });
            }
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
        Ok(())
    }
}

fn say<T: PartialEq>(slot: &mut Option<T>, value: T, key: &'static str) -> Result<(), ConfigError> {
    if slot.as_ref().is_some_and(|said| *said != value) {
        return Err(ConfigError::Contradiction { key });
    }
    *slot = Some(value);
    Ok(())
}
