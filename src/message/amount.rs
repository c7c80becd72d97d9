//! [`Amount`]: a number of milliseconds or tokens that may be unknown.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of milliseconds or tokens, or that it is unknown, in 4 bytes. A number that needs more than 31 bits, which is
/// 24 days, is cut to the largest or smallest that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amount(i32);

impl Amount {
    /// An unknown number.
    pub const UNKNOWN: Self = Self(i32::MIN);

    /// Returns the number as an amount, unless it needs more than 31 bits.
    pub fn exact(number: i64) -> Option<Self> {
        i32::try_from(number).ok().map(Self).filter(|amount| !amount.is_unknown())
    }

    /// Returns an amount that is unknown if it is zero, so that no record contains it.
    pub fn unless_zero(number: impl Into<Self>) -> Self {
        let amount = number.into();
        if amount.0 == 0 { Self::UNKNOWN } else { amount }
    }

    pub fn or_zero(self) -> i64 {
        self.get().unwrap_or_default()
    }

    pub fn get(self) -> Option<i64> {
        (self != Self::UNKNOWN).then_some(self.0.into())
    }

    pub fn is_unknown(&self) -> bool {
        *self == Self::UNKNOWN
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl From<i64> for Amount {
    fn from(number: i64) -> Self {
        Self::exact(number).unwrap_or(Self(if number < 0 { -i32::MAX } else { i32::MAX }))
    }
}

impl From<u64> for Amount {
    fn from(number: u64) -> Self {
        i64::try_from(number).unwrap_or(i64::MAX).into()
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map_or(Self::UNKNOWN, Self::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_is_what_was_set_or_the_nearest() {
        let amounts = [-5, 0, 1_200, i64::from(i32::MAX), i64::from(-i32::MAX)];
        assert!(amounts.iter().all(|amount| Amount::from(*amount).get() == Some(*amount)));
        let nearest = [i64::MAX, i64::from(i32::MIN), i64::MIN].map(|amount| Amount::from(amount).get());
        assert_eq!(nearest, [i32::MAX, -i32::MAX, -i32::MAX].map(|amount| Some(amount.into())));
        assert_eq!((Amount::default().get(), serde_json::from_str::<Amount>("null").unwrap()), (None, Amount::UNKNOWN));
        assert_eq!(serde_json::from_str::<Amount>("4000000000").unwrap().get(), Some(i32::MAX.into()));
    }
}
