//! [`Words`]: the words of all languages, read from one file per language.
//!
//! The language of a call is unknown, and callers change it, so the words of all languages count.

mod common;
mod mails;
mod numbers;
mod phrases;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

pub(super) use common::CommonWords;
pub(super) use mails::MailWords;
use numbers::{numbered, values};
use phrases::phrase;
pub(crate) use phrases::says_yes_or_no;
pub(super) use phrases::{Phrases, after, begins_with, ranges, without};

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
    /// Words that are a number in another language, or mean something else, too: "once", "neuf".
    pub homographs: HashSet<&'static str>,
    pub months: HashSet<&'static str>,
    pub days: HashSet<&'static str>,
    /// The months and the days of the week of each language, in order.
    full_months: Vec<Vec<&'static str>>,
    weekdays: Vec<Vec<&'static str>>,
    /// Phrases around a day of the week, that say which one it is: "next", "next week", "in the morning".
    pub before_days: Phrases,
    pub after_days: Phrases,
    /// Phrases after the number of a day: "of this month".
    pub after_dates: Phrases,
    /// Phrases for other days that count from today: "day after tomorrow".
    pub relative_days: Phrases,
    /// Words after an amount.
    pub units: HashSet<&'static str>,
    /// Phrases before the speaker's name.
    pub introductions: Phrases,
    /// Phrases that announce a correction.
    pub corrections: Phrases,
    /// Phrases of a sentence that adds a value or agrees to one, so that it corrects none.
    pub additions: Phrases,
    /// Phrases before what the caller does not want, such as "instead of".
    pub rejections: Phrases,
    /// Phrases of refusals and constraints.
    pub limits: Phrases,
    /// Phrases with a negation that say only what the caller does not know.
    pub ignorance: Phrases,
    /// Phrases of wishes.
    pub wishes: Phrases,
    /// Words for the middle of the day and of the night.
    pub noons: HashSet<&'static str>,
    /// Phrases before the hour, the word for hours, and phrases after it: "quarter to", "o'clock", "et demie".
    pub before_hours: Phrases,
    pub hours: HashSet<&'static str>,
    /// Words for a half and a quarter of an hour.
    pub half_hours: HashSet<&'static str>,
    pub quarter_hours: HashSet<&'static str>,
    /// Phrases before an hour that has no word after it: "at nine".
    pub at_hours: Phrases,
    pub after_hours: Phrases,
    /// Small words in surnames: "da Silva".
    pub particles: HashSet<&'static str>,
    /// Words for streets in the languages that write them as a word of their own.
    pub streets: HashSet<&'static str>,
    /// Words for streets at the end of a name: "14 May Street".
    pub street_names: HashSet<&'static str>,
    pub stopwords: HashSet<&'static str>,
    /// Pronouns that a hyphen joins to a verb: "avez-vous".
    attached: HashSet<&'static str>,
    /// Articles and pronouns that an apostrophe joins to a word: "l'hôtel".
    elided: HashSet<&'static str>,
    /// Words for the signs in an e-mail address, for each language, because "at" and "point" are one in no language.
    pub mails: Vec<MailWords>,
    /// Words that mean yes or no, and those that mean no.
    replies: HashSet<&'static str>,
    pub refusals: HashSet<&'static str>,
    /// Words between alternatives: "aisle or window".
    pub alternatives: HashSet<&'static str>,
    /// Phrases of a question whether the caller wants anything else.
    pub closings: Phrases,
    /// Phrases with which a caller ends a call.
    pub farewells: Phrases,
    /// Abbreviations that are not part of a value.
    pub acronyms: HashSet<&'static str>,
    values: HashMap<&'static str, u32>,
    /// Phrases between a letter and a word that begins with it: "P as in Peter".
    pub spelling: Phrases,
    /// The words of spelling alphabets: "Bravo", "Berta".
    pub alphabet: HashSet<&'static str>,
    /// Words for a slash, which stays in a code: "77 slash B".
    pub slashes: HashSet<&'static str>,
    /// Abbreviations before a name: "Dr. Wu", "St. Clair".
    pub titles: HashSet<&'static str>,
    /// Articles and other words before a noun, in languages that capitalize all nouns.
    pub articles: HashSet<&'static str>,
    /// The ends of words for streets in these languages.
    pub street_ends: HashSet<&'static str>,
    /// Words before a wrong value, and those between it and the right one: "not the eighth but the ninth".
    pub negations: HashSet<&'static str>,
    pub contrasts: HashSet<&'static str>,
    /// Words that begin a condition, or a question that suggests something.
    pub conditions: HashSet<&'static str>,
    /// Words that add another value: "not on Monday and Tuesday".
    pub conjunctions: HashSet<&'static str>,
    /// Words before the first value of a range, if any, with the word between the two: "between ... and".
    ranges: Vec<(Option<&'static str>, &'static str)>,
    /// Words with which an open question begins, and those before a value that name no slot.
    pub questions: HashSet<&'static str>,
    pub unnamed: HashSet<&'static str>,
    /// The names of letters, with the letter: "double u".
    pub letters: Vec<(&'static str, Vec<&'static str>)>,
    /// Words for the decimal sign, and phrases after a number: "and a half".
    pub decimals: HashSet<&'static str>,
    pub fractions: Phrases,
    /// Words between the pieces of a code: "4 0 0 then 7".
    pub links: HashSet<&'static str>,
    /// Words that repeat the digit after them: "double five".
    repeats: HashMap<&'static str, usize>,
    /// Frequent words of languages that capitalize all nouns.
    noun_languages: HashSet<&'static str>,
}

