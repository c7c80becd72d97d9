//! What is read of a spool.

use redb::{Database, ReadableDatabase, ReadableTable};

use super::change::{SetAside, SpooledCall};
use super::error::Fault;
use super::row::{CallRow, unreadable};
use super::tables::{CALLS, RECORDS, SET_ASIDE, key, places_of, record};
use crate::log::{CallHeader, CallId, Ending};
use crate::message::Record;

/// The first records of a call, at most so many and of so many bytes, one at least.
pub(super) fn batch(
    database: &Database,
    call_id: &CallId,
    most_records: usize,
    most_bytes: usize,
) -> Result<Vec<Record>, Fault> {
    let transaction = database.begin_read()?;
    let Some(found) = transaction.open_table(CALLS)?.get(call_id.as_str())? else { return Ok(Vec::new()) };
    let (number, _) = found.value();
    let mut batch = Vec::new();
    let mut bytes = 0;
    for entry in transaction.open_table(RECORDS)?.range(places_of(number))? {
        let (_, value) = entry?;
        let (_, json) = value.value();
        bytes += json.len();
        if !batch.is_empty() && (batch.len() >= most_records || bytes > most_bytes) {
            break;
        }
        batch.push(record(json)?);
    }
    Ok(batch)
}

/// All calls of which something is to be done, by id.
pub(super) fn calls(database: &Database) -> Result<Vec<SpooledCall>, Fault> {
    let transaction = database.begin_read()?;
    let (records, set_aside) = (transaction.open_table(RECORDS)?, transaction.open_table(SET_ASIDE)?);
    let mut calls = Vec::new();
    for entry in transaction.open_table(CALLS)?.iter()? {
        let (id, value) = entry?;
        let (id, (number, json)) = (call_id(id.value())?, value.value());
        let row = CallRow::read(json)?;
        let mut call = SpooledCall {
            claim: row.claim(&id),
            opening: row.opening.map(CallHeader::try_from).transpose().map_err(|_| unreadable())?,
            ending: row.ending.map(Ending::try_from).transpose().map_err(|_| unreadable())?,
            records: Vec::new(),
            set_aside: Vec::new(),
        };
        for entry in records.range(places_of(number))? {
            let (place, value) = entry?;
            let (revision, json) = value.value();
            call.records.push((key(place.value(), revision), json.len() as u64));
        }
        for entry in set_aside.range(places_of(number))? {
            let (place, value) = entry?;
            let (revision, _, json) = value.value();
            call.set_aside.push((key(place.value(), revision), json.len() as u64));
        }
        calls.push(call);
    }
    Ok(calls)
}

/// What was set aside, at most so many, by call and position.
pub(super) fn set_aside(database: &Database, most: usize) -> Result<Vec<SetAside>, Fault> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(SET_ASIDE)?;
    let mut found = Vec::new();
    for entry in transaction.open_table(CALLS)?.iter()? {
        let (id, value) = entry?;
        let call_id = call_id(id.value())?;
        for entry in table.range(places_of(value.value().0))?.take(most.saturating_sub(found.len())) {
            let (_, value) = entry?;
            let (_, reason, json) = value.value();
            let (call_id, reason) = (call_id.clone(), reason.into());
            found.push(SetAside { call_id, reason, record: record(json)?, is_unredacted: false });
        }
    }
    Ok(found)
}

fn call_id(id: &str) -> Result<CallId, Fault> {
    CallId::new(id).map_err(|_| Fault::unreadable("a call id in it is none"))
}
