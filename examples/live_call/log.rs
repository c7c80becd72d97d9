//! [`Log`]: the log of the call, in a DynamoDB in this process.

use std::sync::Arc;

use verbale::MessageId;
use verbale::clock::{Clock, IdSource, SystemIds};
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, CallWriter, LogError, LogWriter, LoggedCall, WriterSettings};

use crate::error::CallError;
use crate::pace::Pace;

/// The log of the call. A service shares one writer among all its calls.
pub struct Log {
    log: Arc<DynamoLog>,
    writer: LogWriter,
    header: CallHeader,
}

impl Log {
    pub async fn open(pace: &Pace) -> Result<Self, CallError> {
        let client = EmbeddedDynamo::in_memory()?.client();
        create_table(&client, &Table::default()).await?;
        let log = Arc::new(DynamoLog::new(client));
        let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
        // The task ends after the last handle is dropped.
        tokio::spawn(task.run());
        let now_ms = pace.now_ms();
        let call_id = CallId::new(format!("live-{}", MessageId::from(SystemIds.next_id(now_ms))))?;
        Ok(Self { log, writer, header: CallHeader::new(call_id, now_ms)? })
    }

    /// Opens the call in the log and returns its writer.
    pub fn open_call(&self) -> Result<CallWriter, CallError> {
        Ok(self.writer.open(self.header.clone())?)
    }

    /// Returns the call as DynamoDB holds it.
    pub async fn read_back(&self) -> Result<LoggedCall, LogError> {
        self.log.read_call(self.header.call_id()).await
    }
}
