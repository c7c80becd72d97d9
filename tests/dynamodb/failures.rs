//! The errors of failed requests.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, HttpClient, Region, RuntimeComponents};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_types::body::SdkBody;
use verbale::dynamodb::{DynamoLog, create_table, log_client};
use verbale::log::{CallLog, LogErrorKind};

use super::{call, lease, message};

type Reply = dyn Fn(&str) -> Result<HttpResponse, ConnectorError> + Send + Sync;

/// A server whose response depends on the operation.
#[derive(Clone)]
struct Server(Arc<Reply>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl HttpClient for Server {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Server {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        HttpConnectorFuture::ready((self.0)(target.trim_start_matches("DynamoDB_20120810.")))
    }
}

fn client(reply: impl Fn(&str) -> Result<HttpResponse, ConnectorError> + Send + Sync + 'static) -> Client {
    let config = log_client(Config::builder())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("a", "b", None, None, "test"))
        .http_client(Server(Arc::new(reply)))
        .build();
    Client::from_conf(config)
}

fn log(reply: impl Fn() -> Result<HttpResponse, ConnectorError> + Send + Sync + 'static) -> DynamoLog {
    DynamoLog::new(client(move |_| reply()))
}

fn answer(status: u16, body: &'static str) -> Result<HttpResponse, ConnectorError> {
    Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body)))
}

const TIMEOUT: &str = "no response arrived in time; the request may have succeeded, so repeat it";
const UNREACHABLE: &str = "DynamoDB cannot be reached; check the network and the endpoint, then repeat the request";

#[tokio::test]
async fn failed_request_names_its_subject_and_remedy() {
    let throttled = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}"#;
    let denied = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not you"}"#;
    let refused = r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}"#;
    let blocked = r#"{"__type":"com.amazonaws.dynamodb.v20120810#KMSInvalidStateException","message":"no key"}"#;
    let logs = [
        (
            log(move || answer(400, blocked)),
            "DynamoDB cannot serve the request (KMSInvalidStateException); fix the cause, then repeat the request",
            LogErrorKind::NeedsOperator,
        ),
        (log(|| Err(ConnectorError::timeout("late".into()))), TIMEOUT, LogErrorKind::Unavailable),
        (log(|| Err(ConnectorError::io("reset".into()))), UNREACHABLE, LogErrorKind::Unavailable),
        (
            log(|| Err(ConnectorError::user("invalid".into()))),
            "the request was not sent; check the region, the credentials and the endpoint",
            LogErrorKind::NeedsOperator,
        ),
        (log(|| answer(500, "")), "DynamoDB had an internal error; repeat the request", LogErrorKind::Unavailable),
        (log(|| answer(200, "<html>")), UNREACHABLE, LogErrorKind::Unavailable),
        (
            log(move || answer(400, throttled)),
            "DynamoDB throttled the request; repeat it later",
            LogErrorKind::Unavailable,
        ),
        (
            log(move || answer(400, denied)),
            "access denied (AccessDeniedException); check the credentials and their policy",
            LogErrorKind::NeedsOperator,
        ),
        (
            log(move || answer(400, refused)),
            "DynamoDB rejected the request (ValidationException); see the source of this error",
            LogErrorKind::Refused,
        ),
    ];
    for (log, expected, kind) in logs {
        let put = log.put_record(&lease("CA1"), &message(0, 1, "my pin is 4711")).await.unwrap_err();
        let read = log.read_call(&call("CA1")).await.unwrap_err();
        for (error, subject) in [
            (put, "PutItem of MSG#00000000 of call CA1 to table verbale"),
            (read, "Query of call CA1 in table verbale"),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(!format!("{error:?}").contains("pin"), "{error:?}");
            assert_eq!(error.to_string(), format!("{subject} failed: {expected}"));
        }
    }
}

