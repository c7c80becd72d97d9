//! [`Log`]: the log of the call, in a DynamoDB in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use verbale::MessageId;
use verbale::call::{CallBuilder, CallHost, CallSession};
use verbale::clock::{Clock, IdSource, SystemIds};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, LogError, LogWriter, LoggedCall, WriterSettings};

use crate::error::CallError;
use crate::pace::Pace;

/// The log of the call. A service shares one writer among all its calls.
pub struct Log {
    log: Arc<DynamoLog>,
    writer: LogWriter,
    header: CallHeader,
    is_resumed: bool,
}

/// The longest wait for a call that is continued.
const RESUME_TIMEOUT: Duration = Duration::from_secs(10);

impl Log {
    /// Opens the log in a directory or in memory, for a new call or to continue one.
    pub async fn open(pace: &Pace, directory: Option<&Path>, resume: Option<&str>) -> Result<Self, CallError> {
        let database = directory.map_or_else(EmbeddedDynamo::in_memory, EmbeddedDynamo::open)?;
        let client = database.client();
        create_table(&client, "verbale").await?;
        let log = Arc::new(DynamoLog::new(client));
        // A write costs nothing here, so it waits little for the end of its turn: a process that is killed loses less.
        let settings = WriterSettings::default().with_turn_wait(Duration::from_millis(500));
        let (writer, task) = LogWriter::new(log.clone(), settings);
        // The task ends after the last handle is dropped.
        tokio::spawn(task);
        let now_ms = pace.now_ms();
        let new_id = || format!("live-{}", MessageId::from(SystemIds.next_id(now_ms)));
        let call_id = CallId::new(resume.map_or_else(new_id, str::to_owned))?;
        Ok(Self { log, writer, header: CallHeader::new(call_id, now_ms)?, is_resumed: resume.is_some() })
    }

    pub fn call_id(&self) -> &CallId {
        self.header.call_id()
    }

    /// Returns whether the call was in the log before.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Returns a host for the call.
    pub fn host(&self) -> CallHost {
        CallHost::new(self.writer.clone())
    }

    /// Opens the call, or takes it over.
    ///
    /// Returns [`CallError::UnknownCall`] if the log does not have the call that is to be continued.
    pub async fn open_call(&self, host: &CallHost, builder: CallBuilder) -> Result<Arc<CallSession>, CallError> {
        if self.is_resumed && self.log.read_header(self.call_id()).await?.is_none() {
            return Err(CallError::UnknownCall(self.call_id().clone()));
        }
        Ok(host.open_or_resume(self.header.clone(), RESUME_TIMEOUT, || builder).await?.session)
    }

    /// Returns the call as DynamoDB holds it.
    pub async fn read_back(&self) -> Result<LoggedCall, LogError> {
        self.log.read_call(self.call_id()).await
    }
}
