//! The pages for people: the list of calls, a call, and the login. They follow by themselves: `events.rs` says that something has
//! changed, and `templates/follow.js` fetches the page again.

mod call;
mod events;
mod list;
mod login;
mod recent;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Server;
use super::error::ApiError;
use crate::html::{Follow, Served, policy};
pub use call::Seen;
use recent::Recent;

/// The characters that mean something in an address.
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The state that the server keeps for its pages.
#[derive(Default)]
pub struct Pages {
    recent: Recent,
}

/// Returns the routes of the pages.
pub fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/", get(list::page))
        .route("/events", get(list::events))
        .route("/calls/{id}", get(call::page))
        .route("/calls/{id}/events", get(call::events))
        .route("/login", get(login::page).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/follow.js", get(script))
        // Browsers ask for it. There is none.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
}

async fn script() -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../../../templates/follow.js")).into_response()
}

/// A page that says why another one is not shown.
#[derive(Template)]
#[template(path = "refused.html")]
struct Refused {
    text: String,
}

/// A page that is not shown.
enum NoPage {
    /// Who asks has to log in first, and comes back to this address.
    Login(String),
    Error(ApiError),
}

impl From<ApiError> for NoPage {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for NoPage {
    fn into_response(self) -> Response {
        match self {
            Self::Login(next) => Redirect::to(&format!("/login?next={}", encoded(&next))).into_response(),
            Self::Error(error) => html(error.status, &Refused { text: error.text }),
        }
    }
}

/// Checks that a request may see a page.
fn check(server: &Server, headers: &HeaderMap, address: &Uri) -> Result<(), NoPage> {
    server.access.check_page(headers).map_err(|error| match error.status {
        StatusCode::UNAUTHORIZED => NoPage::Login(address.to_string()),
        _ => NoPage::Error(error),
    })
}

/// Returns a page.
fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(page) => (status, headers(), page).into_response(),
        Err(error) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
    }
}

/// Returns the headers of a page: it may load the script and what the script asks for, and no other site may frame it.
fn headers() -> HeaderMap {
    let rest = "; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let all = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, policy() + rest),
        // The browser names the origin of forms, which `check_form` wants to know.
        (REFERRER_POLICY, "same-origin".to_owned()),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

/// Returns what a page of the server has besides its own.
fn served(server: &Server, follow: Option<Follow>, status: String) -> Served {
    Served { follow, status, has_logout: server.access.has_tokens() }
}

/// Returns a text as a part of an address.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, SPECIAL).to_string()
}
