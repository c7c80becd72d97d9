//! Words of spoken numbers in English, German, French, Spanish, Italian and Portuguese.

use Meaning::{Digit, English, Filler, Teen, Tens, Times, Um};

/// The meaning of a word in a spoken number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A digit.
    Digit(u8),
    /// A digit in English.
    English(u8),
    /// Ten and a digit.
    Teen(u8),
    /// A multiple of ten. A digit may follow.
    Tens(u8),
    /// The number of times that the next digit occurs.
    Times(u8),
    /// 1 in Portuguese, a hesitation in English.
    Um,
    /// A word that may come between two digits of one number.
    Filler,
}

/// The length of the longest known word in bytes.
pub(super) const LONGEST: usize = 14;

/// Returns the meaning of a word in lower case.
pub(super) fn meaning(word: &str) -> Option<Meaning> {
    let at = WORDS.binary_search_by_key(&word, |(known, _)| known).ok()?;
    WORDS.get(at).map(|(_, meaning)| *meaning)
}

/// Sorted by their bytes.
#[rustfmt::skip]
const WORDS: &[(&str, Meaning)] = &[
    ("acht", Digit(8)), ("aeh", Filler), ("again", Filler), ("ah", Filler), ("ahh", Filler), ("ahn", Filler),
    ("allora", Filler), ("alors", Filler), ("also", Filler), ("and", Filler), ("aí", Filler), ("bah", Filler),
    ("barra", Filler), ("ben", Filler), ("bindestrich", Filler), ("bitte", Filler), ("breath", Filler),
    ("bueno", Filler), ("cero", Digit(0)), ("cinco", Digit(5)), ("cinq", Digit(5)), ("cinque", Digit(5)),
    ("coma", Filler), ("comma", Filler), ("cough", Filler), ("cuatro", Digit(4)), ("dann", Filler), ("dash", Filler),
    ("depois", Filler), ("deux", Digit(2)), ("doble", Times(2)), ("dobro", Times(2)), ("dois", Digit(2)),
    ("donc", Filler), ("doppel", Times(2)), ("doppelt", Times(2)), ("doppelte", Times(2)), ("doppia", Times(2)),
    ("doppio", Times(2)), ("dos", Digit(2)), ("dot", Filler), ("double", Times(2)), ("drei", Digit(3)),
    ("dreifach", Times(3)), ("dreimal", Times(3)), ("duas", Digit(2)), ("due", Digit(2)), ("dunque", Filler),
    ("duplo", Times(2)), ("e", Filler), ("eh", Filler), ("ehm", Filler), ("eight", English(8)), ("eighteen", Teen(8)),
    ("eighty", Tens(8)), ("ein", Digit(1)), ("eine", Digit(1)), ("eins", Digit(1)), ("eleven", Teen(1)),
    ("em", Filler), ("ensuite", Filler), ("entonces", Filler), ("então", Filler), ("er", Filler), ("erm", Filler),
    ("err", Filler), ("espace", Filler), ("espacio", Filler), ("espaço", Filler), ("este", Filler), ("et", Filler),
    ("euh", Filler), ("fifteen", Teen(5)), ("fifty", Tens(5)), ("five", English(5)), ("forty", Tens(4)),
    ("four", English(4)), ("fourteen", Teen(4)), ("fourty", Tens(4)), ("fuenf", Digit(5)), ("fünf", Digit(5)),
    ("genau", Filler), ("guion", Filler), ("guión", Filler), ("heu", Filler), ("hm", Filler), ("hmm", Filler),
    ("hmmm", Filler), ("huit", Digit(8)), ("hyphen", Filler), ("hã", Filler), ("hífen", Filler), ("inaudible", Filler),
    ("ja", Filler), ("komma", Filler), ("laughter", Filler), ("leerzeichen", Filler), ("like", Filler),
    ("luego", Filler), ("meia", Digit(6)), ("mhm", Filler), ("minus", Filler), ("mm", Filler), ("mmm", Filler),
    ("music", Filler), ("neuf", Digit(9)), ("neun", Digit(9)), ("next", Filler), ("nine", English(9)),
    ("nineteen", Teen(9)), ("ninety", Tens(9)), ("noise", Filler), ("nove", Digit(9)), ("now", Filler),
    ("nueve", Digit(9)), ("null", Digit(0)), ("ocho", Digit(8)), ("oh", English(0)), ("oito", Digit(8)),
    ("ok", Filler), ("okay", Filler), ("one", English(1)), ("otto", Digit(8)), ("oui", Filler), ("pause", Filler),
    ("please", Filler), ("poi", Filler), ("point", Filler), ("pois", Filler), ("ponto", Filler), ("pues", Filler),
    ("puis", Filler), ("punkt", Filler), ("punto", Filler), ("quatre", Digit(4)), ("quatro", Digit(4)),
    ("quattro", Digit(4)), ("quindi", Filler), ("schrägstrich", Filler), ("sechs", Digit(6)), ("sei", Digit(6)),
    ("seis", Digit(6)), ("sept", Digit(7)), ("sete", Digit(7)), ("sette", Digit(7)), ("seven", English(7)),
    ("seventeen", Teen(7)), ("seventy", Tens(7)), ("sieben", Digit(7)), ("siete", Digit(7)), ("silence", Filler),
    ("sim", Filler), ("six", English(6)), ("sixteen", Teen(6)), ("sixty", Tens(6)), ("slash", Filler), ("so", Filler),
    ("sorry", Filler), ("space", Filler), ("spazio", Filler), ("strich", Filler), ("sì", Filler), ("sí", Filler),
    ("ten", Teen(0)), ("then", Filler), ("thirteen", Teen(3)), ("thirty", Tens(3)), ("three", English(3)),
    ("tiret", Filler), ("trattino", Filler), ("traço", Filler), ("tre", Digit(3)), ("treble", Times(3)),
    ("tres", Digit(3)), ("tripla", Times(3)), ("triple", Times(3)), ("triplo", Times(3)), ("trois", Digit(3)),
    ("três", Digit(3)), ("twelve", Teen(2)), ("twenty", Tens(2)), ("two", English(2)), ("uh", Filler), ("uhh", Filler),
    ("uhm", Filler), ("um", Um), ("uma", Digit(1)), ("umm", Filler), ("un", Digit(1)), ("una", Digit(1)),
    ("und", Filler), ("underscore", Filler), ("une", Digit(1)), ("unintelligible", Filler), ("unk", Filler),
    ("uno", Digit(1)), ("vier", Digit(4)), ("virgola", Filler), ("virgule", Filler), ("vírgula", Filler),
    ("weiter", Filler), ("well", Filler), ("y", Filler), ("yeah", Filler), ("yes", Filler), ("zero", Digit(0)),
    ("zwei", Digit(2)), ("zweimal", Times(2)), ("zwo", Digit(2)), ("zéro", Digit(0)), ("äh", Filler), ("ähm", Filler),
    ("é", Filler), ("öh", Filler), ("öhm", Filler),];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_lower_case_and_short() {
        assert!(WORDS.is_sorted_by(|(one, _), (next, _)| one < next));
        assert_eq!(WORDS.iter().map(|(word, _)| word.len()).max(), Some(LONGEST));
        for (word, known) in WORDS {
            assert_eq!(word.to_lowercase(), *word);
            assert_eq!(meaning(word), Some(*known));
        }
        assert_eq!(meaning("hundred"), None);
    }
}
