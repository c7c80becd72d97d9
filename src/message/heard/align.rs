//! Aligns reported words to the beginning of a text by edit distance.

/// The costs of a spoken word that was not reported, of a different word, and of an additional reported word.
///
/// A different word costs less than an additional one, so that an unknown word still advances the position. A missing
/// word costs least, because speech synthesis omits words that it does not speak.
const MISSING: u32 = 70;
const OTHER: u32 = 95;
const ADDITIONAL: u32 = 100;
/// The cost of a missing or additional unit after the first one of a written word, such as those of a number.
const CONTINUING: u32 = 20;

/// The maximum distance between the positions of two aligned words.
const BAND: usize = 40;

/// A spoken word, or a character of a script without spaces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit<'a> {
    pub text: &'a str,
    /// Whether it continues a written word, such as the "fifty" of `$12.50`.
    pub continues: bool,
}

impl Unit<'_> {
    fn cost(self, of_first: u32) -> u32 {
        if self.continues { CONTINUING } else { of_first }
    }
}

#[derive(Clone, Copy)]
struct Path {
    cost: u32,
    /// The number of reported words that have a similar spoken one.
    similar: usize,
}

/// Returns the number of words in `said` that were spoken when those in `reported` were, or `None` if less than half of
/// these are similar: then they are from elsewhere in the text, or from another one.
///
/// A last word that was only begun does not count.
pub(super) fn prefix(said: &[Unit<'_>], reported: &[Unit<'_>]) -> Option<usize> {
    // Equal words at the beginning are part of a best alignment.
    let equal = said.iter().zip(reported).take_while(|(a, b)| a.text == b.text).count();
    let (said_rest, reported_rest) = (said.get(equal..)?, reported.get(equal..)?);
    let Some(last) = reported_rest.last() else { return (!reported.is_empty()).then_some(equal) };
    let mut row = vec![Path { cost: 0, similar: 0 }];
    row.extend(said_rest.iter().scan(0u32, |cost, unit| {
        *cost = cost.saturating_add(unit.cost(MISSING));
        Some(Path { cost: *cost, similar: 0 })
    }));
    for (index, word) in reported_rest.iter().enumerate() {
        row = next_row(&row, index, *word, said_rest);
    }
    let (end, best) = row.iter().enumerate().min_by_key(|(_, path)| path.cost)?;
    if (best.similar + equal) * 2 < reported.len() {
        return None;
    }
    let is_begun = |said: &Unit<'_>| said.text.len() > last.text.len() && said.text.starts_with(last.text);
    let begun = end.checked_sub(1).and_then(|at| said_rest.get(at)).is_some_and(is_begun);
    Some(equal + end - usize::from(begun))
}

fn next_row(row: &[Path], index: usize, word: Unit<'_>, said: &[Unit<'_>]) -> Vec<Path> {
    const NONE: Path = Path { cost: u32::MAX / 2, similar: 0 };
    let mut next = vec![NONE; row.len()];
    let range = index.saturating_sub(BAND)..(index + BAND).min(row.len());
    let mut before = NONE;
    for at in range {
        let mut best =
            row.get(at).map_or(NONE, |path| Path { cost: path.cost.saturating_add(word.cost(ADDITIONAL)), ..*path });
        let diagonal = at.checked_sub(1).and_then(|before| Some((row.get(before)?, said.get(before)?)));
        if let Some((path, spoken)) = diagonal {
            let missing = before.cost.saturating_add(spoken.cost(MISSING));
            let other = difference(spoken.text, word.text);
            let is_similar = other < OTHER / 2 || spoken.text.starts_with(word.text);
            let similar = path.similar + usize::from(is_similar);
            let path = Path { cost: path.cost.saturating_add(other), similar };
            best = if path.cost < best.cost { path } else { best };
            best = if missing < best.cost { Path { cost: missing, ..before } } else { best };
        }
        if let Some(slot) = next.get_mut(at) {
            *slot = best;
        }
        before = best;
    }
    next
}

/// Returns the cost of a word in the place of another: 0 for the same, less than [`OTHER`] for similar ones.
fn difference(one: &str, other: &str) -> u32 {
    if one == other {
        return 0;
    }
    let ends = |word: &str| (word.chars().next(), word.chars().next_back());
    let ((first, last), (other_first, other_last)) = (ends(one), ends(other));
    // Few similar words differ at both ends, and this is quick.
    if first != other_first && last != other_last {
        return OTHER;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let longest = one.len().max(other.len());
    // Words that differ this much in length, or are this long, are not compared.
    if one.len().min(other.len()) * 2 < longest || longest > 40 {
        return OTHER;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(row.first_mut().unwrap_or(&mut 0), index + 1);
        let mut left = index + 1;
        for (above, b) in row.iter_mut().skip(1).zip(&other) {
            let cost = (diagonal + usize::from(a != b)).min(*above + 1).min(left + 1);
            diagonal = std::mem::replace(above, cost);
            left = cost;
        }
    }
    let changes = row.last().copied().unwrap_or(longest);
    if changes * 2 > longest { OTHER } else { OTHER * changes as u32 / longest as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(said: &str, reported: &str) -> Option<usize> {
        // "+" continues a number.
        let unit = |text| Unit { text: str::trim_start_matches(text, '+'), continues: text.starts_with('+') };
        let split = |text: &'static str| text.split(' ').map(unit).collect::<Vec<_>>();
        prefix(&split(said.to_owned().leak()), &split(reported.to_owned().leak()))
    }

    #[test]
    fn mismatch_costs_one_word() {
        for (reported, count) in [
            ("a b c d", 4),
            ("a b x d", 4),
            ("a b d", 4),
            ("a b x c d", 4),
            ("x b c", 3),
            ("a b c x", 4),
            ("a b c d e f g h i", 8),
        ] {
            assert_eq!(aligned("a b c d e f g h", reported), Some(count), "{reported}");
        }
    }

    #[test]
    fn number_counts_as_one_word() {
        let said = "it is one +thousand +two +hundred +fifty euros and that is all";
        for (reported, count) in [("it is euros and", 9), ("it is xyz euros and", 9), ("it is one fifty euros", 8)] {
            assert_eq!(aligned(said, reported), Some(count), "{reported}");
        }
    }

    #[test]
    fn begun_word_does_not_count() {
        assert_eq!(aligned("i cannot help", "i can"), Some(1));
        assert_eq!(aligned("i cannot help", "y can"), Some(1));
        assert_eq!(aligned("twelve dollars fifty", "twelve dollar fifty"), Some(3));
    }

    #[test]
    fn words_of_another_text_are_refused() {
        assert_eq!(aligned("a b c d e f g h", "q r s t"), None);
    }
}
