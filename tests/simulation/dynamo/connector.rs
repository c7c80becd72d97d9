//! The HTTP connector that passes the SDK's requests to the fake server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::{DateTime, Format};

use super::error::ServiceError;
use super::fault::Fault;
use super::operation::Answer;
use super::server::{Server, Visit};

#[derive(Clone)]
pub struct Connector {
    server: Arc<Mutex<Server>>,
    death: Option<Arc<Mutex<Death>>>,
}

/// The death of a client's process at one of its requests.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    /// The number of requests that get an answer.
    pub after: u64,
    /// Whether the request after them still arrives.
    pub sends_the_next: bool,
}

impl Connector {
    pub fn new(server: Arc<Mutex<Server>>) -> Self {
        Self { server, death: None }
    }

    pub fn with_death(server: Arc<Mutex<Server>>, death: Arc<Mutex<Death>>) -> Self {
        Self { server, death: Some(death) }
    }

    /// Counts a request. Returns whether it arrives, and whether its client hears the answer.
    fn is_alive(&self) -> (bool, bool) {
        let Some(death) = &self.death else { return (true, true) };
        let mut death = death.lock().unwrap_or_else(PoisonError::into_inner);
        if death.after > 0 {
            death.after -= 1;
            return (true, true);
        }
        (std::mem::take(&mut death.sends_the_next), false)
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers a sent request independently of its client: it is applied at its time even if the client has given up.
    fn send(&self, visit: Visit) -> tokio::task::JoinHandle<Result<Answer, ServiceError>> {
        let connector = self.clone();
        tokio::spawn(async move {
            wait(visit.fate.there).await;
            connector.server().apply(visit)
        })
    }

    async fn serve(self, visit: Visit) -> Result<HttpResponse, ConnectorError> {
        let (fate, operation) = (visit.fate.clone(), visit.operation.clone());
        let answer = match fate.fault {
            Some(fault) if !fault.is_applied() => {
                wait(fate.there).await;
                Ok(Answer::default())
            }
            _ if fate.there.is_zero() => self.server().apply(visit),
            _ => self.send(visit).await.map_err(|error| ConnectorError::other(error.into(), None))?,
        };
        if matches!(fate.fault, Some(Fault::TimeoutBefore | Fault::TimeoutAfter | Fault::Ghost)) {
            return std::future::pending().await;
        }
        wait(fate.back).await;
        let error = match fate.fault {
            None | Some(Fault::UnprocessedItems) => return self.response(answer, |body| body),
            // At least one byte stays, because an empty body would be a valid response.
            Some(Fault::TruncatedBodyAfter) => {
                return self.response(answer, |mut body| {
                    body.truncate(body.floor_char_boundary(body.len().div_ceil(2)));
                    body
                });
            }
            Some(Fault::ResetBefore | Fault::ResetAfter) => {
                return Err(ConnectorError::io("connection reset by peer".into()));
            }
            Some(Fault::Html502) => return self.html(),
            Some(Fault::Throttle) => ServiceError::throttled(),
            Some(Fault::TableMissing) => ServiceError::no_table(),
            Some(Fault::AccessDenied) => ServiceError::denied(&operation),
            Some(Fault::ExpiredToken) => ServiceError::expired_token(),
            Some(_) => ServiceError::internal(),
        };
        self.response(Err(error), |body| body)
    }

    fn response(
        &self,
        answer: Result<Answer, ServiceError>,
        cut: impl FnOnce(String) -> String,
    ) -> Result<HttpResponse, ConnectorError> {
        let (status, body) = match answer {
            Ok(answer) => (200, serde_json::to_string(&answer).map_err(|error| ConnectorError::user(error.into()))?),
            Err(error) => (error.status, error.to_body()),
        };
        self.http(status, "application/x-amz-json-1.0", cut(body))
    }

    fn html(&self) -> Result<HttpResponse, ConnectorError> {
        self.http(502, "text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>".to_owned())
    }

    fn http(&self, status: u16, content_type: &'static str, body: String) -> Result<HttpResponse, ConnectorError> {
        let broken = |error| ConnectorError::other(error, None);
        let mut response =
            HttpResponse::new(status.try_into().map_err(|_| broken("no status".into()))?, SdkBody::from(body));
        response.headers_mut().insert("content-type", content_type);
        // The SDK corrects its clock from this header.
        let now = DateTime::from_millis(self.server().clock.true_now_ms());
        let date = now.fmt(Format::HttpDate).map_err(|error| broken(error.into()))?;
        response.headers_mut().insert("date", date);
        Ok(response)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpClient for Connector {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (arrives, is_heard) = self.is_alive();
        if !arrives {
            return HttpConnectorFuture::new(std::future::pending());
        }
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.strip_prefix("DynamoDB_20120810.").unwrap_or_default();
        let visit = self.server().arrive(operation, request.body().bytes().unwrap_or_default());
        let in_flight = InFlight(self.clone());
        let is_skewed = request.headers().get("x-amz-date").is_some_and(|date| self.is_skewed(date));
        let connector = self.clone();
        HttpConnectorFuture::new(async move {
            let _in_flight = in_flight;
            if is_skewed {
                let message = "Signature expired: the clock of the client is off by more than 15 minutes";
                let error = ServiceError::new("InvalidSignatureException", message);
                let mut server = connector.server();
                let at = server.clock.elapsed();
                server.journal.refused(at, visit.number, error.kind);
                drop(server);
                return connector.response(Err(error), |body| body);
            }
            let response = connector.serve(visit).await;
            if is_heard { response } else { std::future::pending().await }
        })
    }
}

const MAX_SKEW_MS: u64 = 15 * 60 * 1_000;

impl Connector {
    /// Returns whether the server refuses a signature with this time, such as `20250416T150343Z`.
    fn is_skewed(&self, date: &str) -> bool {
        let part = |range: std::ops::Range<usize>| date.get(range).unwrap_or_default();
        let text =
            format!("{}-{}-{}T{}:{}:{}Z", part(0..4), part(4..6), part(6..8), part(9..11), part(11..13), part(13..15));
        let Ok(signed) = DateTime::from_str(&text, Format::DateTime) else { return true };
        let signed_ms = signed.to_millis().unwrap_or_default();
        self.server().clock.true_now_ms().abs_diff(signed_ms) > MAX_SKEW_MS
    }
}

/// A waiting client. Dropped with its future, after a response or a cancellation.
struct InFlight(Connector);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.server().journal.in_flight -= 1;
    }
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
