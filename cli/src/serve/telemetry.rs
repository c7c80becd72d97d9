//! [`Telemetry`]: the metrics of all calls in Prometheus' form. `docs/telemetry.md` has their names.

use std::io;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::Server;
use super::auth::Scope;
use super::request::Answer;

pub struct Telemetry(PrometheusHandle);

impl Telemetry {
    /// Records the metrics of this process from now on.
    ///
    /// Returns an error if another recorder does.
    pub fn install() -> io::Result<Self> {
        PrometheusBuilder::new().install_recorder().map(Self).map_err(io::Error::other)
    }

    /// Frees the memory of histograms that nobody reads.
    pub fn tidy(&self) {
        self.0.run_upkeep();
    }
}

/// Returns the metrics of all calls in Prometheus' form.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "all_metrics",
    responses((status = 200, description = "done", body = String)),
    security(("read" = [])),
)]
pub async fn metrics(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    metrics::gauge!("verbale_serve_calls").set(count(server.calls.ids().len()));
    metrics::gauge!("verbale_serve_sockets").set(count(*server.sockets.borrow()));
    metrics::gauge!("verbale_serve_draining").set(f64::from(u8::from(server.is_draining())));
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], server.telemetry.0.render()).into_response())
}

fn count(number: usize) -> f64 {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}
