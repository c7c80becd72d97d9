//! Step 2 of resuming a call: fences every item that an older writer could write next.

use std::collections::HashSet;
use std::num::NonZeroU32;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::dynamodb::read::CallItems;
use crate::dynamodb::table_client::Written;
use crate::dynamodb::{DynamoLog, Item, header, item, keys, log, names};
use crate::log::{CallId, LogError, LogErrorKind};
use crate::message::Position;

/// The most passes over a call. A writer writes a few times per turn and a pass takes a fraction of a turn, so two or
/// three passes are usually enough.
const MAX_PASSES: usize = 8;

/// The fencing of one call by the writer of `epoch`.
pub(super) struct Fencing<'a> {
    pub log: &'a DynamoLog,
    pub call_id: &'a CallId,
    pub epoch: u32,
    pub expires_at_s: Option<i64>,
}

/// One conditional write of a pass.
enum Step {
    /// Sets the epoch of an existing item, if the item still has this revision.
    Stamp { keys: Item, revision: AttributeValue },
    /// Puts a fence at a sort key that is still free.
    Fence { sort_key: String },
}

/// Whether an item was still in the state that the pass read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Unchanged,
    Changed,
}

impl Fencing<'_> {
    /// Fences the older writers and returns the messages and summaries of the call, which no older writer can change.
    ///
    /// Each pass reads the call and sends its steps. If an older writer changed an item in between, another pass follows.
    pub async fn run(&self) -> Result<Vec<Item>, LogError> {
        for _ in 0..MAX_PASSES {
            let items = self.log.items(self.call_id).await?;
            let fenced_epoch = items.fenced();
            let own_fences = self.own_fences(&items);
            let visible: Vec<Item> = items.into_visible(self.log.now_s()).collect();
            let steps = self.stamps(&visible).chain(self.fences(&visible, &own_fences));
            let requests = stream::iter(steps.map(|step| self.send(step, fenced_epoch)));
            let found: Vec<Found> = requests.buffer_unordered(log::AT_ONCE).try_collect().await?;
            if found.iter().all(|found| *found == Found::Unchanged) {
                return Ok(visible);
            }
        }
        let message = format!(
            "call {} is not resumed: an older writer changed it during each of {MAX_PASSES} passes; resume it again",
            self.call_id
        );
        Err(LogError::new(LogErrorKind::Unavailable, message))
    }

    /// Returns a stamp for each message and summary with an older epoch.
    fn stamps(&self, visible: &[Item]) -> impl Iterator<Item = Step> {
        let older = visible.iter().filter(|item| item::epoch(item) < self.epoch);
        older.filter_map(|item| {
            Some(Step::Stamp { keys: item::keys_of(item), revision: item.get(names::REVISION)?.clone() })
        })
    }

    /// Returns a fence for each position that an older writer could fill next, unless this epoch has one there already.
    fn fences(&self, visible: &[Item], own_fences: &HashSet<String>) -> impl Iterator<Item = Step> {
        let sort_keys = next_positions(visible).into_iter().map(keys::sort_key_of);
        sort_keys.filter(|sort_key| !own_fences.contains(sort_key)).map(|sort_key| Step::Fence { sort_key })
    }

    /// Returns the sort keys of the fences that an earlier pass put.
    fn own_fences(&self, items: &CallItems) -> HashSet<String> {
        let own = items.others.iter().filter(|item| item::is_fence(item) && item::epoch(item) == self.epoch);
        own.filter_map(item::sort_key).map(str::to_owned).collect()
    }

    async fn send(&self, step: Step, fenced_epoch: u32) -> Result<Found, LogError> {
        match step {
            Step::Stamp { keys, revision } => self.stamp(keys, revision).await,
            Step::Fence { sort_key } => self.put_fence(&sort_key, fenced_epoch).await,
        }
    }

    async fn stamp(&self, keys: Item, revision: AttributeValue) -> Result<Found, LogError> {
        let request = self
            .log
            .db
            .client
            .update_item()
            .set_key(Some(keys))
            .update_expression("SET #epoch = :epoch")
            .condition_expression("#revision = :revision AND (attribute_not_exists(#epoch) OR #epoch <= :epoch)")
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#revision", names::REVISION)
            .expression_attribute_values(":epoch", item::number(self.epoch))
            .expression_attribute_values(":revision", revision);
        self.found(self.log.db.update(request, || self.subject()).await?)
    }

    /// Puts a fence at a sort key that is free, or holds an item that no read shows: an older fence, or a message that a
    /// fenced writer wrote too late.
    async fn put_fence(&self, sort_key: &str, fenced_epoch: u32) -> Result<Found, LogError> {
        let mut fence = header::item_of(self.call_id, sort_key, names::ENTITY_FENCE);
        fence.insert(names::EPOCH.to_owned(), item::number(self.epoch));
        if let Some(at_s) = self.expires_at_s {
            fence.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
        }
        let free = "attribute_not_exists(#pk) OR (#entity = :fence AND #epoch <= :epoch)";
        let request = self.log.db.client.put_item().set_item(Some(fence));
        let request = if fenced_epoch == 1 {
            request.condition_expression(free)
        } else {
            let late = "#entity <> :erased AND (attribute_not_exists(#epoch) OR #epoch < :fenced)";
            request
                .condition_expression(format!("{free} OR ({late})"))
                .expression_attribute_values(":erased", item::text(names::ENTITY_ERASED))
                .expression_attribute_values(":fenced", item::number(fenced_epoch))
        };
        let request = request
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_values(":fence", item::text(names::ENTITY_FENCE))
            .expression_attribute_values(":epoch", item::number(self.epoch));
        self.found(self.log.db.put(request, || self.subject()).await?)
    }

    /// Classifies the outcome of a step.
    ///
    /// Returns [`LogError::Erased`] if the call was erased, and [`LogError::Fenced`] if a later writer took the call over.
    fn found(&self, written: Written) -> Result<Found, LogError> {
        let Written::Refused(found) = written else { return Ok(Found::Unchanged) };
        if found.as_ref().is_some_and(item::is_erased) {
            return Err(LogError::erased(self.call_id));
        }
        let current = found.as_ref().map_or(1, item::epoch);
        if current > self.epoch {
            return Err(LogError::fenced(self.call_id, self.epoch, current));
        }
        Ok(Found::Changed)
    }

    fn subject(&self) -> String {
        format!("call {}, resuming it in table {}", self.call_id, self.log.db.table)
    }
}

