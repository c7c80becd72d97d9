//! Taking a call over, as another process does. Several test binaries share this file.

use std::sync::Arc;
use std::time::Duration;

use verbale::log::{CallId, CallLog, CallWriter, LogError, LogWriter, WriterSettings};
use verbale::{MessagesManager, PlainMessage};

type Resumed = Result<(MessagesManager<PlainMessage>, CallWriter), LogError>;

/// Resumes a call with a writer of its own.
pub async fn resume(log: &(impl CallLog + Clone + 'static), call_id: &CallId) -> Resumed {
    resume_within(log, call_id, Duration::from_secs(30)).await
}

/// Resumes a call with a writer of its own, within `timeout`.
pub async fn resume_within(log: &(impl CallLog + Clone + 'static), call_id: &CallId, timeout: Duration) -> Resumed {
    let (writer, task) = LogWriter::new(Arc::new(log.clone()), WriterSettings::default().with_seed(1));
    tokio::spawn(task);
    writer.resume(call_id, timeout).await
}
