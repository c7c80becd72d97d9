//! Reading from a spool.

use std::collections::BTreeSet;
use std::ops::Bound;

use redb::{ReadableDatabase, ReadableTable};

use super::change::{DeadLetter, SpooledCall};
use super::error::Fault;
use super::row::{CallRow, unreadable};
use super::sealing::Sealed;
use super::tables::{CALLS, DEAD_LETTERS, RECORDS, key, places_of, record, spans, spans_of};
use super::{Open, Spool};
use crate::log::stored::{StoredCallEnd, StoredHeader};
use crate::log::{CallEnd, CallHeader, CallId, LogError, Span};
use crate::message::{Position, Record};

impl Spool {
    /// Checks whether the file was deleted or replaced.
    pub(crate) fn look(&self) -> Result<(), LogError> {
        self.read(|_| Ok(()))
    }

    /// Returns up to `limit` dead letters, sorted by call and position.
    pub(crate) fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, LogError> {
        self.read(|open| dead_letters(open, None, limit))
    }

    /// Returns all dead letters of a call, sorted by position.
    pub(crate) fn dead_letters_of(&self, call_id: &CallId) -> Result<Vec<DeadLetter>, LogError> {
        self.read(|open| dead_letters(open, Some(call_id), usize::MAX))
    }

    /// Returns the first records of a call, by position, except those at the positions in `except`: up to `records`
    /// records and `bytes` bytes of JSON, at least one. Does not end within one of the spans.
    pub(crate) fn batch(
        &self,
        call_id: &CallId,
        except: &BTreeSet<Position>,
        spans: &[Span],
        records: usize,
        bytes: usize,
    ) -> Result<Vec<Record>, LogError> {
        self.read(|open| batch(open, call_id, except, spans, records, bytes))
    }

    /// Returns the calls after `after` with pending work or dead letters, sorted by id, until they have `records` records
    /// and dead letters. Returns none only if there are no more.
    pub(crate) fn calls(&self, after: Option<&CallId>, records: usize) -> Result<Vec<SpooledCall>, LogError> {
        self.read(|open| calls(open, after, records))
    }

    /// Returns those of the calls that have pending work or dead letters.
    pub(crate) fn calls_of(&self, ids: &[CallId]) -> Result<Vec<SpooledCall>, LogError> {
        self.read(|open| calls_of(open, ids))
    }
}

/// Returns the first records of a call, except those at the positions in `except`: up to `max_records` and `max_bytes`,
/// at least one, and never a part of a span.
pub(super) fn batch(
    open: &Open,
    call_id: &CallId,
    except: &BTreeSet<Position>,
    spans: &[Span],
    max_records: usize,
    max_bytes: usize,
) -> Result<Vec<Record>, Fault> {
    let transaction = open.database.begin_read()?;
    let Some(found) = transaction.open_table(CALLS)?.get(call_id.as_str())? else { return Ok(Vec::new()) };
    let (number, _) = found.value();
    let mut batch = Vec::new();
    let mut bytes = 0;
    for entry in transaction.open_table(RECORDS)?.range(places_of(number))? {
        let (place, value) = entry?;
        let (revision, json) = value.value();
        if except.contains(&key(place.value(), revision).position) {
            continue;
        }
        bytes += json.len();
        if batch.len() >= max_records || bytes > max_bytes {
            let next = key(place.value(), revision).position;
            let joins = |last: &Record| spans.iter().any(|span| span.has(last.position()) && span.has(next));
            if batch.last().is_some_and(|last| !joins(last)) {
                break;
            }
        }
        batch.push(record(&open.sealing, place.value(), revision, json)?);
    }
    Ok(batch)
}

/// Returns the calls after `after` with pending work or dead letters, sorted by id, until `max_records` records and dead
/// letters are found; at least one call if there is one.
pub(super) fn calls(open: &Open, after: Option<&CallId>, max_records: usize) -> Result<Vec<SpooledCall>, Fault> {
    let after = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.as_str()));
    let (mut calls, mut found) = (Vec::new(), 0);
    let table = open.database.begin_read()?.open_table(CALLS)?;
    for entry in table.range::<&str>((after, Bound::Unbounded))? {
        if found >= max_records && !calls.is_empty() {
            break;
        }
        let (id, value) = entry?;
        let (number, row) = value.value();
        let call = call(open, id.value(), number, row)?;
        found += call.records.len() + call.dead_letters.len();
        calls.push(call);
    }
    Ok(calls)
}

