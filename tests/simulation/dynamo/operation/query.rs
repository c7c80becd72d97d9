//! `GetItem`, `Query`, `Scan`.

use serde::Deserialize;

use super::super::attribute::{Attribute, Item, item_bytes};
use super::super::error::ServiceError;
use super::super::expression::{Condition, KeyCondition, Placeholders, projection};
use super::super::table::{Keys, Table};
use super::{Answer, Effects, Names, Report, Tables, Values, table};

const PAGE_BYTES: usize = 1_024 * 1_024;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct GetItem {
    pub table_name: String,
    pub key: Item,
    #[serde(default)]
    consistent_read: bool,
    projection_expression: Option<String>,
    expression_attribute_names: Names,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Query {
    pub table_name: String,
    index_name: Option<String>,
    #[serde(default)]
    consistent_read: bool,
    key_condition_expression: String,
    filter_expression: Option<String>,
    projection_expression: Option<String>,
    expression_attribute_names: Names,
    expression_attribute_values: Values,
    scan_index_forward: Option<bool>,
    limit: Option<usize>,
    exclusive_start_key: Option<Item>,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Scan {
    pub table_name: String,
    #[serde(default)]
    consistent_read: bool,
    limit: Option<usize>,
    exclusive_start_key: Option<Item>,
    #[serde(default)]
    return_consumed_capacity: Report,
}

impl GetItem {
    pub fn run(mut self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let has_expression = self.projection_expression.is_some();
        let mut placeholders = Placeholders::new(self.expression_attribute_names, None, has_expression)?;
        let names =
            self.projection_expression.as_deref().map(|text| projection(text, &mut placeholders)).transpose()?;
        placeholders.all_used()?;
        let table = table(tables, &self.table_name)?;
        let key = table.keys.exactly(&mut self.key)?;
        let item = table.get(&key).cloned();
        let units = read_units(item.as_ref().map_or(0, item_bytes), self.consistent_read);
        effects.read_units += units;
        Ok(Answer {
            item: item.map(|item| projected(item, names.as_deref())),
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units),
            ..Answer::default()
        })
    }
}

impl Query {
    /// Returns the partition key of the queried call, which windows for a partition refer to. Empty for other queries.
    pub fn partition(&self) -> String {
        let mut texts =
            self.expression_attribute_values.iter().flat_map(|values| values.values()).filter_map(Attribute::as_s);
        texts.find(|text| text.starts_with("CALL#")).unwrap_or_default().to_owned()
    }

    pub fn run(self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let table = &*table(tables, &self.table_name)?;
        let index = self.index_name.as_deref().map(|name| table.index(name)).transpose()?;
        let keys = index.map_or(&table.keys, |index| &index.keys);
        let mut placeholders =
            Placeholders::new(self.expression_attribute_names, self.expression_attribute_values, true)?;
        let sort = keys.sort.as_ref().map(|(name, _)| name.as_str());
        let condition =
            KeyCondition::parse(&self.key_condition_expression, &mut placeholders, &keys.partition.0, sort)?;
        let names =
            self.projection_expression.as_deref().map(|text| projection(text, &mut placeholders)).transpose()?;
        let filter = self.filter_expression.as_deref();
        let filter = filter.map(|text| Condition::parse("FilterExpression", text, &mut placeholders)).transpose()?;
        placeholders.all_used()?;
        if condition.partition.type_name() != keys.partition.1 {
            return Err(ServiceError::invalid("Condition parameter type does not match schema type"));
        }
        if index.is_some() && self.consistent_read {
            let message = "Consistent reads are not supported on global secondary indexes";
            return Err(ServiceError::validation(message));
        }
        let mut rows: Vec<(&Item, usize)> = match index {
            Some(index) => table.index_partition(index, &condition.partition),
            None => {
                let of = Item::from([(keys.partition.0.clone(), condition.partition.clone())]);
                let partition = Keys { sort: None, ..keys.clone() }.of(&of)?.0;
                table.partition(&partition).collect()
            }
        };
        rows.retain(|(item, _)| condition.sort.as_ref().is_none_or(|condition| condition.holds(Some(item))));
        let is_forward = self.scan_index_forward != Some(false);
        if !is_forward {
            rows.reverse();
        }
        let page = page(table, Some(keys), rows, self.limit, self.exclusive_start_key, is_forward)?;
        let units = read_units(page.bytes, self.consistent_read);
        effects.read_units += units;
        let kept = page.items.into_iter().filter(|item| filter.as_ref().is_none_or(|filter| filter.holds(Some(item))));
        let items: Vec<Item> = kept.map(|item| projected(item.clone(), names.as_deref())).collect();
        Ok(Answer {
            count: Some(items.len()),
            scanned_count: Some(page.scanned),
            items: Some(items),
            last_evaluated_key: page.last_key,
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units),
            ..Answer::default()
        })
    }
}

