//! [`Number`]: a number of DynamoDB, exact to 38 digits.

use std::fmt;
use std::str::FromStr;

use crate::message::error::MessageError;

/// The maximum number of significant digits in DynamoDB.
pub(super) const MAX_DIGITS: usize = 38;
/// The powers of ten of the first digit, from 1E-130 to 9.99…E+125
/// ([limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)).
const EXPONENTS: std::ops::RangeInclusive<i64> = -130..=125;

/// An exact decimal number that DynamoDB can store.
///
/// It has at most 38 significant digits and a magnitude from 1E-130 to 9.99E+125, or is 0. It is never NaN. Numbers are
/// equal if their values are: `1.50` equals `15e-1`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Repr);

/// Equal values have one representation.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Int(i64),
    /// A number that is not an `i64`, in the form of `canonical`.
    Decimal(Box<str>),
}

impl Number {
    /// Returns the number as an `i64`, or `None` if it does not fit one.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(int) => Some(*int),
            Repr::Decimal(_) => None,
        }
    }

    /// Returns the number as a `u64`, or `None` if it does not fit one.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Int(int) => u64::try_from(*int).ok(),
            Repr::Decimal(text) => text.parse().ok(),
        }
    }

    /// Returns the nearest `f64`.
    pub(crate) fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Int(int) => *int as f64,
            // Every canonical form is a Rust literal whose magnitude fits an f64.
            Repr::Decimal(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the number as an `f64` if the `f64` converts back into this number.
    pub(super) fn as_exact_f64(&self) -> Option<f64> {
        let float = self.to_f64();
        (Self::try_from(float).as_ref() == Ok(self)).then_some(float)
    }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Int(int))
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        Self(i64::try_from(int).map_or_else(|_| Repr::Decimal(int.to_string().into()), Repr::Int))
    }
}

impl From<i32> for Number {
    fn from(int: i32) -> Self {
        Self(Repr::Int(int.into()))
    }
}

impl From<u32> for Number {
    fn from(int: u32) -> Self {
        Self(Repr::Int(int.into()))
    }
}

/// Converts a float into the shortest decimal that reads back as the same float.
///
/// Returns a [`MessageError`] if the float is NaN, infinite or out of DynamoDB's range.
impl TryFrom<f64> for Number {
    type Error = MessageError;

    fn try_from(float: f64) -> Result<Self, MessageError> {
        if !float.is_finite() {
            return Err(MessageError::NOT_FINITE);
        }
        format!("{float:e}").parse()
    }
}

/// Parses a decimal number such as `-12.5`, `1e-9` or `+3.`, as JSON and DynamoDB write them.
///
/// Returns a [`MessageError`] if the text is not a number, has more than 38 significant digits, or is out of DynamoDB's
/// range.
impl FromStr for Number {
    type Err = MessageError;

    fn from_str(text: &str) -> Result<Self, MessageError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MessageError::NOT_A_NUMBER);
        }
        let digits = all.trim_start_matches('0');
        let leading = all.len() - digits.len();
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Self(Repr::Int(0)));
        }
        if digits.len() > MAX_DIGITS {
            let text = format!(
                "a number has at most {MAX_DIGITS} significant digits, not {}; store it as a text",
                digits.len()
            );
            return Err(MessageError::with_details(text));
        }
        // The power of ten of the first digit.
        let first = exponent.saturating_add(whole.len() as i64 - leading as i64 - 1);
        if !EXPONENTS.contains(&first) {
            return Err(MessageError::NUMBER_OUT_OF_RANGE);
        }
        let text = canonical(negative, digits, first);
        Ok(Self(text.parse().map_or_else(|_| Repr::Decimal(text.into()), Repr::Int)))
    }
}

fn parse_exponent(text: &str) -> Result<i64, MessageError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(MessageError::NOT_A_NUMBER);
    }
    // An exponent that overflows an `i64` is out of range, unless the mantissa is 0.
    Ok(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// Returns plain notation for numbers of usual size, else scientific notation. `digits` has no zeros at its ends.
fn canonical(negative: bool, digits: &str, first: i64) -> String {
    let sign = if negative { "-" } else { "" };
    let count = digits.len() as i64;
    if (-7..0).contains(&first) {
        format!("{sign}0.{}{digits}", "0".repeat(first.unsigned_abs() as usize - 1))
    } else if first >= 0 && first < MAX_DIGITS as i64 {
        if count <= first + 1 {
            format!("{sign}{digits}{}", "0".repeat((first + 1 - count).unsigned_abs() as usize))
        } else {
            let (whole, fraction) = digits.split_at(first.unsigned_abs() as usize + 1);
            format!("{sign}{whole}.{fraction}")
        }
    } else {
        let (whole, fraction) = digits.split_at(1);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}E{first}")
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(int) => fmt::Display::fmt(int, f),
            Repr::Decimal(text) => f.pad(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Number(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_values_have_one_form() {
        for (written, kept) in [
            ("0", "0"),
            ("-0.00e7", "0"),
            ("1.50", "1.5"),
            ("15e-1", "1.5"),
            ("+007.", "7"),
            ("1e2", "100"),
            ("0.0000001", "0.0000001"),
            ("0.00000001", "1E-8"),
            ("-1.5e40", "-1.5E40"),
            ("9223372036854775808", "9223372036854775808"),
            ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
            ("9.9999999999999999999999999999999999999e125", "9.9999999999999999999999999999999999999E125"),
            ("1e-130", "1E-130"),
        ] {
            assert_eq!(written.parse::<Number>().unwrap().to_string(), kept, "{written}");
        }
    }

    #[test]
    fn numbers_that_dynamodb_refuses_are_refused() {
        for (written, error) in [
            ("", MessageError::NOT_A_NUMBER),
            (".", MessageError::NOT_A_NUMBER),
            ("1e", MessageError::NOT_A_NUMBER),
            ("0x10", MessageError::NOT_A_NUMBER),
            ("1_000", MessageError::NOT_A_NUMBER),
            ("--1", MessageError::NOT_A_NUMBER),
            ("1e126", MessageError::NUMBER_OUT_OF_RANGE),
            ("1e-131", MessageError::NUMBER_OUT_OF_RANGE),
            ("1e99999999999999999999", MessageError::NUMBER_OUT_OF_RANGE),
        ] {
            assert_eq!(written.parse::<Number>(), Err(error), "{written}");
        }
        let refused = "123456789012345678901234567890123456789".parse::<Number>().unwrap_err();
        assert_eq!(refused.to_string(), "a number has at most 38 significant digits, not 39; store it as a text");
        assert_eq!(Number::try_from(f64::NAN), Err(MessageError::NOT_FINITE));
        assert_eq!(Number::try_from(f64::NEG_INFINITY), Err(MessageError::NOT_FINITE));
        assert_eq!(Number::try_from(1e300), Err(MessageError::NUMBER_OUT_OF_RANGE));
    }

    proptest! {
        #[test]
        fn number_parses_its_own_text(
            digits in "[0-9]{1,38}", point in 0usize..39, exponent in -80i32..80, negative: bool,
        ) {
            let (whole, fraction) = digits.split_at(point.min(digits.len()));
            let written = format!("{}{whole}.{fraction}e{exponent}", if negative { "-" } else { "" });
            if let Ok(number) = written.parse::<Number>() {
                prop_assert_eq!(number.to_string().parse::<Number>(), Ok(number));
            }
        }

        #[test]
        fn float_round_trips_exactly(float in -1e125f64..1e125) {
            prop_assert_eq!(Number::try_from(float).unwrap().to_f64(), float);
        }
    }
}
