//! Compares the conditions, in DynamoDB, with the pure functions.

use super::*;
use crate::dynamodb::table_client::Written;
use crate::dynamodb::{DynamoLog, create_table, header};
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

/// Returns the item of a slot: a message, or a span with only this message.
fn item_of(call_id: &CallId, slot: Slot<char>, is_span: bool) -> Option<Item> {
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
            let identity = [(names::ID, item::text(id)), (names::REVISION, item::number(revision))];
            let identity = identity.map(|(name, value)| (name.to_owned(), value));
            if !is_span {
                let mut item = of(names::ENTITY_MESSAGE, epoch);
                item.extend(identity);
                return Some(item);
            }
            let mut item = of(names::ENTITY_SPAN, epoch);
            item.insert("m0".to_owned(), AttributeValue::M(identity.into()));
            item.insert(names::LAST.to_owned(), item::number(0));
            item.insert(names::CHANGES.to_owned(), item::number(revision));
            Some(item)
        }
    }
}

/// Sends a write with a condition to a table that holds only this slot. Returns whether it was applied.
async fn is_applied(
    log: &DynamoLog,
    (slot, is_span): (Slot<char>, bool),
    condition: Condition,
    is_update: bool,
) -> bool {
    let call_id = CallId::new("CA1").unwrap();
    let keys = item::keys_of(&header::item_of(&call_id, "MSG#00000000", ""));
    log.db.delete(log.db.client.delete_item().set_key(Some(keys.clone())), String::new).await.unwrap();
    if let Some(item) = item_of(&call_id, slot, is_span) {
        log.db.put(log.db.client.put_item().set_item(Some(item)), String::new).await.unwrap();
    }
    let written = if is_update {
        let update = log.db.client.update_item().set_key(Some(keys)).update_expression("REMOVE #epoch");
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
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client);
    let call_id = CallId::new("CA1").unwrap();
    for (slot, is_span) in slots().into_iter().flat_map(|slot| [(slot, false), (slot, true)]) {
        let found = (slot, is_span);
        let member = || Member { seq: 0, id: "a".to_owned(), revision: 2 };
        for epoch in EPOCHS {
            for served in 1..=epoch {
                let lease = WriterLease::restored(call_id.clone(), epoch, served, None);
                let context = format!("{slot:?}, {is_span}, {epoch}, {served}");
                let may_put = slot.may_put(epoch, served, &'a', 2);
                let is_late = matches!(slot, Slot::Record { epoch, .. } if epoch < served);
                // A message does not replace a span that has it, nor the reverse.
                let is_other = matches!(slot, Slot::Record { .. }) && !is_late;
                let as_message = is_applied(&log, found, put(&lease, "a", 2), false).await;
                assert_eq!(as_message, may_put && (!is_span || !is_other), "put: {context}");
                let alone = is_applied(&log, found, put_span(&lease, Some(member())), false).await;
                assert_eq!(alone, may_put && (is_span || !is_other), "put of one: {context}");
                let may_put_span = slot.may_put_span(epoch, served);
                let several = is_applied(&log, found, put_span(&lease, None), false).await;
                assert_eq!(several, may_put_span, "put of several: {context}");
                let is_older = matches!(slot, Slot::Record { id: 'a', revision: 1, .. });
                let may_update = slot.may_update(epoch, served) && is_older && is_span;
                let updated = is_applied(&log, found, update_span(&lease, &[member()]), true).await;
                assert_eq!(updated, may_update, "update: {context}");
                let may_fence = slot.may_fence(epoch, served);
                let fenced = is_applied(&log, found, fence(epoch, served), false).await;
                assert_eq!(fenced, may_fence, "fence: {context}");
            }
            let name = if is_span { names::CHANGES } else { names::REVISION };
            let stamped = is_applied(&log, found, stamp(epoch, name, Some(item::number(2))), true).await;
            assert_eq!(stamped, slot.may_stamp(epoch, 2), "stamp: {slot:?}, {epoch}");
        }
    }
}
