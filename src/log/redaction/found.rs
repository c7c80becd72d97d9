//! [`Found`]: the redactions of one text, and how they rewrite it.

use std::ops::Range;

use super::Redaction;
use crate::message::{Text, is_blank};

/// The replacement for a text that would be blank, because models refuse blank text.
const NOTHING_LEFT: &str = "***";

/// The redactions of one text, sorted and without overlaps.
pub(super) struct Found(Vec<Redaction>);

impl Found {
    /// Returns the first invalid range as an error.
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

    pub fn iter(&self) -> impl Iterator<Item = &Redaction> {
        self.0.iter()
    }

    /// Returns the redactions of the part `text` at `span`. A redaction that crosses parts is replaced in each of them.
    pub fn in_part(&self, span: Range<usize>, text: &str) -> Self {
        let from = self.0.partition_point(|redaction| redaction.range.end <= span.start);
        let touched = self.0.iter().skip(from).take_while(|redaction| redaction.range.start < span.end);
        let own = touched.map(|Redaction { range, replacement, kind }| {
            let (start, end) = (range.start.max(span.start), range.end.min(span.end));
            Redaction {
                range: start - span.start..end - span.start,
                replacement: replacement.clone(),
                kind: kind.clone(),
            }
        });
        Self(own.collect()).visible_in(text)
    }

    /// Redacts the whole text if it would be blank otherwise.
    pub fn visible_in(self, text: &str) -> Self {
        match self.0.first() {
            Some(Redaction { kind, .. }) if is_blank(&self.rewrite(text)) => {
                Self(vec![Redaction::new(kind.clone(), 0..text.len(), NOTHING_LEFT)])
            }
            _ => self,
        }
    }

    /// Returns the text with all replacements.
    pub fn rewrite(&self, text: &str) -> Text {
        let mut rewritten = String::with_capacity(text.len());
        let mut end = 0;
        for Redaction { range, replacement, .. } in &self.0 {
            rewritten.push_str(text.get(end..range.start).unwrap_or_default());
            rewritten.push_str(replacement);
            end = range.end;
        }
        rewritten.push_str(text.get(end..).unwrap_or_default());
        rewritten.into()
    }

    /// Returns where the first `bytes` bytes of the text end in the rewritten text. A prefix that ends within a
    /// redaction ends before its replacement.
    pub fn map_prefix(&self, bytes: usize) -> usize {
        let (mut removed, mut added) = (0, 0);
        for Redaction { range, replacement, .. } in self.0.iter().take_while(|found| found.range.start < bytes) {
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
        let redactions =
            redactions.iter().map(|(range, replacement)| Redaction::new("name", range.clone(), *replacement));
        Found::new(text, redactions.collect()).unwrap()
    }

    #[test]
    fn overlapping_redactions_merge_and_the_longest_replacement_wins() {
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
    fn redaction_that_leaves_nothing_keeps_its_kind() {
        let left = found("Nadia", &[(0..5, "")]).visible_in("Nadia");
        assert_eq!(left.0, [Redaction::new("name", 0..5, NOTHING_LEFT)]);
    }

    #[test]
    fn invalid_ranges_are_refused() {
        let text = "perché";
        #[expect(clippy::reversed_empty_ranges, reason = "a redactor may return it")]
        for range in [0..8, 7..8, 9..9, 6..7, 5..6, 4..2, 0..usize::MAX, usize::MAX..usize::MAX] {
            let refused =
                Found::new(text, vec![Redaction::new("name", 0..1, "-"), Redaction::new("name", range.clone(), "-")]);
            assert_eq!(refused.err(), Some(range));
        }
        assert!(Found::new(text, vec![Redaction::new("name", 0..7, "-")]).is_ok());
    }

    #[test]
    fn heard_prefix_maps_into_the_rewritten_text() {
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
            assert_eq!(rewritten.get(..found.map_prefix(heard)), Some(left), "{heard}");
        }
    }

    #[test]
    fn blank_results_are_replaced() {
        for (redactions, left) in
            [(vec![(0..2, "")], "***"), (vec![(0..2, "\u{200b}")], "***"), (vec![(0..1, "")], "b "), (vec![], "ab ")]
        {
            assert_eq!(found("ab ", &redactions).visible_in("ab ").rewrite("ab "), left);
        }
        assert_eq!(found(" ", &[]).visible_in(" ").rewrite(" "), " ");
    }
}