#[tokio::test]
async fn error_never_shows_the_existing_item() {
    let there = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"failed",
        "Item":{"pk":{"S":"CALL#CA1"},"sk":{"S":"MSG#00000000"},"secret":{"S":"my pin is 4711"}}}"#;
    let error = log(move || answer(400, there)).put_record(&lease("CA1"), &message(0, 1, "Hi")).await.unwrap_err();
    assert!(!format!("{error:?}").contains("pin"), "{error:?}");
    assert_eq!(error.kind(), LogErrorKind::Damaged);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_active_table_ends_after_a_minute() {
    let making = client(|_| answer(200, r#"{"Table":{"TableStatus":"CREATING"}}"#));
    let error = create_table(&making, "verbale").await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Unavailable);
    assert_eq!(
        error.to_string(),
        "table verbale is not active after 60 seconds (CREATING); create it again to keep waiting"
    );
}

const ACTIVE: &str = r#"{"Table":{"TableStatus":"ACTIVE",
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
        {"AttributeName":"gsi1pk","AttributeType":"S"},{"AttributeName":"gsi1sk","AttributeType":"S"}],
    "GlobalSecondaryIndexes":[{"IndexName":"gsi1","KeySchema":[{"AttributeName":"gsi1pk","KeyType":"HASH"},
        {"AttributeName":"gsi1sk","KeyType":"RANGE"}]}]}}"#;
const UNKNOWN_OPERATION: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;

#[tokio::test(start_paused = true)]
async fn creation_waits_until_the_table_is_active() {
    let looks = std::sync::atomic::AtomicUsize::new(0);
    let making = client(move |operation| match operation {
        "DescribeTable" if looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3 => {
            answer(200, r#"{"Table":{"TableStatus":"CREATING"}}"#)
        }
        "DescribeTable" => answer(200, ACTIVE),
        "DescribeTimeToLive" => answer(400, UNKNOWN_OPERATION),
        _ => panic!("unexpected request: {operation}"),
    });
    create_table(&making, "verbale").await.unwrap();
}

#[tokio::test]
async fn server_without_time_to_live_is_accepted() {
    // One server does not know the operation; the other can only describe the time to live.
    let off = r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}"#;
    for (status, described) in [(400, UNKNOWN_OPERATION), (200, off)] {
        let client = client(move |operation| match operation {
            "DescribeTable" => answer(200, ACTIVE),
            "DescribeTimeToLive" => answer(status, described),
            "UpdateTimeToLive" if status == 200 => answer(400, UNKNOWN_OPERATION),
            _ => panic!("unexpected request: {operation}"),
        });
        create_table(&client, "verbale").await.unwrap();
    }
}

/// Returns a log in which each call has two messages, and marks after the first query. Each batch leaves the next number of
/// items over.
fn log_that_leaves(left: &'static [usize]) -> DynamoLog {
    let there = r#"{"Items":[{"sk":{"S":"MSG#00000000"}},{"sk":{"S":"MSG#00000001"}}]}"#;
    let marks = r#"{"Items":[{"sk":{"S":"CALL"},"entity":{"S":"erased"}},{"sk":{"S":"MSG#00000000"},"entity":{"S":"erased"}}]}"#;
    let queries = std::sync::atomic::AtomicUsize::new(0);
    let batches = std::sync::atomic::AtomicUsize::new(0);
    let reply = move |operation: &str| match operation {
        "PutItem" => answer(200, "{}"),
        "Query" if queries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => answer(200, there),
        "Query" => answer(200, marks),
        "BatchWriteItem" => match left[batches.fetch_add(1, std::sync::atomic::Ordering::Relaxed)] {
            0 => answer(200, "{}"),
            1 => answer(200, r#"{"UnprocessedItems":{"verbale":[{"PutRequest":{"Item":{}}}]}}"#),
            _ => answer(
                200,
                r#"{"UnprocessedItems":{"verbale":[{"PutRequest":{"Item":{}}},{"PutRequest":{"Item":{}}}]}}"#,
            ),
        },
        _ => panic!("unexpected request: {operation}"),
    };
    DynamoLog::new(client(reply))
}

#[tokio::test]
async fn leftovers_of_a_batch_are_erased_or_reported() {
    let log = log_that_leaves(&[1, 0]);
    log.erase_call(&call("CA1")).await.unwrap();
    assert_eq!(log.cost().requests, 8, "the mark of the call, two queries, three free places, two batches");
    for stuck in [&[2][..], &[1, 1]] {
        let error = log_that_leaves(stuck).erase_call(&call("CA1")).await.unwrap_err();
        assert!(error.is_retryable());
        let left = stuck[stuck.len() - 1];
        let expected =
            format!("{left} items of call CA1 are not erased yet, though none can be read; erase the call again");
        assert_eq!(error.to_string(), expected);
    }
}