/// Returns the positions that an older writer could fill next: the next message, and the next summary after each message
/// that no summary covers.
fn next_positions(visible: &[Item]) -> Vec<Position> {
    let position = |item: &Item| {
        let summary = item::read_number::<u32>(item, names::SUMMARY).and_then(NonZeroU32::new);
        let seq = item::read_number::<u32>(item, if summary.is_some() { names::AFTER } else { names::SEQ })?;
        Some((seq, summary))
    };
    let (mut messages, mut summaries) = (Vec::new(), Vec::new());
    for (seq, summary) in visible.iter().filter_map(position) {
        match summary {
            None => messages.push(seq),
            Some(number) => summaries.push((seq, number)),
        }
    }
    let covered = summaries.iter().map(|(after, _)| *after).max();
    let next_seq = messages.iter().copied().chain(covered).map(|seq| seq + 1).max().unwrap_or_default();
    let next_message = (next_seq <= Position::MAX_SEQ).then(|| Position::message(next_seq));

    let last_number = summaries.iter().map(|(_, number)| *number).max();
    let number = last_number.map_or(Some(NonZeroU32::MIN), |number| number.checked_add(1));
    let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
    let uncovered = messages.into_iter().filter(|seq| covered < Some(*seq));
    let next_summaries = uncovered.filter_map(|seq| Some(Position::summary(seq, number?)));
    next_message.into_iter().chain(next_summaries).collect()
}
