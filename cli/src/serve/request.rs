//! The parts that the handlers of all routes share: the form of their answers, the body, and the call that a path names.

use std::fmt::Display;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use verbale::log::{CallId, Cursor, Day};

use super::Server;
use super::error::ApiError;
use super::live::LiveCall;

/// An answer of the interface, or why there is none.
pub type Answer = Result<Response, ApiError>;

/// The body of a request, or why it cannot be read.
pub type Body<T> = Result<Json<T>, JsonRejection>;

/// Returns the body of a request, or `expected` as the reason of the error.
pub fn body<T>(given: Body<T>, expected: impl Display) -> Result<T, ApiError> {
    let Json(body) = given.map_err(|error| ApiError::new(error.status(), expected))?;
    Ok(body)
}

/// Returns a call that is live in this process.
pub fn live(server: &Server, id: &str) -> Result<Arc<LiveCall>, ApiError> {
    server.calls.get(&call_id(id)?).ok_or_else(ApiError::not_live)
}

/// Reads the id of a call.
pub fn call_id(id: &str) -> Result<CallId, ApiError> {
    CallId::new(id).map_err(ApiError::invalid)
}

/// Reads a day of a list.
pub fn day(text: &str) -> Result<Day, ApiError> {
    text.parse().map_err(|_| ApiError::invalid("a day is written as 2025-10-20"))
}

/// Reads where a page of a list begins.
pub fn cursor(text: &str) -> Result<Cursor, ApiError> {
    text.parse().map_err(|_| ApiError::invalid("the cursor is not one of a list"))
}
