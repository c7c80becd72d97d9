//! Applying changes to a spool in one transaction.

use std::collections::BTreeMap;

use redb::{ReadableTable, ReadableTableMetadata, Table, WriteTransaction};

use super::Open;
use super::change::{RecordKey, SpoolChange};
use super::counter::Commit;
use super::error::Fault;
use super::row::CallRow;
use super::sealing::{Sealed, Sealing};
use super::tables::{
    CALLS, COMMITS, DEAD_LETTER_BYTES, DEAD_LETTERS, IS_SCRUB_DUE, META, NEXT_CALL, PENDING_BYTES, Place, RECORDS,
    SPANS, Totals, place, places_of, spans_of, to_json,
};
use crate::log::{CallId, WriterLease};
use crate::message::Record;

/// Applies all changes or none, counts the commit, and returns the new sizes.
pub(super) fn apply(open: &mut Open, changes: &[SpoolChange]) -> Result<Totals, Fault> {
    let transaction = open.database.begin_write()?;
    let mut tables = Tables::open(&transaction, &open.sealing)?;
    for change in changes {
        tables.change(change)?;
    }
    let number = open.commit.number + 1;
    let (totals, is_empty) = tables.finish(number)?;
    transaction.commit()?;
    open.commit = Commit { number, is_empty, ..open.commit };
    Ok(totals)
}

struct Tables<'a> {
    sealing: &'a Sealing,
    meta: Table<'a, &'static str, u64>,
    calls: Table<'a, &'static str, (u64, &'static [u8])>,
    records: Table<'a, Place, (u32, &'static [u8])>,
    dead_letters: Table<'a, Place, (u32, &'static str, &'static [u8])>,
    spans: Table<'a, (u64, u32), u32>,
    /// The calls that this transaction has read or changed; `None` if the spool does not hold one.
    touched: BTreeMap<CallId, Option<Call>>,
    next_call: u64,
    totals: Totals,
}

struct Call {
    number: u64,
    row: CallRow,
    is_changed: bool,
}

impl<'a> Tables<'a> {
    fn open(transaction: &'a WriteTransaction, sealing: &'a Sealing) -> Result<Self, Fault> {
        let meta = transaction.open_table(META)?;
        let number = |name| Ok::<_, Fault>(meta.get(name)?.map_or(0, |number| number.value()));
        let totals = Totals { pending_bytes: number(PENDING_BYTES)?, dead_letter_bytes: number(DEAD_LETTER_BYTES)? };
        Ok(Self {
            sealing,
            next_call: number(NEXT_CALL)?,
            calls: transaction.open_table(CALLS)?,
            records: transaction.open_table(RECORDS)?,
            dead_letters: transaction.open_table(DEAD_LETTERS)?,
            spans: transaction.open_table(SPANS)?,
            touched: BTreeMap::new(),
            meta,
            totals,
        })
    }

    fn change(&mut self, change: &SpoolChange) -> Result<(), Fault> {
        match change {
            SpoolChange::Open(header) => self.call_of(&WriterLease::from(header))?.row.opening = Some(header.into()),
            SpoolChange::Opened(lease) => {
                if let Some(call) = self.call(lease.call_id())? {
                    call.row.update_lease(lease);
                    (call.row.opening, call.is_changed) = (None, true);
                }
            }
            SpoolChange::Close(lease, call_end) => self.call_of(lease)?.row.call_end = Some(call_end.into()),
            SpoolChange::Closed(call_id) => {
                if let Some(call) = self.call(call_id)? {
                    (call.row.call_end, call.is_changed) = (None, true);
                }
            }
            SpoolChange::RefuseHeader(header, reason) => {
                let refused = Some((header.into(), reason.clone()));
                self.call_of(&WriterLease::from(header))?.row.refused_header = refused;
            }
            SpoolChange::RefuseEnd(call_id, reason) => {
                if let Some(call) = self.call(call_id)?
                    && let Some(call_end) = call.row.call_end.take()
                {
                    (call.row.refused_end, call.is_changed) = (Some((call_end, reason.clone())), true);
                }
            }
            SpoolChange::DiscardParts(call_id) => {
                if let Some(call) = self.call(call_id)? {
                    (call.row.refused_header, call.row.refused_end, call.is_changed) = (None, None, true);
                }
            }
            SpoolChange::Put(lease, record) => self.put(lease, record)?,
            SpoolChange::Span(call_id, span) => {
                if let Some(number) = self.call(call_id)?.map(|call| call.number) {
                    self.spans.insert((number, span.first()), span.last())?;
                }
            }
            SpoolChange::Split(call_id, span) => {
                if let Some(number) = self.call(call_id)?.map(|call| call.number) {
                    self.spans.remove((number, span.first()))?;
                }
            }
            SpoolChange::Stored(call_id, key) => drop(self.take(call_id, key)?),
            SpoolChange::DeadLetter { call_id, key, reason } => {
                if let Some((place, json)) = self.take(call_id, key)? {
                    self.totals.dead_letter_bytes += json.len() as u64;
                    self.dead_letters.insert(place, (key.revision, reason.as_ref(), json.as_slice()))?;
                }
            }
            SpoolChange::Discard(call_id, key) => self.discard(call_id, key)?,
            SpoolChange::Forget(call_id) => self.forget(call_id)?,
        }
        Ok(())
    }

