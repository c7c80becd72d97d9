//! The operations on tables: creation, description and time to live.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::error::ServiceError;
use super::super::table::{Index, Keys, Table};
use super::{Answer, Tables, table};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CreateTable {
    table_name: String,
    key_schema: Vec<KeyElement>,
    attribute_definitions: Vec<Definition>,
    #[serde(default)]
    global_secondary_indexes: Vec<CreateIndex>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CreateIndex {
    index_name: String,
    key_schema: Vec<KeyElement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeyElement {
    attribute_name: String,
    key_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct OfTable {
    table_name: String,
}

#[derive(Deserialize)]
pub struct ListTables {}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UpdateTimeToLive {
    table_name: String,
    time_to_live_specification: Specification,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Specification {
    attribute_name: String,
    enabled: bool,
}

impl CreateTable {
    /// A table is active at once.
    pub fn run(self, tables: &mut Tables) -> Result<Answer, ServiceError> {
        if tables.contains_key(&self.table_name) {
            let message = format!("Table already exists: {}", self.table_name);
            return Err(ServiceError::new("ResourceInUseException", message));
        }
        let keys = self.keys(&self.key_schema)?;
        let indexes = self
            .global_secondary_indexes
            .iter()
            .map(|index| Ok(Index { name: index.index_name.clone(), keys: self.keys(&index.key_schema)? }));
        let indexes = indexes.collect::<Result<Vec<_>, ServiceError>>()?;
        let definitions = self.attribute_definitions.iter().map(|definition| {
            json!({"AttributeName": definition.attribute_name, "AttributeType": definition.attribute_type})
        });
        let definitions: Json = definitions.collect();
        let table = Table::new(self.table_name.clone(), keys, indexes, definitions);
        let table_description = Some(table.describe());
        tables.insert(self.table_name, table);
        Ok(Answer { table_description, ..Answer::default() })
    }

    fn keys(&self, schema: &[KeyElement]) -> Result<Keys, ServiceError> {
        let key = |key_type| {
            let name = &schema.iter().find(|element| element.key_type == key_type)?.attribute_name;
            let of_name = |definition: &&Definition| definition.attribute_name == *name;
            Some((name.clone(), self.attribute_definitions.iter().find(of_name)?.attribute_type.clone()))
        };
        let partition = key("HASH").ok_or_else(|| {
            ServiceError::invalid("Some index key attributes are not defined in AttributeDefinitions.")
        })?;
        Ok(Keys { partition, sort: key("RANGE") })
    }
}

impl OfTable {
    pub fn describe(&self, tables: &mut Tables) -> Result<Answer, ServiceError> {
        let table = tables.get(&self.table_name).ok_or_else(|| {
            let message = format!("Requested resource not found: Table: {} not found", self.table_name);
            ServiceError::new("ResourceNotFoundException", message)
        })?;
        Ok(Answer { table: Some(table.describe()), ..Answer::default() })
    }

    pub fn time_to_live(&self, tables: &mut Tables) -> Result<Answer, ServiceError> {
        let description = match &table(tables, &self.table_name)?.time_to_live {
            None => json!({"TimeToLiveStatus": "DISABLED"}),
            Some(name) => json!({"TimeToLiveStatus": "ENABLED", "AttributeName": name}),
        };
        Ok(Answer { time_to_live_description: Some(description), ..Answer::default() })
    }
}

impl UpdateTimeToLive {
    pub fn run(self, tables: &mut Tables) -> Result<Answer, ServiceError> {
        let Specification { attribute_name, enabled } = self.time_to_live_specification;
        let table = table(tables, &self.table_name)?;
        if table.time_to_live.is_some() == enabled {
            let message = format!("TimeToLive is already {}", if enabled { "enabled" } else { "disabled" });
            return Err(ServiceError::validation(message));
        }
        let specification = json!({"Enabled": enabled, "AttributeName": attribute_name});
        table.time_to_live = enabled.then_some(attribute_name);
        Ok(Answer { time_to_live_specification: Some(specification), ..Answer::default() })
    }
}
