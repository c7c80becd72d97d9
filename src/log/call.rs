//! [`Call`]: all that a log holds of one call, and what may be written over what.

use std::collections::BTreeMap;

use super::{CallHeader, CallId, LogError, Opening, Put, PutError, Stored};
use crate::message::{Position, Record};

/// All that a log holds of one call.
#[derive(Default)]
pub(super) enum Call {
    /// Nothing, and nothing will ever be.
    Erased,
    /// Nothing, or something.
    #[default]
    Unknown,
    /// Its header, if it was opened, and the newest revision of each message.
    Known { header: Option<CallHeader>, records: BTreeMap<Position, Record> },
}

impl Call {
    /// What a header means for it. Changes nothing.
    pub fn opening(&self, header: &CallHeader) -> Result<Opening, LogError> {
        let call_id = header.call_id();
        match self {
            Self::Erased => Err(LogError::Erased { call_id: call_id.clone() }),
            Self::Known { header: Some(found), .. } if found == header => Ok(Opening::AlreadyOpen),
            Self::Known { header: Some(_), .. } => Err(LogError::OtherHeader { call_id: call_id.clone() }),
            _ => Ok(Opening::Opened),
        }
    }

    /// Keeps a header that is an [`opening`](Self::opening).
    pub fn open(&mut self, opened: CallHeader) {
        if let Some((header, _)) = self.known() {
            *header = Some(opened);
        }
    }

    /// What a record means for it. Changes nothing.
    pub fn weigh(&self, call_id: &CallId, record: &Record) -> Result<Put, LogError> {
        let records = match self {
            Self::Erased => return Err(LogError::Erased { call_id: call_id.clone() }),
            Self::Unknown => return Ok(Put::Written),
            Self::Known { records, .. } => records,
        };
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        let call_id = || call_id.clone();
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

    /// Keeps what may be kept of `records`; `keep` is told of each that is written.
    pub fn put(
        &mut self,
        call_id: &CallId,
        records: &[Record],
        mut keep: impl FnMut(&Record),
    ) -> Result<Vec<Stored>, PutError> {
        let (mut stored, mut failed) = (Vec::new(), Vec::new());
        for (index, record) in records.iter().enumerate() {
            match self.weigh(call_id, record) {
                Ok(put) => {
                    if put == Put::Written {
                        keep(record);
                        self.replay(record.clone());
                    }
                    stored.push(Stored::new(record.id(), record.revision(), put));
                }
                Err(error) => {
                    let would_all_fail = error.is_erased();
                    failed.push((record.id(), error));
                    if would_all_fail {
                        return Err(PutError::new(stored, failed, records.len() - index - 1));
                    }
                }
            }
        }
        if failed.is_empty() { Ok(stored) } else { Err(PutError::new(stored, failed, 0)) }
    }

    /// The header, where the call was opened and not erased.
    pub fn header(&self) -> Option<&CallHeader> {
        match self {
            Self::Known { header, .. } => header.as_ref(),
            _ => None,
        }
    }

    /// The records in the order of the list.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let records = match self {
            Self::Known { records, .. } => Some(records),
            _ => None,
        };
        records.into_iter().flat_map(BTreeMap::values)
    }

    fn known(&mut self) -> Option<(&mut Option<CallHeader>, &mut BTreeMap<Position, Record>)> {
        if matches!(self, Self::Unknown) {
            *self = Self::Known { header: None, records: BTreeMap::new() };
        }
        match self {
            Self::Known { header, records } => Some((header, records)),
            _ => None,
        }
    }
}
