//! [`Item`]: a word as it is spoken, with the time that it takes. `$12` is spoken as "twelve dollars".

use super::fold::{fold, folded};
use super::language::{Language, is_han, is_kana, is_south_east_asian};
use super::numbers;
use super::reading::read;

/// A word as it is spoken.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// The word, [folded](super::fold).
    pub text: String,
    /// The time that it takes at a usual rate of speech, without the pause after it.
    pub ms: u64,
}

/// Returns how a word of a text is spoken.
pub(super) fn spoken(word: &str, language: Option<Language>) -> Vec<Item> {
    let mut items = Vec::new();
    // A currency is written before the number and spoken after its whole part.
    let mut currency = None;
    // The point of an address is read, that of an abbreviation is not.
    let is_long = |item: &Item| item.text.len() > 2;
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let (token, after) = split_token(rest, c);
        if ascii_digit(c).is_some() {
            let first = items.len();
            number(token, after, language, currency.take(), &mut items);
            if !matches!(language, Some(Language::Chinese | Language::Japanese)) {
                // Numbers are spoken clearly.
                items.iter_mut().skip(first).for_each(|item| item.ms += item.ms / 8);
            }
        } else if let Some(symbol) = numbers::symbol(c, language) {
            if "$€£¥＄￥".contains(c) && after.starts_with(|c| ascii_digit(c).is_some()) {
                currency = Some(symbol);
            } else {
                say(symbol, language, &mut items);
            }
        } else if c.is_alphanumeric() {
            // The letters of "15th" and "3rd" are part of the number.
            let is_ordinal = !items.is_empty() && matches!(token, "st" | "nd" | "rd" | "th" | "º" | "ª" | "er" | "ème");
            if !is_ordinal || !word.starts_with(|c: char| c.is_ascii_digit()) {
                letters(token, language, &mut items);
            }
        } else if c == '.' && after.starts_with(char::is_alphabetic) && items.last().is_some_and(is_long) {
            say("dot", language, &mut items);
        }
        rest = after;
    }
    items
}

/// Returns the pause after a word, in milliseconds, from its punctuation and from the text after it.
pub(super) fn pause_ms(word: &str, after: &str) -> u64 {
    let marks = word.trim_end_matches(|c: char| "\"'”’»)]}*_」』） ".contains(c));
    match marks.chars().next_back() {
        Some('.') if is_abbreviated(marks, after) => 0,
        Some('.' | '!' | '?' | '。' | '！' | '？' | '…' | '।' | '؟' | '．') => 420,
        Some(',' | ';' | ':' | '，' | '、' | '；' | '：' | '—' | '–' | '،') => 240,
        _ => 0,
    }
}

/// Returns whether the point after a word belongs to it, as in "Dr.", "i.e." and "3. Mai", and ends no sentence.
fn is_abbreviated(word: &str, after: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_ordinal = word.len() < 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let has_vowel = folded(word).contains(|c| VOWELS.contains(c));
    match after.trim_start().chars().next() {
        None => false,
        Some(c) if c.is_lowercase() || c.is_numeric() => true,
        Some(_) => is_ordinal || !has_vowel && word.len() < 5 && word.chars().all(|c| c.is_ascii_alphabetic()),
    }
}

