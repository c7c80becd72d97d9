//! The HTTP connector that passes the SDK's requests to the engine.

use std::fmt;

use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use dynoxide::Database;
use tokio::runtime::Handle;

use super::engine::{self, Answer};

#[derive(Clone)]
pub(super) struct EngineClient(Database);

impl EngineClient {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }
}

impl fmt::Debug for EngineClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineClient")
    }
}

impl HttpClient for EngineClient {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for EngineClient {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let database = self.0.clone();
        HttpConnectorFuture::new(async move {
            // SQLite blocks, and a sync to the disk would stall a worker of the runtime.
            let runtime = Handle::try_current().map_err(|error| ConnectorError::user(error.into()))?;
            let answer = runtime.spawn_blocking(move || answer(&database, &request)).await;
            response(answer.map_err(|error| ConnectorError::other(error.into(), None))?)
        })
    }
}

const TARGET: &str = "x-amz-target";
const TARGET_PREFIXES: [&str; 2] = ["DynamoDB_20120810.", "DynamoDBStreams_20120810."];

fn answer(database: &Database, request: &HttpRequest) -> Answer {
    let target = request.headers().get(TARGET).unwrap_or_default();
    let operation = TARGET_PREFIXES.iter().find_map(|prefix| target.strip_prefix(prefix)).unwrap_or_default();
    engine::answer(database, operation, request.body().bytes().unwrap_or_default())
}

fn response(answer: Answer) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(answer.status).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(answer.body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}
