//! Telephone numbers.

use super::patterns::is_after;
use super::scan::Symbol;

const SHORTEST: usize = 7;
const LONGEST: usize = 15;
/// The longest gap between two groups, in bytes.
const LONGEST_GAP: usize = 4;

/// Words before a telephone number.
const NAMES: &[&str] = &[
    "phone",
    "telephone",
    "tel",
    "mobile",
    "cell",
    "cellphone",
    "fax",
    "whatsapp",
    "call",
    "text",
    "telefon",
    "handy",
    "handynummer",
    "telefonnummer",
    "rufnummer",
    "mobil",
    "mobilnummer",
    "téléphone",
    "portable",
    "appelez",
    "teléfono",
    "telefono",
    "móvil",
    "celular",
    "cellulare",
    "telefone",
    "telemóvel",
    "rückruf",
    "callback",
];

/// Returns the length of the telephone number at the start of `run`.
pub(super) fn length(text: &str, run: &[Symbol]) -> Option<usize> {
    let first = run.first().filter(|_| run.len() >= SHORTEST)?;
    let before = text.get(..first.at).unwrap_or_default();
    let groups = groups(text, run);
    let total = |groups: &[Group]| groups.iter().map(|group| group.length).sum::<usize>();
    let opened = before.strip_suffix('(').unwrap_or(before);
    let is_spoken_plus = || is_after(text, first.at, &["plus", "più", "más", "mais"]);
    if opened.ends_with('+') || is_spoken_plus() {
        return longest(&groups, |groups| first.c != b'0' && (8..=LONGEST).contains(&total(groups)));
    }
    let digits = |from: usize, to: usize| run.get(from..to).into_iter().flatten().map(|symbol| symbol.c);
    if digits(0, 2).eq(*b"00") && run.get(2).is_some_and(|digit| digit.c != b'0') {
        return longest(&groups, |groups| (10..=LONGEST + 2).contains(&total(groups)));
    }
    if is_after(text, first.at, NAMES) {
        return longest(&groups, |groups| (SHORTEST..=LONGEST).contains(&total(groups)));
    }
    // The end of a longer number is not a telephone number.
    let is_rest =
        before.strip_suffix(['-', '.', '/', ' ']).is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
    longest(&groups, |groups| !is_rest && (is_north_american(run, groups) || is_national(run, groups)))
}

/// Digits without a separator, and the gap before them.
struct Group<'a> {
    length: usize,
    gap: &'a str,
}

/// Returns the groups at the start of `run` that may belong to one number.
fn groups<'a>(text: &'a str, run: &[Symbol]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut end = run.first().map_or(0, |first| first.at);
    let mut is_spoken = false;
    for symbol in run.iter().take(LONGEST + 3) {
        if symbol.is_first {
            let gap = text.get(end..symbol.at).unwrap_or_default();
            let was_spoken = std::mem::replace(&mut is_spoken, symbol.end - symbol.at > 1 && symbol.c.is_ascii_digit());
            if gap.len() > LONGEST_GAP && !(was_spoken && is_spoken) || gap.contains('\n') {
                break;
            }
            groups.push(Group { length: 0, gap });
        }
        groups.last_mut().into_iter().for_each(|group| group.length += 1);
        end = symbol.end;
    }
    // The last group may be cut.
    let length: usize = groups.iter().map(|group| group.length).sum();
    if length.checked_sub(1).and_then(|last| run.get(last)).is_some_and(|last| !last.is_last) {
        groups.pop();
    }
    groups
}

/// Returns the digits of as many groups as form a number.
fn longest(groups: &[Group], is_number: impl Fn(&[Group]) -> bool) -> Option<usize> {
    let counts = (1..=groups.len()).rev();
    let found = counts.filter_map(|count| groups.get(..count)).find(|groups| is_number(groups))?;
    Some(found.iter().map(|group| group.length).sum())
}

/// Three, three and four digits, also after a 1. Area and exchange start with 2 to 9.
fn is_north_american(run: &[Symbol], groups: &[Group]) -> bool {
    let lengths: Vec<usize> = groups.iter().map(|group| group.length).collect();
    let skipped = match lengths.as_slice() {
        [3, 3, 4] => 0,
        [1, 3, 3, 4] if run.first().is_some_and(|digit| digit.c == b'1') => 1,
        _ => return false,
    };
    [skipped, skipped + 3].iter().all(|at| run.get(*at).is_some_and(|digit| digit.c >= b'2'))
}

/// A leading 0, nine to twelve digits, and the same gap between all groups except the first two.
fn is_national(run: &[Symbol], groups: &[Group]) -> bool {
    let total: usize = groups.iter().map(|group| group.length).sum();
    let [_, _, rest @ ..] = groups else { return false };
    let is_trunk = matches!(run, [zero, next, ..] if zero.c == b'0' && next.c != b'0');
    let has_area = groups.first().is_some_and(|area| area.length >= 2);
    let is_regular =
        rest.iter().all(|group| rest.first().is_some_and(|first| first.gap == group.gap && group.length > 1));
    let is_date = groups.iter().map(|group| group.length).take(3).eq([2, 2, 4]);
    is_trunk && has_area && is_regular && !is_date && (9..=12).contains(&total)
}
