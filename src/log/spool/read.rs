//! Reading from a spool.

use std::collections::BTreeSet;

use redb::{Database, ReadableDatabase, ReadableTable};

use super::change::{DeadLetter, SpooledCall};
use super::error::Fault;
use super::row::{CallRow, unreadable};
use super::tables::{CALLS, DEAD_LETTERS, RECORDS, key, places_of, record};
use crate::log::{CallEnd, CallHeader, CallId};
use crate::message::{Position, Record};

/// Returns the first records of a call that are not at a position of `except`: up to `max_records` and `max_bytes`, at
/// least one.
pub(super) fn batch(
    database: &Database,
    call_id: &CallId,
    except: &BTreeSet<Position>,
    max_records: usize,
    max_bytes: usize,
) -> Result<Vec<Record>, Fault> {
    let transaction = database.begin_read()?;
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
        if !batch.is_empty() && (batch.len() >= max_records || bytes > max_bytes) {
            break;
        }
        batch.push(record(json)?);
    }
    Ok(batch)
}

/// Returns all calls with pending work or dead letters, sorted by id.
pub(super) fn calls(database: &Database) -> Result<Vec<SpooledCall>, Fault> {
    let transaction = database.begin_read()?;
    let (records, dead_letters) = (transaction.open_table(RECORDS)?, transaction.open_table(DEAD_LETTERS)?);
    let mut calls = Vec::new();
    for entry in transaction.open_table(CALLS)?.iter()? {
        let (id, value) = entry?;
        let (id, (number, json)) = (call_id(id.value())?, value.value());
        let row = CallRow::read(json)?;
        let mut call = SpooledCall {
            lease: row.lease(&id),
            opening: row.opening.map(CallHeader::try_from).transpose().map_err(|_| unreadable())?,
            call_end: row.call_end.map(CallEnd::try_from).transpose().map_err(|_| unreadable())?,
            records: Vec::new(),
            dead_letters: Vec::new(),
        };
        for entry in records.range(places_of(number))? {
            let (place, value) = entry?;
            let (revision, json) = value.value();
            call.records.push((key(place.value(), revision), json.len() as u64));
        }
        for entry in dead_letters.range(places_of(number))? {
            let (place, value) = entry?;
            let (revision, _, json) = value.value();
            call.dead_letters.push((key(place.value(), revision), json.len() as u64));
        }
        calls.push(call);
    }
    Ok(calls)
}

/// Returns up to `limit` dead letters of one call or of all calls, sorted by call and position.
pub(super) fn dead_letters(database: &Database, of: Option<&CallId>, limit: usize) -> Result<Vec<DeadLetter>, Fault> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(DEAD_LETTERS)?;
    let mut found = Vec::new();
    for entry in transaction.open_table(CALLS)?.iter()? {
        let (id, value) = entry?;
        let call_id = call_id(id.value())?;
        if of.is_some_and(|of| *of != call_id) {
            continue;
        }
        for entry in table.range(places_of(value.value().0))?.take(limit.saturating_sub(found.len())) {
            let (_, value) = entry?;
            let (_, reason, json) = value.value();
            let (call_id, reason) = (call_id.clone(), reason.into());
            let record = Some(record(json)?);
            found.push(DeadLetter { call_id, reason, record, call_end: None, is_unredacted: false });
        }
    }
    Ok(found)
}

fn call_id(id: &str) -> Result<CallId, Fault> {
    CallId::new(id).map_err(|_| Fault::unreadable("it contains an invalid call id"))
}
