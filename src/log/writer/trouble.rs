//! The errors that need an operator.

use super::{WriterTask, error_chain, unpoisoned};
use crate::log::{CallId, LogError};

impl WriterTask {
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
