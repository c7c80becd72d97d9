//! Serialization of a [`MessagesManager`]: its records.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::MessagesManager;
use crate::message::{AsRecord, MessageWrapper, Record};

/// Writes the [records](Self::records) in order, without copying the messages.
impl<W: MessageWrapper> Serialize for MessagesManager<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|wrapper| AsRecord(wrapper.message())))
    }
}

/// Reads records and [restores](Self::restore) the conversation.
impl<'de, W: MessageWrapper> Deserialize<'de> for MessagesManager<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::restore(Vec::<Record>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
