//! [`CommonWords`]: the words of one language that are no names, although a summary may capitalize them.
//!
//! The lists hold words for any service, without words that are frequent names, such as "rose". A text whose words no list
//! holds is in no known language.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{FILES, WORDS, list_of};

/// The common words of one language.
pub(in crate::memory::facts) struct CommonWords {
    /// Whether the language capitalizes all nouns.
    pub has_nouns: bool,
    /// Words before a common noun, in a language that capitalizes all nouns: "der", "keine".
    articles: HashSet<&'static str>,
    /// The common words without their inflection, and the minimum length of such a stem.
    stems: HashSet<&'static str>,
    shortest: usize,
    /// The words with which a compound can end, in a language that capitalizes all nouns.
    tails: HashSet<&'static str>,
    /// The ends of inflected words, longest first: "ing", "s".
    inflections: Vec<&'static str>,
    /// The ends of words that are hardly ever names: "tion".
    ends: Vec<&'static str>,
}

/// The minimum length of what precedes the last part of a word.
const HEAD: usize = 4;
/// The minimum length of the last word of a compound.
const TAIL: usize = 5;
/// The minimum share of its common words in a text of a language, in percent.
const LEAST_SHARE: usize = 50;
/// The ends of inflected nouns in compounds.
const TAIL_ENDS: [&str; 5] = ["n", "en", "s", "e", "es"];

const FILES_OF_WORDS: [&str; 6] = [
    include_str!("../languages/common/de.txt"),
    include_str!("../languages/common/en.txt"),
    include_str!("../languages/common/es.txt"),
    include_str!("../languages/common/fr.txt"),
    include_str!("../languages/common/it.txt"),
    include_str!("../languages/common/pt.txt"),
];

static LANGUAGES: LazyLock<Vec<CommonWords>> =
    LazyLock::new(|| FILES.into_iter().zip(FILES_OF_WORDS).map(|(file, words)| CommonWords::of(file, words)).collect());

impl CommonWords {
    fn of(file: &'static str, words: &'static str) -> Self {
        let mut inflections: Vec<_> = list_of(file, "inflections").collect();
        inflections.sort_by_key(|end| std::cmp::Reverse(end.len()));
        let has_nouns = list_of(file, "noun language").next().is_some();
        let shortest = list_of(file, "shortest stem").find_map(|length| length.parse().ok()).unwrap_or(HEAD);
        let tails = words.split_whitespace().filter(|word| has_nouns && word.chars().count() >= HEAD).collect();
        let ends = list_of(file, "noun ends").collect();
        let articles = list_of(file, "articles").collect();
        let mut common = Self { has_nouns, articles, stems: HashSet::new(), shortest, tails, inflections, ends };
        let lists = ["stopwords", "articles", "people", "yes", "no", "numbers", "months", "days", "units"];
        let words = words.split_whitespace().chain(lists.into_iter().flat_map(|list| list_of(file, list)));
        common.stems = words.map(|word| common.stem(word)).collect();
        common
    }

    /// Returns the languages in which the words can be written.
    pub fn languages_of<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Vec<&'static Self> {
        let share = |language: &Self| {
            let (mut known, mut all) = (0_usize, 0_usize);
            for word in words.clone() {
                all += 1;
                known += usize::from(language.stems.contains(language.stem(word)));
            }
            known * 100 / all.max(1)
        };
        let shares: Vec<(usize, &Self)> = LANGUAGES.iter().map(|language| (share(language), language)).collect();
        let best = shares.iter().map(|(share, _)| *share).max().unwrap_or_default();
        // Related languages share words, so a short text can be in several.
        let is_close = |share: usize| share >= LEAST_SHARE && share * 10 >= best * 8;
        shares.into_iter().filter(|(share, _)| is_close(*share)).map(|(_, language)| language).collect()
    }

    /// Returns whether a word is a common one in any language.
    pub fn is_common(word: &str) -> bool {
        LANGUAGES.iter().any(|language| language.has(word))
    }

    /// Returns whether a word is a common one in a language that capitalizes all nouns.
    pub fn is_noun(word: &str) -> bool {
        LANGUAGES.iter().any(|language| language.has_nouns && language.has(word))
    }

    /// Returns whether a word is no name.
    pub fn has(&self, word: &str) -> bool {
        let word = WORDS.without_article(word);
        word.split('-').filter(|part| !part.is_empty()).all(|part| self.has_part(part))
    }

    fn has_part(&self, word: &str) -> bool {
        let is_end = |end: &&str| word.strip_suffix(*end).is_some_and(|head| head.chars().count() >= HEAD);
        self.stems.contains(self.stem(word)) || self.ends.iter().any(is_end) || self.is_compound(word)
    }

    /// Returns whether a word is a compound whose last word is a common one: "Sitzplatz".
    fn is_compound(&self, word: &str) -> bool {
        let is_tail = |tail: &str| {
            let ends = TAIL_ENDS.iter().filter_map(|end| tail.strip_suffix(end));
            ends.chain([tail]).any(|tail| self.tails.contains(tail))
        };
        let tails = word.char_indices().skip(HEAD).map(|(at, _)| word.split_at(at).1);
        self.has_nouns && tails.take_while(|tail| tail.chars().count() >= TAIL).any(is_tail)
    }

    /// Returns whether a word can be before a common noun, but not before a name.
    pub fn is_article(&self, word: &str) -> bool {
        self.articles.contains(word)
    }

    /// Returns a word without its inflection.
    fn stem<'a>(&self, word: &'a str) -> &'a str {
        let mut rests = self.inflections.iter().filter_map(|end| word.strip_suffix(end));
        let stem = rests.find(|rest| rest.chars().count() >= self.shortest).unwrap_or(word);
        let mut last = stem.char_indices().rev();
        match (last.next(), last.next()) {
            (Some((at, a)), Some((_, b))) if a == b && stem.chars().count() > HEAD => stem.get(..at).unwrap_or(stem),
            _ => stem,
        }
    }
}
