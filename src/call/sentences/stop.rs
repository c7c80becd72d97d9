//! [`Stop`]: a possible end of a sentence, until the next characters show whether it is one.

use crate::message::is_blank_char;

/// A possible end of a sentence.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    kind: Kind,
    /// Whether a closing quotation mark or bracket follows.
    is_closed: bool,
    /// The last space after it.
    space: Space,
    has_line_break: bool,
    /// The offset of the word after it, while the word is read.
    next_word: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Space {
    None,
    Usual,
    /// A no-break space, which French has before a closing quotation mark.
    NoBreak,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// `。`, which needs no space after it.
    Wide,
    /// `!` and `?`.
    Mark,
    /// `…` and `...`.
    Ellipsis,
    /// A line break alone.
    Line,
    /// A point after a usual word.
    Point,
    /// A point after the number or letter of a list item.
    Item,
    /// A point after a title, such as `Mr`.
    Title,
    /// A point after a word that precedes a number, such as `No`.
    Counter,
    /// A point after single letters, such as `J`, `e.g` and `U.S`.
    Letters,
    /// A point after `a.m` or `p.m`.
    Hour,
    /// A point after digits.
    Number,
    /// A point after an ordinal, such as `am 3`.
    Ordinal,
}

pub(super) enum Verdict {
    /// The next characters decide.
    Open,
    /// The sentence ended. The next one starts at this offset.
    Ends(usize),
    /// The sentence continues.
    Continues,
}

impl Stop {
    /// Returns the possible end that `c` makes after `word`. `opens` is true if `word` is the first word of the
    /// sentence.
    pub fn new(c: char, word: &str, word_before: &str, opens: bool) -> Option<Self> {
        let kind = match c {
            // This keeps the cost linear for an address with many points.
            '.' if word.len() > MAX_ABBREVIATION => Kind::Point,
            '.' => kind_of_point(word, word_before, opens),
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Line,
            _ => kind_of_mark(c)?,
        };
        let has_line_break = kind == Kind::Line;
        Some(Self { kind, is_closed: false, space: Space::None, has_line_break, next_word: None })
    }

    /// Takes the next character, which follows `held` at offset `at`.
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
        self.decide(c, at)
    }

    /// Decides at the first visible character of the next word.
    fn decide(&mut self, c: char, at: usize) -> Verdict {
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
        if ends { Verdict::Ends(at) } else { Verdict::Continues }
    }

    fn follow_in_word(&self, next_word: usize, c: char, at: usize, held: &str) -> Verdict {
        if c.is_alphabetic() && at - next_word <= MAX_DATE_WORD {
            return Verdict::Open;
        }
        let word = held.get(next_word..).unwrap_or_default();
        if DATE_WORDS.contains(&word) { Verdict::Continues } else { Verdict::Ends(next_word) }
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
    // The Italian article in "l'avv." is not part of the abbreviation.
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

/// Returns whether the character belongs to the sentence that it follows: closing marks, marks of Markdown, emoji.
fn is_closing(c: char) -> bool {
    matches!(c,
        '"' | '\'' | '”' | '’' | '“' | '»' | '«' | '›' | '‹' | ')' | ']' | '}' | '」' | '』' | '】' | '）' | '》' | '〉'
        | '*' | '_' | '`' | '~' | '\u{fe0f}' | '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether the script has no spaces between sentences: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// The maximum length of an abbreviation, in bytes.
const MAX_ABBREVIATION: usize = 24;

/// Words after which a point never ends a sentence, because a name follows. Lower case.
const TITLES: [&str; 37] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "mt", "ft", "capt", "col", "gen", "lt", "sgt", "rev", "gov", "sen",
    "vs", "sig", "dott", "avv", "ing", "geom", "spett", "gent", "hr", "bzw", "ca", "evtl", "ggf", "inkl", "zzgl",
    "sra", "srta", "dra", "mme", "approx",
];

/// Words after which a point does not end a sentence if a number follows. Lower case.
const COUNTERS: [&str; 46] = [
    "no", "nos", "nr", "num", "núm", "art", "abs", "pp", "vol", "fig", "sec", "ch", "tel", "ext", "apt", "max", "min",
    "pag", "cap", "int", "str", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "okt", "nov",
    "dec", "dez", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "ste",
];

/// German articles and prepositions before an ordinal. Lower case.
const BEFORE_ORDINAL: [&str; 13] =
    ["am", "der", "die", "das", "dem", "den", "des", "vom", "zum", "zur", "im", "bis", "beim"];

/// The maximum length of a word in [`DATE_WORDS`], in bytes.
const MAX_DATE_WORD: usize = 10;

/// Capitalized words that continue a date or a time after `3.` and `3 p.m.`.
const DATE_WORDS: [&str; 32] = [
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
