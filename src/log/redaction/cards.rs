//! [`CardNumbers`]: finds payment card numbers by their check digit.

use std::error::Error;

use super::scan::{Letters, Symbol, runs};
use super::{Redaction, Redactor};

/// The lengths of card numbers. Shorter numbers would match telephone numbers.
const SHORTEST: usize = 13;
const LONGEST: usize = 19;
/// The number of digits at the end that are kept.
const KEPT: usize = 4;
/// The lengths of the digits that may follow a card number directly: its expiry, or its expiry and check number.
const TAILS: [usize; 2] = [4, 7];

/// A redactor for payment card numbers. Each digit except the last four becomes a `*`; separators stay.
///
/// - A card number has a known prefix and a length of its network (13 to 19 digits), passes the check of the [Luhn
///   formula](https://en.wikipedia.org/wiki/Luhn_algorithm), and its digits are not all equal. Networks are Visa,
///   Mastercard, American Express, Discover, Diners Club, JCB, UnionPay, Maestro, Mir, RuPay, UATP and smaller ones.
/// - White space, invisible characters, punctuation such as `- . , / _`, tags such as `[noise]`, and filler words such as
///   `uh`, `and` or `dann` may separate the digits. Any other word or character ends the number, as does `:`.
/// - A number starts and ends at a separator, a letter or the end of the digits. Digits without separators may hold
///   several numbers in a row, or a number before its expiry date.
/// - If several readings are valid, each is redacted: at most the last four digits of a card remain in any of them.
/// - Digits of all scripts count, and digits as words (`four`, `double one`, `forty-one`) in English, German, French,
///   Spanish, Italian and Portuguese. Tens count in English only. A word becomes one `*` for each of its digits.
///
/// About one in thirty other numbers with 16 digits passes all checks by chance, and is redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardNumbers;

impl Redactor for CardNumbers {
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        let mut found = Vec::new();
        if text.len() >= SHORTEST {
            runs(text, Letters::End, |run| find_cards(run, &mut found));
        }
        Ok(found)
    }
}

fn find_cards(run: &[Symbol], found: &mut Vec<Redaction>) {
    if run.len() < SHORTEST {
        return;
    }
    let lengths: Vec<Lengths> = (0..run.len()).map(|from| valid_lengths(run.get(from..).unwrap_or_default())).collect();
    let ends = ends(run, &lengths);
    let mut is_start: Vec<bool> = run.iter().map(|digit| digit.is_first).collect();
    let mut is_masked = vec![false; run.len()];
    // From left to right, so that the last four digits of one number can also start another. Redacting the result again
    // then finds nothing.
    for (from, lengths) in lengths.iter().enumerate() {
        if !is_start.get(from).is_some_and(|is_start| *is_start) {
            continue;
        }
        for length in lengths.iter().filter(|length| ends.get(from + length).is_some_and(|is_end| *is_end)) {
            let rest = from + length - KEPT;
            is_masked.iter_mut().take(rest).skip(from).for_each(|is_masked| *is_masked = true);
            [rest, from + length]
                .into_iter()
                .filter_map(|at| is_start.get_mut(at).map(|start| *start = true))
                .for_each(drop);
        }
    }
    mask(run, &is_masked, found);
}

/// Returns for each place whether a number may end before it: at a separator, at another card number, or at an expiry.
fn ends(run: &[Symbol], lengths: &[Lengths]) -> Vec<bool> {
    let is_edge = |at: usize| run.get(at).is_none_or(|digit| digit.is_first);
    let mut ends = vec![true; run.len() + 1];
    for at in (0..run.len()).rev() {
        let has_tail = || {
            let is_tail = |length: &usize| {
                is_edge(at + length) && (1..*length).all(|place| !is_edge(at + place)) && is_month(run, at)
            };
            TAILS.iter().any(is_tail)
        };
        let is_before_card = || {
            lengths
                .get(at)
                .is_some_and(|lengths| lengths.iter().any(|length| ends.get(at + length).is_some_and(|is_end| *is_end)))
        };
        let is_end = is_edge(at) || is_before_card() || has_tail();
        ends.get_mut(at).into_iter().for_each(|end| *end = is_end);
    }
    ends
}

