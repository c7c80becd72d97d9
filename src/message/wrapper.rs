//! [`MessageWrapper`]: a [`Message`] that converts itself into a provider's type.

use std::convert::Infallible;
use std::ops::{Deref, DerefMut};

use crate::message::Message;

/// A [`Message`] that converts itself into the message type of a model provider.
///
/// The manager creates a wrapper with `From<Message>` and edits the message through `DerefMut`. The manager is generic
/// over this trait, so that [`to_raw`](crate::MessagesManager::to_raw) returns the window in the type that the
/// provider's client takes. `BedrockMessage` is the wrapper for Amazon Bedrock. [`PlainMessage`] needs no provider.
/// `examples/own_wrapper.rs` shows an implementation.
pub trait MessageWrapper: Clone + From<Message> + DerefMut<Target = Message> {
    /// The provider's message type.
    type Raw;
    /// The reason why a message cannot be converted into the provider's type.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Converts the message with all its contents into the provider's type.
    ///
    /// The wrapper need not cut unheard text: the messages of a window hold only the heard prefix.
    fn to_raw(&self) -> Result<Self::Raw, Self::Error>;

    /// Returns the wrapped message.
    fn message(&self) -> &Message {
        self
    }
}

/// A wrapper that needs no provider. Its raw type is [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainMessage(Message);

impl MessageWrapper for PlainMessage {
    type Raw = Message;
    type Error = Infallible;

    fn to_raw(&self) -> Result<Message, Infallible> {
        Ok(self.0.clone())
    }
}

impl From<Message> for PlainMessage {
    #[inline]
    fn from(message: Message) -> Self {
        Self(message)
    }
}

impl Deref for PlainMessage {
    type Target = Message;

    #[inline]
    fn deref(&self) -> &Message {
        &self.0
    }
}

impl DerefMut for PlainMessage {
    #[inline]
    fn deref_mut(&mut self) -> &mut Message {
        &mut self.0
    }
}
