//! [`PersonWords`]: the words that show that the first word of a sentence is a person's name.

use std::collections::HashSet;

use super::phrases::{Phrases, begins_with, phrase};
use super::{WORDS, list_of};

/// The words around a person's name, in one language.
pub(in crate::memory::facts) struct PersonWords {
    /// Whether the language capitalizes all nouns.
    pub has_nouns: bool,
    /// Words for people, and for their names: "caller", "wife", "name".
    people: HashSet<&'static str>,
    /// Other words before a verb at the beginning of a sentence: "finally".
    openings: HashSet<&'static str>,
    /// Verbs of which only a person is the subject: "wants", "asked".
    verbs: Phrases,
    /// Verbs whose form is also a participle or a noun, unless an object follows: "Mia confirmed the booking", "Booking
    /// confirmed".
    verbs_before_objects: HashSet<&'static str>,
    /// Words with which an object begins: "the", "her".
    objects: HashSet<&'static str>,
    /// Words between the name and the verb: "will", "also".
    helpers: HashSet<&'static str>,
    /// Words for "has" before an object or a participle, the participles, and words that make a passive of them: "been".
    have: HashSet<&'static str>,
    participles: HashSet<&'static str>,
    passives: HashSet<&'static str>,
    /// Words for "is".
    be: HashSet<&'static str>,
    /// Words after a name and a comma: "who".
    relatives: HashSet<&'static str>,
    /// Subjects after the verb, in languages where the object can be first.
    subjects: Phrases,
}

impl PersonWords {
    pub(super) fn of(file: &'static str) -> Self {
        let set = |name| list_of(file, name).collect();
        let phrases = |name| list_of(file, name).map(phrase).collect();
        Self {
            has_nouns: list_of(file, "noun language").next().is_some(),
            people: set("people"),
            openings: set("openings"),
            verbs: phrases("person verbs"),
            verbs_before_objects: set("verbs before objects"),
            objects: set("objects"),
            helpers: set("helpers"),
            have: set("have"),
            participles: set("participles"),
            passives: set("passives"),
            be: set("be"),
            relatives: set("relatives"),
            subjects: phrases("subjects"),
        }
    }

    /// Returns whether a word is one for people.
    pub fn is_people(&self, word: &str) -> bool {
        self.people.contains(word)
    }

    /// Returns whether a word at the beginning of a sentence is no name whatever follows.
    pub fn is_no_name(&self, word: &str) -> bool {
        self.is_people(word) || self.openings.contains(word)
    }

    /// Returns whether a word continues a sentence after a name and a comma.
    pub fn is_relative(&self, word: &str) -> bool {
        self.relatives.contains(word)
    }

    /// Returns whether only a person can be the subject of a clause, of which these are the words after the first.
    pub fn follow_a_name(&self, clause: &[&str]) -> bool {
        let helpers = clause.iter().take_while(|word| self.helpers.contains(*word)).count();
        let rest = clause.get(helpers..).unwrap_or_default();
        let verbs = begins_with(&self.verbs, rest);
        let Some(([verb], after)) = rest.split_at_checked(1) else { return false };
        let is_number = |word: &str| word.starts_with(char::is_numeric) || WORDS.is_number(word);
        let has_object = || after.first().is_some_and(|word| self.objects.contains(word) || is_number(word));
        let is_person = || after.iter().take(4).any(|word| self.is_people(word));
        if begins_with(&self.subjects, rest.get(verbs.unwrap_or(1)..).unwrap_or_default()).is_some() {
            false
        } else if verbs.is_some() {
            true
        } else if self.verbs_before_objects.contains(verb) {
            has_object()
        } else if self.have.contains(verb) {
            let active = || after.iter().take_while(|word| !self.passives.contains(*word));
            has_object() || active().any(|word| self.is_participle(word))
        } else {
            self.be.contains(verb) && has_object() && is_person()
        }
    }

    fn is_participle(&self, word: &str) -> bool {
        self.participles.contains(word)
            || self.verbs_before_objects.contains(word)
            || begins_with(&self.verbs, &[word]).is_some()
    }
}
