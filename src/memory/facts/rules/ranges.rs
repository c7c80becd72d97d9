//! Ranges: two values with a word between them, which are one value.

use super::Finding;
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::Token;

impl Finding<'_> {
    /// Returns the length of a range that begins here: `between half past five and seven`, `118 to 120`.
    pub(super) fn range(&self, at: usize) -> Option<usize> {
        let first = self.get(at).filter(|first| !first.ends_clause)?;
        let has_first = WORDS.between(Some(&first.lower)).next().is_some();
        let named = || Some(1 + self.range_from(Some(&first.lower), at + 1)?);
        has_first.then(named).flatten().or_else(|| self.range_from(None, at))
    }

    /// Returns the length of two values with a word between them that fits the first word of the range.
    fn range_from(&self, first: Option<&str>, at: usize) -> Option<usize> {
        // "A table for two at the nine" is no range.
        let article = |at: usize| usize::from(first.is_some() && self.get(at).is_some_and(is_article));
        let one = at + article(at);
        let link = one + self.end_of_range(one)?;
        let is_link = |link: &Token<'_>| !link.ends_clause && WORDS.between(first).any(|word| word == link.lower);
        self.get(link).filter(|token| self.is_open_before(link) && is_link(token))?;
        let other = link + 1 + article(link + 1);
        Some(other + self.end_of_range(other)? - at)
    }

    /// Returns the length of the value at an end of a range.
    fn end_of_range(&self, at: usize) -> Option<usize> {
        let number = || Some(self.clock_digits(at).max(self.number_group(at))).filter(|length| *length > 0);
        let found = self.date(at).or_else(|| self.day(at)).or_else(|| self.clock(at)).or_else(number);
        found.or_else(|| self.get(at).and_then(Token::number).map(|_| 1))
    }
}

fn is_article(token: &Token<'_>) -> bool {
    !token.ends_clause && token.number().is_none() && WORDS.is_stopword(&token.lower)
}
