//! Writes of the messages of a span, which are one item.

use super::keys::ItemKey;
use super::put::{compare_contents, owned, refuse_newer};
use super::rules::{self, Member};
use super::size::{MAX_RECORD_BYTES, attribute_size};
use super::table_client::Written;
use super::{DynamoLog, Item, item, names, span};
use crate::log::{LogError, Put, Span, WriterLease};
use crate::message::Record;

/// The maximum number of messages that one request changes. An expression has at most 4 KB.
const MOST_CHANGED: usize = 32;

/// The results of the records of one put, filled in as they become known.
struct Results<'a> {
    lease: &'a WriterLease,
    span: Span,
    records: &'a [Record],
    known: Vec<Option<Result<Put, LogError>>>,
}

impl DynamoLog {
    /// Stores records of a span; see [`put_span`](crate::log::CallLog::put_span).
    ///
    /// If the records are all messages of the span, one `PutItem` writes them at a free position, or over a fence or an
    /// item that no read returns. A span of a single message is always put in this way, also over an older revision.
    /// All other changes are an `UpdateItem` of the changed messages, each on the condition that it is newer. If some
    /// are not, the request is sent again with the rest.
    ///
    /// A request that lands late or twice is harmless, because it changes nothing that is newer than its records or has
    /// a higher epoch. Takes one request, and the write units of the item's size.
    pub(super) async fn put_all(
        &self,
        lease: &WriterLease,
        span: Span,
        records: &[Record],
    ) -> Result<Vec<Result<Put, LogError>>, LogError> {
        let mut results = Results { lease, span, records, known: vec![None; records.len()] };
        let mut refused = None;
        if (span.first()..=span.last()).eq(records.iter().map(|record| record.position().seq())) {
            match self.put_first(lease, span, records).await {
                Ok(Written::Done(_)) => results.settle(0..records.len(), &Ok(Put::Written)),
                Ok(Written::Refused(found)) => results.compare(found.as_ref()),
                Err(error) if error.is_permanent() => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        self.update_rest(&mut results).await?;
        if let Some(error) = refused
            && results.known.iter().flatten().all(Result::is_err)
        {
            // The span does not exist, so its messages must not be changed one by one.
            results.settle(0..records.len(), &Err(error));
        }
        Ok(results.known.into_iter().flatten().collect())
    }

    /// Stores a record that was put alone in the span that occupies its position.
    pub(super) async fn put_into(
        &self,
        lease: &WriterLease,
        span: Span,
        record: &Record,
        found: &Item,
    ) -> Result<Put, LogError> {
        let mut results = Results { lease, span, records: std::slice::from_ref(record), known: vec![None] };
        results.compare(Some(found));
        self.update_rest(&mut results).await?;
        results.known.pop().flatten().unwrap_or_else(|| Err(LogError::other_items(lease.call_id(), span)))
    }

    async fn put_first(&self, lease: &WriterLease, span: Span, records: &[Record]) -> Result<Written, LogError> {
        let key = ItemKey { call_id: lease.call_id().clone(), sort_key: span::sort_key_of(span) };
        let item = owned(lease, &key, span::to_item(lease.call_id(), span, records, self.texts)?)?;
        let alone = if let [record] = records { Some(member(record)) } else { None };
        let request = self.db.client.put_item().set_item(Some(item));
        let request = rules::put_span(lease, alone).of_put(request);
        self.db.put(request, || format!("{key} to table {}", self.db.table)).await
    }

    /// Changes the messages whose results are not known yet.
    async fn update_rest(&self, results: &mut Results<'_>) -> Result<(), LogError> {
        let mut most = MOST_CHANGED;
        loop {
            let open: Vec<usize> = results.open().take(most).collect();
            if open.is_empty() {
                return Ok(());
            }
            match self.update(results, &open).await {
                Ok(Written::Done(_)) => results.settle(open, &Ok(Put::Written)),
                Ok(Written::Refused(found)) => {
                    let before = results.open().count();
                    results.compare(found.as_ref());
                    if results.open().count() == before {
                        // The condition was false, but the returned item satisfies it.
                        results.settle(open, &Err(LogError::other_items(results.lease.call_id(), results.span)));
                    }
                }
                // One of the messages may be the reason.
                Err(error) if error.is_permanent() && open.len() > 1 => most = 1,
                Err(error) if error.is_permanent() => results.settle(open, &Err(error)),
                Err(error) => return Err(error),
            }
        }
    }

    async fn update(&self, results: &Results<'_>, open: &[usize]) -> Result<Written, LogError> {
        let Results { lease, span, records, .. } = results;
        let keys = item::keys(super::keys::partition_of(lease.call_id()), span::sort_key_of(*span));
        let mut request = self.db.client.update_item().set_key(Some(keys));
        let mut set = "SET #rev = #rev + :one".to_owned();
        if lease.epoch() > 1 {
            set += ", #epoch = :epoch";
        }
        let changed = || open.iter().filter_map(|open| records.get(*open));
        for (index, record) in changed().enumerate() {
            let attribute = span::to_member(lease.call_id(), record, self.texts)?;
            if attribute_size(&attribute) > MAX_RECORD_BYTES {
                let key = ItemKey::new(lease.call_id(), record.position());
                owned(lease, &key, [(String::new(), attribute.clone())].into())?;
            }
            set += &format!(", #m{index} = :m{index}");
            request = request.expression_attribute_values(format!(":m{index}"), attribute);
        }
        let members: Vec<Member> = changed().map(member).collect();
        let request = rules::update_span(lease, &members)
            .of_update(request)
            .update_expression(set)
            .expression_attribute_names("#rev", names::CHANGES)
            .expression_attribute_values(":one", item::number(1));
        let subject = || {
            let (sort_key, call_id) = (span::sort_key_of(*span), lease.call_id());
            format!("{sort_key} of call {call_id} in table {}", self.db.table)
        };
        self.db.update(request, subject).await
    }
}

impl Results<'_> {
    /// The records whose results are not known.
    fn open(&self) -> impl Iterator<Item = usize> {
        self.known.iter().enumerate().filter(|(_, known)| known.is_none()).map(|(index, _)| index)
    }

    fn settle(&mut self, indexes: impl IntoIterator<Item = usize>, result: &Result<Put, LogError>) {
        for index in indexes {
            if let Some(known) = self.known.get_mut(index) {
                *known = Some(result.clone());
            }
        }
    }

    /// Determines the result of each record from the item at its position. The result of a record that is newer than
    /// the item's stays open.
    fn compare(&mut self, found: Option<&Item>) {
        for (record, known) in self.records.iter().zip(&mut self.known).filter(|(_, known)| known.is_none()) {
            *known = compare(self.lease, self.span, record, found).transpose();
        }
    }
}

fn member(record: &Record) -> Member {
    Member { seq: record.position().seq(), id: record.id().to_string(), revision: record.revision() }
}

/// Returns the result of a record, given the item at its position; `None` if the item has an older revision of it.
fn compare(lease: &WriterLease, span: Span, record: &Record, found: Option<&Item>) -> Result<Option<Put>, LogError> {
    let other_items = || LogError::other_items(lease.call_id(), span);
    let found = found.ok_or_else(other_items)?;
    refuse_newer(lease, found)?;
    let seq = record.position().seq();
    let is_shown = item::is_span(found) && item::epoch(found) >= lease.served();
    let (id, revision) = span::identity(found, seq).filter(|_| is_shown).ok_or_else(other_items)?;
    if id == record.id() && revision < record.revision() {
        return Ok(None);
    }
    let read = || span::record(found, lease.call_id(), seq);
    compare_contents(lease.call_id(), record, (id, revision), read).map(Some)
}
