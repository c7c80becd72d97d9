//! The errors that need an operator.

use std::time::Duration;

use super::{WriterTask, error_chain, unpoisoned};
use crate::clock::from_now;
use crate::log::{CallId, LogError};

/// How long the status shows a deleted spool file, even if the spool has written it again.
const SHOWN_FOR: Duration = Duration::from_secs(60);

impl WriterTask {
    /// Reports a spool whose file was deleted or replaced.
    pub(super) fn report_spool(&mut self) {
        let Some(spooling) = &mut self.spooling else { return };
        if let Some(error) = spooling.spool.take_trouble() {
            spooling.trouble_until = Some(from_now(SHOWN_FOR));
            self.report_trouble(None, error);
        }
    }

    /// Adds an error that needs an operator to the status. The first one is also traced. `None` is the spool.
    pub(super) fn report_trouble(&self, call_id: Option<CallId>, error: LogError) {
        let mut all = unpoisoned(&self.shared.counters.trouble);
        if all.is_empty() {
            let reason = error_chain(&error);
            tracing::error!(%reason, "the log cannot be written until an operator fixes this; the writer keeps all changes and retries");
        }
        all.insert(call_id, error);
    }

    /// Removes the error of a call, or of the spool, after a success.
    pub(super) fn clear_trouble(&self, call_id: Option<&CallId>) {
        let mut all = unpoisoned(&self.shared.counters.trouble);
        if all.remove(&call_id.cloned()).is_some() && all.is_empty() {
            tracing::info!("the log can be written again");
        }
    }
}
