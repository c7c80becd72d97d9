//! [`Words`]: the words of all languages, read from one file a language.
//!
//! A call does not say which language it is in, and callers change it, so the words of all languages count.

use std::collections::HashSet;
use std::sync::LazyLock;

const FILES: [&str; 6] = [
    include_str!("languages/de.txt"),
    include_str!("languages/en.txt"),
    include_str!("languages/es.txt"),
    include_str!("languages/fr.txt"),
    include_str!("languages/it.txt"),
    include_str!("languages/pt.txt"),
];

/// The words that the rules know, in lower case.
pub(super) struct Words {
    pub numbers: HashSet<&'static str>,
    pub months: HashSet<&'static str>,
    pub days: HashSet<&'static str>,
    /// Words after an amount.
    pub units: HashSet<&'static str>,
    /// Phrases before the speaker's name.
    pub introductions: Vec<Vec<&'static str>>,
    /// Phrases that announce a correction.
    pub corrections: Vec<Vec<&'static str>>,
    /// Phrases of wishes, refusals and constraints.
    pub limits: Vec<Vec<&'static str>>,
    pub stopwords: HashSet<&'static str>,
    /// Frequent words of languages that capitalise all nouns.
    noun_languages: HashSet<&'static str>,
}

impl Words {
    /// Returns the number from 0 to 10 that the word says.
    pub fn number(&self, word: &str) -> Option<usize> {
        let is_word = |entry: &str| entry.split(' ').any(|form| form == word);
        entries("digits").find_map(|list| list.split(", ").position(is_word))
    }

    /// Returns the month from 1 to 12 that the word says, in full or abbreviated.
    pub fn month(&self, word: &str) -> Option<usize> {
        let full = |lists: &str| lists.split(", ").take(12).position(|month| month.starts_with(word));
        self.months.contains(word).then(|| entries("months").find_map(full)).flatten().map(|at| at + 1)
    }

    /// Returns whether the words are of a language that capitalises all nouns.
    pub fn capitalises_nouns<'a>(&self, words: impl Iterator<Item = &'a str>) -> bool {
        words.filter(|word| self.noun_languages.contains(word)).collect::<HashSet<_>>().len() >= 2
    }
}

fn entries(name: &str) -> impl Iterator<Item = &'static str> {
    FILES.iter().flat_map(|file| file.lines()).filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "))
}

pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let lists = |name: &'static str| entries(name).flat_map(|list| list.split(", ")).collect::<Vec<_>>();
    let set = |name| lists(name).into_iter().collect();
    let phrases = |name| lists(name).into_iter().map(|phrase| phrase.split(' ').collect()).collect();
    Words {
        numbers: set("numbers"),
        months: set("months"),
        days: set("days"),
        units: set("units"),
        introductions: phrases("introductions"),
        corrections: phrases("corrections"),
        limits: phrases("limits"),
        stopwords: ["stopwords", "yes", "no"].into_iter().flat_map(lists).collect(),
        noun_languages: set("noun language"),
    }
});

/// Returns where the words after one of the phrases begin, for each time that one of them occurs.
pub(super) fn after<'a>(phrases: &'a [Vec<&'static str>], words: &'a [String]) -> impl Iterator<Item = usize> + 'a {
    (0..words.len()).filter_map(|at| {
        let rest = words.get(at..)?;
        let is_here = |phrase: &&Vec<&str>| {
            rest.iter().map(String::as_str).zip(phrase.iter()).filter(|(a, b)| a == *b).count() == phrase.len()
        };
        phrases.iter().filter(is_here).map(|phrase| at + phrase.len()).max()
    })
}