impl Words {
    /// Returns the number that a word means: 0 to 20, a multiple of ten, a multiple of 100, or 1,000.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.values.get(word).copied()
    }

    /// Returns whether a word is a number, such as `seven` or `sechsundvierzig`, and no ordinal.
    pub fn is_number(&self, word: &str) -> bool {
        self.numbers.contains(word) || self.number_parts(word).is_some_and(|parts| parts.len() > 1)
    }

    /// Returns whether a word means yes or no.
    pub fn is_reply(&self, word: &str) -> bool {
        self.replies.contains(word)
    }

    /// Returns whether a word carries little meaning of its own, or is a verb with a pronoun.
    pub fn is_stopword(&self, word: &str) -> bool {
        self.stopwords.contains(word) || word.rsplit_once('-').is_some_and(|(_, last)| self.attached.contains(last))
    }

    /// Returns a word without an article that an apostrophe joins to it.
    pub fn without_article<'a>(&self, word: &'a str) -> &'a str {
        let parts = word.split_once(['\'', '’']).filter(|(first, _)| self.elided.contains(first));
        parts.map_or(word, |(_, rest)| rest)
    }

    /// Returns how often a word such as "double" repeats the digit after it.
    pub fn repeats(&self, word: &str) -> Option<usize> {
        self.repeats.get(word).copied()
    }

    /// Returns the words that can be between the two values of a range that begins with `first`, or with its value.
    pub fn between<'a>(&'a self, first: Option<&'a str>) -> impl Iterator<Item = &'static str> + 'a {
        self.ranges.iter().filter(move |(word, _)| *word == first).map(|(_, between)| *between)
    }

    /// Returns whether a word can be between the two values of a range.
    pub fn is_between(&self, word: &str) -> bool {
        self.ranges.iter().any(|(_, between)| *between == word)
    }

    /// Returns the parts of a number in one word, such as `sechsundvierzig` or `forty-six`.
    pub fn number_parts(&self, word: &str) -> Option<Vec<u32>> {
        let mut rest = word;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let (end, value) = ends.filter_map(|end| Some((end, self.number(rest.get(..end)?)?))).next()?;
            parts.push(value);
            rest = rest.get(end..)?;
            rest = rest.strip_prefix('-').or_else(|| rest.strip_prefix("und")).unwrap_or(rest);
        }
        Some(parts).filter(|parts| !parts.is_empty())
    }

    /// Returns the day of the week that a word means, in full or abbreviated to three letters, from 0 for Monday.
    pub fn weekday(&self, word: &str) -> Option<usize> {
        let word = word.trim_end_matches("-feira");
        let is_short = word.chars().count() == 3 && !self.stopwords.contains(word);
        let is_day = |day: &str| day == word || (is_short && day.starts_with(word));
        self.weekdays.iter().find_map(|days| days.iter().position(|day| is_day(day)))
    }

    /// Returns the month that a word means, in full or abbreviated, from 1 to 12.
    pub fn month(&self, word: &str) -> Option<usize> {
        let full = |months: &[&str]| months.iter().position(|month| month.starts_with(word)).map(|at| at + 1);
        self.months.contains(word).then(|| self.full_months.iter().find_map(|months| full(months))).flatten()
    }

    /// Returns whether the words are of a language that capitalizes all nouns.
    pub fn capitalises_nouns<'a>(&self, words: impl Iterator<Item = &'a str>) -> bool {
        words.filter(|word| self.noun_languages.contains(word)).collect::<HashSet<_>>().len() >= 2
    }
}

