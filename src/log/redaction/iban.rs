//! International bank account numbers.

use super::patterns::prefix;
use super::scan::Symbol;

/// Returns the length of the account number at the start of `run`.
pub(super) fn length(_: &str, run: &[Symbol]) -> Option<usize> {
    let [a, b, c, d] = run.first_chunk()?;
    if !(a.c.is_ascii_uppercase() && b.c.is_ascii_uppercase() && c.c.is_ascii_digit() && d.c.is_ascii_digit()) {
        return None;
    }
    let country = [a.c, b.c];
    let at = LENGTHS.binary_search_by_key(&&country, |(known, _)| known).ok()?;
    let (_, length) = LENGTHS.get(at)?;
    let written = prefix(run, *length)?;
    let (front, rest) = written.split_at_checked(4)?;
    let remainder = rest.iter().chain(front).fold(0, |remainder, c| match c {
        b'0'..=b'9' => (remainder * 10 + u32::from(c - b'0')) % 97,
        _ => (remainder * 100 + u32::from(c - b'A') + 10) % 97,
    });
    (remainder == 1).then_some(*length)
}

/// The length by country, of the IBAN registry, sorted.
#[rustfmt::skip]
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24), (b"AE", 23), (b"AL", 28), (b"AT", 20), (b"AZ", 28), (b"BA", 20), (b"BE", 16), (b"BG", 22), (b"BH", 22),
    (b"BI", 27), (b"BR", 29), (b"BY", 28), (b"CH", 21), (b"CR", 22), (b"CY", 28), (b"CZ", 24), (b"DE", 22), (b"DJ", 27),
    (b"DK", 18), (b"DO", 28), (b"EE", 20), (b"EG", 29), (b"ES", 24), (b"FI", 18), (b"FK", 18), (b"FO", 18), (b"FR", 27),
    (b"GB", 22), (b"GE", 22), (b"GI", 23), (b"GL", 18), (b"GR", 27), (b"GT", 28), (b"HN", 28), (b"HR", 21), (b"HU", 28),
    (b"IE", 22), (b"IL", 23), (b"IQ", 23), (b"IS", 26), (b"IT", 27), (b"JO", 30), (b"KW", 30), (b"KZ", 20), (b"LB", 28),
    (b"LC", 32), (b"LI", 21), (b"LT", 20), (b"LU", 20), (b"LV", 21), (b"LY", 25), (b"MC", 27), (b"MD", 24), (b"ME", 22),
    (b"MK", 19), (b"MN", 20), (b"MR", 27), (b"MT", 31), (b"MU", 30), (b"NI", 28), (b"NL", 18), (b"NO", 15), (b"OM", 23),
    (b"PK", 24), (b"PL", 28), (b"PS", 29), (b"PT", 25), (b"QA", 29), (b"RO", 24), (b"RS", 22), (b"RU", 33), (b"SA", 24),
    (b"SC", 31), (b"SD", 18), (b"SE", 24), (b"SI", 19), (b"SK", 24), (b"SM", 27), (b"SO", 23), (b"ST", 25), (b"SV", 28),
    (b"TL", 23), (b"TN", 24), (b"TR", 26), (b"UA", 29), (b"VA", 22), (b"VG", 24), (b"XK", 20), (b"YE", 30),
];

#[cfg(test)]
mod tests {
    #[test]
    fn countries_are_sorted() {
        assert!(super::LENGTHS.is_sorted_by(|(one, _), (next, _)| one < next));
    }
}