/// Splits the first token from the text: a number, a run of letters, or one character.
fn split_token(text: &str, first: char) -> (&str, &str) {
    let is_digit = |c: char| ascii_digit(c).is_some();
    let end = if is_digit(first) {
        let mut end = 0;
        for (at, c) in text.char_indices() {
            let next = text.get(at + c.len_utf8()..).unwrap_or_default();
            if is_digit(c)
                || matches!(c, '.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}' | '\u{2009}')
                    && next.starts_with(is_digit)
            {
                end = at + c.len_utf8();
            } else {
                break;
            }
        }
        end
    } else if first.is_alphabetic() && !is_single(first) {
        let is_letter =
            |c: char| (c.is_alphabetic() && !is_single(c)) || matches!(c, '\'' | '’' | '\u{300}'..='\u{36f}');
        text.find(|c| !is_letter(c)).unwrap_or(text.len())
    } else {
        first.len_utf8()
    };
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Characters that are a syllable each.
fn is_single(c: char) -> bool {
    is_han(c) || is_kana(c) || is_south_east_asian(c)
}

fn ascii_digit(c: char) -> Option<char> {
    c.is_numeric().then(|| fold(c).next()).flatten().filter(char::is_ascii_digit)
}

/// Adds a number. `after` is the text after it.
fn number(token: &str, after: &str, language: Option<Language>, currency: Option<&str>, items: &mut Vec<Item>) {
    let text: String = token.chars().map(|c| ascii_digit(c).unwrap_or(c)).collect();
    let Some(known) = language else {
        let count = text.chars().filter(char::is_ascii_digit).count();
        items.push(Item { text: folded(&text), ms: DIGIT_MS * count as u64 });
        return;
    };
    for part in read(&text, after, known, currency) {
        let first = items.len();
        say(&part.words, language, items);
        if part.is_by_digit {
            items.iter_mut().skip(first).for_each(|item| item.ms = item.ms.max(DIGIT_MS));
        }
    }
    // The separator of a date adds time, because it is read aloud or makes an ordinal or a month of the number. The
    // colon of a time is a short pause.
    if let Some(item) = items.last_mut()
        && after.get(1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
    {
        item.ms += match after.chars().next() {
            Some('/') => 250,
            Some(':') => 110,
            _ => 0,
        };
    }
}

/// Adds words that are written as they are spoken.
fn say(words: &str, language: Option<Language>, items: &mut Vec<Item>) {
    let mut rest = words;
    while let Some(c) = rest.chars().next() {
        let (token, after) = split_token(rest, c);
        if c.is_alphabetic() {
            letters(token, language, items);
        }
        rest = after;
    }
}

/// The time of a digit that is read alone, and of a letter.
const DIGIT_MS: u64 = 320;
const LETTER_MS: u64 = 270;

/// Adds a run of letters.
fn letters(token: &str, language: Option<Language>, items: &mut Vec<Item>) {
    let text = folded(token);
    if text.is_empty() {
        // A small or long sign of kana lengthens the character before it.
        if let Some(item) = items.last_mut().filter(|_| token.contains('ー')) {
            item.ms += 110;
        }
        return;
    }
    let ms = match token.chars().next() {
        Some(c) if is_han(c) && language == Some(Language::Japanese) => 230,
        Some(c) if is_han(c) => 305,
        Some(c) if "ぁぃぅぇぉゃゅょァィゥェォャュョ".contains(c) => 20,
        Some(c) if is_kana(c) => 115,
        Some(c) if is_south_east_asian(c) => 70,
        _ => alphabetic_ms(token, sounding(&text, language)),
    };
    items.push(Item { text, ms });
}

/// Returns a word without the silent letters at its end, which French has.
fn sounding(word: &str, language: Option<Language>) -> &str {
    let sounding = word.trim_end_matches(['d', 'e', 'p', 's', 't', 'x', 'z']);
    let is_shorter = language == Some(Language::French) && sounding.contains(|c| VOWELS.contains(c));
    if is_shorter { sounding } else { word }
}

const VOWELS: &str = "aeiouyαεηιουωаеиоуыэюяі";

/// Returns the time of an alphabetic word: that of its syllables, and of its consonants.
fn alphabetic_ms(token: &str, folded: &str) -> u64 {
    let (mut syllables, mut consonants, mut others) = (0, 0, 0);
    let (mut follows_vowel, mut last) = (false, None);
    for c in folded.chars() {
        let is_vowel = VOWELS.contains(c);
        match c {
            _ if is_vowel => syllables += u64::from(!follows_vowel),
            // Hebrew and Arabic do not write short vowels.
            '\u{590}'..='\u{6ff}' => others += 105,
            '\u{900}'..='\u{dff}' => others += 75,
            '\u{1100}'..='\u{11ff}' => others += 75,
            // Double letters are one sound, and so are "ch", "sh", "th" and "ph".
            _ if Some(c) == last || c == 'h' && last.is_some_and(|last| "cstp".contains(last)) => {}
            _ => consonants += 1,
        }
        last = Some(c);
        follows_vowel = is_vowel;
    }
    let count = consonants + syllables;
    let is_upper = token.chars().all(char::is_uppercase) && (2..=5).contains(&count);
    if others == 0 && (syllables == 0 && count < 6 && folded.is_ascii() || is_upper && (count <= 3)) {
        return LETTER_MS * folded.chars().count() as u64;
    }
    5 + 82 * syllables + 56 * consonants + others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str, language: Language) -> String {
        spoken(word, Some(language)).iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_are_spoken_with_their_units() {
        use Language::*;
        for (word, language, expected) in [
            ("$12.50,", English, "twelve dollars fifty"),
            ("1,250", English, "one thousand two hundred fifty"),
            ("2.5", English, "two point five"),
            ("14:30", English, "fourteen thirty"),
            ("3rd", English, "three"),
            ("12\u{202f}500", French, "douze mille cinq cent"),
            ("15%", English, "fifteen percent"),
            ("A12", English, "a twelve"),
            ("0123", English, "zero one two three"),
            ("1.250,75", German, "eintausendzweihundertfunfzig komma funfundsiebzig"),
            ("12,50€", German, "zwolf komma funfzig euro"),
            ("3.", German, "drei"),
            ("15.03.2026", German, "funfzehn zero null drei zweitausendsechsundzwanzig"),
            ("9:45", Italian, "nove quarantacinque"),
            ("12.50元", Chinese, "十 二 点 五 零 元"),
            ("３月", Chinese, "三 月"),
            ("well-known", English, "well known"),
            ("l'homme", French, "lhomme"),
        ] {
            let expected = expected.replace("zero null", "null");
            assert_eq!(read(word, language), expected, "{word}");
        }
    }
}
