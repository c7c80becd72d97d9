//! Fencing: the candidate stamps every item, and fences every position that an older writer could fill.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt};

use crate::dynamodb::change::not_live;
use crate::dynamodb::read::CallItems;
use crate::dynamodb::rules::{self, Slot};
use crate::dynamodb::table_client::Written;
use crate::dynamodb::{DynamoLog, Item, header, item, keys, log, names, positions};
use crate::log::{CallId, LogError, LogErrorKind, WriterLease};
use crate::message::Position;

/// The maximum number of passes over a call. A writer writes a few times per turn and a pass takes a fraction of a
/// turn, so two or three passes are usually enough. Each pass fences twice as many messages ahead, so that even a
/// writer that is faster than a pass meets a fence.
const MAX_PASSES: u32 = 8;

/// The maximum number of fences of one kind. Gaps beyond it need no fence: a writer reads the header when it fills one,
/// and so finds out that it has lost its call.
const MOST_FENCES: usize = 10_000;

/// The fencing of one call by the candidate of `epoch`.
pub(super) struct Fencing<'a> {
    pub log: &'a DynamoLog,
    pub call_id: &'a CallId,
    pub epoch: u32,
}

/// The call after a pass without changes.
pub(super) struct Fenced {
    pub header: Item,
    /// The messages and summaries, which no older writer can change.
    pub items: Vec<Item>,
}

/// One conditional write of a pass.
enum Step {
    /// Sets the epoch of an existing item, if its change counter, which has this name, is still the same.
    Stamp { keys: Item, name: &'static str, revision: Option<AttributeValue> },
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
    /// Fences the older writers and returns the call.
    ///
    /// Each pass reads the call and sends its steps. If an older writer changed an item in between, another pass follows.
    /// A step that failed is left to the next pass, so a repetition after an error continues with the remaining steps.
    pub async fn run(&self) -> Result<Fenced, LogError> {
        for pass in 0..MAX_PASSES {
            let items = self.log.items(self.call_id).await?;
            let header = self.check(items.header.as_ref())?;
            let served = items.fenced();
            let expires_at_s = WriterLease::from(&header::from_item(&header)?).expires_at_s();
            let own_fences = self.own_fences(&items);
            let visible: Vec<Item> = items.into_visible(self.log.now_s()).collect();
            let steps = self.stamps(&visible).chain(self.fences(&visible, &own_fences, 1 << pass));
            if self.send_all(steps, served, expires_at_s).await? == Found::Unchanged {
                return Ok(Fenced { header, items: visible });
            }
        }
        let message = format!(
            "call {} is not resumed: an older writer changed it during each of {MAX_PASSES} passes; resume it again",
            self.call_id
        );
        Err(LogError::new(LogErrorKind::Unavailable, message))
    }

    /// Returns the header if it still has the epoch of this candidate.
    fn check(&self, header: Option<&Item>) -> Result<Item, LogError> {
        let live = header.filter(|header| self.log.is_live(header)).ok_or_else(|| not_live(self.call_id, header))?;
        let current = header::tenure(live).epoch;
        if current > self.epoch {
            return Err(LogError::superseded(self.call_id, self.epoch, current));
        }
        Ok(live.clone())
    }

    /// Sends the steps of a pass. Continues after a failed step, unless most steps fail.
    async fn send_all(
        &self,
        steps: impl Iterator<Item = Step>,
        served: u32,
        expires_at_s: Option<i64>,
    ) -> Result<Found, LogError> {
        let requests = stream::iter(steps.map(|step| self.send(step, served, expires_at_s)));
        let mut sent = requests.buffer_unordered(log::AT_ONCE);
        let (mut found, mut done, mut failures, mut failure) = (Found::Unchanged, 0, 0, None);
        while let Some(outcome) = sent.next().await {
            match outcome {
                Ok(Found::Unchanged) => done += 1,
                Ok(Found::Changed) => (done, found) = (done + 1, Found::Changed),
                Err(error) if !error.is_retryable() => return Err(error),
                Err(error) => (failures, failure) = (failures + 1, Some(error)),
            }
            if failures >= log::AT_ONCE && failures > done {
                break;
            }
        }
        failure.map_or(Ok(found), Err)
    }

    /// Returns a stamp for each message, summary and span with an older epoch.
    fn stamps(&self, visible: &[Item]) -> impl Iterator<Item = Step> {
        let is_of_call = |item: &&Item| item::sort_key(item).and_then(keys::position_of).is_some();
        let older = visible.iter().filter(|item| item::epoch(item) < self.epoch).filter(is_of_call);
        older.map(|item| {
            let name = item::name_of_revision(item);
            Step::Stamp { keys: item::keys_of(item), name, revision: item.get(name).cloned() }
        })
    }

    /// Returns a fence for each position that an older writer could fill, including `ahead` next messages, unless this
    /// epoch already has one there.
    fn fences(&self, visible: &[Item], own_fences: &HashSet<String>, ahead: u32) -> impl Iterator<Item = Step> {
        let taken = positions::of_items(visible);
        let next = positions::next_seq(&taken);
        let later = (next.saturating_add(1)..next.saturating_add(ahead)).filter(|seq| *seq <= Position::MAX_SEQ);
        let open = positions::open(&taken, MOST_FENCES).into_iter().chain(later.map(Position::message));
        let sort_keys = open.map(keys::sort_key_of);
        sort_keys.filter(|sort_key| !own_fences.contains(sort_key)).map(|sort_key| Step::Fence { sort_key })
    }

    /// Returns the sort keys of the fences that an earlier pass put.
    fn own_fences(&self, items: &CallItems) -> HashSet<String> {
        let own = items.others.iter().filter(|item| item::is_fence(item) && item::epoch(item) == self.epoch);
        own.filter_map(item::sort_key).map(str::to_owned).collect()
    }

    async fn send(&self, step: Step, served: u32, expires_at_s: Option<i64>) -> Result<Found, LogError> {
        let written = match step {
            Step::Stamp { keys, name, revision } => {
                let request =
                    self.log.db.client.update_item().set_key(Some(keys)).update_expression("SET #epoch = :epoch");
                let request = rules::stamp(self.epoch, name, revision).of_update(request);
                self.log.db.update(request, || self.subject()).await?
            }
            Step::Fence { sort_key } => {
                let mut fence = header::item_of(self.call_id, &sort_key, names::ENTITY_FENCE);
                fence.insert(names::EPOCH.to_owned(), item::number(self.epoch));
                if let Some(at_s) = expires_at_s {
                    fence.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
                }
                let request = self.log.db.client.put_item().set_item(Some(fence));
                let request = rules::fence(self.epoch, served).of_put(request);
                self.log.db.put(request, || self.subject()).await?
            }
        };
        self.found(written)
    }

    /// Classifies the outcome of a step.
    ///
    /// Returns [`LogError::erased`] if the call was erased, and [`LogError::superseded`] if another process took a higher
    /// epoch.
    fn found(&self, written: Written) -> Result<Found, LogError> {
        let Written::Refused(found) = written else { return Ok(Found::Unchanged) };
        match Slot::of(found.as_ref()) {
            Slot::Erased => Err(LogError::erased(self.call_id)),
            Slot::Fence { epoch } | Slot::Record { epoch, .. } if epoch > self.epoch => {
                Err(LogError::superseded(self.call_id, self.epoch, epoch))
            }
            _ => Ok(Found::Changed),
        }
    }

    fn subject(&self) -> String {
        format!("call {}, resuming it in table {}", self.call_id, self.log.db.table)
    }
}
