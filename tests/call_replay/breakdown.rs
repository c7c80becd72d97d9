//! The bytes of stored messages by their attributes, and the write units of the least possible items.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value as Json;
use verbale::dynamodb::{Item, item_size};

use crate::recording::{Recording, Turn};

/// The bytes of items by their attributes, without the headers.
#[derive(Debug, Default)]
pub struct Breakdown {
    bytes: BTreeMap<String, usize>,
    items: usize,
    units: usize,
}

impl Breakdown {
    /// Reads the items of a table.
    pub async fn of(client: &Client) -> Self {
        let mut breakdown = Self::default();
        let mut items = client.scan().table_name("verbale").into_paginator().items().send();
        while let Some(item) = items.next().await {
            let item = item.unwrap();
            if item["entity"].as_s().unwrap() != "call" {
                breakdown.add_item(&item);
            }
        }
        breakdown
    }

    pub fn add(&mut self, other: Self) {
        self.items += other.items;
        self.units += other.units;
        other.bytes.iter().for_each(|(name, bytes)| self.add_bytes(name, *bytes));
    }

    fn add_item(&mut self, item: &Item) {
        self.items += 1;
        self.units += item_size(item).div_ceil(1024);
        for (name, attribute) in item {
            match attribute {
                // A message of a span.
                AttributeValue::M(member) if name.starts_with('m') && name[1..].parse::<u32>().is_ok() => {
                    self.add_bytes("each message", name.len() + item_size(&Item::from([(String::new(), map([]))])));
                    member.iter().for_each(|(name, attribute)| self.add_attribute(name, attribute, 1));
                }
                _ => self.add_attribute(name, attribute, 0),
            }
        }
    }

    fn add_attribute(&mut self, name: &str, attribute: &AttributeValue, overhead: usize) {
        let all = overhead + item_size(&Item::from([(name.to_owned(), attribute.clone())]));
        let of_texts = if name == "contents" { bytes_of_values(attribute) } else { 0 };
        self.add_bytes("values in contents", of_texts);
        self.add_bytes(name, all - of_texts);
    }

    fn add_bytes(&mut self, name: &str, bytes: usize) {
        *self.bytes.entry(name.to_owned()).or_default() += bytes;
    }

    /// Prints the bytes a turn of the largest attributes.
    pub fn print(&self, turns: f64) {
        let all: usize = self.bytes.values().sum();
        let rounding = (self.units * 1024 - all) as f64 / self.items as f64;
        println!("  {:.0} bytes a turn, and {rounding:.0} bytes lost by rounding an item up", all as f64 / turns);
        let mut rows: Vec<_> = self.bytes.iter().collect();
        rows.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
        let rows: Vec<_> =
            rows.iter().take(12).map(|(name, bytes)| format!("{name} {:.0}", **bytes as f64 / turns)).collect();
        println!("  {}", rows.join(", "));
    }
}

fn map<const N: usize>(entries: [(String, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(entries.into())
}

/// The bytes of texts, numbers and other values, without the lists and maps around them.
fn bytes_of_values(attribute: &AttributeValue) -> usize {
    match attribute {
        AttributeValue::L(items) => items.iter().map(bytes_of_values).sum(),
        AttributeValue::M(entries) => entries.values().map(bytes_of_values).sum(),
        value => item_size(&Item::from([(String::new(), value.clone())])),
    }
}

/// Returns the write units of a call if only its texts were stored: words, arguments and results. Each message is an item,
/// or each turn. Instructions and greeting are items of their own, or belong to the first turn.
pub fn least_units(recording: &Recording, instructions: &str, has_spans: bool) -> usize {
    let messages = |turn: &Turn| {
        let answers = turn.answers.iter().flat_map(|answer| {
            let said =
                answer.text.len() + answer.calls.iter().map(|call| bytes_of_json(&call.arguments)).sum::<usize>();
            let done = (!answer.calls.is_empty()).then(|| answer.calls.iter().map(|call| call.result.len()).sum());
            std::iter::once(said).chain(done)
        });
        std::iter::once(turn.caller.len()).chain(answers).collect::<Vec<_>>()
    };
    let first = [instructions.len(), recording.greeting.as_ref().map_or(0, String::len)];
    let units = |bytes: usize| bytes.div_ceil(1024);
    let turns = recording.turns.iter().map(messages);
    if has_spans {
        let mut turns: Vec<usize> = turns.map(|messages| messages.iter().sum()).collect();
        turns[0] += first.iter().sum::<usize>();
        turns.into_iter().map(units).sum()
    } else {
        first.into_iter().chain(turns.flatten()).map(units).sum()
    }
}

fn bytes_of_json(json: &Json) -> usize {
    match json {
        Json::Array(items) => items.iter().map(bytes_of_json).sum(),
        Json::Object(entries) => entries.iter().map(|(key, json)| key.len() + bytes_of_json(json)).sum(),
        Json::String(text) => text.len(),
        other => other.to_string().len(),
    }
}
