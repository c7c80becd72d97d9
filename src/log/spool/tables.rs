//! The tables of a spool: their format, and how they are checked and copied.

use std::ops::RangeInclusive;

use redb::{
    Database, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition, TableError, Value, WriteTransaction,
};

use super::change::RecordKey;
use super::counter::Commit;
use super::error::{Fault, FaultKind};
use super::sealing::{Sealed, Sealing, SpoolKey};
use crate::clock::{Randomness, SystemRandomness};
use crate::message::{MessageId, Position, Record};

/// Counters and flags of the spool.
pub(super) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
/// From the id of a call to its number and its [row](super::row::CallRow).
pub(super) const CALLS: TableDefinition<&str, (u64, &[u8])> = TableDefinition::new("calls");
/// The value that verifies the key of an encrypted spool.
const KEY: TableDefinition<&str, &[u8]> = TableDefinition::new("key");
/// Records that have to be stored: revision, and the record as JSON, which a spool with a key encrypts.
pub(super) const RECORDS: TableDefinition<Place, (u32, &[u8])> = TableDefinition::new("records");
/// Dead letters: revision, reason, and the record as JSON.
pub(super) const DEAD_LETTERS: TableDefinition<Place, (u32, &str, &[u8])> = TableDefinition::new("dead_letters");

/// From the number of a call and a first message to the last message of their span. A spool creates this table with its
/// first span.
pub(super) const SPANS: TableDefinition<(u64, u32), u32> = TableDefinition::new("spans");

/// In [`META`]: the format version of the tables.
const FORMAT: &str = "format";
/// In [`META`]: the number of the next call. Numbers are never reused.
pub(super) const NEXT_CALL: &str = "next_call";
/// In [`META`]: the bytes of JSON in [`RECORDS`].
pub(super) const PENDING_BYTES: &str = "pending_bytes";
/// In [`META`]: the bytes of JSON in [`DEAD_LETTERS`].
pub(super) const DEAD_LETTER_BYTES: &str = "dead_letter_bytes";
/// In [`META`]: the random id of the spool. Copies keep it.
const SPOOL: &str = "spool";
/// In [`META`]: the number of the last commit.
pub(super) const COMMITS: &str = "commits";
/// In [`META`]: not 0 while the file may contain bytes of an erased call.
pub(super) const IS_SCRUB_DUE: &str = "is_scrub_due";

/// In [`KEY`].
const CHECK: &str = "check";

/// Version 1 had neither ids nor numbers of commits.
const VERSION: u64 = 2;

/// Number of the call, `seq`, number of the summary or 0, id of the message. The records of a call are adjacent and in
/// the order of the conversation.
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

pub(super) fn spans_of(call: u64) -> RangeInclusive<(u64, u32)> {
    (call, 0)..=(call, u32::MAX)
}

type SpanTable = ReadOnlyTable<(u64, u32), u32>;

/// Returns the table of the spans, if the spool has it.
pub(super) fn spans(transaction: &ReadTransaction) -> Result<Option<SpanTable>, Fault> {
    match transaction.open_table(SPANS) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        table => Ok(Some(table?)),
    }
}

pub(super) fn to_json(record: &Record) -> Result<Vec<u8>, Fault> {
    // The error of serde is dropped because it may quote the record.
    serde_json::to_vec(record).map_err(|_| Fault::unreadable("a record cannot be written as JSON"))
}

pub(super) fn record(sealing: &Sealing, place: Place, revision: u32, value: &[u8]) -> Result<Record, Fault> {
    let json = sealing.open(Sealed::Record(place, revision), value)?;
    serde_json::from_slice(&json).map_err(|_| Fault::unreadable("it contains a record that cannot be read"))
}

/// The sizes that a spool reports without reading its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub pending_bytes: u64,
    pub dead_letter_bytes: u64,
}

/// The state of a spool that was just opened.
pub(super) struct Opened {
    pub totals: Totals,
    pub commit: Commit,
    pub sealing: Sealing,
    /// Whether the file has to be rewritten: it is empty, has an older format, or may contain bytes of an erased call.
    pub is_rewrite_due: bool,
}

/// Checks the format and the key, and returns the state. Fails if the file is not a spool.
pub(super) fn check(database: &Database, key: Option<SpoolKey>) -> Result<Opened, Fault> {
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Err(TableError::TableDoesNotExist(_)) => return Err(Fault::unreadable("it belongs to another program")),
        meta => meta?,
    };
    let find = |name| Ok::<_, Fault>(meta.get(name)?.map(|number| number.value()));
    let number = |name| Ok::<_, Fault>(find(name)?.unwrap_or_default());
    let version = number(FORMAT)?;
    if !(1..=VERSION).contains(&version) {
        return Err(Fault::of(FaultKind::NewerFormat { version }));
    }
    let is_empty = transaction.open_table(CALLS)?.is_empty()?;
    let sealing = Sealing::new(key, find(SPOOL)?.unwrap_or_else(new_spool));
    if version == VERSION {
        let check = transaction.open_table(KEY)?.get(CHECK)?;
        if check.is_some() || !is_empty {
            sealing.verify(check.as_ref().map(|check| check.value()))?;
        }
    } else if !is_empty {
        sealing.verify(None)?;
    }
    Ok(Opened {
        totals: Totals { pending_bytes: number(PENDING_BYTES)?, dead_letter_bytes: number(DEAD_LETTER_BYTES)? },
        commit: Commit { spool: sealing.spool(), number: number(COMMITS)?, is_empty },
        is_rewrite_due: is_empty || version < VERSION || number(IS_SCRUB_DUE)? != 0,
        sealing,
    })
}

/// Returns the id of a new spool.
pub(super) fn new_spool() -> u64 {
    SystemRandomness.next_u64()
}

/// Creates the tables in an empty database, and copies the contents of `from`.
pub(super) fn fill(
    database: &Database,
    from: Option<&Database>,
    sealing: &Sealing,
    commit: Commit,
) -> Result<(), Fault> {
    let to = database.begin_write()?;
    let from = from.map(Database::begin_read).transpose()?;
    copy(from.as_ref(), &to, CALLS)?;
    copy(from.as_ref(), &to, RECORDS)?;
    copy(from.as_ref(), &to, DEAD_LETTERS)?;
    let with_spans = from.as_ref().map(spans).transpose()?.flatten();
    copy(from.as_ref().filter(|_| with_spans.is_some()), &to, SPANS)?;
    {
        let mut meta = to.open_table(META)?;
        for (name, number) in [(FORMAT, VERSION), (SPOOL, commit.spool), (COMMITS, commit.number)] {
            meta.insert(name, number)?;
        }
        for number in [NEXT_CALL, PENDING_BYTES, DEAD_LETTER_BYTES] {
            if let Some(from) = &from
                && let Some(value) = from.open_table(META)?.get(number)?
            {
                meta.insert(number, value.value())?;
            }
        }
        let mut key = to.open_table(KEY)?;
        if let Some(check) = sealing.check()? {
            key.insert(CHECK, check.as_slice())?;
        }
    }
    Ok(to.commit()?)
}

fn copy<K: Key, V: Value>(
    from: Option<&ReadTransaction>,
    to: &WriteTransaction,
    table: TableDefinition<K, V>,
) -> Result<(), Fault> {
    let mut copied = to.open_table(table)?;
    let Some(from) = from else { return Ok(()) };
    for entry in from.open_table(table)?.iter()? {
        let (key, value) = entry?;
        copied.insert(key.value(), value.value())?;
    }
    Ok(())
}
