//! [`Matcher`]: tests messages against a query.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::error::QueryProblem;
use super::timeline::Span;
use super::{Found, HistoryQuery, MAX_TEXT_BYTES, QueryOrder};
use crate::conversation::ConversationError;
use crate::log::CallId;
use crate::message::{Content, Message, Part, ResultContent, Text, Value, check_ms, is_blank};

/// A valid query, ready to test messages.
pub(super) struct Matcher<'q> {
    query: &'q HistoryQuery,
    text: Option<Regex>,
}

impl<'q> Matcher<'q> {
    /// Returns [`Refused`] if the query is invalid.
    ///
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    pub fn new(query: &'q HistoryQuery) -> Result<Self, ConversationError> {
        if let (Some(since_ms), Some(until_ms)) = (query.since_ms, query.until_ms)
            && since_ms > until_ms
        {
            return Err(QueryProblem::SinceAfterUntil { since_ms, until_ms }.into());
        }
        for at_ms in query.since_ms.into_iter().chain(query.until_ms) {
            check_ms(at_ms).map_err(QueryProblem::from)?;
        }
        Ok(Self { query, text: query.text.as_ref().map(finder).transpose()? })
    }

    /// Returns the range of parts, sorted by time, that the query's times select. `start_of` returns the index of the
    /// first part at or after a time.
    pub fn range(&self, start_of: impl Fn(i64) -> usize, end: usize) -> Range<usize> {
        self.query.since_ms.map_or(0, &start_of)..self.query.until_ms.map_or(end, &start_of)
    }

    /// Returns whether a part in this span may match.
    pub fn may_match_in(&self, span: &Span) -> bool {
        self.query.since_ms.is_none_or(|since_ms| span.newest_ms >= since_ms)
            && self.query.until_ms.is_none_or(|until_ms| span.oldest_ms < until_ms)
            && self.query.id.is_none_or(|id| (span.lowest_id..=span.greatest_id).contains(&id))
    }

    /// Returns whether a part of a message matches.
    pub fn matches(&self, message: &Message, part: Part<'_>) -> bool {
        self.matches_except_text(message, part)
            && self.text.as_ref().is_none_or(|text| has_text(part.contents(), &|candidate| text.is_match(candidate)))
    }

    /// Returns whether a part of a message matches except for the text.
    pub fn matches_except_text(&self, message: &Message, part: Part<'_>) -> bool {
        let query = self.query;
        let at_ms = part.created_ms();
        !message.is_fake()
            && query.id.is_none_or(|id| message.id() == id || part.id() == id)
            && (query.roles.is_empty() || query.roles.contains(&message.role()))
            && query.since_ms.is_none_or(|since_ms| at_ms >= since_ms)
            && query.until_ms.is_none_or(|until_ms| at_ms < until_ms)
            && query.turn_end.as_ref().is_none_or(|end| has_turn(message, end))
    }

    /// Returns the time by which a message is sorted, given its parts that match except for the text.
    pub fn sort_ms(&self, message: &Message) -> Option<i64> {
        self.first(message.parts().filter(|part| self.matches_except_text(message, *part)).map(Part::created_ms))
    }

    /// Returns the message with its matching parts, if it has any.
    pub fn find(&self, conversation: &CallId, message: &Message) -> Option<Found> {
        let parts = message.parts().filter(|part| self.matches(message, *part));
        let (parts, times): (_, Vec<_>) = parts.map(|part| (part.id(), part.created_ms())).unzip();
        let at_ms = self.first(times.into_iter())?;
        Some(Found { conversation: conversation.clone(), message: message.clone(), parts, at_ms })
    }

    fn first(&self, times: impl Iterator<Item = i64>) -> Option<i64> {
        match self.query.order {
            QueryOrder::OldestFirst => times.min(),
            QueryOrder::NewestFirst => times.max(),
        }
    }
}

/// Returns whether a turn that was logged with the message had this end.
fn has_turn(message: &Message, end: &Text) -> bool {
    let turn = message.metadata().turn();
    turn.is_some_and(|turn| turn.end == *end || turn.rare.earlier.iter().any(|earlier| earlier.end == *end))
}

fn finder(text: &Text) -> Result<Regex, ConversationError> {
    if is_blank(text) {
        return Err(QueryProblem::BlankText.into());
    }
    let too_long = || QueryProblem::TextTooLong { bytes: text.len(), max: MAX_TEXT_BYTES }.into();
    if text.len() > MAX_TEXT_BYTES {
        return Err(too_long());
    }
    // The only possible error is the size. It is replaced, because it quotes the text.
    RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().map_err(|_| too_long())
}

fn has_text(contents: &[Content], matches: &impl Fn(&str) -> bool) -> bool {
    contents.iter().any(|content| match content {
        Content::Text(text) => matches(text),
        Content::ToolResult(result) => match result.outcome() {
            Ok(contents) => contents.iter().any(|content| match content {
                ResultContent::Text(text) => matches(text),
                ResultContent::Json(value) => has_string(value, matches),
                _ => false,
            }),
            Err(error) => matches(error.message()),
        },
        _ => false,
    })
}

/// Recursion is safe: a value has at most 32 levels.
fn has_string(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => matches(text),
        Value::List(list) => list.iter().any(|item| has_string(item, matches)),
        Value::Map(map) => map.iter().any(|(_, item)| has_string(item, matches)),
        _ => false,
    }
}