fn entries(name: &str) -> impl Iterator<Item = &'static str> {
    FILES.iter().flat_map(move |file| entries_of(file, name))
}

fn entries_of(file: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    file.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Iterates over the words or phrases of a list in a file.
fn list_of(file: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    entries_of(file, name).flat_map(|list| list.split(", "))
}

pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let lists = |name: &'static str| FILES.iter().flat_map(|file| list_of(file, name)).collect::<Vec<_>>();
    let set = |name| lists(name).into_iter().collect();
    let phrases = |name| lists(name).into_iter().map(phrase).collect();
    Words {
        numbers: set("numbers"),
        homographs: set("homographs"),
        months: set("months"),
        days: set("days"),
        full_months: FILES.iter().map(|file| list_of(file, "months").take(12).collect()).collect(),
        weekdays: FILES.iter().map(|file| list_of(file, "days").take(7).collect()).collect(),
        before_days: phrases("before days"),
        after_days: phrases("after days"),
        after_dates: phrases("after dates"),
        relative_days: phrases("relative days"),
        units: set("units"),
        introductions: phrases("introductions"),
        corrections: phrases("corrections"),
        additions: phrases("additions"),
        rejections: phrases("rejections"),
        limits: phrases("limits"),
        ignorance: phrases("ignorance"),
        wishes: phrases("wishes"),
        spelling: phrases("spelling"),
        alphabet: set("alphabet"),
        slashes: set("slashes"),
        titles: set("titles"),
        articles: set("articles"),
        street_ends: set("street ends"),
        negations: set("negations"),
        contrasts: set("contrasts"),
        conditions: set("conditions"),
        conjunctions: set("conjunctions"),
        ranges: lists("ranges").into_iter().map(range).collect(),
        questions: set("questions"),
        unnamed: set("unnamed"),
        letters: lists("letters").into_iter().filter_map(letter).collect(),
        noons: set("noons"),
        decimals: set("decimals"),
        fractions: phrases("fractions"),
        links: set("links"),
        before_hours: phrases("before hours"),
        hours: set("hours"),
        half_hours: set("half hours"),
        quarter_hours: set("quarter hours"),
        at_hours: phrases("at hours"),
        after_hours: phrases("after hours"),
        particles: set("particles"),
        streets: set("streets"),
        street_names: set("street names"),
        attached: set("attached"),
        elided: set("elided"),
        stopwords: ["stopwords", "yes", "no"].into_iter().flat_map(lists).collect(),
        replies: ["yes", "no"].into_iter().flat_map(lists).collect(),
        refusals: set("no"),
        alternatives: set("alternatives"),
        closings: phrases("closings"),
        farewells: phrases("farewells"),
        mails: FILES.iter().map(|file| MailWords::of(file)).collect(),
        acronyms: set("acronyms"),
        values: values(),
        repeats: numbered("repeats", &[2, 3]).into_iter().collect(),
        noun_languages: set("noun language"),
    }
});

/// Returns the words of a range: `between and`, or `to`.
fn range(entry: &'static str) -> (Option<&'static str>, &'static str) {
    entry.split_once(' ').map_or((None, entry), |(first, second)| (Some(first), second))
}

/// Returns a letter and the words of its name, of `w double u`.
fn letter(entry: &'static str) -> Option<(&'static str, Vec<&'static str>)> {
    entry.split_once(' ').map(|(letter, name)| (letter, phrase(name)))
}