fn is_month(run: &[Symbol], at: usize) -> bool {
    let month = run.get(at..).and_then(|digits| digits.first_chunk());
    month.is_some_and(|[tens, ones]| matches!((tens.c, ones.c), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2')))
}

/// Adds the masked digits of `run`, by the places of the text that are next to each other.
fn mask(run: &[Symbol], is_masked: &[bool], found: &mut Vec<Redaction>) {
    let mut masked: Option<(std::ops::Range<usize>, usize)> = None;
    // The digits of one word are masked together.
    let mut at = 0;
    for word in run.chunk_by(|digit, next| digit.at == next.at) {
        let flags = is_masked.get(at..at + word.len()).unwrap_or_default();
        at += word.len();
        let [first, ..] = word else { continue };
        if !flags.contains(&true) {
            continue;
        }
        match &mut masked {
            Some((range, count)) if range.end == first.at => (range.end, *count) = (first.end, *count + word.len()),
            _ => {
                found.extend(masked.take().map(redaction));
                masked = Some((first.at..first.end, word.len()));
            }
        }
    }
    found.extend(masked.map(redaction));
}

fn redaction((range, count): (std::ops::Range<usize>, usize)) -> Redaction {
    Redaction::new("card", range, "*".repeat(count))
}

/// A set of lengths from [`SHORTEST`] to [`LONGEST`].
#[derive(Debug, Clone, Copy, Default)]
struct Lengths(u8);

impl Lengths {
    fn iter(self) -> impl Iterator<Item = usize> {
        (SHORTEST..=LONGEST).filter(move |length| self.0 & 1 << (length - SHORTEST) != 0)
    }

    fn range(lengths: std::ops::RangeInclusive<usize>) -> Self {
        Self(lengths.fold(0, |set, length| set | 1 << (length - SHORTEST)))
    }
}

/// Returns the lengths of the valid card numbers at the start of `digits`.
fn valid_lengths(digits: &[Symbol]) -> Lengths {
    let mut valid = Lengths::default();
    let Some([a, b, c, d]) = digits.first_chunk().filter(|_| digits.len() >= SHORTEST) else { return valid };
    let prefix = [a, b, c, d].iter().fold(0, |prefix, digit| prefix * 10 + u16::from(digit.c - b'0'));
    let issued = issued_lengths(prefix);
    if issued.0 == 0 {
        return valid;
    }
    // The Luhn sums with the digits at even or odd places, from 0, doubled.
    let (mut even, mut odd) = (0, 0);
    let mut all_same = true;
    for (place, digit) in digits.iter().take(LONGEST).enumerate() {
        let once = u32::from(digit.c - b'0');
        let twice = once * 2 / 10 + once * 2 % 10;
        (even, odd) = if place % 2 == 0 { (even + twice, odd + once) } else { (even + once, odd + twice) };
        all_same &= digit.c == a.c;
        let length = place + 1;
        // Luhn doubles the digit before the last.
        let sum = if length % 2 == 0 { even } else { odd };
        if length >= SHORTEST && !all_same && sum % 10 == 0 {
            valid.0 |= 1 << (length - SHORTEST);
        }
    }
    Lengths(valid.0 & issued.0)
}

/// Returns the lengths of the card numbers that networks issue with a prefix of four digits.
fn issued_lengths(prefix: u16) -> Lengths {
    match prefix {
        // UATP.
        1000..=1999 => Lengths::range(15..=15),
        // Mir, Mastercard.
        2200..=2205 => Lengths::range(16..=19),
        2221..=2720 => Lengths::range(16..=16),
        // American Express, Diners Club, JCB.
        3400..=3499 | 3700..=3799 => Lengths::range(15..=15),
        3528..=3589 => Lengths::range(16..=19),
        3000..=3059 | 3090..=3099 | 3600..=3699 | 3800..=3999 => Lengths::range(14..=19),
        // Visa.
        4000..=4999 => Lengths(Lengths::range(13..=13).0 | Lengths::range(16..=16).0 | Lengths::range(19..=19).0),
        // Mastercard, Maestro.
        5100..=5599 => Lengths::range(16..=16),
        5000..=5099 | 5600..=5999 => Lengths::range(13..=19),
        // Maestro, Discover, UnionPay, RuPay and others.
        6000..=6999 => Lengths::range(13..=19),
        8100..=8299 => Lengths::range(16..=19),
        // UzCard, Troy, Humo.
        8600 | 9792 | 9860 => Lengths::range(16..=16),
        _ => Lengths::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut written = text.to_owned();
        for redaction in CardNumbers.find(text).unwrap().iter().rev() {
            written.replace_range(redaction.range.clone(), &redaction.replacement);
        }
        written
    }

    #[test]
    fn card_numbers_keep_their_last_four_digits() {
        for (said, left) in [
            ("4111111111111111", "************1111"),
            ("5555 5555 5555 4444", "**** **** **** 4444"),
            ("3782-822463-10005", "****-******-*0005"),
            ("6011111111111117", "************1117"),
            ("30569309025904", "**********5904"),
            ("4222222222222", "*********2222"),
            ("6250941006528599", "************8599"),
            ("6304000000000000000", "***************0000"),
            ("6205500000000000004", "***************0004"),
            ("135412345678911", "***********8911"),
            ("2223003122003222", "************3222"),
            ("4111.1111.1111.1111.", "****.****.****.1111."),
            ("4111, 1111. 1111... 1111", "****, ****. ****... 1111"),
            ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "* * * * * * * * * * * * 1 1 1 1"),
            ("４１１１\u{a0}１１１１\u{a0}１１１１\u{a0}１１１１", "****\u{a0}****\u{a0}****\u{a0}１１１１"),
            ("٤١١١١١١١١١١١١١١١", "************١١١١"),
            ("4111\u{200b}1111\u{2011}1111\n1111", "****\u{200b}****\u{2011}****\n1111"),
            ("4111\u{202e}1111\u{2066}1111\u{202c}1111", "****\u{202e}****\u{2066}****\u{202c}1111"),
            ("𝟒𝟏𝟏𝟏 ๑๑๑๑ 1111 1111", "**** **** **** 1111"),
            ("41111111/11111111", "********/****1111"),
            ("4111_1111_1111_1111", "****_****_****_1111"),
            ("4111 1111 uh 1111 1111", "**** **** uh **** 1111"),
            ("4111 1111 and 1111, and then 1111", "**** **** and ****, and then 1111"),
            ("4111, äh, 1111 und 1111 1111", "****, äh, **** und **** 1111"),
            ("4111 1111 [noise] 1111 <unk> 1111", "**** **** [noise] **** <unk> 1111"),
            (
                "four one one one, one one one one, one one one one, one one one one",
                "* * * *, * * * *, * * * *, one one one one",
            ),
            ("Visa four triple one 1111 double one double one then 1111", "Visa * *** **** ** ** then 1111"),
            ("forty-one eleven eleven eleven 1111 eleven eleven", "** ** ** ** **** eleven eleven"),
            ("vier eins eins eins 1111 eins eins eins eins 1111", "* * * * **** * * * * 1111"),
            ("quatro um um um 1111 1111 um um um um", "* * * * **** **** um um um um"),
            ("4111 1111 1111 1 double one one", "**** **** **** 1 double one one"),
            // If a word has one of the last four digits and others, all of its digits are masked.
            ("4111 1111 111 double one double one one", "**** **** *** ** double one one"),
        ] {
            assert_eq!(written(said), left, "{said}");
        }
    }

    #[test]
    fn cards_are_found_among_other_digits() {
        for (said, left) in [
            ("at 10:30 card 4111 1111 1111 1111 on 12/27", "at 10:30 card **** **** **** 1111 on 12/27"),
            ("7 4111 1111 1111 1111", "7 **** **** **** 1111"),
            ("room 12 4111111111111111 12/27 123", "room 12 ************1111 12/27 123"),
            ("4111111111111111 5555555555554444", "************1111 ************4444"),
            ("card4111111111111111x", "card************1111x"),
            ("no4111 1111 1111 1111", "no**** **** **** 1111"),
            ("41111111111111115555555555554444", "************1111************4444"),
            ("4111 1111 1111 11115555 5555 5555 4444", "**** **** **** 1111**** **** **** 4444"),
            ("378282246310005411111111111111130569309025904", "***********0005************1111**********5904"),
            ("41111111111111111227 cvv 123", "************11111227 cvv 123"),
            ("41111111111111111227123", "************11111227123"),
            ("perché 4111111111111111", "perché ************1111"),
        ] {
            assert_eq!(written(said), left, "{said}");
        }
    }

    #[test]
    fn other_numbers_are_kept() {
        for said in [
            "",
            "I have one card.",
            "4111111111111112",
            "order 1234567890123456",
            "+1 415 555 2671",
            "+39 06 1234 5678",
            "0000000000000000",
            "8888 8888 8888 8888",
            "0111111111111119",
            "411111111111111111111",
            "94111111111111111111",
            "7777 7777 7777 7770",
            "4111 1111 for 1111 1111",
            "4111 1111: 1111 1111",
            "41111111111111111327",
            "four hundred eleven and 1111 1111 1111 1",
            "４１１１１１",
            // A time in milliseconds with a valid check digit.
            "1744815823051",
        ] {
            assert_eq!(written(said), said);
        }
    }
}
