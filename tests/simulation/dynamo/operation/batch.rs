//! `BatchWriteItem`: up to 25 puts and deletions without conditions. `TransactWriteItems`: puts without conditions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::attribute::Item;
use super::super::error::ServiceError;
use super::write::write;
use super::{Answer, Effects, Report, Tables, table};

const MAX_REQUESTS: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct BatchWriteItem {
    pub request_items: BTreeMap<String, Vec<WriteRequest>>,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum WriteRequest {
    PutRequest {
        #[serde(rename = "Item")]
        item: Item,
    },
    DeleteRequest {
        #[serde(rename = "Key")]
        key: Item,
    },
}

impl BatchWriteItem {
    pub fn first(&self) -> Option<&Item> {
        self.request_items.values().flatten().next().map(|request| match request {
            WriteRequest::PutRequest { item } => item,
            WriteRequest::DeleteRequest { key } => key,
        })
    }

    /// Removes the requests that `keeps` rejects, as DynamoDB leaves requests unprocessed under load.
    pub fn leave_over(&mut self, mut keeps: impl FnMut() -> bool) -> BTreeMap<String, Vec<WriteRequest>> {
        let mut left = BTreeMap::new();
        for (table, requests) in &mut self.request_items {
            let (kept, over) = std::mem::take(requests).into_iter().partition(|_| keeps());
            *requests = kept;
            let over: Vec<WriteRequest> = over;
            if !over.is_empty() {
                left.insert(table.clone(), over);
            }
        }
        left
    }

    pub fn run(self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let count = self.request_items.values().map(Vec::len).sum::<usize>();
        if count > MAX_REQUESTS {
            return Err(ServiceError::validation("Too many items requested for the BatchWriteItem call"));
        }
        let mut all = Vec::new();
        let mut keys = BTreeSet::new();
        for (name, requests) in self.request_items {
            let table = table(tables, &name)?;
            for request in requests {
                let (key, item) = match request {
                    WriteRequest::PutRequest { mut item } => {
                        (table.check(&mut item, "Item size has exceeded the maximum allowed size")?, Some(item))
                    }
                    WriteRequest::DeleteRequest { mut key } => (table.keys.exactly(&mut key)?, None),
                };
                if !keys.insert((name.clone(), key.clone())) {
                    return Err(ServiceError::validation("Provided list of item keys contains duplicates"));
                }
                all.push((name.clone(), key, item));
            }
        }
        let mut units = BTreeMap::<String, u64>::new();
        for (name, key, item) in all {
            let (_, written) = write(table(tables, &name)?, key, item, effects);
            *units.entry(name).or_default() += written;
        }
        let capacities: Vec<_> =
            units.iter().filter_map(|(name, units)| self.return_consumed_capacity.of(name, *units as f64)).collect();
        let consumed_capacity = (!capacities.is_empty()).then(|| json!(capacities));
        Ok(Answer { consumed_capacity, unprocessed_items: Some(BTreeMap::new()), ..Answer::default() })
    }
}

/// Puts several items or none.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct TransactWriteItems {
    transact_items: Vec<TransactItem>,
    #[serde(default)]
    return_consumed_capacity: Report,
    #[serde(rename = "ClientRequestToken")]
    _token: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactItem {
    #[serde(rename = "Put")]
    put: TransactPut,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct TransactPut {
    table_name: String,
    item: Item,
}

impl TransactWriteItems {
    pub fn first(&self) -> Option<(&str, &Item)> {
        self.transact_items.first().map(|item| (item.put.table_name.as_str(), &item.put.item))
    }

    pub fn run(self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let mut checked = Vec::new();
        for TransactItem { put: TransactPut { table_name, mut item } } in self.transact_items {
            let key =
                table(tables, &table_name)?.check(&mut item, "Item size has exceeded the maximum allowed size")?;
            checked.push((table_name, key, item));
        }
        let mut units = BTreeMap::<String, u64>::new();
        for (name, key, item) in checked {
            let (_, written) = write(table(tables, &name)?, key, Some(item), effects);
            // A transaction prepares and commits each item.
            effects.write_units += written;
            *units.entry(name).or_default() += 2 * written;
        }
        let capacities: Vec<_> =
            units.iter().filter_map(|(name, units)| self.return_consumed_capacity.of(name, *units as f64)).collect();
        let consumed_capacity = (!capacities.is_empty()).then(|| json!(capacities));
        Ok(Answer { consumed_capacity, ..Answer::default() })
    }
}
