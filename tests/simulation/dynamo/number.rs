//! The numbers of DynamoDB: decimals of 38 digits, compared and added exactly.

use std::cmp::Ordering;

use super::error::ServiceError;

const MAX_DIGITS: usize = 38;
/// The range of the exponent of the first digit: from 1E-130 to 9.99…E+125.
const EXPONENTS: std::ops::RangeInclusive<i64> = -130..=125;

/// A number `0.d₁d₂…` times ten to the power of `point`. Zero has no digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    is_negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Number {
    pub fn parse(text: &str) -> Result<Self, ServiceError> {
        let number = Self::read(text).ok_or_else(|| {
            ServiceError::validation(format!("The parameter cannot be converted to a numeric value: {text}"))
        })?;
        if number.digits.len() > MAX_DIGITS {
            return Err(ServiceError::validation("Attempting to store more than 38 significant digits in a Number"));
        }
        let exponent = number.point - 1;
        if !number.digits.is_empty() && !EXPONENTS.contains(&exponent) {
            let (what, than) = if exponent > 0 { ("overflow", "larger") } else { ("underflow", "smaller") };
            return Err(ServiceError::validation(format!(
                "Number {what}. Attempting to store a number with magnitude {than} than supported range"
            )));
        }
        Ok(number)
    }

    fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, point: 0 });
        }
        let point = (whole.len() as i64 - zeros as i64).saturating_add(exponent);
        Some(Self { is_negative: mantissa.starts_with('-'), digits, point })
    }

    /// Formats the number as DynamoDB returns it: with all digits and without an exponent.
    pub fn to_text(&self) -> String {
        let digits = String::from_utf8_lossy(&self.digits);
        let length = self.digits.len() as i64;
        let text = match self.point {
            _ if self.digits.is_empty() => "0".to_owned(),
            point if point <= 0 => format!("0.{}{digits}", "0".repeat(-point as usize)),
            point if point >= length => format!("{digits}{}", "0".repeat((point - length) as usize)),
            point => format!("{}.{}", &digits[..point as usize], &digits[point as usize..]),
        };
        if self.is_negative { format!("-{text}") } else { text }
    }

    pub fn plus(&self, other: &Self) -> Result<Self, ServiceError> {
        let lowest = (self.point - self.digits.len() as i64).min(other.point - other.digits.len() as i64);
        let sum = self.scaled(lowest)?.checked_add(other.scaled(lowest)?).ok_or_else(Self::too_wide)?;
        Self::parse(&format!("{sum}e{lowest}"))
    }

    pub fn negated(&self) -> Self {
        Self { is_negative: !self.is_negative && !self.digits.is_empty(), ..self.clone() }
    }

    /// Returns the number as a multiple of ten to the power of `lowest`. Counters and revisions fit easily.
    fn scaled(&self, lowest: i64) -> Result<i128, ServiceError> {
        if self.digits.is_empty() {
            return Ok(0);
        }
        let zeros = usize::try_from(self.point - self.digits.len() as i64 - lowest).map_err(|_| Self::too_wide())?;
        if self.digits.len() + zeros > MAX_DIGITS {
            return Err(Self::too_wide());
        }
        let text = format!("{}{}", String::from_utf8_lossy(&self.digits), "0".repeat(zeros));
        let unsigned: i128 = text.parse().map_err(|_| Self::too_wide())?;
        Ok(if self.is_negative { -unsigned } else { unsigned })
    }

    fn too_wide() -> ServiceError {
        ServiceError::validation("Attempting to store more than 38 significant digits in a Number")
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| if number.digits.is_empty() { 0 } else { 1 - 2 * i8::from(number.is_negative) };
        let size = || (self.point, &self.digits).cmp(&(other.point, &other.digits));
        sign(self).cmp(&sign(other)).then_with(|| if self.is_negative { size().reverse() } else { size() })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
