//! [`Call`]: the state of one call in a log, and the rules for overwriting it.

use std::collections::BTreeMap;

use super::{CallChange, CallHeader, CallId, Day, LogError, LoggedCall, Put, Span, WriterLease};
use crate::message::{Position, Record};

/// The state of one call in a log.
#[derive(Default)]
#[expect(clippy::large_enum_variant, reason = "nearly all calls are known")]
pub(super) enum Call {
    /// The call was erased, on this day if the log knows it. Nothing of it is stored again.
    Erased(Option<Day>),
    /// The log has nothing of the call.
    #[default]
    Unknown,
    Known {
        /// The header, if the call was opened.
        header: Option<CallHeader>,
        /// The newest revision of each message.
        records: BTreeMap<Position, Record>,
        /// The spans by their first messages.
        spans: BTreeMap<u32, Span>,
        /// When the records expire.
        expires_at_s: Option<i64>,
    },
}

impl Call {
    /// Returns the outcome of opening the call with a header, without changing it.
    pub fn check_open(&self, header: &CallHeader) -> Result<Put, LogError> {
        let call_id = header.call_id();
        match self {
            Self::Erased(_) => Err(LogError::erased(call_id)),
            Self::Known { header: Some(found), .. } if found.is_opened_as(header) => Ok(Put::Kept),
            Self::Known { header: Some(_), .. } => Err(LogError::other_header(call_id)),
            _ => Ok(Put::Written),
        }
    }

    /// Sets the header.
    pub fn set_header(&mut self, kept: CallHeader) {
        if let Some((header, _)) = self.known() {
            *header = Some(kept);
        }
    }

    /// Returns the header after a change, without making the change.
    pub fn changed(&self, call_id: &CallId, change: &CallChange, now_s: i64) -> Result<CallHeader, LogError> {
        match self {
            Self::Erased(_) => Err(LogError::erased(call_id)),
            Self::Known { header: Some(header), .. } if !header.has_expired(now_s) => header.clone().changed(change),
            _ => Err(LogError::not_opened(call_id)),
        }
    }

    /// Returns an error if the call must not be erased.
    pub fn check_erase(&self, call_id: &CallId) -> Result<(), LogError> {
        match self.header() {
            Some(header) if header.is_held() => Err(LogError::held(call_id)),
            _ => Ok(()),
        }
    }

    /// Returns the outcome of putting a record, without storing it.
    fn check_put(&self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let call_id = lease.call_id();
        let records = match self {
            Self::Erased(_) => return Err(LogError::erased(call_id)),
            Self::Unknown => return Ok(Put::Written),
            Self::Known { header, records, .. } => {
                header.as_ref().map_or(Ok(()), |header| header.tenure().check(lease))?;
                records
            }
        };
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        match records.get(&position) {
            None => Ok(Put::Written),
            Some(found) if found.id() != id => Err(LogError::other_message(call_id, position, id, found.id())),
            Some(found) if found.revision() > revision => Ok(Put::Kept),
            Some(found) if found.revision() < revision => Ok(Put::Written),
            Some(found) if found == record => Ok(Put::Kept),
            Some(_) => Err(LogError::other_contents(call_id, position, id, revision)),
        }
    }

    /// Adds a stored record, unless the call has that revision or a newer one.
    pub fn replay(&mut self, record: Record) {
        let Some((_, records)) = self.known() else { return };
        let known = records.get(&record.position());
        if known.is_none_or(|known| known.revision() < record.revision()) {
            records.insert(record.position(), record);
        }
    }

    /// Stores a record, unless the call has that revision or a newer one.
    pub fn put(&mut self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let put = self.check_put(lease, record)?;
        if put == Put::Written {
            self.replay(record.clone());
        }
        if let Self::Known { expires_at_s, .. } = self {
            *expires_at_s = lease.expires_at_s();
        }
        Ok(put)
    }

