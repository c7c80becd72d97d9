//! Names and values as words of a line: how they are written, and what they say.

use crate::memory::one_line::one_line;

/// The maximum length of a value, in characters.
pub(super) const LONGEST: usize = 120;
/// The minimum number of bytes that a short name saves.
const MUCH: usize = 5;

/// Returns the initials of a name of several words, such as `pi` of `payment_id`, if they are much shorter.
pub(super) fn initials(name: &str) -> Option<String> {
    let mut before = '_';
    let mut short = String::new();
    for c in name.chars() {
        let is_first = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
        short.extend(Some(c).filter(|c| is_first && c.is_alphabetic()).into_iter().flat_map(char::to_lowercase));
        before = c;
    }
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (is_plain && short.len() > 1 && short.len() + MUCH <= name.len()).then_some(short)
}

/// Returns a number without its sign. Other values are returned unchanged.
pub(super) fn size(value: &str) -> &str {
    value.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(value)
}

/// Writes a value as one word, or in quotation marks if it has other characters than those of ids, numbers and dates.
pub(super) fn atom(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:@+%/$€£".contains(c);
    if !value.is_empty() && value.chars().count() <= LONGEST && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("\"{}\"", one_line(value, LONGEST))
}

/// The length of a name or an id in the cost of a field. With the real lengths, other names and other formats of ids would
/// keep other fields.
pub(super) const NAME: usize = 8;

/// Returns the length of a value in the cost of its field, in bytes.
pub(super) fn nominal_length(value: &str) -> usize {
    if is_code(value) { NAME } else { atom(value).len() }
}

/// The maximum length of an id, in bytes.
const LONGEST_ID: usize = 40;

/// Returns whether a value is a code that identifies something: one word with a digit, or in capitals. It may begin with a
/// `#` and have slashes, as in `#W17` and `INV/2026/17`.
pub(super) fn is_id(value: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '/';
    let is_capital = |c: char| !c.is_lowercase();
    let word = value.strip_prefix('#').unwrap_or(value);
    (1..=LONGEST_ID).contains(&word.len())
        && word.chars().all(is_word)
        && (word.contains(|c: char| c.is_numeric()) || (word.len() > 1 && word.chars().all(is_capital)))
}

/// Returns whether a value is an id by its form or by its key.
pub(super) fn is_id_of(key: &str, value: &str) -> bool {
    is_id(value) || (is_named_id(key) && (1..=LONGEST_ID).contains(&value.len()))
}

/// Returns whether a key says that its value identifies something: `id`, `order_id`, `storeId`, `item_ids`.
fn is_named_id(key: &str) -> bool {
    let is_one =
        |key: &str| key.eq_ignore_ascii_case("id") || ["_id", "-id", "Id", "ID"].iter().any(|end| key.ends_with(end));
    is_one(key) || key.strip_suffix('s').is_some_and(is_one)
}

/// Returns whether a key says that its values identify several things: `item_ids`, `seatIds`.
pub(super) fn is_named_ids(key: &str) -> bool {
    key.ends_with('s') && is_named_id(key)
}

/// Returns how much a new value says: 1, and 1 more for each 12 bytes. An id, which later calls need as it is, says more
/// than other words.
pub(super) fn information(value: &str) -> usize {
    if is_code(value) { 3 } else { 1 + value.len() / 12 }
}

/// Returns whether a value is an id with letters and digits.
fn is_code(value: &str) -> bool {
    is_id(value) && is_mixed(value)
}

/// Returns whether a value has letters and digits.
fn is_mixed(value: &str) -> bool {
    value.contains(char::is_alphabetic) && value.contains(|c: char| c.is_numeric())
}

/// Returns whether a value identifies the object of a call, such as an account, so that the call's line always has it:
/// any value whose key says that it is an id, or a code that is not a count, a date or a short abbreviation.
pub(super) fn is_identifier(key: &str, value: &str) -> bool {
    let is_named = || ["number", "Number", "code", "Code"].iter().any(|end| key.ends_with(end));
    let has_letter = value.contains(char::is_alphabetic);
    let is_long = value.len() > 4 && value.chars().all(|c| c.is_alphanumeric() || (has_letter && c != '.'));
    is_id_of(key, value) && (is_named_id(key) || is_mixed(value) || is_long || is_named())
}
