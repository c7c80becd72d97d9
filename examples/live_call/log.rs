//! [`Log`]: the log of the call, in a DynamoDB in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{Clock, IdSource, SystemIds};
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, CallWriter, LogError, LogWriter, LoggedCall, WriterSettings};
use verbale::{MessageId, MessagesManager, PlainMessage};

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
        create_table(&client, &Table::default()).await?;
        let log = Arc::new(DynamoLog::new(client));
        let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
        // The task ends after the last handle is dropped.
        tokio::spawn(task.run());
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

    /// Opens the call in the log, or takes it over. Returns its messages so far and its writer.
    pub async fn open_call(&self) -> Result<(MessagesManager<PlainMessage>, CallWriter), CallError> {
        if self.is_resumed {
            return Ok(self.writer.resume(self.call_id(), RESUME_TIMEOUT).await?);
        }
        Ok((MessagesManager::new(), self.writer.open(self.header.clone())?))
    }

    /// Returns the call as DynamoDB holds it.
    pub async fn read_back(&self) -> Result<LoggedCall, LogError> {
        self.log.read_call(self.call_id()).await
    }
}
