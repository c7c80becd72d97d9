//! The rules of an item's epochs: which write may replace what it finds, and which items a read shows.
//!
//! [`put`], [`stamp`] and [`fence`] are the conditions of the writes; every layout of items uses them. [`Slot`] has the
//! same rules as pure functions. The explorer of the takeover runs those, and a test compares both.

use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Item, item, names};
use crate::log::WriterLease;

/// What a write finds at its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot<I> {
    Free,
    Erased,
    Fence { epoch: u32 },
    Record { epoch: u32, id: I, revision: u32 },
}

impl<I> Slot<I> {
    /// Whether a read shows a record: no writer that a takeover has fenced wrote it too late.
    pub fn is_shown(&self, served: u32) -> bool {
        matches!(self, Self::Record { epoch, .. } if *epoch >= served)
    }
}

#[cfg(test)]
impl<I: PartialEq> Slot<I> {
    /// Whether a writer replaces what it finds by a revision of a message. `served` is the epoch since which it serves.
    ///
    /// It writes where there is nothing or an item that no read shows, and over a fence or an older revision of the same
    /// message of its own or a lower epoch.
    pub fn may_put(&self, epoch: u32, served: u32, id: &I, revision: u32) -> bool {
        match self {
            Self::Free => true,
            Self::Erased => false,
            Self::Fence { epoch: found } => *found <= epoch,
            Self::Record { epoch: found, .. } if *found < served => true,
            Self::Record { epoch: found, id: same, revision: older } => {
                *found <= epoch && same == id && *older < revision
            }
        }
    }

    /// Whether a candidate gives its epoch to the record that it has read at this revision.
    pub fn may_stamp(&self, epoch: u32, read: u32) -> bool {
        matches!(self, Self::Record { epoch: found, revision, .. } if *found <= epoch && *revision == read)
    }

    /// Whether a candidate puts its fence here. `served` is the epoch since which the writer before it serves.
    pub fn may_fence(&self, epoch: u32, served: u32) -> bool {
        match self {
            Self::Free => true,
            Self::Erased => false,
            Self::Fence { epoch: found } => *found <= epoch,
            Self::Record { epoch: found, .. } => *found < served,
        }
    }
}

impl Slot<()> {
    /// Returns the state of an item, without its message.
    pub fn of(found: Option<&Item>) -> Self {
        let Some(found) = found else { return Self::Free };
        let epoch = item::epoch(found);
        if item::is_erased(found) {
            Self::Erased
        } else if item::is_fence(found) {
            Self::Fence { epoch }
        } else {
            Self::Record { epoch, id: (), revision: item::read_number(found, names::REVISION).unwrap_or_default() }
        }
    }
}

/// The condition of a write, with the names and values that it uses.
pub(super) struct Condition {
    text: String,
    names: Vec<(&'static str, &'static str)>,
    values: Vec<(&'static str, AttributeValue)>,
}

impl Condition {
    pub fn of_put(self, mut request: PutItemFluentBuilder) -> PutItemFluentBuilder {
        for (placeholder, name) in self.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in self.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        request.condition_expression(self.text)
    }

