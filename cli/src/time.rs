//! Times for people. The log has milliseconds since the Unix epoch.

use jiff::Timestamp;

/// Formats a time as `2025-10-20 07:15:02`, in UTC. A time out of range is shown as its number.
pub fn utc(at_ms: i64) -> String {
    match Timestamp::from_millisecond(at_ms) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => format!("{at_ms} ms"),
    }
}

/// Formats the time since the start of a call, as `01:02.3`.
pub fn since(start_ms: i64, at_ms: i64) -> String {
    let tenths = at_ms.saturating_sub(start_ms).div_euclid(100);
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    format!("{sign}{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// Formats a duration as `1 h 2 min`, `2 min 5 s` or `5.4 s`.
pub fn lasting(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}.{} s", ms.max(0) / 100 % 10),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!(utc(1_760_944_502_400), "2025-10-20 07:15:02");
        assert_eq!(utc(i64::MAX), "9223372036854775807 ms");
        assert_eq!((since(1_000, 63_340), since(1_000, 900)), ("01:02.3".to_owned(), "-00:00.1".to_owned()));
        assert_eq!(since(i64::MIN, i64::MAX), since(0, i64::MAX));
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let shown: Vec<String> = [-5, 5_430, 65_000, 7_265_000].map(lasting).into();
        assert_eq!(shown, ["0.0 s", "5.4 s", "1 min 5 s", "2 h 1 min"]);
    }
}
