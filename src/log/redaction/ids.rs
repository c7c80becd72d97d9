//! National identification numbers of eight countries.

use super::patterns::{is_after, prefix};
use super::scan::Symbol;

/// Returns the length of the number at the start of `run`.
pub(super) fn length(text: &str, run: &[Symbol]) -> Option<usize> {
    let lengths = [16, 15, 11, 9];
    lengths.into_iter().find(|length| {
        prefix(run, *length).is_some_and(|written| match length {
            16 => is_codice_fiscale(&written),
            15 => is_nir(&written),
            11 => is_tax_id(&written) || is_cpf(&written),
            _ => is_dni(&written) || is_nino(&written) || is_ssn(&written, text, run) || is_nif(&written, text, run),
        })
    })
}

fn digits(written: &[u8]) -> Option<Vec<u32>> {
    written.iter().map(|c| char::from(*c).to_digit(10)).collect()
}

fn number(written: &[u8]) -> Option<u64> {
    digits(written)?.into_iter().try_fold(0, |number: u64, digit| number.checked_mul(10)?.checked_add(digit.into()))
}

/// Italy: letters and digits by place, and a check letter.
fn is_codice_fiscale(written: &[u8]) -> bool {
    // The digits may be replaced by these letters, so that two people differ.
    const INSTEAD: &[u8] = b"LMNPQRSTUV";
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let has_form = written.iter().zip(b"LLLLLLDDMDDLDDDL").all(|(c, form)| match form {
        b'L' => c.is_ascii_uppercase(),
        b'M' => b"ABCDEHLMPRST".contains(c),
        _ => c.is_ascii_digit() || INSTEAD.contains(c),
    });
    let Some((check, front)) = written.split_last().filter(|_| has_form) else { return false };
    let sum: u32 = front
        .iter()
        .enumerate()
        .map(|(place, c)| {
            let value = if c.is_ascii_digit() { c - b'0' } else { c - b'A' };
            if place % 2 == 0 { ODD.get(usize::from(value)).copied().unwrap_or_default() } else { value.into() }
        })
        .sum();
    u32::from(check - b'A') == sum % 26
}

/// France: sex, year, month, department (`2A` and `2B` in Corsica), and two check digits.
fn is_nir(written: &[u8]) -> bool {
    let mut plain = written.to_vec();
    let mut less = 0;
    if let [_, _, _, _, _, b'2', corsica @ (b'A' | b'B'), ..] = plain.as_mut_slice() {
        less = if *corsica == b'A' { 1_000_000 } else { 2_000_000 };
        *corsica = b'0';
    }
    let month = plain.get(3..5).and_then(number);
    let has_form = matches!(plain.first(), Some(b'1'..=b'4' | b'7' | b'8'))
        && month.is_some_and(|month| matches!(month, 1..=12 | 20..=42 | 50..=99));
    let (front, key) = plain.split_at(plain.len().saturating_sub(2));
    match (number(front), number(key)) {
        (Some(front), Some(key)) if has_form => front >= less && 97 - (front - less) % 97 == key,
        _ => false,
    }
}

/// Germany: of the first ten digits, one occurs twice or three times and the others at most once; ISO 7064, mod 11,10.
fn is_tax_id(written: &[u8]) -> bool {
    let Some(digits) = digits(written) else { return false };
    let Some((check, front)) = digits.split_last().filter(|_| !digits.starts_with(&[0])) else { return false };
    let mut times: Vec<usize> = (0..10).map(|digit| front.iter().filter(|known| **known == digit).count()).collect();
    times.sort_unstable();
    let product = front.iter().fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    matches!(times.last_chunk(), Some([1, 2 | 3])) && (11 - product) % 10 == *check
}

/// Brazil: two check digits.
fn is_cpf(written: &[u8]) -> bool {
    let Some(digits) = digits(written) else { return false };
    let check = |length: u32| {
        let sum: u32 = digits.iter().zip((2..=length + 1).rev()).map(|(digit, weight)| digit * weight).sum();
        sum * 10 % 11 % 10
    };
    let all_same = digits.iter().all(|digit| digits.first() == Some(digit));
    !all_same && digits.get(9) == Some(&check(9)) && digits.get(10) == Some(&check(10))
}

/// Spain: eight digits, or `X`, `Y` or `Z` and seven, and a check letter.
fn is_dni(written: &[u8]) -> bool {
    let Some((check, front)) = written.split_last() else { return false };
    let mut front = front.to_vec();
    if let [first @ b'X'..=b'Z', ..] = front.as_mut_slice() {
        *first -= b'X' - b'0';
    }
    let letter = number(&front).and_then(|number| b"TRWAGMYFPDXBNJZSQVHLCKE".get(usize::try_from(number % 23).ok()?));
    letter == Some(check)
}

/// The United Kingdom: two letters, six digits and a letter. There are no check digits.
fn is_nino(written: &[u8]) -> bool {
    let [a, b, digits @ .., last] = written else { return false };
    a.is_ascii_uppercase()
        && b.is_ascii_uppercase()
        && !b"DFIQUV".contains(a)
        && !b"DFIQUVO".contains(b)
        && ![b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"].contains(&&[*a, *b])
        && digits.iter().all(u8::is_ascii_digit)
        && matches!(last, b'A'..=b'D')
}

/// The United States: groups of three, two and four digits. There are no check digits.
fn is_ssn(written: &[u8], text: &str, run: &[Symbol]) -> bool {
    let part = |range| written.get(range).and_then(number);
    let (Some(area), Some(group), Some(serial)) = (part(0..3), part(3..5), part(5..9)) else { return false };
    let is_issued = !matches!(area, 0 | 666 | 900..) && group > 0 && serial > 0;
    let groups: Vec<usize> = (0..9).filter(|at| run.get(*at).is_some_and(|symbol| symbol.is_first)).collect();
    let gap = |at: usize| text.get(run.get(at - 1)?.end..run.get(at)?.at);
    let is_grouped = groups == [0, 3, 5] && gap(3) == gap(5);
    is_issued && (is_grouped || is_named(text, run, &["social", "ssn"]))
}

/// Portugal: a check digit, which one in eleven numbers has by chance, so the name of the number must come before it.
fn is_nif(written: &[u8], text: &str, run: &[Symbol]) -> bool {
    let Some(digits) = digits(written) else { return false };
    let sum: u32 = digits.iter().zip((2..=9).rev()).map(|(digit, weight)| digit * weight).sum();
    let check = (11 - sum % 11) % 11 % 10;
    digits.last() == Some(&check) && is_named(text, run, &["nif", "contribuinte", "fiscal"])
}

fn is_named(text: &str, run: &[Symbol], names: &[&str]) -> bool {
    run.first().is_some_and(|first| is_after(text, first.at, names))
}
