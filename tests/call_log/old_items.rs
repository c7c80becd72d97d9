//! What stood in the way of a condition, for a server that does not give it back.
//!
//! dynalite is older than `ReturnValuesOnConditionCheckFailure`, by which DynamoDB tells the item that failed a
//! condition. This asks for the item where it is missing, and puts it into the answer.

use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_sdk_dynamodb::error::ConnectorError;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value as Json, json};

/// The same client, of which every refused condition that asked for the item has it.
pub fn given_back_by(http: SharedHttpClient) -> SharedHttpClient {
    SharedHttpClient::new(Client(http))
}

#[derive(Debug, Clone)]
struct Client(SharedHttpClient);

impl HttpClient for Client {
    fn http_connector(&self, settings: &HttpConnectorSettings, parts: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector(self.0.http_connector(settings, parts)))
    }
}

#[derive(Debug, Clone)]
struct Connector(SharedHttpConnector);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let server = self.0.clone();
        let lookup = lookup(&request);
        HttpConnectorFuture::new(async move {
            let mut answer = server.call(request).await?;
            let Some(lookup) = lookup.filter(|_| answer.status().as_u16() == 400) else { return Ok(answer) };
            let mut refusal = take_json(&mut answer).await?;
            let kind = refusal["__type"].as_str().unwrap_or_default();
            if kind.ends_with("ConditionalCheckFailedException") && refusal["Item"].is_null() {
                let mut found = server.call(lookup).await?;
                refusal["Item"] = take_json(&mut found).await?["Item"].take();
            }
            *answer.body_mut() = SdkBody::from(refusal.to_string());
            Ok(answer)
        })
    }
}

/// The request for the item that a conditional write names, where the write asks to be told it.
fn lookup(write: &HttpRequest) -> Option<HttpRequest> {
    let asked: Json = serde_json::from_slice(write.body().bytes()?).ok()?;
    if asked["ReturnValuesOnConditionCheckFailure"] != "ALL_OLD" {
        return None;
    }
    // Of an update or a deletion, or of a put.
    let key = match &asked["Key"] {
        Json::Null => json!({"pk": asked["Item"]["pk"], "sk": asked["Item"]["sk"]}),
        key => key.clone(),
    };
    let body = json!({"TableName": asked["TableName"], "Key": key, "ConsistentRead": true}).to_string();
    let mut lookup = write.try_clone()?;
    // The signature is not that of this request, which dynalite does not look at.
    lookup.headers_mut().insert("x-amz-target", "DynamoDB_20120810.GetItem");
    lookup.headers_mut().insert("content-length", body.len().to_string());
    *lookup.body_mut() = SdkBody::from(body);
    Some(lookup)
}

async fn take_json(answer: &mut HttpResponse) -> Result<Json, ConnectorError> {
    let body = std::mem::replace(answer.body_mut(), SdkBody::taken());
    let bytes = ByteStream::new(body).collect().await.map_err(|error| ConnectorError::io(error.into()))?;
    serde_json::from_slice(&bytes.into_bytes()).map_err(|error| ConnectorError::other(error.into(), None))
}
