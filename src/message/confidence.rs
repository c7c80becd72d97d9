//! [`Confidence`]: how certain the speech recognition is of a transcript.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use crate::message::error::MessageError;
use crate::message::value::{Number, Value};

/// The confidence of the speech recognition in a transcript: a decimal number from 0 to 1.
///
/// It is logged as given. An `f32` is logged as the shortest decimal number that reads back as the same `f32`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Confidence(Number);

impl Confidence {
    pub fn number(&self) -> &Number {
        &self.0
    }
}

/// Returns a [`MessageError`] if the number is not from 0 to 1.
impl TryFrom<Number> for Confidence {
    type Error = MessageError;

    fn try_from(number: Number) -> Result<Self, MessageError> {
        if (0.0..=1.0).contains(&number.to_f64()) { Ok(Self(number)) } else { Err(MessageError::INVALID_CONFIDENCE) }
    }
}

/// Returns a [`MessageError`] if the number is not from 0 to 1.
impl TryFrom<f32> for Confidence {
    type Error = MessageError;

    fn try_from(confidence: f32) -> Result<Self, MessageError> {
        format!("{confidence:e}").parse()
    }
}

/// Returns a [`MessageError`] if the text is not a decimal number from 0 to 1.
impl FromStr for Confidence {
    type Err = MessageError;

    fn from_str(text: &str) -> Result<Self, MessageError> {
        text.parse::<Number>().map_err(|_| MessageError::INVALID_CONFIDENCE)?.try_into()
    }
}

impl fmt::Debug for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => Self::try_from(number).map_err(de::Error::custom),
            _ => Err(de::Error::custom(MessageError::INVALID_CONFIDENCE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_logged_as_given() {
        for (given, logged) in [
            (Confidence::try_from(0.93_f32), "0.93"),
            (Number::try_from(0.93_f64).unwrap().try_into(), "0.93"),
            (Confidence::try_from(0_f32), "0"),
            (Confidence::try_from(1e-10_f32), "1e-10"),
            ("0.930".parse(), "0.93"),
            ("1".parse(), "1"),
        ] {
            let given = given.unwrap();
            assert_eq!(serde_json::to_string(given.number()).unwrap(), logged);
            assert_eq!(serde_json::from_str::<Confidence>(logged).unwrap(), given);
        }
    }

    #[test]
    fn confidence_outside_0_to_1_is_refused() {
        let floats = [f32::NAN, f32::INFINITY, -0.1, 1.01, 93.0].map(Confidence::try_from);
        for refused in floats.into_iter().chain(["high".parse()]) {
            assert_eq!(refused, Err(MessageError::INVALID_CONFIDENCE));
        }
    }
}
