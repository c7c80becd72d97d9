//! [`Language`]: the language of a text, as far as the reading of its numbers depends on it.

/// A language whose numbers can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Chinese,
    English,
    French,
    German,
    Italian,
    Japanese,
    Portuguese,
    Spanish,
}

impl Language {
    /// Returns the language of a text, or `None` if the text has no usual word of one of them.
    pub fn of(text: &str) -> Option<Self> {
        if text.contains(is_kana) {
            return Some(Self::Japanese);
        }
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        if text.chars().filter(|c| is_han(*c)).count() * 4 > letters {
            return Some(Self::Chinese);
        }
        let lower = text.to_lowercase();
        let words = || lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let counts = USUAL.map(|(language, usual)| {
            (words().filter(|word| usual.split(' ').any(|one| one == *word)).count(), language)
        });
        // The first of several with the same count.
        let most = counts.iter().map(|(count, _)| *count).max().filter(|count| *count > 0)?;
        counts.iter().find(|(count, _)| *count == most).map(|(_, language)| *language)
    }
}

pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

pub(super) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}')
}

/// Thai, Lao, Burmese and Khmer, which have no spaces between words.
pub(super) fn is_south_east_asian(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}')
}

/// The most usual words of each language.
const USUAL: [(Language, &str); 6] = [
    (
        Language::English,
        "the and is are you your to of in for it at on with please have we my can will this that not would be by yes \
         thank hello good what how call time number",
    ),
    (
        Language::German,
        "der die das und ist ein eine einen ihr ihre ihren sie ich nicht zu zum zur mit von vom für auf wir uhr kann \
         haben hat bitte danke guten tag am im den dem es ja nein euro sind wie kostet bis um",
    ),
    (
        Language::Italian,
        "il lo gli è e di che un una per con del della dei alle dalle sono la le suo sua ha posso grazie buongiorno \
         non euro nel nella al ci si da come prego sì quale",
    ),
    (
        Language::Spanish,
        "el los las y es de que un una por con del su sus para la le no al está en se lo como gracias hola buenos \
         usted cuenta a las son hasta desde sí qué euros",
    ),
    (
        Language::French,
        "le les et est de que un une pour avec du des vous votre vos je la ne pas au aux à nous en sur merci bonjour \
         ce dans il oui êtes euros heures",
    ),
    (
        Language::Portuguese,
        "o os as e é de que um uma por com do da dos das seu sua para não no na ao em se obrigado obrigada bom boa \
         você está às são até sim conta euros reais",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_follows_from_usual_words() {
        for (text, language) in [
            ("Your balance is 12.", Some(Language::English)),
            ("Das kostet 12,50 €.", Some(Language::German)),
            ("Il saldo è di 12 euro.", Some(Language::Italian)),
            ("El saldo es de 12 euros.", Some(Language::Spanish)),
            ("Le solde est de 12 euros.", Some(Language::French)),
            ("O saldo é de 12 euros.", Some(Language::Portuguese)),
            ("余额是12元。", Some(Language::Chinese)),
            ("残高は12円です。", Some(Language::Japanese)),
            ("12:30", None),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}
