//! Numbers in words.

use super::super::language::WORDS;
use super::super::tokens::{Token, is_and};
use super::value::Value;

/// Returns a number in words, and the number of these words.
pub(super) fn worded(tokens: &[Token<'_>], at: usize) -> Option<(Value, usize)> {
    let mut parts = Vec::new();
    let mut length = 0;
    while let Some(token) = tokens.get(at + length) {
        if let Some(found) = WORDS.number_parts(&token.lower) {
            parts.extend(found);
            length += 1;
        } else {
            let next = tokens.get(at + length + 1).and_then(|next| WORDS.number_parts(&next.lower));
            match next {
                Some(found) if is_and(token) && parts.last().is_some_and(|last| *last >= 20) => {
                    parts.extend(found);
                    length += 2;
                }
                _ => break,
            }
        }
        if tokens.get(at + length - 1).is_some_and(|token| token.ends_clause) {
            break;
        }
    }
    (length > 0).then_some((Value::Words(parts), length))
}

/// Returns the numbers that a run of number words can mean: `one hundred forty six` is 146, `four two` is 4 and 2.
pub(super) fn numbers(parts: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    let (mut thousands, mut current, mut last) = (0u32, 0u32, 0u32);
    for part in parts {
        let fits = match *part {
            1_000 => true,
            100 => last == 0 || last == 1_000 || (current > 0 && current < 100),
            // German has the ones before the tens.
            tens if tens >= 20 => last == 0 || last >= 100 || (last < 10 && last > 0),
            // "Soixante-douze", "quatre-vingt-onze".
            teens if teens >= 10 => last == 0 || last >= 100 || last == 60 || last == 80,
            _ => last == 0 || last >= 20,
        };
        if !fits {
            found.push(thousands.saturating_add(current));
            (thousands, current) = (0, 0);
        }
        match *part {
            1_000 => (thousands, current) = (thousands.saturating_add(current.max(1).saturating_mul(1_000)), 0),
            100 => current = current.max(1).saturating_mul(100),
            small => current = current.saturating_add(small),
        }
        last = *part;
    }
    found.push(thousands.saturating_add(current));
    found
}

/// Returns the number that some words mean, if it is one.
pub(super) fn as_number(value: &Value) -> Option<u32> {
    let Value::Words(parts) = value else { return None };
    match *numbers(parts).as_slice() {
        [number] => Some(number),
        _ => None,
    }
}
