//! The operations: each turns a JSON request into a response or an error.

mod batch;
mod query;
mod tables;
mod write;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::attribute::{Attribute, Item};
use super::error::ServiceError;
use super::table::Table;

pub type Tables = BTreeMap<String, Table>;
pub type Names = Option<BTreeMap<String, String>>;
pub type Values = Option<BTreeMap<String, Attribute>>;

/// A decoded request. Unknown fields are refused, so that no test relies on them.
pub enum Request {
    Put(write::PutItem),
    Update(write::UpdateItem),
    Delete(write::DeleteItem),
    Get(query::GetItem),
    Query(query::Query),
    Scan(query::Scan),
    BatchWrite(batch::BatchWriteItem),
    TransactWrite(batch::TransactWriteItems),
    CreateTable(tables::CreateTable),
    DescribeTable(tables::OfTable),
    ListTables(tables::ListTables),
    DescribeTimeToLive(tables::OfTable),
    UpdateTimeToLive(tables::UpdateTimeToLive),
}

/// The response of an operation.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Item>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_evaluated_key: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprocessed_items: Option<BTreeMap<String, Vec<batch::WriteRequest>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed_capacity: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_description: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live_description: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live_specification: Option<Json>,
}

/// The effect of an operation on the tables, for the journal.
#[derive(Default)]
pub struct Effects {
    pub writes: Vec<Write>,
    pub write_units: u64,
    pub read_units: f64,
}

/// An item that was written or deleted.
pub struct Write {
    pub item_key: ItemKey,
    /// The attribute `revision` of the item after the write.
    pub revision: Option<String>,
    pub is_deletion: bool,
}

/// The partition key and sort key, as text.
pub type ItemKey = (String, String);

impl Request {
    pub fn read(operation: &str, body: &[u8]) -> Result<Self, ServiceError> {
        Ok(match operation {
            "PutItem" => Self::Put(read(body)?),
            "UpdateItem" => Self::Update(read(body)?),
            "DeleteItem" => Self::Delete(read(body)?),
            "GetItem" => Self::Get(read(body)?),
            "Query" => Self::Query(read(body)?),
            "Scan" => Self::Scan(read(body)?),
            "BatchWriteItem" => Self::BatchWrite(read(body)?),
            "TransactWriteItems" => Self::TransactWrite(read(body)?),
            "CreateTable" => Self::CreateTable(read(body)?),
            "DescribeTable" => Self::DescribeTable(read(body)?),
            "ListTables" => Self::ListTables(read(body)?),
            "DescribeTimeToLive" => Self::DescribeTimeToLive(read(body)?),
            "UpdateTimeToLive" => Self::UpdateTimeToLive(read(body)?),
            _ => return Err(ServiceError::new("UnknownOperationException", "not an operation of the fake")),
        })
    }

    /// Returns the subject of the request: an item, the first item of a batch, or a partition.
    pub fn item_key(&self) -> ItemKey {
        let of_item = |item: &Item| (text_of(item, "pk"), text_of(item, "sk"));
        match self {
            Self::Put(request) => of_item(&request.item),
            Self::Update(request) => of_item(&request.key),
            Self::Delete(request) => of_item(&request.key),
            Self::Get(request) => of_item(&request.key),
            Self::Query(request) => (request.partition(), String::new()),
            Self::BatchWrite(request) => request.first().map(of_item).unwrap_or_default(),
            Self::TransactWrite(request) => request.first().map(|(_, item)| of_item(item)).unwrap_or_default(),
            _ => ItemKey::default(),
        }
    }

    /// Returns the table of the request. For a batch, the first table.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Put(request) => Some(&request.table_name),
            Self::Update(request) => Some(&request.table_name),
            Self::Delete(request) => Some(&request.table_name),
            Self::Get(request) => Some(&request.table_name),
            Self::Query(request) => Some(&request.table_name),
            Self::Scan(request) => Some(&request.table_name),
            Self::BatchWrite(request) => request.request_items.keys().next().map(String::as_str),
            Self::TransactWrite(request) => request.first().map(|(table, _)| table),
            _ => None,
        }
    }

    pub fn is_write(&self) -> bool {
        matches!(self, Self::Put(_) | Self::Update(_) | Self::Delete(_) | Self::BatchWrite(_) | Self::TransactWrite(_))
    }

    pub fn run(self, tables: &mut Tables, effects: &mut Effects) -> Result<Answer, ServiceError> {
        match self {
            Self::Put(request) => request.run(tables, effects),
            Self::Update(request) => request.run(tables, effects),
            Self::Delete(request) => request.run(tables, effects),
            Self::Get(request) => request.run(tables, effects),
            Self::Query(request) => request.run(tables, effects),
            Self::Scan(request) => request.run(tables, effects),
            Self::BatchWrite(request) => request.run(tables, effects),
            Self::TransactWrite(request) => request.run(tables, effects),
            Self::CreateTable(request) => request.run(tables),
            Self::DescribeTable(request) => request.describe(tables),
            Self::ListTables(_) => {
                Ok(Answer { table_names: Some(tables.keys().cloned().collect()), ..Answer::default() })
            }
            Self::DescribeTimeToLive(request) => request.time_to_live(tables),
            Self::UpdateTimeToLive(request) => request.run(tables),
        }
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ServiceError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = error.to_string();
        if message.contains("recursion limit") {
            ServiceError::validation("Nesting Levels have exceeded supported limits")
        } else {
            ServiceError::new("SerializationException", format!("the fake cannot decode the request: {message}"))
        }
    })
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Report {
    #[default]
    None,
    Total,
    Indexes,
}

impl Report {
    /// Returns the units of one table, including its indexes.
    fn of(self, table: &str, units: f64) -> Option<Json> {
        (self != Self::None).then(|| json!({"TableName": table, "CapacityUnits": units}))
    }
}

fn table<'a>(tables: &'a mut Tables, name: &str) -> Result<&'a mut Table, ServiceError> {
    tables.get_mut(name).ok_or_else(ServiceError::no_table)
}

pub fn text_of(item: &Item, name: &str) -> String {
    match item.get(name) {
        Some(Attribute::S(text) | Attribute::N(text) | Attribute::B(text)) => text.clone(),
        _ => String::new(),
    }
}
