//! [`Server`]: the embedded DynamoDB at a socket, so that it outlives the processes that use it.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorSettings, SharedHttpConnector};
use aws_smithy_types::body::SdkBody;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use verbale::embedded::EmbeddedDynamo;

use super::runtime;

/// A server that stops when it is dropped.
pub struct Server {
    pub url: String,
    _runtime: Runtime,
}

impl Server {
    pub fn start() -> Self {
        let runtime = runtime();
        let url = runtime.block_on(async {
            let connector = connector(&EmbeddedDynamo::in_memory().unwrap().client()).await;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let router = Router::new().fallback(answer).with_state(connector);
            tokio::spawn(axum::serve(listener, router).into_future());
            url
        });
        Self { url, _runtime: runtime }
    }
}

async fn answer(State(connector): State<SharedHttpConnector>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Response::default() };
    let mut request = HttpRequest::new(SdkBody::from(body));
    for (name, value) in &head.headers {
        request.headers_mut().insert(name.to_string(), value.to_str().unwrap().to_owned());
    }
    let answer = connector.call(request).await.unwrap();
    let body = answer.body().bytes().unwrap().to_vec();
    let mut response = body.into_response();
    *response.status_mut() = answer.status().as_u16().try_into().unwrap();
    for (name, value) in answer.headers() {
        response.headers_mut().insert(name.parse::<axum::http::HeaderName>().unwrap(), value.parse().unwrap());
    }
    response
}

/// Returns the connector with which a client sends its requests.
async fn connector(client: &Client) -> SharedHttpConnector {
    let found = Arc::new(OnceLock::new());
    let spy = Spy { client: client.config().http_client().unwrap(), found: found.clone() };
    let spied = Client::from_conf(client.config().to_builder().http_client(spy).build());
    spied.list_tables().send().await.unwrap();
    found.get().unwrap().clone()
}

/// Keeps the connector that an SDK client gets.
struct Spy {
    client: SharedHttpClient,
    found: Arc<OnceLock<SharedHttpConnector>>,
}

impl HttpClient for Spy {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        self.found.get_or_init(|| self.client.http_connector(settings, components)).clone()
    }
}

impl fmt::Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spy")
    }
}
