//! A [`Date`] in UTC, and moments as text: the calendar that is needed, and no more.

use std::fmt;

const DAY_MS: i64 = 86_400_000;

/// A day in UTC, of the years 0000 to 9999. Displays as `2025-04-16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// The day of a moment, in milliseconds since the Unix epoch; the first or last day there is for one outside.
    pub fn of_ms(at_ms: i64) -> Self {
        // Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is a year's last.
        let days = at_ms.div_euclid(DAY_MS).clamp(-719_528, 2_932_896) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        Self { year: year as u16, month: month as u8, day: day as u8 }
    }

    /// Its first millisecond since the Unix epoch.
    pub fn start_ms(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
        (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468) * DAY_MS
    }

    /// Reads `2025-04-16`.
    pub fn read(text: &str) -> Option<Self> {
        let [year, month, day] = fields(text, '-', [4, 2, 2])?;
        let found =
            Self { year: u16::try_from(year).ok()?, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? };
        // February 30 comes back as March 2.
        let is_of_a_year = (1..=12).contains(&month) && (1..=31).contains(&day);
        (is_of_a_year && Self::of_ms(found.start_ms()) == found).then_some(found)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A moment as in RFC 3339, in UTC, with milliseconds where there are any.
pub(crate) fn write_moment(at_ms: i64) -> String {
    let (day, of_day) = (Date::of_ms(at_ms), at_ms.rem_euclid(DAY_MS));
    let (seconds, ms) = (of_day / 1_000, of_day % 1_000);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{day}T{:02}:{:02}:{:02}{fraction}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

const YEARS_0_TO_9999_MS: std::ops::Range<i64> = -719_528 * DAY_MS..2_932_897 * DAY_MS;

/// Milliseconds since the Unix epoch of a moment as in RFC 3339; what is finer than that is cut off.
pub(crate) fn read_moment(text: &str) -> Option<i64> {
    let (day, rest) = text.split_once(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at_checked(zone_at)?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hours, minutes, seconds] = fields(whole, ':', [2, 2, 2])?;
    // A leap second, 60, is the next second.
    if hours > 23 || minutes > 59 || seconds > 60 || fraction.is_empty() || !is_digits(fraction) {
        return None;
    }
    let ms: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let offset_minutes = match (zone.chars().next()?, zone.get(1..)?) {
        ('Z' | 'z', "") => 0,
        (sign @ ('+' | '-'), offset) => {
            let [hours, minutes] = fields(offset, ':', [2, 2])?;
            let offset = hours * 60 + minutes;
            if hours > 23 || minutes > 59 {
                return None;
            }
            if sign == '-' { -offset } else { offset }
        }
        _ => return None,
    };
    let of_day = ((hours * 60 + minutes - offset_minutes) * 60 + seconds) * 1_000 + ms;
    // A zone or a leap second may lead out of the years that have four digits.
    Some(Date::read(day)?.start_ms() + of_day).filter(|at_ms| YEARS_0_TO_9999_MS.contains(at_ms))
}

/// Numbers of so many digits each, parted by `separator`.
fn fields<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut found = [0; N];
    for (slot, digits) in found.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits && is_digits(part))?;
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_comes_back_and_follows_the_one_before() {
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
    fn what_is_no_day_is_refused() {
        assert!(Date::read("2024-02-29").is_some());
        for bad in
            ["", "2025-02-29", "2025-13-01", "2025-00-10", "2025-01-32", "2025-1-01", "+025-01-01", "2025-01-01 "]
        {
            assert_eq!(Date::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_are_read_in_every_form_and_written_in_one() {
        for (text, at_ms) in [
            ("2025-11-18T10:30:00Z", 1_763_461_800_000),
            ("2025-11-18T10:30:00.000Z", 1_763_461_800_000),
            ("2025-11-18T12:30:00.5+02:00", 1_763_461_800_500),
            ("2025-11-18 05:00:00.123987-05:30", 1_763_461_800_123),
            ("1969-12-31t23:59:59.999z", -1),
        ] {
            assert_eq!(read_moment(text), Some(at_ms), "{text}");
            assert_eq!(read_moment(&write_moment(at_ms)), Some(at_ms), "{text}");
        }
        assert_eq!(write_moment(1_763_461_800_000), "2025-11-18T10:30:00Z");
        assert_eq!(write_moment(1_763_461_800_050), "2025-11-18T10:30:00.050Z");
        for bad in ["", "2025-11-18", "2025-11-18T10:30:00", "2025-11-18T24:00:00Z", "2025-11-18T10:30:00.Z", "T+ü"] {
            assert_eq!(read_moment(bad), None, "{bad}");
        }
        // What could not be written again.
        for beyond in ["0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(read_moment(beyond), None, "{beyond}");
        }
        for edge in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"] {
            assert_eq!(read_moment(edge).map(write_moment).as_deref(), Some(edge));
        }
    }
}
