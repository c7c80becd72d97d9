//! Step 2 of resuming a call: what an older writer could write next is its no more.

use std::collections::HashSet;
use std::num::NonZeroU32;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::dynamodb::read::CallItems;
use crate::dynamodb::write::Written;
use crate::dynamodb::{DynamoError, DynamoLog, Item, ItemKey, header, item, log, names};
use crate::log::{CallId, LogError};
use crate::message::Position;

/// An older writer writes a few times a turn, and a pass takes a fraction of one.
const PASSES: usize = 8;

/// What step 2 is about.
pub(super) struct Fencing<'a> {
    pub log: &'a DynamoLog,
    pub call_id: &'a CallId,
    pub epoch: u32,
    pub expires_at_s: Option<i64>,
}

/// One request of it.
enum Step {
    /// Gives an item the epoch, at the revision that was read.
    Stamp { keys: Item, revision: AttributeValue },
    /// Puts a fence where nothing is.
    Fence { sort_key: String },
}

/// Whether what was read was still so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    AsRead,
    Changed,
}

impl Fencing<'_> {
    /// The items of the call as they stay.
    pub async fn run(&self) -> Result<Vec<Item>, DynamoError> {
        for _ in 0..PASSES {
            let items = self.log.items(self.call_id).await?;
            let fenced = items.fenced();
            let fences = fences_of(&items, self.epoch);
            let shown: Vec<Item> = items.into_shown(self.log.now_s()).collect();
            let steps = stamps(&shown, self.epoch).chain(self.next_places(&shown, &fences));
            let steps = stream::iter(steps.map(|step| self.take(step, fenced))).buffer_unordered(log::AT_ONCE);
            let found: Vec<Found> = steps.try_collect().await?;
            if found.iter().all(|found| *found == Found::AsRead) {
                return Ok(shown);
            }
        }
        Err(DynamoError::NotFenced { call_id: self.call_id.clone() })
    }

    /// A fence where the next message would stand, and one for the next summary behind each message that none covers.
    fn next_places(&self, shown: &[Item], fences: &HashSet<String>) -> impl Iterator<Item = Step> {
        let position = |item: &Item| {
            let summary = item::number::<u32>(item, names::SUMMARY).and_then(NonZeroU32::new);
            let seq = item::number(item, if summary.is_some() { names::AFTER } else { names::SEQ })?;
            Some((seq, summary))
        };
        let positions: Vec<(u32, Option<NonZeroU32>)> = shown.iter().filter_map(position).collect();
        let next = positions.iter().map(|(seq, _)| seq + 1).max().unwrap_or_default();
        let next_message = (next <= Position::MAX_SEQ).then(|| Position::message(next));

        let last_summary = positions.iter().filter_map(|(_, number)| *number).max();
        let covered = positions.iter().filter(|(_, number)| number.is_some()).map(|(seq, _)| *seq).max();
        let number = last_summary.map_or(Some(NonZeroU32::MIN), |number| number.checked_add(1));
        let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
        let uncovered = positions.into_iter().filter(move |(seq, number)| number.is_none() && covered < Some(*seq));
        let next_summaries = uncovered.filter_map(move |(seq, _)| Some(Position::summary(seq, number?)));

        let sort_key = |position| ItemKey::new(self.call_id, position).sort_key().to_owned();
        let places = next_message.into_iter().chain(next_summaries).map(sort_key);
        places.filter(|sort_key| !fences.contains(sort_key)).map(|sort_key| Step::Fence { sort_key })
    }

    async fn take(&self, step: Step, fenced: u32) -> Result<Found, DynamoError> {
        match step {
            Step::Stamp { keys, revision } => self.stamp(keys, revision).await,
            Step::Fence { sort_key } => self.fence(&sort_key, fenced).await,
        }
    }

    async fn stamp(&self, keys: Item, revision: AttributeValue) -> Result<Found, DynamoError> {
        let request = self
            .log
            .client
            .update_item()
            .set_key(Some(keys))
            .update_expression("SET #epoch = :epoch")
            .condition_expression("#revision = :revision AND (attribute_not_exists(#epoch) OR #epoch <= :epoch)")
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#revision", names::REVISION)
            .expression_attribute_values(":epoch", self.epoch())
            .expression_attribute_values(":revision", revision);
        self.found(self.log.send_update(request, || self.subject()).await?)
    }

    async fn fence(&self, sort_key: &str, fenced: u32) -> Result<Found, DynamoError> {
        let mut fence = header::keys_of(self.call_id, sort_key, names::ENTITY_FENCE);
        fence.insert(names::EPOCH.to_owned(), self.epoch());
        if let Some(at_s) = self.expires_at_s {
            fence.insert(names::EXPIRES_AT.to_owned(), AttributeValue::N(at_s.to_string()));
        }
        // What a read does not show is as good as nothing: older fences, what came too late.
        let condition = "attribute_not_exists(#pk) OR (#entity = :fence AND #epoch <= :epoch)";
        let request = self.log.client.put_item().set_item(Some(fence));
        let request = if fenced == 1 {
            request.condition_expression(condition)
        } else {
            let late = "#entity <> :erased AND (attribute_not_exists(#epoch) OR #epoch < :fenced)";
            request
                .condition_expression(format!("{condition} OR ({late})"))
                .expression_attribute_values(":erased", AttributeValue::S(names::ENTITY_ERASED.to_owned()))
                .expression_attribute_values(":fenced", AttributeValue::N(fenced.to_string()))
        };
        let request = request
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_values(":fence", AttributeValue::S(names::ENTITY_FENCE.to_owned()))
            .expression_attribute_values(":epoch", self.epoch());
        self.found(self.log.send_put(request, || self.subject()).await?)
    }

    /// Where something else is there than when all was read: whether it ends this.
    fn found(&self, written: Written) -> Result<Found, DynamoError> {
        let Written::Refused(found) = written else { return Ok(Found::AsRead) };
        let call_id = self.call_id.clone();
        if found.as_ref().is_some_and(item::is_erased) {
            return Err(LogError::erased(&call_id).into());
        }
        let current = found.as_ref().map_or(1, item::epoch);
        if current > self.epoch {
            return Err(LogError::fenced(&call_id, self.epoch, current).into());
        }
        Ok(Found::Changed)
    }

    fn epoch(&self) -> AttributeValue {
        AttributeValue::N(self.epoch.to_string())
    }

    fn subject(&self) -> String {
        format!("call {}, resuming it in table {}", self.call_id, self.log.table)
    }
}

fn stamps(shown: &[Item], epoch: u32) -> impl Iterator<Item = Step> {
    let older = shown.iter().filter(move |item| item::epoch(item) < epoch);
    older.filter_map(|item| Some(Step::Stamp { keys: item::keys(item), revision: item.get(names::REVISION)?.clone() }))
}

/// The sort keys of this epoch's fences, of an earlier pass.
fn fences_of(items: &CallItems, epoch: u32) -> HashSet<String> {
    let own = items.behind_header.iter().filter(|item| item::is_fence(item) && item::epoch(item) == epoch);
    own.filter_map(item::sort_key).map(str::to_owned).collect()
}
