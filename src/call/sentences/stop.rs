//! [`Stop`]: what may have ended a sentence, until what follows shows whether it did.

use crate::message::is_blank_char;

/// What may have ended a sentence.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    kind: Kind,
    /// Whether a quotation mark or a bracket was closed behind it.
    is_closed: bool,
    /// What came behind it last.
    space: Space,
    has_line_break: bool,
    /// Where the word behind it begins, while it is read.
    next_word: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Space {
    None,
    Usual,
    /// As French puts it before a closing quotation mark.
    NoBreak,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// `。`, which needs no space behind it.
    Wide,
    /// `!` and `?`.
    Mark,
    /// `…` and `...`.
    Ellipsis,
    /// A line break alone.
    Line,
    /// A point behind a usual word.
    Point,
    /// Behind the number or letter of a list item.
    Item,
    /// Behind what always stands before a name, such as `Mr`.
    Title,
    /// Behind what stands before a number, such as `No`.
    Counter,
    /// Behind letters, such as `J`, `e.g` and `U.S`.
    Letters,
    /// Behind `a.m` and `p.m`.
    Hour,
    /// Behind digits.
    Number,
    /// Behind digits that are an ordinal, such as `am 3`.
    Ordinal,
}

pub(super) enum Verdict {
    /// More has to be seen.
    Open,
    /// The sentence ended; the next begins here.
    Ends(usize),
    /// It was no end.
    GoesOn,
}

impl Stop {
    /// What `c` behind `word` may end; `opens` says whether nothing is said before this word.
    pub fn new(c: char, word: &str, word_before: &str, opens: bool) -> Option<Self> {
        let kind = match c {
            // An address may have many points: they do not all look at all of it.
            '.' if word.len() > LONGEST_TO_KNOW => Kind::Point,
            '.' => kind_of_point(word, word_before, opens),
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Line,
            _ => kind_of_mark(c)?,
        };
        let has_line_break = kind == Kind::Line;
        Some(Self { kind, is_closed: false, space: Space::None, has_line_break, next_word: None })
    }

    /// What `c` at the end of `held` shows.
    pub fn follow(&mut self, c: char, at: usize, held: &str) -> Verdict {
        if let Some(next_word) = self.next_word {
            return self.follow_in_word(next_word, c, at, held);
        }
        if matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            self.has_line_break = true;
            return Verdict::Open;
        }
        if c.is_whitespace() {
            self.space = if matches!(c, '\u{a0}' | '\u{202f}') { Space::NoBreak } else { Space::Usual };
            return Verdict::Open;
        }
        if is_blank_char(c) {
            return Verdict::Open;
        }
        if self.kind != Kind::Line {
            if let Some(kind) = kind_of_mark(c).or((c == '.').then_some(Kind::Ellipsis)) {
                self.kind = if self.kind == Kind::Mark && kind == Kind::Ellipsis { Kind::Mark } else { kind };
                (self.space, self.is_closed) = (Space::None, false);
                return Verdict::Open;
            }
            let is_beside = !self.has_line_break && self.space == Space::None;
            if is_beside && is_closing(c) || self.space == Space::NoBreak && c == '»' {
                (self.space, self.is_closed) = (Space::None, true);
                return Verdict::Open;
            }
        }
        self.before(c, at)
    }

    /// `c` is the first that is seen behind it.
    fn before(&mut self, c: char, at: usize) -> Verdict {
        let is_apart = self.has_line_break || self.space != Space::None;
        let ends = match self.kind {
            Kind::Line | Kind::Wide => true,
            Kind::Item | Kind::Title => false,
            _ if self.has_line_break => true,
            Kind::Mark | Kind::Ellipsis if !is_apart => is_written_without_spaces(c),
            _ if !is_apart => false,
            Kind::Mark => !(self.is_closed && c.is_lowercase()),
            _ if c.is_lowercase() => false,
            Kind::Ellipsis | Kind::Point => true,
            Kind::Letters | Kind::Ordinal => false,
            Kind::Counter => !c.is_numeric(),
            Kind::Number | Kind::Hour if c.is_uppercase() => {
                self.next_word = Some(at);
                return Verdict::Open;
            }
            Kind::Number => !c.is_numeric(),
            Kind::Hour => true,
        };
        if ends { Verdict::Ends(at) } else { Verdict::GoesOn }
    }

    fn follow_in_word(&self, next_word: usize, c: char, at: usize, held: &str) -> Verdict {
        if c.is_alphabetic() && at - next_word <= LONGEST_OF_DATE {
            return Verdict::Open;
        }
        let word = held.get(next_word..).unwrap_or_default();
        if OF_DATE.contains(&word) { Verdict::GoesOn } else { Verdict::Ends(next_word) }
    }
}

