//! [`Setting`]: one thing that a prompt says about the configuration, and what several of them say together.

use std::time::Duration;

use super::error::ConfigError;
use crate::conversation::tool::Tool;
use crate::message::{Text, Value};

pub(super) const PROVIDER: &str = "provider";
pub(super) const MODEL: &str = "model";
pub(super) const ANSWER_WITHIN: &str = "answer_within_ms";
pub(super) const TOOL_WITHIN: &str = "tool_within_ms";
pub(super) const MAX_TOOL_ROUNDS: &str = "max_tool_rounds";

/// What data can say; tools are functions, which it cannot.
pub(super) const KEYS: [&str; 5] = [PROVIDER, MODEL, ANSWER_WITHIN, TOOL_WITHIN, MAX_TOOL_ROUNDS];

/// One thing that a prompt says about the configuration.
#[derive(Clone)]
pub(in crate::conversation) enum Setting {
    Provider(Text),
    Model(Text),
    AnswerWithin(Duration),
    ToolWithin(Duration),
    MaxToolRounds(u32),
    Tool(Tool),
}

impl Setting {
    /// What data says. Errors: an unknown key, a value that the key does not take.
    pub fn read(key: &Text, value: &Value) -> Result<Self, ConfigError> {
        let name = |key| match value {
            Value::String(name) => Ok(name.clone()),
            _ => Err(ConfigError::WrongValue { key, expected: "a name, as a string" }),
        };
        let number = |key, most: u64, expected| {
            match value {
                Value::Number(number) => number.as_u64().filter(|number| *number <= most),
                _ => None,
            }
            .ok_or(ConfigError::WrongValue { key, expected })
        };
        let wait = |key| number(key, u64::MAX, "a whole number of milliseconds, from 1").map(Duration::from_millis);
        Ok(match key.as_str() {
            PROVIDER => Self::Provider(name(PROVIDER)?),
            MODEL => Self::Model(name(MODEL)?),
            ANSWER_WITHIN => Self::AnswerWithin(wait(ANSWER_WITHIN)?),
            TOOL_WITHIN => Self::ToolWithin(wait(TOOL_WITHIN)?),
            MAX_TOOL_ROUNDS => {
                let rounds = number(MAX_TOOL_ROUNDS, u32::MAX.into(), "a whole number from 0 to 4,294,967,295")?;
                Self::MaxToolRounds(rounds as u32)
            }
            _ => return Err(ConfigError::UnknownKey { key: key.clone() }),
        })
    }
}

/// What the settings of a prompt say together.
#[derive(Default)]
pub(super) struct Said {
    pub provider: Option<Text>,
    pub model: Option<Text>,
    pub answer_within: Option<Duration>,
    pub tool_within: Option<Duration>,
    pub max_tool_rounds: Option<u32>,
    pub tools: Vec<Tool>,
}

impl Said {
    /// Errors: two different things for one key, a wait of no time.
    pub fn by(settings: impl IntoIterator<Item = Setting>) -> Result<Self, ConfigError> {
        let mut said = Self::default();
        for setting in settings {
            match setting {
                Setting::Provider(provider) => say(&mut said.provider, provider, PROVIDER),
                Setting::Model(model) => say(&mut said.model, model, MODEL),
                Setting::AnswerWithin(within) => {
                    say(&mut said.answer_within, wait(within, ANSWER_WITHIN)?, ANSWER_WITHIN)
                }
                Setting::ToolWithin(within) => say(&mut said.tool_within, wait(within, TOOL_WITHIN)?, TOOL_WITHIN),
                Setting::MaxToolRounds(rounds) => say(&mut said.max_tool_rounds, rounds, MAX_TOOL_ROUNDS),
                Setting::Tool(tool) => said.add_tool(tool),
            }?;
        }
        Ok(said)
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

fn wait(within: Duration, key: &'static str) -> Result<Duration, ConfigError> {
    let expected = "more than no time at all";
    if within.is_zero() { Err(ConfigError::WrongValue { key, expected }) } else { Ok(within) }
}
