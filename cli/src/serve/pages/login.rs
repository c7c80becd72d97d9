//! The login of the pages: a token for the cookie of a session.

use std::sync::Arc;

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Query, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{NoPage, html};
use crate::serve::Server;
use crate::serve::auth::Scope;
use crate::serve::error::ApiError;
use crate::serve::sessions::cookie;

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    /// Why the last token was refused.
    refusal: Option<String>,
    /// The address of the page that was asked for.
    next: &'a str,
}

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct Given {
    token: String,
    #[serde(default)]
    next: String,
}

/// Returns the page with the form.
pub async fn page(State(server): State<Arc<Server>>, Query(asked): Query<Asked>) -> Response {
    let next = of_here(&asked.next);
    match server.access.has_tokens() {
        true => html(StatusCode::OK, &Login { refusal: None, next }),
        false => Redirect::to(next).into_response(),
    }
}

/// Begins a session.
pub async fn log_in(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    given: Result<Form<Given>, FormRejection>,
) -> Result<Response, NoPage> {
    server.access.check_form(&headers)?;
    let Form(Given { token, next }) = given.map_err(|error| ApiError::new(error.status(), "the form has no token"))?;
    let next = of_here(&next);
    if !server.access.has_tokens() {
        return Ok(Redirect::to(next).into_response());
    }
    if let Err(error) = server.access.check_token(Scope::Read, token.trim()) {
        return Ok(html(error.status, &Login { refusal: Some(error.text), next }));
    }
    let session = server.access.sessions.open()?;
    Ok(([(SET_COOKIE, cookie(Some(&session), &headers))], Redirect::to(next)).into_response())
}

/// Ends the session.
pub async fn log_out(State(server): State<Arc<Server>>, headers: HeaderMap) -> Result<Response, NoPage> {
    server.access.check_form(&headers)?;
    server.access.sessions.close(&headers);
    Ok(([(SET_COOKIE, cookie(None, &headers))], Redirect::to("/login")).into_response())
}

/// Returns the address of a page of this server; that of the list for any other.
fn of_here(next: &str) -> &str {
    let is_page = next.starts_with("/calls/") || next.starts_with("/?");
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_page && is_plain { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_leads_to_pages_of_this_server_alone() {
        for page in ["/", "/calls/one", "/calls/a%2Fb", "/?day=2025-10-20&tenant="] {
            assert_eq!(of_here(page), page);
        }
        for other in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/calls/a\r\nSet-Cookie: a=b",
            "/login",
            "javascript:1",
        ] {
            assert_eq!(of_here(other), "/", "{other}");
        }
    }
}
