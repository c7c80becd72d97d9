//! [`Call`]: all that a log holds of one call, and what may be written over what.

use std::collections::BTreeMap;

use super::{CallChange, CallHeader, CallId, LogError, LoggedCall, Opening, Put, WriterLease};
use crate::message::{Position, Record};

/// All that a log holds of one call.
#[derive(Default)]
pub(super) enum Call {
    /// Nothing, and nothing will ever be.
    Erased,
    /// Nothing, or something.
    #[default]
    Unknown,
    /// Its header, if it was opened, the newest revision of each message, and when they expire.
    Known { header: Option<CallHeader>, records: BTreeMap<Position, Record>, expires_at_s: Option<i64> },
}

impl Call {
    /// What a header means for it. Changes nothing.
    pub fn opening(&self, header: &CallHeader) -> Result<Opening, LogError> {
        let call_id = header.call_id();
        match self {
            Self::Erased => Err(LogError::Erased { call_id: call_id.clone() }),
            Self::Known { header: Some(found), .. } if found.is_opened_as(header) => Ok(Opening::AlreadyOpen),
            Self::Known { header: Some(_), .. } => Err(LogError::OtherHeader { call_id: call_id.clone() }),
            _ => Ok(Opening::Opened),
        }
    }

    /// Keeps a header: that of an [`opening`](Self::opening), or a [changed](Self::changed) one.
    pub fn keep_header(&mut self, kept: CallHeader) {
        if let Some((header, _)) = self.known() {
            *header = Some(kept);
        }
    }

    /// The header after a change. Changes nothing.
    pub fn changed(&self, call_id: &CallId, change: &CallChange, now_s: i64) -> Result<CallHeader, LogError> {
        match self {
            Self::Erased => Err(LogError::Erased { call_id: call_id.clone() }),
            Self::Known { header: Some(header), .. } if !header.has_expired(now_s) => header.clone().changed(change),
            _ => Err(LogError::NotOpened { call_id: call_id.clone() }),
        }
    }

    /// Whether it may be erased.
    pub fn erasing(&self, call_id: &CallId) -> Result<(), LogError> {
        match self.header() {
            Some(header) if header.is_held() => Err(LogError::Held { call_id: call_id.clone() }),
            _ => Ok(()),
        }
    }

    /// What a record means for it. Changes nothing.
    fn weigh(&self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let call_id = || lease.call_id().clone();
        let records = match self {
            Self::Erased => return Err(LogError::Erased { call_id: call_id() }),
            Self::Unknown => return Ok(Put::Written),
            Self::Known { header: Some(header), .. } if header.epoch() > lease.epoch() => {
                return Err(header.fences(lease));
            }
            Self::Known { records, .. } => records,
        };
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        match records.get(&position) {
            None => Ok(Put::Written),
            Some(found) if found.id() != id => {
                Err(LogError::OtherMessage { call_id: call_id(), position, id, found: found.id() })
            }
            Some(found) if found.revision() > revision => Ok(Put::NewerKept),
            Some(found) if found.revision() < revision => Ok(Put::Written),
            Some(found) if found == record => Ok(Put::AlreadyThere),
            Some(_) => Err(LogError::OtherContents { call_id: call_id(), position, id, revision }),
        }
    }

    /// Takes note of a record that the log holds, unless it holds a newer one.
    pub fn replay(&mut self, record: Record) {
        let Some((_, records)) = self.known() else { return };
        let known = records.get(&record.position());
        if known.is_none_or(|known| known.revision() < record.revision()) {
            records.insert(record.position(), record);
        }
    }

    /// Keeps a record, unless it is there.
    pub fn put(&mut self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let put = self.weigh(lease, record)?;
        if put == Put::Written {
            self.replay(record.clone());
        }
        if let Self::Known { expires_at_s, .. } = self {
            *expires_at_s = lease.expires_at_s();
        }
        Ok(put)
    }

    /// The header as a list shows it, where the call was opened and neither erased nor expired.
    pub fn shown(&self, now_s: i64) -> Option<&CallHeader> {
        self.header().filter(|header| !header.has_expired(now_s))
    }

    /// What is read of it.
    pub fn read(&self, now_s: i64) -> LoggedCall {
        let Self::Known { header, records, expires_at_s } = self else { return LoggedCall::default() };
        let has_expired = match header {
            Some(header) => header.has_expired(now_s),
            None => expires_at_s.is_some_and(|at_s| at_s <= now_s),
        };
        if has_expired {
            return LoggedCall::default();
        }
        LoggedCall::new(header.clone(), records.values().cloned().collect())
    }

    /// Its header, if it was opened.
    pub fn header(&self) -> Option<&CallHeader> {
        match self {
            Self::Known { header, .. } => header.as_ref(),
            _ => None,
        }
    }

    fn known(&mut self) -> Option<(&mut Option<CallHeader>, &mut BTreeMap<Position, Record>)> {
        if matches!(self, Self::Unknown) {
            *self = Self::Known { header: None, records: BTreeMap::new(), expires_at_s: None };
        }
        match self {
            Self::Known { header, records, .. } => Some((header, records)),
            _ => None,
        }
    }
}
