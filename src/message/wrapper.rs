//! [`MessageWrapper`]: a [`Message`] that converts itself into a provider's type.

use std::convert::Infallible;

use crate::message::{Contents, Message, MessageId, Metadata, Role};

/// A [`Message`] that converts itself into the message type of a model provider.
///
/// The manager is generic over this trait, so that [`to_raw`](crate::MessagesManager::to_raw) returns the window in the
/// type that the provider's client takes. `BedrockMessage` is the wrapper for Amazon Bedrock. [`PlainMessage`] needs no
/// provider. `examples/own_wrapper.rs` shows an implementation.
pub trait MessageWrapper: Clone {
    /// The provider's message type.
    type Raw;
    /// The reason why a message cannot be converted into the provider's type.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Wraps a message. [`message`](Self::message) must return the same message.
    fn wrap(message: Message) -> Self;

    /// Returns the wrapped message.
    fn message(&self) -> &Message;

    /// Returns the wrapped message mutably. The manager edits it in this way.
    fn message_mut(&mut self) -> &mut Message;

    /// Converts the message with all its contents into the provider's type.
    ///
    /// The wrapper need not cut unheard text: the messages of a window hold only the heard prefix.
    fn to_raw(&self) -> Result<Self::Raw, Self::Error>;

    /// Returns the id of the message.
    fn id(&self) -> MessageId {
        self.message().id()
    }

    /// Returns the speaker of the message.
    fn role(&self) -> Role {
        self.message().role()
    }

    /// Returns the contents of the message.
    fn contents(&self) -> &Contents {
        self.message().contents()
    }

    /// Returns the metadata of the message.
    fn metadata(&self) -> &Metadata {
        self.message().metadata()
    }
}

/// A wrapper that needs no provider. Its raw type is [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainMessage(Message);

impl MessageWrapper for PlainMessage {
    type Raw = Message;
    type Error = Infallible;

    fn wrap(message: Message) -> Self {
        Self(message)
    }

    fn message(&self) -> &Message {
        &self.0
    }

    fn message_mut(&mut self) -> &mut Message {
        &mut self.0
    }

    fn to_raw(&self) -> Result<Message, Infallible> {
        Ok(self.0.clone())
    }
}
