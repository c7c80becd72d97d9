//! A [`Date`] in UTC, and times as text in RFC 3339.

use std::fmt;
use std::ops::RangeInclusive;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

const DAY_MS: i64 = 86_400_000;
const YEARS_0_TO_9999_MS: RangeInclusive<i64> = -719_528 * DAY_MS..=2_932_897 * DAY_MS - 1;

/// A day in UTC, in the years 0000 to 9999. Displays as `2025-04-16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Date(time::Date);

impl Date {
    /// Returns the day of a time in milliseconds since the Unix epoch, limited to the years 0000 to 9999.
    pub fn of_ms(at_ms: i64) -> Self {
        let at_ms = at_ms.clamp(*YEARS_0_TO_9999_MS.start(), *YEARS_0_TO_9999_MS.end());
        Self(OffsetDateTime::UNIX_EPOCH.saturating_add(Duration::milliseconds(at_ms)).date())
    }

    /// Returns the start of the day in milliseconds since the Unix epoch.
    #[cfg(test)]
    pub fn start_ms(self) -> i64 {
        self.0.midnight().as_utc().unix_timestamp() * 1_000
    }

    /// Parses a day such as `2025-04-16`.
    pub fn read(text: &str) -> Option<Self> {
        read_moment(&format!("{text}T00:00:00Z")).map(Self::of_ms)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Formats a time as in RFC 3339, in UTC, with milliseconds if they are not 0.
pub(crate) fn write_moment(at_ms: i64) -> String {
    let (day, of_day) = (Date::of_ms(at_ms), at_ms.rem_euclid(DAY_MS));
    let (seconds, ms) = (of_day / 1_000, of_day % 1_000);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{day}T{:02}:{:02}:{:02}{fraction}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Parses a time as in RFC 3339 and returns it in milliseconds since the Unix epoch. Smaller fractions are cut off.
pub(crate) fn read_moment(text: &str) -> Option<i64> {
    // RFC 3339 allows several separators, such as a space instead of the `T`.
    let separator = text.as_bytes().get(10)?;
    let at = OffsetDateTime::parse(text, &Rfc3339).ok().filter(|_| b"Tt ".contains(separator))?;
    let at_ms = at.unix_timestamp() * 1_000 + i64::from(at.millisecond());
    // A time zone may move the time out of the years with four digits.
    Some(at_ms).filter(|at_ms| YEARS_0_TO_9999_MS.contains(at_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_round_trips_and_follows_the_previous_one() {
        let mut before = Date::read("0000-01-01").unwrap();
        assert_eq!(before.start_ms(), -719_528 * DAY_MS);
        for number in -719_527..=2_932_896 {
            let day = Date::of_ms(number * DAY_MS + number.rem_euclid(DAY_MS));
            assert_eq!(day.start_ms(), number * DAY_MS);
            assert!(day > before);
            before = day;
        }
        assert_eq!(before.to_string(), "9999-12-31");
        assert_eq!((Date::of_ms(i64::MAX), Date::of_ms(-1).to_string().as_str()), (before, "1969-12-31"));
    }

    #[test]
    fn text_that_is_no_day_is_refused() {
        assert!(Date::read("2024-02-29").is_some());
        for bad in
            ["", "2025-02-29", "2025-13-01", "2025-00-10", "2025-01-32", "2025-1-01", "+025-01-01", "2025-01-01 "]
        {
            assert_eq!(Date::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_parsed_in_all_forms_and_formatted_in_one() {
        for (text, at_ms) in [
            ("2025-11-18T10:30:00Z", 1_763_461_800_000),
            ("2025-11-18T10:30:00.000Z", 1_763_461_800_000),
            ("2025-11-18T12:30:00.5+02:00", 1_763_461_800_500),
            ("2025-11-18 05:00:00.123987-05:30", 1_763_461_800_123),
            ("1969-12-31t23:59:59.999z", -1),
            // A leap second is the end of the second before it.
            ("2016-12-31T23:59:60Z", 1_483_228_799_999),
        ] {
            assert_eq!(read_moment(text), Some(at_ms), "{text}");
            assert_eq!(read_moment(&write_moment(at_ms)), Some(at_ms), "{text}");
        }
        assert_eq!(write_moment(1_763_461_800_000), "2025-11-18T10:30:00Z");
        assert_eq!(write_moment(1_763_461_800_050), "2025-11-18T10:30:00.050Z");
        for bad in [
            "",
            "2025-11-18",
            "2025-11-18T10:30:00",
            "2025-11-18T24:00:00Z",
            "2025-11-18T10:30:00.Z",
            "T+ü",
            "2025-11-18T10:30:60Z",
            "2025-11-18_10:30:00Z",
            "2025-11-18T10:30:00+00:60",
        ] {
            assert_eq!(read_moment(bad), None, "{bad}");
        }
        // These times are outside the years that can be formatted.
        for beyond in ["0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(read_moment(beyond), None, "{beyond}");
        }
        for edge in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"] {
            assert_eq!(read_moment(edge).map(write_moment).as_deref(), Some(edge));
        }
    }
}
