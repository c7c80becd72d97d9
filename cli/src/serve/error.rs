//! [`ApiError`]: the reason why a request is refused, with its HTTP status.

use std::fmt::Display;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use verbale::log::{LogError, LogErrorKind};

use crate::failure::on_one_line;

/// A request that is refused. The text has no words of a call.
#[derive(Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub text: String,
}

impl ApiError {
    pub fn new(status: StatusCode, text: impl Display) -> Self {
        Self { status, text: text.to_string() }
    }

    pub fn invalid(text: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub fn busy(text: impl Display) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    pub fn conflict(text: impl Display) -> Self {
        Self::new(StatusCode::CONFLICT, text)
    }

    /// Returns whether there is no call with an id.
    pub fn is_no_call(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    pub fn no_call() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such call")
    }

    pub fn not_live() -> Self {
        Self::new(StatusCode::NOT_FOUND, "the call is not live here")
    }

    pub fn of_log(error: &LogError) -> Self {
        let status = match error.kind() {
            LogErrorKind::Invalid => StatusCode::BAD_REQUEST,
            LogErrorKind::NotOpened => StatusCode::NOT_FOUND,
            LogErrorKind::Erased => StatusCode::GONE,
            LogErrorKind::Conflict | LogErrorKind::Fenced | LogErrorKind::Held => StatusCode::CONFLICT,
            LogErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, on_one_line(error))
    }
}

impl From<LogError> for ApiError {
    fn from(error: LogError) -> Self {
        Self::of_log(&error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.text }))).into_response()
    }
}
