//! A client that adds the existing item to the error of a false condition.
//!
//! dynalite is older than `ReturnValuesOnConditionCheckFailure`, with which DynamoDB returns the item that failed a
//! condition. This client reads the item and adds it to the response.

use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_sdk_dynamodb::error::ConnectorError;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value as Json, json};

/// Wraps a client so that each refused write that requested the existing item returns it.
pub fn returned_by(http: SharedHttpClient) -> SharedHttpClient {
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
            let mut response = server.call(request).await?;
            let Some(lookup) = lookup.filter(|_| response.status().as_u16() == 400) else { return Ok(response) };
            let mut refusal = take_json(&mut response).await?;
            let kind = refusal["__type"].as_str().unwrap_or_default();
            if kind.ends_with("ConditionalCheckFailedException") && refusal["Item"].is_null() {
                let mut found = server.call(lookup).await?;
                refusal["Item"] = take_json(&mut found).await?["Item"].take();
            }
            *response.body_mut() = SdkBody::from(refusal.to_string());
            Ok(response)
        })
    }
}

/// Returns the request that reads the item of a conditional write, if the write requested the existing item.
fn lookup(write: &HttpRequest) -> Option<HttpRequest> {
    let request: Json = serde_json::from_slice(write.body().bytes()?).ok()?;
    if request["ReturnValuesOnConditionCheckFailure"] != "ALL_OLD" {
        return None;
    }
    // An update or deletion has a key; a put has the whole item.
    let key = match &request["Key"] {
        Json::Null => json!({"pk": request["Item"]["pk"], "sk": request["Item"]["sk"]}),
        key => key.clone(),
    };
    let body = json!({"TableName": request["TableName"], "Key": key, "ConsistentRead": true}).to_string();
    let mut lookup = write.try_clone()?;
    // The signature does not match this request, but dynalite ignores it.
    lookup.headers_mut().insert("x-amz-target", "DynamoDB_20120810.GetItem");
    lookup.headers_mut().insert("content-length", body.len().to_string());
    *lookup.body_mut() = SdkBody::from(body);
    Some(lookup)
}

async fn take_json(response: &mut HttpResponse) -> Result<Json, ConnectorError> {
    let body = std::mem::replace(response.body_mut(), SdkBody::taken());
    let bytes = ByteStream::new(body).collect().await.map_err(|error| ConnectorError::io(error.into()))?;
    serde_json::from_slice(&bytes.into_bytes()).map_err(|error| ConnectorError::other(error.into(), None))
}
