//! The template of the table names what the code names.

use aws_sdk_dynamodb::operation::create_table::CreateTableInput;
use serde_json::{Value, json};
use verbale::dynamodb::{Table, names};

#[test]
fn the_template_makes_the_table_that_the_code_makes() {
    let template: Value = serde_json::from_str(include_str!("../infra/table.json")).unwrap();
    let table = &template["Resources"]["Table"]["Properties"];
    let code: CreateTableInput = Table::default().definition().unwrap().build().unwrap();

    assert_eq!(template["Parameters"]["TableName"]["Default"], names::DEFAULT_TABLE);
    assert_eq!(table["BillingMode"], code.billing_mode().unwrap().as_str());
    assert_eq!(table["KeySchema"], keys(code.key_schema()));
    let attributes = code.attribute_definitions().iter();
    let attributes: Vec<Value> = attributes
        .map(|one| json!({"AttributeName": one.attribute_name(), "AttributeType": one.attribute_type().as_str()}))
        .collect();
    assert_eq!(table["AttributeDefinitions"], json!(attributes));
    let indexes = code.global_secondary_indexes().iter().map(|index| {
        let projection = index.projection().and_then(|projection| projection.projection_type()).unwrap();
        json!({
            "IndexName": index.index_name(),
            "KeySchema": keys(index.key_schema()),
            "Projection": {"ProjectionType": projection.as_str()},
        })
    });
    assert_eq!(table["GlobalSecondaryIndexes"], indexes.collect::<Value>());
    assert_eq!(table["TimeToLiveSpecification"], json!({"AttributeName": names::EXPIRES_AT, "Enabled": true}));
}

#[test]
fn the_template_guards_what_was_said() {
    let template: Value = serde_json::from_str(include_str!("../infra/table.json")).unwrap();
    let table = &template["Resources"]["Table"];
    assert_eq!(table["DeletionPolicy"], "Retain");
    assert_eq!(table["UpdateReplacePolicy"], "Retain");
    assert_eq!(table["Properties"]["DeletionProtectionEnabled"], true);
    assert_eq!(table["Properties"]["SSESpecification"]["SSEEnabled"], true);
    assert_eq!(table["Properties"]["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true);
}

fn keys(schema: &[aws_sdk_dynamodb::types::KeySchemaElement]) -> Value {
    let key = |key: &aws_sdk_dynamodb::types::KeySchemaElement| json!({"AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str()});
    schema.iter().map(key).collect()
}
