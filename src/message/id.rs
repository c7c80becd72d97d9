//! [`MessageId`] and [`Position`]: the identity of a message and its place in the conversation.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ulid::Ulid;

use crate::message::error::MessageError;

/// The id of a message: a [ULID](https://github.com/ulid/spec).
///
/// Ids are unique. They do not order messages; [`Position`] does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Not a `u128`: its alignment would add 8 bytes to every message. Not an array: it would not be passed in registers.
pub struct MessageId(u64, u64);

impl From<u128> for MessageId {
    #[inline]
    fn from(bits: u128) -> Self {
        Self((bits >> 64) as u64, bits as u64)
    }
}

impl From<MessageId> for u128 {
    fn from(MessageId(high, low): MessageId) -> Self {
        u128::from(high) << 64 | u128::from(low)
    }
}

/// Returns a [`MessageError`] if the text is not a ULID of 26 characters.
impl FromStr for MessageId {
    type Err = MessageError;

    fn from_str(text: &str) -> Result<Self, MessageError> {
        // 26 characters hold 130 bits: the first is at most 7.
        let fits = text.starts_with(|first| matches!(first, '0'..='7'));
        let ulid = Ulid::from_string(text).ok().filter(|_| fits).ok_or(MessageError::INVALID_ID)?;
        Ok(Self::from(ulid.0))
    }
}

impl MessageId {
    /// Writes the 26 characters into a buffer.
    fn write<'a>(&self, buffer: &'a mut [u8; ulid::ULID_LEN]) -> &'a str {
        Ulid(u128::from(*self)).array_to_str(buffer)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.write(&mut [0; ulid::ULID_LEN]))
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write(&mut [0; ulid::ULID_LEN]))
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = MessageId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message id of 26 characters")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageId, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// The position of a message in its conversation. Positions are ordered like the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    seq: u32,
    // `None` is less than `Some`: a summary follows the last message that it covers.
    summary: Option<NonZeroU32>,
}

impl Position {
    /// The maximum number of messages in a conversation. A sort key has 8 digits for it.
    pub(crate) const MAX_SEQ: u32 = 99_999_999;
    /// The maximum number of summaries in a conversation. A sort key has 4 digits for it.
    pub(crate) const MAX_SUMMARIES: u32 = 9_999;

    /// Returns the position of message number `seq`. The first message of a conversation has number 0.
    #[inline]
    pub(crate) const fn message(seq: u32) -> Self {
        Self { seq, summary: None }
    }

    /// The position of summary `number`, from 1, which covers all messages up to `after`.
    pub(crate) const fn summary(after: u32, number: NonZeroU32) -> Self {
        Self { seq: after, summary: Some(number) }
    }

    /// Returns the number of the message, or of the last message that a summary covers. The first message has number 0.
    #[inline]
    pub const fn seq(self) -> u32 {
        self.seq
    }

    /// Returns the number of the summary in the conversation, from 1, or `None` for a message.
    #[inline]
    pub const fn summary_number(self) -> Option<NonZeroU32> {
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_parses_its_own_text_and_refuses_other_text() {
        let id: MessageId = "01JRZJ166J2WRMF990535EVSQS".parse().unwrap();
        assert_eq!(id.to_string(), "01JRZJ166J2WRMF990535EVSQS");
        assert_eq!("1JRZ".parse::<MessageId>(), Err(MessageError::INVALID_ID));
        assert_eq!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<MessageId>(), Err(MessageError::INVALID_ID));
        assert_eq!("01JRZJ166J2WRMF990535EVSQé".parse::<MessageId>(), Err(MessageError::INVALID_ID));
    }

    #[test]
    fn summary_follows_the_last_message_it_covers() {
        let summary = Position::summary(3, NonZeroU32::MIN);
        assert!(Position::message(3) < summary && summary < Position::message(4));
    }
}