/// Returns those of the calls that the spool holds.
pub(super) fn calls_of(open: &Open, ids: &[CallId]) -> Result<Vec<SpooledCall>, Fault> {
    let table = open.database.begin_read()?.open_table(CALLS)?;
    let mut calls = Vec::new();
    for id in ids {
        if let Some(found) = table.get(id.as_str())? {
            let (number, row) = found.value();
            calls.push(call(open, id.as_str(), number, row)?);
        }
    }
    Ok(calls)
}

fn call(open: &Open, id: &str, number: u64, row: &[u8]) -> Result<SpooledCall, Fault> {
    let transaction = open.database.begin_read()?;
    let row = CallRow::read(&open.sealing.open(Sealed::Call(id, number), row)?)?;
    let mut call = SpooledCall {
        lease: row.lease(&call_id(id)?),
        opening: row.opening.map(CallHeader::try_from).transpose().map_err(|_| unreadable())?,
        call_end: row.call_end.map(CallEnd::try_from).transpose().map_err(|_| unreadable())?,
        refused_header: refused_header(row.refused_header)?,
        refused_end: refused_end(row.refused_end)?,
        records: Vec::new(),
        dead_letters: Vec::new(),
        spans: Vec::new(),
    };
    for entry in transaction.open_table(RECORDS)?.range(places_of(number))? {
        let (place, value) = entry?;
        let (revision, json) = value.value();
        call.records.push((key(place.value(), revision), json.len() as u64));
    }
    for entry in transaction.open_table(DEAD_LETTERS)?.range(places_of(number))? {
        let (place, value) = entry?;
        let (revision, _, json) = value.value();
        call.dead_letters.push((key(place.value(), revision), json.len() as u64));
    }
    if let Some(table) = spans(&transaction)? {
        for entry in table.range(spans_of(number))? {
            let (first, last) = entry?;
            call.spans.extend(Span::new(first.value().1, last.value()));
        }
    }
    Ok(call)
}

/// Returns up to `limit` dead letters of one call or of all calls, sorted by call and position.
pub(super) fn dead_letters(open: &Open, of: Option<&CallId>, limit: usize) -> Result<Vec<DeadLetter>, Fault> {
    let transaction = open.database.begin_read()?;
    let table = transaction.open_table(DEAD_LETTERS)?;
    let mut found = Vec::new();
    for entry in transaction.open_table(CALLS)?.iter()? {
        let (id, value) = entry?;
        let call_id = call_id(id.value())?;
        if of.is_some_and(|of| *of != call_id) {
            continue;
        }
        let (number, row) = value.value();
        let row = CallRow::read(&open.sealing.open(Sealed::Call(id.value(), number), row)?)?;
        let header = refused_header(row.refused_header)?;
        let header = header.map(|(header, reason)| DeadLetter::of_header(header, reason));
        let call_end = refused_end(row.refused_end)?;
        let call_end = call_end.map(|(call_end, reason)| DeadLetter::of_end(call_id.clone(), call_end, reason));
        found.extend(header.into_iter().chain(call_end).take(limit.saturating_sub(found.len())));
        for entry in table.range(places_of(number))?.take(limit.saturating_sub(found.len())) {
            let (place, value) = entry?;
            let (revision, reason, json) = value.value();
            let record = record(&open.sealing, place.value(), revision, json)?;
            found.push(DeadLetter::of_record(call_id.clone(), record, reason.into()));
        }
    }
    Ok(found)
}

fn refused_header(stored: Option<(StoredHeader, Box<str>)>) -> Result<Option<(CallHeader, Box<str>)>, Fault> {
    let read = |(header, reason)| Ok((CallHeader::try_from(header).map_err(|_| unreadable())?, reason));
    stored.map(read).transpose()
}

fn refused_end(stored: Option<(StoredCallEnd, Box<str>)>) -> Result<Option<(CallEnd, Box<str>)>, Fault> {
    let read = |(call_end, reason)| Ok((CallEnd::try_from(call_end).map_err(|_| unreadable())?, reason));
    stored.map(read).transpose()
}

fn call_id(id: &str) -> Result<CallId, Fault> {
    CallId::new(id).map_err(|_| Fault::unreadable("it contains an invalid call id"))
}
