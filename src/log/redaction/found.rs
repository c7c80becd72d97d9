//! [`Found`]: what was found in one text, in its order, and the text without it.

use std::ops::Range;

use super::Redaction;
use crate::message::{Text, is_blank};

/// What is written where nothing visible would be: no provider takes a blank text.
const NOTHING_LEFT: &str = "***";

/// What must not be written of one text: in its order, no range overlaps another.
pub(super) struct Found(Vec<Redaction>);

impl Found {
    /// Errors: the range that is none of `text`.
    pub fn new(text: &str, mut redactions: Vec<Redaction>) -> Result<Self, Range<usize>> {
        for Redaction { range, .. } in &redactions {
            if text.get(range.clone()).is_none() {
                return Err(range.clone());
            }
        }
        redactions.retain(|redaction| !redaction.range.is_empty());
        redactions.sort_by_key(|redaction| redaction.range.start);
        let mut apart: Vec<Redaction> = Vec::with_capacity(redactions.len());
        let mut longest = 0;
        for redaction in redactions {
            let length = redaction.range.len();
            match apart.last_mut().filter(|last| redaction.range.start < last.range.end) {
                Some(last) => {
                    last.range.end = last.range.end.max(redaction.range.end);
                    if length > longest {
                        (longest, last.replacement) = (length, redaction.replacement);
                    }
                }
                None => {
                    longest = length;
                    apart.push(redaction);
                }
            }
        }
        Ok(Self(apart))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was found in a part of the text, which is `text`; what goes on beyond it is replaced in each part.
    pub fn within(&self, span: Range<usize>, text: &str) -> Self {
        let from = self.0.partition_point(|redaction| redaction.range.end <= span.start);
        let touched = self.0.iter().skip(from).take_while(|redaction| redaction.range.start < span.end);
        let own = touched.map(|Redaction { range, replacement }| {
            let (start, end) = (range.start.max(span.start), range.end.min(span.end));
            Redaction { range: start - span.start..end - span.start, replacement: replacement.clone() }
        });
        Self(own.collect()).visible_in(text)
    }

    /// The same, but all of the text where nothing visible would be left of it.
    pub fn visible_in(self, text: &str) -> Self {
        if self.is_empty() || !is_blank(&self.rewrite(text)) {
            return self;
        }
        Self(vec![Redaction::new(0..text.len(), NOTHING_LEFT)])
    }

    /// The text with the replacements in place of what was found.
    pub fn rewrite(&self, text: &str) -> Text {
        let mut rewritten = String::with_capacity(text.len());
        let mut end = 0;
        for Redaction { range, replacement } in &self.0 {
            rewritten.push_str(text.get(end..range.start).unwrap_or_default());
            rewritten.push_str(replacement);
            end = range.end;
        }
        rewritten.push_str(text.get(end..).unwrap_or_default());
        rewritten.into()
    }

    /// Where in the rewritten text the first `bytes` bytes of the text end: before a replacement that they end in.
    pub fn moved(&self, bytes: usize) -> usize {
        let (mut removed, mut added) = (0, 0);
        for Redaction { range, replacement } in self.0.iter().take_while(|found| found.range.start < bytes) {
            if bytes < range.end {
                return range.start - removed + added;
            }
            removed += range.len();
            added += replacement.len();
        }
        bytes - removed + added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, redactions: &[(Range<usize>, &str)]) -> Found {
        let redactions = redactions.iter().map(|(range, replacement)| Redaction::new(range.clone(), *replacement));
        Found::new(text, redactions.collect()).unwrap()
    }

    #[test]
    fn what_overlaps_goes_and_the_longest_says_what_stands_there() {
        let text = "abcdefghij";
        for (redactions, left) in [
            (vec![(2..4, "-")], "ab-efghij"),
            (vec![(6..8, "-"), (2..4, "+")], "ab+ef-ij"),
            (vec![(2..4, "+"), (4..6, "-")], "ab+-ghij"),
            (vec![(2..6, "+"), (3..5, "-")], "ab+ghij"),
            (vec![(3..5, "-"), (3..6, "+")], "abc+ghij"),
            (vec![(2..5, "-"), (4..8, "+"), (7..9, "~")], "ab+j"),
            (vec![(2..5, "first"), (4..7, "second")], "abfirsthij"),
            (vec![(2..2, "never put in"), (0..1, "")], "bcdefghij"),
        ] {
            assert_eq!(found(text, &redactions).rewrite(text), left);
        }
    }

    #[test]
    fn what_is_no_range_of_the_text_is_refused() {
        let text = "perché";
        #[expect(clippy::reversed_empty_ranges, reason = "a hook may give it")]
        for range in [0..8, 7..8, 9..9, 6..7, 5..6, 4..2, 0..usize::MAX, usize::MAX..usize::MAX] {
            let refused = Found::new(text, vec![Redaction::new(0..1, "-"), Redaction::new(range.clone(), "-")]);
            assert_eq!(refused.err(), Some(range));
        }
        assert!(Found::new(text, vec![Redaction::new(0..7, "-")]).is_ok());
    }

    #[test]
    fn a_place_moves_with_what_stands_before_it() {
        let text = "my name is Nadia, and yours?";
        let found = found(text, &[(3..7, ""), (11..16, "[the name]")]);
        let rewritten = found.rewrite(text);
        assert_eq!(rewritten, "my  is [the name], and yours?");
        for (heard, left) in [
            (0, ""),
            (3, "my "),
            (5, "my "),
            (7, "my "),
            (8, "my  "),
            (11, "my  is "),
            (12, "my  is "),
            (15, "my  is "),
            (16, "my  is [the name]"),
            (17, "my  is [the name],"),
            (28, "my  is [the name], and yours?"),
        ] {
            assert_eq!(rewritten.get(..found.moved(heard)), Some(left), "{heard}");
        }
    }

    #[test]
    fn what_would_be_blank_is_not() {
        for (redactions, left) in
            [(vec![(0..2, "")], "***"), (vec![(0..2, "\u{200b}")], "***"), (vec![(0..1, "")], "b "), (vec![], "ab ")]
        {
            assert_eq!(found("ab ", &redactions).visible_in("ab ").rewrite("ab "), left);
        }
        assert_eq!(found(" ", &[]).visible_in(" ").rewrite(" "), " ");
    }
}