    fn put(&mut self, lease: &WriterLease, record: &Record) -> Result<(), Fault> {
        let key = RecordKey::of(record);
        let place = place(self.call_of(lease)?.number, &key);
        let spooled = self.records.get(place)?.map(|found| (found.value().0, found.value().1.len()));
        let dead_letters = self.dead_letters.get(place)?.map(|found| (found.value().0, found.value().2.len()));
        if [spooled, dead_letters].into_iter().flatten().any(|(revision, _)| revision >= key.revision) {
            return Ok(());
        }
        let json = to_json(record)?;
        let json = self.sealing.seal(Sealed::Record(place, key.revision), &json)?;
        self.records.insert(place, (key.revision, json.as_ref()))?;
        self.totals.pending_bytes += json.len() as u64;
        self.totals.pending_bytes -= spooled.map_or(0, |(_, bytes)| bytes as u64);
        if let Some((_, bytes)) = dead_letters {
            self.dead_letters.remove(place)?;
            self.totals.dead_letter_bytes -= bytes as u64;
        }
        Ok(())
    }

    /// Removes a pending record if it has this revision, and returns its place and value.
    fn take(&mut self, call_id: &CallId, key: &RecordKey) -> Result<Option<(Place, Vec<u8>)>, Fault> {
        let Some(call) = self.call(call_id)? else { return Ok(None) };
        let place = place(call.number, key);
        let found = self.records.get(place)?.filter(|found| found.value().0 == key.revision);
        let Some(json) = found.map(|found| found.value().1.to_vec()) else { return Ok(None) };
        self.records.remove(place)?;
        self.totals.pending_bytes -= json.len() as u64;
        Ok(Some((place, json)))
    }

    fn discard(&mut self, call_id: &CallId, key: &RecordKey) -> Result<(), Fault> {
        let Some(call) = self.call(call_id)? else { return Ok(()) };
        let place = place(call.number, key);
        let found = self.dead_letters.get(place)?.filter(|found| found.value().0 == key.revision);
        let Some(bytes) = found.map(|found| found.value().2.len()) else { return Ok(()) };
        self.dead_letters.remove(place)?;
        self.totals.dead_letter_bytes -= bytes as u64;
        Ok(())
    }

    fn forget(&mut self, call_id: &CallId) -> Result<(), Fault> {
        // This is needed even if the spool does not hold the call, because freed pages may contain stored records of
        // it.
        self.meta.insert(IS_SCRUB_DUE, 1)?;
        let Some(call) = self.call(call_id)? else { return Ok(()) };
        let call_number = call.number;
        let places = places_of(call_number);
        let (mut pending_bytes, mut dead_letter_bytes) = (0, 0);
        self.records.retain_in(places.clone(), |_, (_, json)| {
            pending_bytes += json.len() as u64;
            false
        })?;
        self.dead_letters.retain_in(places, |_, (_, _, json)| {
            dead_letter_bytes += json.len() as u64;
            false
        })?;
        self.spans.retain_in(spans_of(call_number), |_, _| false)?;
        self.totals.pending_bytes -= pending_bytes;
        self.totals.dead_letter_bytes -= dead_letter_bytes;
        self.touched.insert(call_id.clone(), None);
        self.calls.remove(call_id.as_str())?;
        Ok(())
    }

    /// Returns a call if the spool holds it.
    fn call(&mut self, call_id: &CallId) -> Result<Option<&mut Call>, Fault> {
        if !self.touched.contains_key(call_id) {
            let found = match self.calls.get(call_id.as_str())? {
                None => None,
                Some(found) => {
                    let (number, value) = found.value();
                    let json = self.sealing.open(Sealed::Call(call_id.as_str(), number), value)?;
                    Some(Call { number, row: CallRow::read(&json)?, is_changed: false })
                }
            };
            self.touched.insert(call_id.clone(), found);
        }
        Ok(self.touched.get_mut(call_id).and_then(Option::as_mut))
    }

    /// Returns the call of a lease for changing it. Adds the call if it is missing, and updates its lease.
    fn call_of(&mut self, lease: &WriterLease) -> Result<&mut Call, Fault> {
        let next = self.next_call;
        let is_new = self.call(lease.call_id())?.is_none();
        self.next_call += u64::from(is_new);
        let call = self.touched.entry(lease.call_id().clone()).or_default();
        let call = call.get_or_insert_with(|| Call { number: next, row: CallRow::of(lease), is_changed: true });
        call.row.update_lease(lease);
        call.is_changed = true;
        Ok(call)
    }

    /// Writes the changed calls, and removes those without pending work and dead letters. Returns the sizes, and true if
    /// no call is left.
    fn finish(mut self, commit: u64) -> Result<(Totals, bool), Fault> {
        for (call_id, call) in &self.touched {
            let Some(Call { number, row, is_changed }) = call else { continue };
            let is_done = row.opening.is_none()
                && row.call_end.is_none()
                && row.refused_header.is_none()
                && row.refused_end.is_none()
                && self.records.range(places_of(*number))?.next().is_none()
                && self.dead_letters.range(places_of(*number))?.next().is_none();
            if is_done {
                self.spans.retain_in(spans_of(*number), |_, _| false)?;
                self.calls.remove(call_id.as_str())?;
            } else if *is_changed {
                let json = row.to_json()?;
                let value = self.sealing.seal(Sealed::Call(call_id.as_str(), *number), &json)?;
                self.calls.insert(call_id.as_str(), (*number, value.as_ref()))?;
            }
        }
        self.meta.insert(COMMITS, commit)?;
        self.meta.insert(NEXT_CALL, self.next_call)?;
        self.meta.insert(PENDING_BYTES, self.totals.pending_bytes)?;
        self.meta.insert(DEAD_LETTER_BYTES, self.totals.dead_letter_bytes)?;
        Ok((self.totals, self.calls.is_empty()?))
    }
}
