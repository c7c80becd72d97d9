//! The list of the live calls, of a day's calls in the log, and of what waits for the log.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde::Deserialize;
use verbale::clock::{Clock, SystemClock};
use verbale::log::{CallHeader, Day};

use super::call::log_of;
use super::events::Followed;
use super::recent::Asked;
use super::{NoPage, check, encoded, events, html, served};
use crate::failure::on_one_line;
use crate::html::{Follow, Served};
use crate::serve::Server;
use crate::serve::error::ApiError;
use crate::serve::live::LiveCall;
use crate::serve::request::{self, Answer};
use crate::text::{count, visible};
use crate::time::{lasting, utc};

#[derive(Template)]
#[template(path = "list.html")]
struct List {
    served: Served,
    live: Vec<LiveRow>,
    day: Day,
    tenant: String,
    calls: Vec<Row>,
    /// Why the log cannot be read.
    failure: Option<String>,
    unreadable: Vec<String>,
    /// The address of the next page.
    next: Option<String>,
    /// Names and values of what waits for the log.
    log: Vec<(&'static str, String)>,
    troubles: Vec<String>,
}

/// A live call.
struct LiveRow {
    call: String,
    /// The id in an address.
    link: String,
    started_ms: i64,
    started: String,
    messages: usize,
    log: String,
}

/// A call of the log.
struct Row {
    call: String,
    link: String,
    started: String,
    lasted: String,
    ended: String,
    messages: String,
}

#[derive(Deserialize)]
pub struct Listing {
    day: Option<String>,
    tenant: Option<String>,
    after: Option<String>,
}

/// Returns the list.
pub async fn page(
    State(server): State<Arc<Server>>,
    Query(listing): Query<Listing>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, NoPage> {
    check(&server, &headers, &uri)?;
    // Later changes are another version.
    let version = server.calls.changes.version();
    let asked = asked(listing)?;
    let found = server.pages.recent.read(&server, &asked).await;
    let mut live: Vec<LiveRow> = server.calls.all().iter().map(|call| LiveRow::of(call)).collect();
    live.sort_by(|a, b| (b.started_ms, &a.call).cmp(&(a.started_ms, &b.call)));
    let status = match server.is_draining() {
        true => "The server is stopping".to_owned(),
        false => format!("Live: {}", count(live.len() as u64, "call")),
    };
    let follow = Follow { events: "/events".to_owned(), version };
    let mut list = List {
        served: served(&server, Some(follow), status),
        live,
        day: asked.day,
        tenant: asked.tenant.as_ref().map_or_else(String::new, |tenant| tenant.as_str().to_owned()),
        calls: Vec::new(),
        failure: None,
        unreadable: Vec::new(),
        next: None,
        log: Vec::new(),
        troubles: Vec::new(),
    };
    match &*found {
        Ok(found) => {
            let is_live = |header: &&CallHeader| server.calls.get(header.call_id()).is_some();
            list.calls = found.calls.iter().filter(|header| !is_live(header)).map(Row::of).collect();
            list.unreadable = found.unreadable.iter().map(|error| on_one_line(error)).collect();
            list.next = found.next.as_ref().map(|next| {
                let (day, tenant) = (asked.day, encoded(&list.tenant));
                format!("/?day={day}&tenant={tenant}&after={next}")
            });
        }
        Err(error) => list.failure = Some(error.clone()),
    }
    list.waiting(&server);
    Ok(html(StatusCode::OK, &list))
}

/// Returns the events of the list.
pub async fn events(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    let followed = Followed { changes: server.calls.changes.clone(), is_over: Box::new(|| false) };
    events::events(server, headers, followed)
}

fn asked(Listing { day, tenant, after }: Listing) -> Result<Asked, ApiError> {
    let day = match day {
        Some(day) => request::day(&day)?,
        None => Day::of_ms(SystemClock.now_ms()),
    };
    let tenant = tenant.filter(|tenant| !tenant.is_empty()).map(verbale::log::Tenant::new).transpose()?;
    let after = after.map(|after| request::cursor(&after)).transpose()?;
    Ok(Asked { day, tenant, after })
}

impl List {
    /// Adds what waits for the log.
    fn waiting(&mut self, server: &Server) {
        let status = server.writer.status();
        let records = |number: u64| if number == 0 { "nothing".to_owned() } else { count(number, "record") };
        self.log = vec![
            ("waits in memory", records(status.queued)),
            ("waits in the spool", records(status.spooled)),
            ("longest wait", if status.lag.is_zero() { "-".to_owned() } else { lasting(ms(status.lag)) }),
            ("refused by the log", records(status.dead_letters)),
        ];
        self.troubles = status.trouble.iter().map(|error| on_one_line(error)).collect();
    }
}

fn ms(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl LiveRow {
    fn of(call: &LiveCall) -> Self {
        let metadata = call.session.conversation().metadata();
        let started_ms = metadata.created_ms.unwrap_or_else(|| call.session.now_ms());
        Self {
            call: metadata.conversation.to_string(),
            link: encoded(metadata.conversation.as_str()),
            started_ms,
            started: utc(started_ms),
            messages: metadata.messages,
            log: log_of(call),
        }
    }
}

impl Row {
    fn of(header: &CallHeader) -> Self {
        let end = header.call_end();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        Self {
            call: header.call_id().to_string(),
            link: encoded(header.call_id().as_str()),
            started: utc(header.started_ms()),
            lasted: or_dash(end.map(|end| lasting(end.at_ms.saturating_sub(header.started_ms())))),
            ended: end.map_or_else(|| "not ended".to_owned(), |end| visible(&end.reason)),
            messages: or_dash(end.map(|end| end.messages.to_string())),
        }
    }
}
