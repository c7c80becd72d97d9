//! [`Matcher`]: whether a message is one that a query asks for.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::timeline::Span;
use super::{Found, HistoryQuery, QueryError, QueryOrder};
use crate::log::CallId;
use crate::message::{Content, Message, Outcome, Part, ResultContent, Text, Value, check_ms, is_blank};

/// A query that makes sense, ready to be held against messages.
pub(super) struct Matcher<'q> {
    query: &'q HistoryQuery,
    text: Option<Regex>,
}

impl<'q> Matcher<'q> {
    /// Errors: a query that contradicts itself, or whose text cannot be searched for.
    pub fn new(query: &'q HistoryQuery) -> Result<Self, QueryError> {
        if let (Some(since_ms), Some(until_ms)) = (query.since_ms, query.until_ms)
            && since_ms > until_ms
        {
            return Err(QueryError::SinceAfterUntil { since_ms, until_ms });
        }
        for at_ms in query.since_ms.into_iter().chain(query.until_ms) {
            check_ms(at_ms)?;
        }
        Ok(Self { query, text: query.text.as_ref().map(finder).transpose()? })
    }

    /// Of parts in the order of time, those of the time that the query asks for. `start_of` tells where the first
    /// one from a moment on is.
    pub fn range(&self, start_of: impl Fn(i64) -> usize, end: usize) -> Range<usize> {
        self.query.since_ms.map_or(0, &start_of)..self.query.until_ms.map_or(end, &start_of)
    }

    /// Whether some of the parts in this span may match.
    pub fn may_match_in(&self, span: &Span) -> bool {
        self.query.since_ms.is_none_or(|since_ms| span.newest_ms >= since_ms)
            && self.query.until_ms.is_none_or(|until_ms| span.oldest_ms < until_ms)
            && self.query.id.is_none_or(|id| (span.lowest_id..=span.greatest_id).contains(&id))
    }

    /// Whether a part of a message is one that the query asks for.
    pub fn matches(&self, message: &Message, part: Part<'_>) -> bool {
        self.matches_but_for_text(message, part)
            && self.text.as_ref().is_none_or(|text| has_text(part.contents(), &|said| text.is_match(said)))
    }

    /// Whether it is one, whatever it says.
    pub fn matches_but_for_text(&self, message: &Message, part: Part<'_>) -> bool {
        let query = self.query;
        let at_ms = part.created_ms();
        !message.is_fake()
            && query.id.is_none_or(|id| message.id() == id || part.id() == id)
            && (query.roles.is_empty() || query.roles.contains(&message.role()))
            && query.since_ms.is_none_or(|since_ms| at_ms >= since_ms)
            && query.until_ms.is_none_or(|until_ms| at_ms < until_ms)
            && query.turn_end.as_ref().is_none_or(|end| has_turn(message, end))
    }

    /// The time of the part that places a message in the order of the query, of those that may match.
    pub fn nearest_ms(&self, message: &Message) -> Option<i64> {
        self.first(message.parts().filter(|part| self.matches_but_for_text(message, *part)).map(Part::created_ms))
    }

    /// The message with its parts that match, if there are any.
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

/// Whether a turn that was logged with the message ended like this.
fn has_turn(message: &Message, end: &Text) -> bool {
    let turn = message.metadata().turn();
    turn.is_some_and(|turn| turn.end == *end || turn.earlier.iter().any(|earlier| earlier.end == *end))
}

fn finder(text: &Text) -> Result<Regex, QueryError> {
    if is_blank(text) {
        return Err(QueryError::BlankText);
    }
    let too_long = || QueryError::TextTooLong { bytes: text.len(), max: HistoryQuery::MAX_TEXT_BYTES };
    if text.len() > HistoryQuery::MAX_TEXT_BYTES {
        return Err(too_long());
    }
    // Its only error left is that of size, which tells the text.
    RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().map_err(|_| too_long())
}

fn has_text(contents: &[Content], is_it: &impl Fn(&str) -> bool) -> bool {
    contents.iter().any(|content| match content {
        Content::Text(text) => is_it(text),
        Content::ToolResult(result) => match result.outcome() {
            Outcome::Success(contents) => contents.iter().any(|content| match content {
                ResultContent::Text(text) => is_it(text),
                ResultContent::Json(value) => has_string(value, is_it),
                _ => false,
            }),
            Outcome::Failure(error) => is_it(error.message()),
        },
        _ => false,
    })
}

/// Values nest 32 deep at most.
fn has_string(value: &Value, is_it: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::List(list) => list.iter().any(|item| has_string(item, is_it)),
        Value::Map(map) => map.iter().any(|(_, item)| has_string(item, is_it)),
        _ => false,
    }
}
