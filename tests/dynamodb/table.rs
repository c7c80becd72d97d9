//! The table, and the embedded database as a client of AWS sees it.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{BillingMode, ProjectionType, TimeToLiveSpecification, TimeToLiveStatus};
use verbale::dynamodb::{Creation, Table, create_table};
use verbale::embedded::EmbeddedDynamo;

#[tokio::test]
async fn a_table_is_made_once() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default().with_name("calls");
    assert_eq!(create_table(&client, &table).await.unwrap(), Creation::Created);
    assert_eq!(create_table(&client, &table).await.unwrap(), Creation::AlreadyThere);

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
async fn two_at_once_make_one_table() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    let both = tokio::join!(create_table(&client, &table), create_table(&client, &table));
    let made = [both.0.unwrap(), both.1.unwrap()];
    assert_eq!(made.iter().filter(|creation| **creation == Creation::Created).count(), 1, "{made:?}");
}

#[tokio::test]
async fn another_table_of_that_name_is_not_taken() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    let other = table.definition().unwrap().set_global_secondary_indexes(None);
    let keys = other.get_attribute_definitions().clone().unwrap().into_iter().take(2).collect();
    other.set_attribute_definitions(Some(keys)).send_with(&client).await.unwrap();
    assert_eq!(
        create_table(&client, &table).await.unwrap_err().to_string(),
        "table verbale exists, and it has no index gsi1; use another table name, or delete the table if it is not needed"
    );
}

#[tokio::test]
async fn items_that_expire_by_another_attribute_are_not_taken() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = Table::default();
    table.definition().unwrap().send_with(&client).await.unwrap();
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("ttl").build().unwrap();
    client.update_time_to_live().table_name(&table.name).time_to_live_specification(ttl).send().await.unwrap();
    assert_eq!(
        create_table(&client, &table).await.unwrap_err().to_string(),
        "table verbale exists, and its time to live is by ttl, not expires_at; use another table name, or delete the \
         table if it is not needed"
    );
}

#[tokio::test]
async fn clients_of_one_database_share_it_and_of_two_do_not() {
    let [one, other] = [(); 2].map(|()| EmbeddedDynamo::in_memory().unwrap());
    create_table(&one.client(), &Table::default()).await.unwrap();
    let tables = async |database: &EmbeddedDynamo| {
        database.client().list_tables().send().await.unwrap().table_names.unwrap_or_default()
    };
    assert_eq!(tables(&one.clone()).await, ["verbale"]);
    assert_eq!(tables(&other).await, Vec::<String>::new());
}

#[tokio::test]
async fn errors_of_the_engine_are_those_of_aws() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let error = client.describe_limits().send().await.unwrap_err();
    assert_eq!(error.code(), Some("UnknownOperationException"));
    let error = client.describe_table().table_name("nowhere").send().await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_resource_not_found_exception());
    let error = client.put_item().table_name("a").item("", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
    assert_eq!(error.send().await.unwrap_err().code(), Some("ValidationException"));
}
