//! Aligns reported words to the beginning of a text by edit distance.

/// The cost of a spoken word that was not reported, of another word in its place, and of an additional one.
///
/// Another word costs less than an additional one, so that unknown words count by their position. A missing one costs
/// least: synthesis leaves out words that it does not speak, and an equal word after them is better evidence.
const MISSING: u32 = 70;
const OTHER: u32 = 95;
const ADDITIONAL: u32 = 100;

/// How many words the two may be apart.
const BAND: usize = 64;

#[derive(Clone, Copy)]
struct Path {
    cost: u32,
    /// The number of reported words that have a similar spoken one.
    similar: usize,
}

/// Returns how many of the words in `said` were spoken when those in `reported` were, or `None` if too few are similar.
///
/// A last word that was only begun does not count.
pub(super) fn prefix(said: &[&str], reported: &[&str]) -> Option<usize> {
    // Equal words at the beginning are part of a best alignment.
    let equal = said.iter().zip(reported).take_while(|(a, b)| a == b).count();
    let (said_rest, reported_rest) = (said.get(equal..)?, reported.get(equal..)?);
    let Some(last) = reported_rest.last() else { return (!reported.is_empty()).then_some(equal) };
    let mut row: Vec<Path> =
        (0..=said_rest.len()).map(|index| Path { cost: MISSING.saturating_mul(index as u32), similar: 0 }).collect();
    for (index, word) in reported_rest.iter().enumerate() {
        row = next_row(&row, index, word, said_rest);
    }
    let (end, best) = row.iter().enumerate().min_by_key(|(_, path)| path.cost)?;
    if (best.similar + equal) * 4 < reported.len() && reported.len() > 3 {
        return None;
    }
    let is_begun = |said: &&str| said.len() > last.len() && said.starts_with(last);
    let begun = end.checked_sub(1).and_then(|at| said_rest.get(at)).is_some_and(is_begun);
    Some(equal + end - usize::from(begun))
}

fn next_row(row: &[Path], index: usize, word: &str, said: &[&str]) -> Vec<Path> {
    const NONE: Path = Path { cost: u32::MAX / 2, similar: 0 };
    let mut next = vec![NONE; row.len()];
    let range = index.saturating_sub(BAND)..(index + BAND).min(row.len());
    let mut before = NONE;
    for at in range {
        let mut best = row.get(at).map_or(NONE, |path| Path { cost: path.cost + ADDITIONAL, ..*path });
        let diagonal = at.checked_sub(1).and_then(|before| Some((row.get(before)?, said.get(before)?)));
        if let Some((path, spoken)) = diagonal {
            let other = difference(spoken, word);
            let similar = path.similar + usize::from(other < OTHER / 2);
            let path = Path { cost: path.cost + other, similar };
            best = if path.cost < best.cost { path } else { best };
        }
        if before.cost + MISSING < best.cost {
            best = Path { cost: before.cost + MISSING, ..before };
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
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
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
