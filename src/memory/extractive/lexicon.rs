//! The English words and phrases that score a clause. For other languages, the score depends on digits, names and
//! lengths.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use super::hash::Hash;

/// The meaning of a word for the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A spoken number.
    Number,
    /// A unit. After a number, it makes an amount, a duration or a time of day.
    Unit,
    /// A day, a month.
    Date,
    /// A requested action.
    Act,
    /// The subjects of calls of any trade.
    Topic,
    /// A success, a failure or an impossibility.
    Outcome,
    /// An announced action.
    Will,
    /// A question word.
    Ask,
    /// A negation or a contrast.
    Not,
    /// A word that makes a yes-or-no question at the beginning of a clause, and has no meaning elsewhere.
    Asks,
    /// No meaning by itself.
    Stop,
}

/// The meaning of two adjacent words for the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phrase {
    /// A name or its spelling.
    Identity,
    /// A wish.
    Intent,
    /// An action that will be, or has been, done.
    Promise,
    /// Politeness.
    SmallTalk,
}

/// A table with a fast hasher. The default one resists keys chosen by an attacker, but these keys are constants.
type Table<K, V> = HashMap<K, V, BuildHasherDefault<Hash>>;

/// Looks up a word in lower case, without punctuation at its ends.
pub(super) fn word(word: &str) -> Option<Word> {
    static WORDS: LazyLock<Table<&'static str, Word>> = LazyLock::new(|| {
        let listed = |(kind, words): &(Word, &'static str)| {
            let kind = *kind;
            words.split_whitespace().map(move |word| (word, kind)).collect::<Vec<_>>()
        };
        WORD_LISTS.iter().flat_map(listed).collect()
    });
    WORDS.get(word).copied()
}

/// Looks up two words, each as for [`word`].
pub(super) fn phrase(first: &str, second: &str) -> Option<Phrase> {
    static PHRASES: LazyLock<Table<(&'static str, &'static str), Phrase>> = LazyLock::new(|| {
        let listed = |(kind, phrases): &(Phrase, &'static str)| {
            let kind = *kind;
            phrases
                .split(',')
                .filter_map(|phrase| phrase.trim().split_once(' '))
                .map(move |words| (words, kind))
                .collect::<Vec<_>>()
        };
        PHRASE_LISTS.iter().flat_map(listed).collect()
    });
    PHRASES.get(&(first, second)).copied()
}

const WORD_LISTS: &[(Word, &str)] = &[
    (
        Word::Number,
        "zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
         seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand \
         million double triple first second third fourth fifth tenth half quarter",
    ),
    (
        Word::Unit,
        "dollar dollars cent cents euro euros pound pounds percent p.m pm a.m am p o'clock hour hours minute \
         minutes day days week weeks month months year years people times",
    ),
    (
        Word::Date,
        "monday tuesday wednesday thursday friday saturday sunday january february march april june july august \
         september october november december tomorrow yesterday tonight noon midnight morning afternoon evening \
         weekend",
    ),
    (
        Word::Act,
        "cancel change book transfer pay order reset schedule check refund return move update speak complain \
         confirm send open close block replace buy add remove modify proceed fix repair call report renew \
         deliver find use",
    ),
    (
        Word::Topic,
        "address phone email account amount balance password appointment name birth payment bill number code date \
         company total price cost fee charge today",
    ),
    (
        Word::Outcome,
        "unable cannot can't couldn't won't unfortunately successfully confirmed cancelled canceled failed \
         refunded sent booked paid transferred approved denied error declined completed delayed \
         missing broken wrong lost expired eligible urgent correct incorrect",
    ),
    (Word::Will, "i'll we'll"),
    (Word::Asks, "can could do does did is are was were will would shall should may have has"),
    (Word::Ask, "what which when where who how why whose"),
    (
        Word::Not,
        "not don't didn't doesn't isn't no never without instead only prefer rather except unless but actually",
    ),
    (
        Word::Stop,
        "a about after again all alright also an and any anything as at be because been before being bye done for \
         from get go going good great had he hello help her here hey hi him his i i'd i'm i've if in into it \
         it'll it's its just kindly know let let's like ll look looking make me mhm might more much my need nice \
         now of off ok okay on or our out over perfect please really right said say see she so some something \
         sorry sure take thank thanks that that'll that's the their them then there there's these they they're \
         think this those through to too uh uhm um until up us very want way we we're well wish with yeah yep yes \
         yet you you'd you'll you're you've your welcome glad happy assist further question questions fantastic \
         wonderful absolutely certainly course moment hold understand appreciate wait fine provide feel free",
    ),
];

const PHRASE_LISTS: &[(Phrase, &str)] = &[
    (
        Phrase::Identity,
        "name is, name's called, call me, is spelled, that's spelled, spelled with, i'm called, \
         speaking with, number is, id is, email is, address is, code is, birth is, born on, reason is, reason for",
    ),
    (
        Phrase::Intent,
        "would like, i want, i need, i'd like, want to, need to, like to, looking to, looking for, help me, trying to, \
         calling about, calling because, could you, can you, can i, could i, interested in, make sure, prefer to, \
         go with, go ahead, make it, change it, rather not",
    ),
    (
        Phrase::Promise,
        "i will, we will, will be, has been, have been, is being, was sent, going to, call back, get back",
    ),
    (
        Phrase::SmallTalk,
        "anything else, any other, help you, assist you, great day, nice day, good day, thank you, thanks for, you too, \
         feel free, reach out, let me, you're welcome, bye bye, very helpful, your help, your patience, all for, that'll \
         be, that's all, that's it, all i, good morning, good afternoon, good evening, happy to",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_listed_once() {
        let mut words: Vec<_> = WORD_LISTS.iter().flat_map(|(_, words)| words.split_whitespace()).collect();
        words.sort_unstable();
        let twice: Vec<_> = words.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert_eq!(twice, [""; 0]);
    }

    #[test]
    fn every_phrase_has_two_words() {
        for phrase in PHRASE_LISTS.iter().flat_map(|(_, phrases)| phrases.split(',')) {
            assert_eq!(phrase.split_whitespace().count(), 2, "{phrase}");
        }
    }
}
