//! Folds characters, so that two spellings of one word compare as equal. The folded form is only compared, never
//! stored.
//!
//! Case, accents, composed and decomposed forms, and full-width forms make no difference.

/// Returns the characters to compare in place of `c`, or none for a mark.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    let c = match c {
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    };
    let (first, second) = match c {
        'ß' | 'ẞ' => (Some('s'), Some('s')),
        'æ' | 'Æ' => (Some('a'), Some('e')),
        'œ' | 'Œ' => (Some('o'), Some('e')),
        _ if is_mark(c) => (None, None),
        _ => (Some(base(c.to_lowercase().next().unwrap_or(c))), None),
    };
    let syllable = hangul(c);
    let whole = if syllable.is_some() { (None, None) } else { (first, second) };
    syllable.into_iter().flatten().flatten().chain(whole.0).chain(whole.1)
}

/// Returns the letters and digits of a text, folded.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(fold).filter(|c| c.is_alphanumeric()).collect()
}

/// Returns whether `c` is a mark on the character before it, or is not visible.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{3099}'..='\u{309c}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Returns the conjoining letters of a Hangul syllable.
fn hangul(c: char) -> Option<[Option<char>; 3]> {
    let index = (c as u32).checked_sub(0xac00).filter(|index| *index < 11_172)?;
    let last = index % 28;
    let letters = [0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11a7 + last].map(char::from_u32);
    Some([letters[0], letters[1], letters[2].filter(|_| last > 0)])
}

/// Returns the letter without its accent. `c` is in lower case.
fn base(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let kana = match c {
        // Hiragana and katakana have the same order.
        '\u{30a1}'..='\u{30f6}' => char::from_u32(c as u32 - 0x60).unwrap_or(c),
        _ => c,
    };
    let line = ACCENTED.lines().find(|line| line.contains(kana));
    line.and_then(|line| line.chars().next()).unwrap_or(kana)
}

/// Each line has a letter and the forms of it that are folded to it.
const ACCENTED: &str = "\
aàáâãäåāăąǎạảấầẩẫậắằẳẵặ
cçćĉċč
dďđḍ
eèéêëēĕėęěẹẻẽếềểễệ
gĝğġģ
hĥħḥ
iìíîïĩīĭįıỉịǐ
jĵ
kķ
lĺļľł
nñńņňŋ
oòóôõöøōŏőọỏốồổỗộơớờởỡợǒ
rŕŗř
sśŝşšșṣ
tţťŧțṭ
uùúûüũūŭůűųưụủứừửữựǔǜǚǘǖ
wŵ
yýÿŷỳỵỷỹ
zźżž
αά
εέ
ηή
ιίϊΐ
οό
υύϋΰ
ωώ
σς
иїй
еёє
あぁ
いぃ
うぅゔ
えぇ
おぉ
かが
きぎ
くぐ
けげ
こご
さざ
しじ
すず
せぜ
そぞ
ただ
ちぢ
つづっ
てで
とど
はばぱ
ひびぴ
ふぶぷ
へべぺ
ほぼぽ
やゃ
ゆゅ
よょ
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_word_are_equal() {
        for (one, other) in [
            ("Café", "cafe\u{301}"),
            ("STRASSE", "Straße"),
            ("ＡＢＣ１２", "abc12"),
            ("が", "か\u{3099}"),
            ("カード", "かーど"),
            ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
            ("don’t", "don't"),
            ("Việt", "Vie\u{302}\u{323}t"),
            ("co\u{ad}operate", "cooperate"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        assert_ne!(folded("house"), folded("mouse"));
    }
}
