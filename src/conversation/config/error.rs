//! [`ConfigError`]: why a configuration is refused.

use super::setting::KEYS;
use crate::message::{Text, ToolName};

/// Why a configuration is refused; [`key`](Self::key) says what of it. The names in it are the service's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no such key.
    #[error("there is no configuration key {:?}; the keys are {}", key.as_str(), KEYS.join(", "))]
    UnknownKey {
        /// The key.
        key: Text,
    },
    /// The value is of another kind, or out of range.
    #[error("`{key}` takes {expected}")]
    WrongValue {
        /// The key.
        key: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// One prompt says two things for one key.
    #[error("the prompt says two different things for `{key}`; leave one of them out")]
    Contradiction {
        /// The key.
        key: &'static str,
    },
    /// One prompt has two tools of one name.
    #[error(
        "`tools`: the prompt has two tools named `{name}` with different descriptions or schemas; give one another name"
    )]
    TwoTools {
        /// The name.
        name: ToolName,
    },
    /// No model of this provider is registered.
    #[error("`provider`: there is no provider {:?}; register its models with `Models::with`", provider.as_str())]
    UnknownProvider {
        /// The provider.
        provider: Text,
    },
    /// No model of this name is registered.
    #[error("`model`: there is no model {:?}; register it with `Models::with`", model.as_str())]
    UnknownModel {
        /// The model.
        model: Text,
    },
    /// The model is another provider's.
    #[error("`model`: {:?} is no model of the provider {:?}; name one of its models, or another provider", model.as_str(), provider.as_str())]
    NotOfProvider {
        /// The model.
        model: Text,
        /// The provider.
        provider: Text,
    },
    /// Several providers have a model of this name.
    #[error("`model`: several providers have {:?}; say which one with `provider`", model.as_str())]
    AmbiguousModel {
        /// The model.
        model: Text,
    },
    /// There are no models at all.
    #[error("`model`: the conversation has no models; give it some with `with_config(Config::new(models))`")]
    NoModel,
}

impl ConfigError {
    /// The key that it is about.
    pub fn key(&self) -> &str {
        match self {
            Self::UnknownKey { key } => key,
            Self::WrongValue { key, .. } | Self::Contradiction { key } => key,
            Self::TwoTools { .. } => "tools",
            Self::UnknownProvider { .. } => "provider",
            Self::UnknownModel { .. } | Self::NotOfProvider { .. } | Self::AmbiguousModel { .. } | Self::NoModel => {
                "model"
            }
        }
    }
}