fn kind_of_mark(c: char) -> Option<Kind> {
    Some(match c {
        '!' | '?' | '؟' | '۔' | '।' | '॥' | '։' | '።' | '။' | '‼' | '⁇' | '⁈' | '⁉' => Kind::Mark,
        '…' => Kind::Ellipsis,
        '。' | '！' | '？' | '｡' | '．' | '។' => Kind::Wide,
        _ => return None,
    })
}

fn kind_of_point(word: &str, word_before: &str, opens: bool) -> Kind {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    // As in "l'avv.".
    let word = word.rsplit(['\'', '’']).next().unwrap_or_default();
    let is_number = !word.is_empty() && word.chars().all(char::is_numeric);
    let letters = word.split('.').all(|part| (1..=2).contains(&part.chars().count()) && part.chars().all(is_cased));
    let is_dotted = letters && word.contains('.');
    let is_letter = letters && word.chars().count() == 1;
    let lower = word.to_lowercase();
    if opens && (is_number && word.len() <= 3 || is_letter) {
        Kind::Item
    } else if matches!(lower.as_str(), "a.m" | "p.m" | "am" | "pm") {
        Kind::Hour
    } else if is_dotted || is_letter && word != "I" || is_roman(word) {
        Kind::Letters
    } else if is_number {
        let is_ordinal = word.len() <= 2 && BEFORE_ORDINAL.contains(&word_before.trim().to_lowercase().as_str());
        if is_ordinal { Kind::Ordinal } else { Kind::Number }
    } else if TITLES.contains(&lower.as_str()) {
        Kind::Title
    } else if COUNTERS.contains(&lower.as_str()) {
        Kind::Counter
    } else {
        Kind::Point
    }
}

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}

fn is_roman(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| matches!(byte, b'I' | b'V' | b'X'))
}

/// What belongs to the sentence when it stands right behind its end; the marks of Markdown, and emoji too.
fn is_closing(c: char) -> bool {
    matches!(c,
        '"' | '\'' | '”' | '’' | '“' | '»' | '«' | '›' | '‹' | ')' | ']' | '}' | '」' | '』' | '】' | '）' | '》' | '〉'
        | '*' | '_' | '`' | '~' | '\u{fe0f}' | '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// Thai, Lao, Burmese, Khmer, Chinese and Japanese.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// In bytes. A longer word is no abbreviation.
const LONGEST_TO_KNOW: usize = 24;

/// Behind these a point never ends a sentence: a name follows. Lower case.
const TITLES: [&str; 37] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "mt", "ft", "capt", "col", "gen", "lt", "sgt", "rev", "gov", "sen",
    "vs", "sig", "dott", "avv", "ing", "geom", "spett", "gent", "hr", "bzw", "ca", "evtl", "ggf", "inkl", "zzgl",
    "sra", "srta", "dra", "mme", "approx",
];

/// Behind these a point ends no sentence where a number follows. Lower case.
const COUNTERS: [&str; 46] = [
    "no", "nos", "nr", "num", "núm", "art", "abs", "pp", "vol", "fig", "sec", "ch", "tel", "ext", "apt", "max", "min",
    "pag", "cap", "int", "str", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "okt", "nov",
    "dec", "dez", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "ste",
];

/// German says in its articles and prepositions that a number is an ordinal. Lower case.
const BEFORE_ORDINAL: [&str; 13] =
    ["am", "der", "die", "das", "dem", "den", "des", "vom", "zum", "zur", "im", "bis", "beim"];

/// In bytes.
const LONGEST_OF_DATE: usize = 10;

/// Capitalised words with which a date or a time goes on behind `3.` and `3 p.m.`.
const OF_DATE: [&str; 32] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
    "Jänner",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Eastern",
    "Central",
    "Pacific",
    "Mountain",
    "EST",
    "EDT",
    "PST",
    "PDT",
    "CET",
    "GMT",
    "UTC",
    "BST",
];