impl Scan {
    pub fn run(self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let table = &*table(tables, &self.table_name)?;
        let rows = table.items().map(|item| (item, item_bytes(item))).collect();
        let page = page(table, None, rows, self.limit, self.exclusive_start_key, true)?;
        let units = read_units(page.bytes, self.consistent_read);
        effects.read_units += units;
        Ok(Answer {
            count: Some(page.items.len()),
            scanned_count: Some(page.scanned),
            items: Some(page.items.into_iter().cloned().collect()),
            last_evaluated_key: page.last_key,
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units),
            ..Answer::default()
        })
    }
}

struct Page<'a> {
    items: Vec<&'a Item>,
    bytes: usize,
    scanned: usize,
    last_key: Option<Item>,
}

/// Returns the items up to the limit, or up to the item that fills the page.
fn page<'a>(
    table: &Table,
    keys: Option<&Keys>,
    rows: Vec<(&'a Item, usize)>,
    limit: Option<usize>,
    start: Option<Item>,
    is_forward: bool,
) -> Result<Page<'a>, ServiceError> {
    if limit == Some(0) {
        return Err(ServiceError::validation(
            "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value \
             greater than or equal to 1",
        ));
    }
    let names = || keys.into_iter().flat_map(Keys::all).chain(table.keys.all()).map(|(name, _)| name);
    let key_of =
        |item: &Item| -> Item { names().filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect() };
    let mut rest = rows.as_slice();
    if let Some(start) = start {
        // The item may be deleted or changed, so the page starts at the first key after it.
        let order = |item: &Item| {
            let of_keys = keys.map(|keys| keys.of(item)).transpose()?;
            Ok::<_, ServiceError>((of_keys.map(|key| key.1), table.keys.of(item)?))
        };
        let start = order(&start).map_err(|_| ServiceError::validation("The provided starting key is invalid"))?;
        let behind =
            |item: &Item| order(item).is_ok_and(|order| if is_forward { order > start } else { order < start });
        let at = rows.iter().position(|(item, _)| behind(item)).unwrap_or(rows.len());
        rest = &rows[at..];
    }
    let (mut items, mut bytes) = (Vec::new(), 0);
    let mut has_more = false;
    for (item, size) in rest {
        if limit.is_some_and(|limit| items.len() >= limit) || bytes + size > PAGE_BYTES && !items.is_empty() {
            has_more = true;
            break;
        }
        bytes += size;
        items.push(*item);
    }
    // At the limit DynamoDB does not check whether more items follow.
    let is_full = has_more || limit.is_some_and(|limit| items.len() >= limit);
    let last_key = items.last().filter(|_| is_full).map(|item| key_of(item));
    Ok(Page { scanned: items.len(), items, bytes, last_key })
}

fn projected(mut item: Item, names: Option<&[String]>) -> Item {
    if let Some(names) = names {
        item.retain(|name, _| names.contains(name));
    }
    item
}

/// Returns one unit for each started 4 KB, or half a unit for an eventually consistent read.
fn read_units(bytes: usize, is_consistent: bool) -> f64 {
    let units = bytes.div_ceil(4_096).max(1) as f64;
    if is_consistent { units } else { units / 2.0 }
}
