//! [`MessageWrapper`]: a [`Message`] in the shape that a model provider wants.

use std::convert::Infallible;

use crate::message::{Contents, Message, MessageId, Metadata, Role};

/// A [`Message`] that knows how a provider wants it.
///
/// The manager is generic over it, so that its window hands out what a provider's client takes. `BedrockMessage` is
/// one, [`PlainMessage`] another; see `examples/own_wrapper.rs` for a third.
pub trait MessageWrapper: Clone {
    /// The provider's own type of a message.
    type Raw;
    /// Why a message cannot be said in the provider's type.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Wraps a message. [`message`](Self::message) gives back the same one.
    fn wrap(message: Message) -> Self;

    /// The wrapped message.
    fn message(&self) -> &Message;

    /// The wrapped message, to be changed by the manager.
    fn message_mut(&mut self) -> &mut Message;

    /// The message in the provider's type, with all its contents. (The window has cut them to what was heard.)
    fn to_raw(&self) -> Result<Self::Raw, Self::Error>;

    /// The id of the message.
    fn id(&self) -> MessageId {
        self.message().id()
    }

    /// Who speaks.
    fn role(&self) -> Role {
        self.message().role()
    }

    /// What was said, or generated.
    fn contents(&self) -> &Contents {
        self.message().contents()
    }

    /// What is known about the message.
    fn metadata(&self) -> &Metadata {
        self.message().metadata()
    }
}

/// The wrapper that needs no provider: [`Message`] is its raw type.
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
