//! [`Log`]: the log of all calls, and its writer.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use tokio::task::JoinHandle;
use verbale::dynamodb::{DynamoLog, create_table, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{LogWriter, WriterSettings};

use super::arguments::Place;
use super::error::RelayError;

/// The log of all calls.
pub struct Log {
    pub writer: LogWriter,
    task: JoinHandle<()>,
}

impl Log {
    /// Opens the log. `aws` is the environment for a table at AWS.
    pub async fn open(place: Option<&Place>, aws: &SdkConfig) -> Result<Self, RelayError> {
        let log = match place {
            Some(Place::Table(table)) => {
                let client = aws_sdk_dynamodb::Client::from_conf(log_client(aws.into()).build());
                DynamoLog::new(client).with_table(table.as_str())
            }
            embedded => {
                let database = match embedded {
                    Some(Place::Directory(directory)) => EmbeddedDynamo::open(directory)?,
                    _ => EmbeddedDynamo::in_memory()?,
                };
                let client = database.client();
                create_table(&client, "verbale").await?;
                DynamoLog::new(client)
            }
        };
        let (writer, task) = LogWriter::new(Arc::new(log), WriterSettings::default());
        Ok(Self { writer, task: tokio::spawn(task) })
    }

    /// Stores everything and ends the writer. Returns the number of parts that are not stored.
    pub async fn stop(self, timeout: Duration) -> usize {
        let unstored = self.writer.stop(timeout).await.len();
        drop(self.writer);
        // The task ends after the last handle.
        let _ = tokio::time::timeout(timeout, self.task).await;
        unstored
    }
}
