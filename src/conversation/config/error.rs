//! [`ConfigError`]: the reason why a configuration is refused.

use super::data::KEYS;
use crate::message::{Text, ToolName};

/// The reason why a configuration is refused. Its text contains only names that the service chose.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("the prompt sets an unknown configuration key {:?}; the keys are {}", key.as_str(), KEYS.join(", "))]
    UnknownKey { key: Text },
    #[error("the prompt sets `{key}` to an invalid value; set it to {expected}")]
    WrongValue { key: &'static str, expected: &'static str },
    #[error("the prompt sets `{key}` twice, to different values; leave one of them out")]
    Contradiction { key: &'static str },
    #[error("`tools`: the prompt has two tools named `{name}` with different descriptions or schemas; rename one")]
    TwoTools { name: ToolName },
    #[error("`provider`: no provider {:?} is registered; register its models with `Models::with`", provider.as_str())]
    UnknownProvider { provider: Text },
    #[error("`model`: no model {:?} is registered; register it with `Models::with`", model.as_str())]
    UnknownModel { model: Text },
    #[error("`model`: the provider {:?} has no model {:?}; choose one of its models, or another provider", provider.as_str(), model.as_str())]
    NotOfProvider { model: Text, provider: Text },
    #[error("`model`: several providers have a model {:?}; choose one with `provider`", model.as_str())]
    AmbiguousModel { model: Text },
    #[error("`model`: the conversation has no models; add some with `with_config(Config::new(models))`")]
    NoModel,
}
