//! [`Recent`]: pages of the log's list of calls. All readers share them, so that no reader makes the server ask more often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use verbale::log::{CallPage, CallQuery, Cursor, Day, Tenant};

use crate::failure::on_one_line;
use crate::serve::Server;

/// How long a page counts as new, if no call has ended here.
const FRESH: Duration = Duration::from_secs(10);
/// The shortest time between two reads of a page.
const PAUSE: Duration = Duration::from_millis(500);
/// The most pages that are kept.
const MAX_PAGES: usize = 64;
/// The calls on a page.
const CALLS: u16 = 100;

/// A page that a reader asks for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Asked {
    pub day: Day,
    pub tenant: Option<Tenant>,
    pub after: Option<Cursor>,
}

/// A page, or why it cannot be read.
type Found = Arc<Result<CallPage, String>>;

#[derive(Clone)]
struct Known {
    found: Found,
    at: Instant,
    /// How many calls had ended here.
    ended: u64,
}

type Slot = Arc<tokio::sync::Mutex<Option<Known>>>;

/// The pages that were read.
#[derive(Default)]
pub struct Recent(Mutex<HashMap<Asked, Slot>>);

impl Recent {
    /// Returns a page. Readers of one page wait for one another.
    pub async fn read(&self, server: &Server, asked: &Asked) -> Found {
        let slot = self.slot(asked);
        let mut known = slot.lock().await;
        if let Some(Known { found, at, ended }) = &*known {
            if at.elapsed() < FRESH && *ended == server.calls.ended() {
                return found.clone();
            }
            sleep(PAUSE.saturating_sub(at.elapsed())).await;
        }
        let ended = server.calls.ended();
        let query = CallQuery::of_day(asked.day).with_tenant(asked.tenant.clone()).with_limit(CALLS);
        let page = server.log.list_calls(&query.with_after(asked.after.clone())).await;
        let found = Arc::new(page.map_err(|error| on_one_line(&error)));
        *known = Some(Known { found: found.clone(), at: Instant::now(), ended });
        found
    }

    fn slot(&self, asked: &Asked) -> Slot {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_PAGES && !all.contains_key(asked) {
            all.clear();
        }
        all.entry(asked.clone()).or_default().clone()
    }
}
