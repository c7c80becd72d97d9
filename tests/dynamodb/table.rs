//! The table, and the embedded database as a client of AWS sees it.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{BillingMode, ProjectionType, TimeToLiveSpecification, TimeToLiveStatus};
use verbale::dynamodb::{Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::LogErrorKind;

#[tokio::test]
async fn table_is_created_once() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default().with_name("calls");
    create_table(&client, &table).await.unwrap();
    create_table(&client, &table).await.unwrap();

    let found = client.describe_table().table_name("calls").send().await.unwrap().table.unwrap();
    assert_eq!(found.billing_mode_summary().unwrap().billing_mode(), Some(&BillingMode::PayPerRequest));
    assert_eq!(found.stream_specification(), None);
    let [index] = found.global_secondary_indexes() else { panic!("not one index") };
    assert_eq!(index.index_name(), Some("gsi1"));
    assert_eq!(index.projection().unwrap().projection_type(), Some(&ProjectionType::All));

    let ttl = client.describe_time_to_live().table_name("calls").send().await.unwrap();
    let ttl = ttl.time_to_live_description().unwrap();
    assert_eq!(ttl.time_to_live_status(), Some(&TimeToLiveStatus::Enabled));
    assert_eq!(ttl.attribute_name(), Some("expires_at"));
}

#[tokio::test]
async fn concurrent_creations_succeed() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    let both = tokio::join!(create_table(&client, &table), create_table(&client, &table));
    both.0.unwrap();
    both.1.unwrap();
    let tables = client.list_tables().send().await.unwrap().table_names.unwrap();
    assert_eq!(tables, ["verbale"]);
}

#[tokio::test]
async fn table_with_another_definition_is_refused() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    let other = table.definition().unwrap().set_global_secondary_indexes(None);
    let keys = other.get_attribute_definitions().clone().unwrap().into_iter().take(2).collect();
    other.set_attribute_definitions(Some(keys)).send_with(&client).await.unwrap();
    let error = create_table(&client, &table).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
    assert_eq!(
        error.to_string(),
        "table verbale exists, but it has no index gsi1; choose another name, or delete the table if unused"
    );
}

#[tokio::test]
async fn table_with_another_time_to_live_is_refused() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    table.definition().unwrap().send_with(&client).await.unwrap();
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("ttl").build().unwrap();
    client.update_time_to_live().table_name("verbale").time_to_live_specification(ttl).send().await.unwrap();
    assert_eq!(
        create_table(&client, &table).await.unwrap_err().to_string(),
        "table verbale exists, but its time to live uses ttl, not expires_at; choose another name, or delete the table if \
         unused"
    );
}

#[tokio::test]
async fn clients_share_one_database_but_not_two() {
    let [one, other] = [(); 2].map(|()| EmbeddedDynamo::in_memory().unwrap());
    create_table(&one.client(), &Table::default()).await.unwrap();
    let tables = async |database: &EmbeddedDynamo| {
        database.client().list_tables().send().await.unwrap().table_names.unwrap_or_default()
    };
    assert_eq!(tables(&one.clone()).await, ["verbale"]);
    assert_eq!(tables(&other).await, Vec::<String>::new());
}

#[tokio::test]
async fn engine_returns_the_errors_of_aws() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let error = client.describe_limits().send().await.unwrap_err();
    assert_eq!(error.code(), Some("UnknownOperationException"));
    let error = client.describe_table().table_name("nowhere").send().await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_resource_not_found_exception());
    let error = client.put_item().table_name("a").item("", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
    assert_eq!(error.send().await.unwrap_err().code(), Some("ValidationException"));
}