    /// Stores records of a span, each unless the call has that revision or a newer one. The first put of a span stores
    /// all of its messages or none.
    pub fn put_span(&mut self, lease: &WriterLease, span: Span, records: &[Record]) -> Vec<Result<Put, LogError>> {
        if self.has_span(span) {
            return records.iter().map(|record| self.put(lease, record)).collect();
        }
        let is_whole = (span.first()..=span.last()).eq(records.iter().map(|record| record.position().seq()));
        let has_place = is_whole && !self.has_any_of(span);
        let check =
            |record| if has_place { self.check_put(lease, record) } else { Err(self.no_span(lease, record, span)) };
        if let Some(error) = records.iter().find_map(|record| check(record).err()) {
            return records.iter().map(|_| Err(error.clone())).collect();
        }
        let put = records.iter().map(|record| self.put(lease, record)).collect();
        if let Self::Known { spans, .. } = self {
            spans.insert(span.first(), span);
        }
        put
    }

    fn has_span(&self, span: Span) -> bool {
        matches!(self, Self::Known { spans, .. } if spans.get(&span.first()) == Some(&span))
    }

    /// Returns whether another item has the position of a message in the span.
    fn has_any_of(&self, span: Span) -> bool {
        let Self::Known { records, spans, .. } = self else { return false };
        let overlaps = |other: &Span| other.first() <= span.last() && span.first() <= other.last();
        records.contains_key(&Position::message(span.first())) || spans.values().any(overlaps)
    }

    /// Returns why a span cannot be stored.
    fn no_span(&self, lease: &WriterLease, record: &Record, span: Span) -> LogError {
        self.check_put(lease, record).err().unwrap_or_else(|| LogError::other_items(lease.call_id(), span))
    }

    /// The header, if the call was opened and is neither erased nor expired.
    pub fn listed(&self, now_s: i64) -> Option<&CallHeader> {
        self.header().filter(|header| !header.has_expired(now_s))
    }

    /// Returns whether the call was erased on a day.
    pub fn was_erased_on(&self, day: Day) -> bool {
        matches!(self, Self::Erased(Some(erased_on)) if *erased_on == day)
    }

    /// Returns the call as a reader sees it: empty if it is unknown or expired.
    pub fn read(&self, call_id: &CallId, now_s: i64) -> Result<LoggedCall, LogError> {
        let (header, records, spans, expires_at_s) = match self {
            Self::Erased(_) => return Err(LogError::erased(call_id)),
            Self::Unknown => return Ok(LoggedCall::default()),
            Self::Known { header, records, spans, expires_at_s } => (header, records, spans, expires_at_s),
        };
        let has_expired = match header {
            Some(header) => header.has_expired(now_s),
            None => expires_at_s.is_some_and(|at_s| at_s <= now_s),
        };
        if has_expired {
            return Ok(LoggedCall::default());
        }
        let spans = spans.values().copied().collect();
        Ok(LoggedCall { spans, ..LoggedCall::new(header.clone(), records.values().cloned().collect()) })
    }

    /// The positions of the records.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let records = if let Self::Known { records, .. } = self { Some(records) } else { None };
        records.into_iter().flat_map(|records| records.keys().copied())
    }

    /// The revision of the record at a position.
    pub fn revision_at(&self, position: Position) -> Option<u32> {
        if let Self::Known { records, .. } = self {
            records.get(&position).map(|record| record.revision())
        } else {
            None
        }
    }

    /// The header, if the call was opened.
    pub fn header(&self) -> Option<&CallHeader> {
        match self {
            Self::Known { header, .. } => header.as_ref(),
            _ => None,
        }
    }

    fn known(&mut self) -> Option<(&mut Option<CallHeader>, &mut BTreeMap<Position, Record>)> {
        if matches!(self, Self::Unknown) {
            let (records, spans) = Default::default();
            *self = Self::Known { header: None, records, spans, expires_at_s: None };
        }
        match self {
            Self::Known { header, records, .. } => Some((header, records)),
            _ => None,
        }
    }
}
