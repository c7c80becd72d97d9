//! [`Rarely`]: data that is empty in most messages and conversations.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Data that few messages, records or conversations have, with the fields of `T`. If it is empty, it takes 8 bytes.
#[derive(Debug, Clone)]
pub(crate) struct Rarely<T>(Option<Box<T>>);

/// Data that can be empty.
pub(crate) trait Empty: Default + PartialEq + 'static {
    const EMPTY: &'static Self;
}

impl<T> Rarely<T> {
    pub const EMPTY: Self = Self(None);

    /// Returns the data, unless it is empty.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for Rarely<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T: Empty> From<T> for Rarely<T> {
    fn from(data: T) -> Self {
        Self((data != *T::EMPTY).then(|| Box::new(data)))
    }
}

impl<T: Empty> Deref for Rarely<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for Rarely<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Empty> PartialEq for Rarely<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for Rarely<T> {}

impl<T: Empty + Serialize> Serialize for Rarely<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Empty + Deserialize<'de>> Deserialize<'de> for Rarely<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
