//! [`Models`]: the models of a service, by name.

use std::fmt;
use std::sync::Arc;

use super::error::ConfigError;
use crate::message::Text;
use crate::model::Model;

/// The models of a service, by provider and name. Clones share them.
///
/// The names are the service's own. They need not match the ids at the provider.
#[derive(Clone, Default)]
pub struct Models(Arc<[NamedModel]>);

#[derive(Clone)]
pub(super) struct NamedModel {
    pub provider: Text,
    pub name: Text,
    pub model: Arc<dyn Model>,
}

impl Models {
    /// Adds a model, or replaces the one with these names.
    ///
    /// The first model is the default, and the first of a provider is the provider's default.
    #[must_use]
    pub fn with(self, provider: impl Into<Text>, name: impl Into<Text>, model: impl Model + 'static) -> Self {
        let new = NamedModel { provider: provider.into(), name: name.into(), model: Arc::new(model) };
        let mut all = self.0.to_vec();
        match all.iter_mut().find(|known| known.provider == new.provider && known.name == new.name) {
            Some(known) => *known = new,
            None => all.push(new),
        }
        Self(all.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the one model that the names match.
    ///
    /// Returns an error if none or several match.
    pub(super) fn find(&self, provider: Option<&Text>, name: Option<&Text>) -> Result<&NamedModel, ConfigError> {
        let first = self.0.first().ok_or(ConfigError::NoModel)?;
        if let Some(provider) = provider
            && !self.0.iter().any(|known| known.provider == *provider)
        {
            return Err(ConfigError::UnknownProvider { provider: provider.clone() });
        }
        let of_provider = |known: &&NamedModel| provider.is_none_or(|provider| known.provider == *provider);
        let Some(name) = name else {
            return Ok(self.0.iter().find(of_provider).unwrap_or(first));
        };
        let mut named = self.0.iter().filter(|known| known.name == *name).peekable();
        if named.peek().is_none() {
            return Err(ConfigError::UnknownModel { model: name.clone() });
        }
        let mut matching = named.filter(of_provider);
        match (matching.next(), matching.next(), provider) {
            (Some(one), None, _) => Ok(one),
            (None, _, Some(provider)) => {
                Err(ConfigError::NotOfProvider { model: name.clone(), provider: provider.clone() })
            }
            _ => Err(ConfigError::AmbiguousModel { model: name.clone() }),
        }
    }
}

/// Prints the names.
impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|known| (known.provider.as_str(), known.name.as_str()))).finish()
    }
}
