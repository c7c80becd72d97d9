//! The table, and the embedded database as a client of AWS sees it.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{BillingMode, ProjectionType, TimeToLiveSpecification, TimeToLiveStatus};
use verbale::dynamodb::{DynamoLog, create_table, table_definition};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, CallQuery, CallerId, Day, LogErrorKind};

#[tokio::test]
async fn table_is_created_once() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = "calls";
    create_table(&client, table).await.unwrap();
    create_table(&client, table).await.unwrap();

    let found = client.describe_table().table_name("calls").send().await.unwrap().table.unwrap();
    assert_eq!(found.billing_mode_summary().unwrap().billing_mode(), Some(&BillingMode::PayPerRequest));
    assert_eq!(found.stream_specification(), None);
    let indexes = found.global_secondary_indexes();
    let mut names: Vec<&str> = indexes.iter().filter_map(|index| index.index_name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["gsi1", "gsi2"]);
    assert!(indexes.iter().all(|index| index.projection().unwrap().projection_type() == Some(&ProjectionType::All)));

    let ttl = client.describe_time_to_live().table_name("calls").send().await.unwrap();
    let ttl = ttl.time_to_live_description().unwrap();
    assert_eq!(ttl.time_to_live_status(), Some(&TimeToLiveStatus::Enabled));
    assert_eq!(ttl.attribute_name(), Some("expires_at"));
}

#[tokio::test]
async fn concurrent_creations_succeed() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = "verbale";
    let both = tokio::join!(create_table(&client, table), create_table(&client, table));
    both.0.unwrap();
    both.1.unwrap();
    let tables = client.list_tables().send().await.unwrap().table_names.unwrap();
    assert_eq!(tables, ["verbale"]);
}

#[tokio::test]
async fn table_with_another_definition_is_refused() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = "verbale";
    let other = table_definition(table).unwrap().set_global_secondary_indexes(None);
    let keys = other.get_attribute_definitions().clone().unwrap().into_iter().take(2).collect();
    other.set_attribute_definitions(Some(keys)).send_with(&client).await.unwrap();
    let error = create_table(&client, table).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
    assert_eq!(
        error.to_string(),
        "table verbale exists, but it has no index gsi1; choose another name, or delete the table if unused"
    );
}

#[tokio::test]
async fn table_without_the_index_of_callers_serves_everything_else() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let old = table_definition("verbale").unwrap();
    let indexes = old.get_global_secondary_indexes().clone().unwrap().into_iter().take(1).collect();
    let keys = old.get_attribute_definitions().clone().unwrap().into_iter().take(4).collect();
    let old = old.set_global_secondary_indexes(Some(indexes)).set_attribute_definitions(Some(keys));
    old.send_with(&client).await.unwrap();
    create_table(&client, "verbale").await.unwrap();

    let log = DynamoLog::new(client);
    let caller = CallerId::new("+4930123456", b"0123456789abcdef").unwrap();
    let header = CallHeader::new(CallId::new("CA1").unwrap(), 7).unwrap().with_caller(caller.clone());
    log.open_call(&header).await.unwrap();
    assert_eq!(log.read_header(header.call_id()).await.unwrap(), Some(header.clone()));
    assert_eq!(log.list_calls(&CallQuery::of_day(Day::of_ms(7))).await.unwrap().calls, [header]);
    let error = log.list_calls(&CallQuery::of_caller(None, caller)).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
    assert_eq!(
        error.to_string(),
        "Query of the calls of a caller in table verbale, by index gsi2 (gsi2pk, gsi2sk), failed: the table does not have \
         the index, or still fills it; add it with all attributes, as `infra/` defines it"
    );
}

#[tokio::test]
async fn table_with_another_time_to_live_is_refused() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let table = "verbale";
    table_definition(table).unwrap().send_with(&client).await.unwrap();
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("ttl").build().unwrap();
    client.update_time_to_live().table_name("verbale").time_to_live_specification(ttl).send().await.unwrap();
    assert_eq!(
        create_table(&client, table).await.unwrap_err().to_string(),
        "table verbale exists, but its time to live uses ttl, not expires_at; choose another name, or delete the table if \
         unused"
    );
}

#[tokio::test]
async fn clients_share_one_database_but_not_two() {
    let [one, other] = [(); 2].map(|()| EmbeddedDynamo::in_memory().unwrap());
    create_table(&one.client(), "verbale").await.unwrap();
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
