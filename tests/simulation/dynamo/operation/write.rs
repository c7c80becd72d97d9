//! `PutItem`, `UpdateItem`, `DeleteItem`.

use serde::Deserialize;

use super::super::attribute::Item;
use super::super::error::ServiceError;
use super::super::expression::{Condition, Placeholders, Update};
use super::super::table::{Key, Table};
use super::{Answer, Effects, Names, Report, Tables, Values, Write, table, text_of};

const TOO_LARGE: &str = "Item size has exceeded the maximum allowed size";
const TOO_LARGE_UPDATE: &str = "Item size to update has exceeded the maximum allowed size";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct PutItem {
    pub table_name: String,
    pub item: Item,
    condition_expression: Option<String>,
    expression_attribute_names: Names,
    expression_attribute_values: Values,
    #[serde(default)]
    return_values: ReturnValues,
    #[serde(default)]
    return_values_on_condition_check_failure: ReturnValues,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct UpdateItem {
    pub table_name: String,
    pub key: Item,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Names,
    expression_attribute_values: Values,
    #[serde(default)]
    return_values: ReturnValues,
    #[serde(default)]
    return_values_on_condition_check_failure: ReturnValues,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct DeleteItem {
    pub table_name: String,
    pub key: Item,
    condition_expression: Option<String>,
    expression_attribute_names: Names,
    expression_attribute_values: Values,
    #[serde(default)]
    return_values: ReturnValues,
    #[serde(default)]
    return_values_on_condition_check_failure: ReturnValues,
    #[serde(default)]
    return_consumed_capacity: Report,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum ReturnValues {
    #[default]
    None,
    AllOld,
    AllNew,
}

impl PutItem {
    pub fn run(mut self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        if self.return_values == ReturnValues::AllNew {
            return Err(ServiceError::validation("Return values set to invalid value"));
        }
        let has_expression = self.condition_expression.is_some();
        let mut placeholders =
            Placeholders::new(self.expression_attribute_names, self.expression_attribute_values, has_expression)?;
        let condition = condition(self.condition_expression.as_deref(), &mut placeholders)?;
        placeholders.all_used()?;
        let table = table(tables, &self.table_name)?;
        let key = table.check(&mut self.item, TOO_LARGE)?;
        allowed(table, &key, condition.as_ref(), self.return_values_on_condition_check_failure)?;
        let (old, units) = write(table, key, Some(self.item), effects);
        Ok(Answer {
            attributes: old.filter(|_| self.return_values == ReturnValues::AllOld),
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units as f64),
            ..Answer::default()
        })
    }
}

impl UpdateItem {
    pub fn run(mut self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let has_expression = self.condition_expression.is_some() || self.update_expression.is_some();
        let mut placeholders =
            Placeholders::new(self.expression_attribute_names, self.expression_attribute_values, has_expression)?;
        let update =
            self.update_expression.as_deref().map(|text| Update::parse(text, &mut placeholders)).transpose()?;
        let condition = condition(self.condition_expression.as_deref(), &mut placeholders)?;
        placeholders.all_used()?;
        let table = table(tables, &self.table_name)?;
        let key = table.keys.exactly(&mut self.key)?;
        for name in update.iter().flat_map(Update::names) {
            if table.keys.all().any(|(key, _)| key == name) {
                let message = format!("Cannot update attribute {name}. This attribute is part of the key");
                return Err(ServiceError::invalid(message));
            }
        }
        allowed(table, &key, condition.as_ref(), self.return_values_on_condition_check_failure)?;
        let old = table.get(&key).unwrap_or(&self.key);
        let mut new = update.map_or_else(|| Ok(old.clone()), |update| update.apply(old))?;
        table.check(&mut new, TOO_LARGE_UPDATE)?;
        let given_back = (self.return_values == ReturnValues::AllNew).then(|| new.clone());
        let (old, units) = write(table, key, Some(new), effects);
        Ok(Answer {
            attributes: given_back.or_else(|| old.filter(|_| self.return_values == ReturnValues::AllOld)),
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units as f64),
            ..Answer::default()
        })
    }
}

impl DeleteItem {
    pub fn run(mut self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        let has_expression = self.condition_expression.is_some();
        let mut placeholders =
            Placeholders::new(self.expression_attribute_names, self.expression_attribute_values, has_expression)?;
        let condition = condition(self.condition_expression.as_deref(), &mut placeholders)?;
        placeholders.all_used()?;
        let table = table(tables, &self.table_name)?;
        let key = table.keys.exactly(&mut self.key)?;
        allowed(table, &key, condition.as_ref(), self.return_values_on_condition_check_failure)?;
        let (old, units) = write(table, key, None, effects);
        Ok(Answer {
            attributes: old.filter(|_| self.return_values == ReturnValues::AllOld),
            consumed_capacity: self.return_consumed_capacity.of(&self.table_name, units as f64),
            ..Answer::default()
        })
    }
}

fn condition(text: Option<&str>, placeholders: &mut Placeholders) -> Result<Option<Condition>, ServiceError> {
    text.map(|text| Condition::parse("ConditionExpression", text, placeholders)).transpose()
}

fn allowed(
    table: &Table,
    key: &Key,
    condition: Option<&Condition>,
    on_failure: ReturnValues,
) -> Result<(), ServiceError> {
    let there = table.get(key);
    if condition.is_none_or(|condition| condition.holds(there)) {
        return Ok(());
    }
    Err(ServiceError::condition_failed(there.filter(|_| on_failure == ReturnValues::AllOld).cloned()))
}

/// Writes or deletes an item, and records it.
pub fn write(table: &mut Table, key: Key, item: Option<Item>, effects: &mut Effects) -> (Option<Item>, u64) {
    let is_deletion = item.is_none();
    let number =
        |item: &Item| [text_of(item, "revision"), text_of(item, "rev")].into_iter().find(|text| !text.is_empty());
    let revision = item.as_ref().and_then(number);
    let text = |value: &super::super::table::KeyValue| match value {
        super::super::table::KeyValue::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let item_key = (text(&key.0), text(&key.1));
    let (old, units) = table.replace(key, item);
    effects.writes.push(Write { item_key, revision, is_deletion });
    effects.write_units += units;
    (old, units)
}
