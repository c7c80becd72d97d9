//! [`Day`]: the day on which a call is listed.

use std::fmt;
use std::str::FromStr;

use super::LogError;
use crate::clock::Date;

/// A day in UTC, in the years 0000 to 9999. Parses from and displays as `2025-04-16`.
///
/// ```
/// use verbale::log::Day;
///
/// let day = Day::of_ms(1_744_815_823_058);
/// assert_eq!(day.to_string(), "2025-04-16");
/// assert_eq!("2025-04-16".parse::<Day>().unwrap(), day);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// Returns the day of a time in milliseconds since the Unix epoch. Times out of range give the first or last day.
    pub fn of_ms(at_ms: i64) -> Self {
        Self(Date::of_ms(at_ms))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Day {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        Date::read(text).map(Self).ok_or_else(|| LogError::invalid("a day", "write a day as 2025-04-16"))
    }
}
