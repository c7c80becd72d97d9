//! The tables of a spool: what stands where, in which format, and how all of it is copied.

use std::ops::RangeInclusive;

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, TableError};

use super::change::RecordKey;
use super::error::{Fault, SpoolErrorKind};
use crate::message::{MessageId, Position, Record};

/// Numbers about the spool.
pub(super) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
/// From the id of a call to its number and its [row](super::row::CallRow).
pub(super) const CALLS: TableDefinition<&str, (u64, &[u8])> = TableDefinition::new("calls");
/// What is still to be stored: revision, and the record as JSON.
pub(super) const RECORDS: TableDefinition<Place, (u32, &[u8])> = TableDefinition::new("records");
/// What was set aside: revision, reason, and the record as JSON.
pub(super) const DEAD_LETTERS: TableDefinition<Place, (u32, &str, &[u8])> = TableDefinition::new("set_aside");

/// In [`META`]: the format of all of this.
const FORMAT: &str = "format";
/// In [`META`]: the number of the next call. A number is never used again.
pub(super) const NEXT_CALL: &str = "next_call";
/// In [`META`]: how many bytes of JSON there are in [`RECORDS`].
pub(super) const PENDING_BYTES: &str = "pending_bytes";
/// In [`META`]: the same of [`DEAD_LETTERS`].
pub(super) const DEAD_LETTER_BYTES: &str = "dead_letter_bytes";
/// In [`META`]: not 0 while the file may hold bytes of an erased call.
pub(super) const IS_SCRUB_DUE: &str = "is_scrub_due";

const VERSION: u64 = 1;

/// Number of the call, `seq`, number of the summary or 0, id of the message: a call's records stand together, in their
/// order.
pub(super) type Place = (u64, u32, u32, u128);

pub(super) fn place(call: u64, key: &RecordKey) -> Place {
    let summary = key.position.summary_number().map_or(0, std::num::NonZeroU32::get);
    (call, key.position.seq(), summary, key.id.into())
}

pub(super) fn key((_, seq, summary, id): Place, revision: u32) -> RecordKey {
    let position = match std::num::NonZeroU32::new(summary) {
        Some(number) => Position::summary(seq, number),
        None => Position::message(seq),
    };
    RecordKey { position, id: MessageId::from(id), revision }
}

pub(super) fn places_of(call: u64) -> RangeInclusive<Place> {
    (call, 0, 0, 0)..=(call, u32::MAX, u32::MAX, u128::MAX)
}

pub(super) fn to_json(record: &Record) -> Result<Vec<u8>, Fault> {
    // No record is known that JSON cannot say. What serde says of one may quote it.
    serde_json::to_vec(record).map_err(|_| Fault::unreadable("a record does not write as JSON"))
}

pub(super) fn record(json: &[u8]) -> Result<Record, Fault> {
    serde_json::from_slice(json).map_err(|_| Fault::unreadable("a record in it does not read"))
}

/// What is told of a spool without looking through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub pending_bytes: u64,
    pub dead_letter_bytes: u64,
}

/// What is to be known of a spool that was just opened.
pub(super) struct Opened {
    pub totals: Totals,
    /// Whether all of it is to be written anew: bytes of an erased call may be in it, or it holds nothing.
    pub is_scrub_due: bool,
}

/// Errors: of another format, not a spool.
pub(super) fn look(database: &Database) -> Result<Opened, Fault> {
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Err(TableError::TableDoesNotExist(_)) => return Err(Fault::unreadable("it is the file of another program")),
        meta => meta?,
    };
    let number = |name| Ok::<_, Fault>(meta.get(name)?.map_or(0, |number| number.value()));
    match number(FORMAT)? {
        VERSION => {}
        version => return Err(Fault::of(SpoolErrorKind::NewerFormat { version })),
    }
    let totals = Totals { pending_bytes: number(PENDING_BYTES)?, dead_letter_bytes: number(DEAD_LETTER_BYTES)? };
    let is_empty = transaction.open_table(CALLS)?.is_empty()?;
    Ok(Opened { totals, is_scrub_due: is_empty || number(IS_SCRUB_DUE)? != 0 })
}

/// Makes an empty store a spool that holds what another does.
pub(super) fn fill(database: &Database, from: Option<&Database>) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        let (mut meta, mut calls) = (transaction.open_table(META)?, transaction.open_table(CALLS)?);
        let (mut records, mut dead_letters) = (transaction.open_table(RECORDS)?, transaction.open_table(DEAD_LETTERS)?);
        meta.insert(FORMAT, VERSION)?;
        if let Some(from) = from {
            let from = from.begin_read()?;
            for number in [NEXT_CALL, PENDING_BYTES, DEAD_LETTER_BYTES] {
                if let Some(value) = from.open_table(META)?.get(number)? {
                    meta.insert(number, value.value())?;
                }
            }
            for entry in from.open_table(CALLS)?.iter()? {
                let (key, value) = entry?;
                calls.insert(key.value(), value.value())?;
            }
            for entry in from.open_table(RECORDS)?.iter()? {
                let (key, value) = entry?;
                records.insert(key.value(), value.value())?;
            }
            for entry in from.open_table(DEAD_LETTERS)?.iter()? {
                let (key, value) = entry?;
                dead_letters.insert(key.value(), value.value())?;
            }
        }
    }
    Ok(transaction.commit()?)
}
