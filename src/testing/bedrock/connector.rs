//! The SDK's HTTP connector to the fake, without a socket. Tokio's clock may be paused.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_bedrockruntime::config::RuntimeComponents;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use tokio::time::timeout;

use super::service::{Response, Service};

#[derive(Clone)]
pub(super) struct Connector {
    service: Arc<Service>,
    /// The timeout of the response's head, which the SDK leaves to the connector.
    read_timeout: Option<Duration>,
}

impl Connector {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service, read_timeout: None }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpClient for Connector {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Self { read_timeout: settings.read_timeout(), ..self.clone() })
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { service, read_timeout } = self.clone();
        HttpConnectorFuture::new(async move {
            let body = Bytes::copy_from_slice(request.body().bytes().unwrap_or_default());
            let answer = service.answer(path(request.uri()), body);
            sdk_response(match read_timeout {
                Some(wait) => timeout(wait, answer).await.map_err(|elapsed| ConnectorError::timeout(elapsed.into()))?,
                None => answer.await,
            })
        })
    }
}

/// Returns the path of an absolute URI. Converse has no query.
fn path(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.find('/').and_then(|start| rest.get(start..)).unwrap_or_default()
}

fn sdk_response(response: Response) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(response.status).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut sdk_response = HttpResponse::new(status, SdkBody::from_body_1_x(response.body));
    for (name, value) in response.headers {
        sdk_response.headers_mut().insert(name, value);
    }
    Ok(sdk_response)
}