    pub fn of_update(self, mut request: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
        for (placeholder, name) in self.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in self.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        request.condition_expression(self.text)
    }
}

/// The condition of [`Slot::may_put`].
pub(super) fn put(lease: &WriterLease, id: &str, revision: u32) -> Condition {
    let mut names = vec![
        ("#pk", names::PARTITION_KEY),
        ("#epoch", names::EPOCH),
        ("#id", names::ID),
        ("#revision", names::REVISION),
    ];
    let mut values = vec![(":id", item::text(id)), (":revision", item::number(revision))];
    let older = "#id = :id AND #revision < :revision";
    if lease.epoch() == 1 {
        // An item without an epoch is no fence, and a mark has no id.
        let text = format!("attribute_not_exists(#pk) OR (attribute_not_exists(#epoch) AND {older})");
        return Condition { text, names, values };
    }
    names.push(("#entity", names::ENTITY));
    values.push((":epoch", item::number(lease.epoch())));
    values.push((":fence", item::text(names::ENTITY_FENCE)));
    let not_newer = "(attribute_not_exists(#epoch) OR #epoch <= :epoch)";
    let own = format!("({not_newer} AND (#entity = :fence OR ({older})))");
    let late = late(lease.served(), &mut values);
    Condition { text: format!("attribute_not_exists(#pk) OR {own}{late}"), names, values }
}

/// The condition of [`Slot::may_stamp`].
pub(super) fn stamp(epoch: u32, read: AttributeValue) -> Condition {
    Condition {
        text: "#revision = :revision AND (attribute_not_exists(#epoch) OR #epoch <= :epoch)".to_owned(),
        names: vec![("#epoch", names::EPOCH), ("#revision", names::REVISION)],
        values: vec![(":epoch", item::number(epoch)), (":revision", read)],
    }
}

/// The condition of [`Slot::may_fence`].
pub(super) fn fence(epoch: u32, served: u32) -> Condition {
    let mut values = vec![(":epoch", item::number(epoch)), (":fence", item::text(names::ENTITY_FENCE))];
    let late = late(served, &mut values);
    Condition {
        text: format!("attribute_not_exists(#pk) OR (#entity = :fence AND #epoch <= :epoch){late}"),
        names: vec![("#pk", names::PARTITION_KEY), ("#entity", names::ENTITY), ("#epoch", names::EPOCH)],
        values,
    }
}

/// Returns the alternative that the item is a record which no read shows. There is none before the first takeover.
fn late(served: u32, values: &mut Vec<(&'static str, AttributeValue)>) -> &'static str {
    if served == 1 {
        return "";
    }
    values.push((":served", item::number(served)));
    values.push((":erased", item::text(names::ENTITY_ERASED)));
    " OR (#entity <> :erased AND #entity <> :fence AND (attribute_not_exists(#epoch) OR #epoch < :served))"
}

#[cfg(all(test, feature = "embedded"))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::dynamodb::table_client::Written;
    use crate::dynamodb::{DynamoLog, Table, create_table, header};
    use crate::embedded::EmbeddedDynamo;
    use crate::log::CallId;

    const EPOCHS: [u32; 3] = [1, 2, 3];

    fn slots() -> Vec<Slot<char>> {
        let mut slots = vec![Slot::Free, Slot::Erased];
        for epoch in EPOCHS {
            if epoch > 1 {
                slots.push(Slot::Fence { epoch });
            }
            let records = ['a', 'b'].into_iter().flat_map(|id| [1, 2].map(|revision| (id, revision)));
            slots.extend(records.map(|(id, revision)| Slot::Record { epoch, id, revision }));
        }
        slots
    }

    fn item_of(call_id: &CallId, slot: Slot<char>) -> Option<Item> {
        let of = |entity: &str, epoch: u32| {
            let mut item = header::item_of(call_id, "MSG#00000000", entity);
            if epoch > 1 {
                item.insert(names::EPOCH.to_owned(), item::number(epoch));
            }
            item
        };
        match slot {
            Slot::Free => None,
            Slot::Erased => Some(of(names::ENTITY_ERASED, 1)),
            Slot::Fence { epoch } => Some(of(names::ENTITY_FENCE, epoch)),
            Slot::Record { epoch, id, revision } => {
                let mut item = of(names::ENTITY_MESSAGE, epoch);
                item.insert(names::ID.to_owned(), item::text(id));
                item.insert(names::REVISION.to_owned(), item::number(revision));
                Some(item)
            }
        }
    }

    /// Sends a write with a condition to a table that holds only this slot. Returns whether it was applied.
    async fn is_applied(log: &DynamoLog, slot: Slot<char>, condition: Condition, is_update: bool) -> bool {
        let call_id = CallId::new("CA1").unwrap();
        let keys = item::keys_of(&header::item_of(&call_id, "MSG#00000000", ""));
        log.db.delete(log.db.client.delete_item().set_key(Some(keys.clone())), String::new).await.unwrap();
        if let Some(item) = item_of(&call_id, slot) {
            log.db.put(log.db.client.put_item().set_item(Some(item)), String::new).await.unwrap();
        }
        let written = if is_update {
            let update = log.db.client.update_item().set_key(Some(keys)).update_expression("SET #epoch = :epoch");
            log.db.update(condition.of_update(update), String::new).await
        } else {
            let put = log.db.client.put_item().set_item(Some(header::item_of(&call_id, "MSG#00000000", "message")));
            log.db.put(condition.of_put(put), String::new).await
        };
        matches!(written.unwrap(), Written::Done(_))
    }

    #[tokio::test]
    async fn conditions_have_the_same_rules_as_the_pure_functions() {
        let client = EmbeddedDynamo::in_memory().unwrap().client();
        create_table(&client, &Table::default()).await.unwrap();
        let log = DynamoLog::new(client);
        let call_id = CallId::new("CA1").unwrap();
        for slot in slots() {
            for epoch in EPOCHS {
                for served in 1..=epoch {
                    let lease = WriterLease::restored(call_id.clone(), epoch, served, None);
                    let context = format!("{slot:?}, {epoch}, {served}");
                    let may_put = slot.may_put(epoch, served, &'a', 2);
                    assert_eq!(is_applied(&log, slot, put(&lease, "a", 2), false).await, may_put, "put: {context}");
                    let may_fence = slot.may_fence(epoch, served);
                    assert_eq!(
                        is_applied(&log, slot, fence(epoch, served), false).await,
                        may_fence,
                        "fence: {context}"
                    );
                }
                let stamp = stamp(epoch, item::number(2));
                assert_eq!(
                    is_applied(&log, slot, stamp, true).await,
                    slot.may_stamp(epoch, 2),
                    "stamp: {slot:?}, {epoch}"
                );
            }
        }
    }
}
