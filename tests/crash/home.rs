//! [`Home`]: the files that outlive a service: a spool and a DynamoDB in one directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{LogWriter, Spool, SpoolSettings, WriterSettings, WriterTask};

#[derive(Clone)]
pub struct Home {
    pub directory: PathBuf,
    pub fsync: bool,
}

impl Home {
    pub async fn make(&self) {
        create_table(&self.dynamo().client(), &Table::default()).await.unwrap();
    }

    /// The log, or a log without a table.
    pub fn log(&self, is_away: bool) -> Arc<DynamoLog> {
        let log = DynamoLog::new(self.dynamo().client());
        Arc::new(if is_away { log.with_table("away") } else { log })
    }

    /// Creates a writer as a service would, and its spool.
    pub fn writer(&self, log: Arc<DynamoLog>) -> (LogWriter, WriterTask, Arc<Spool>) {
        let settings = SpoolSettings::default().with_fsync(self.fsync);
        let spool = Arc::new(Spool::open(self.directory.join("spool"), settings).unwrap());
        let settings = WriterSettings::default().with_spool(spool.clone()).with_linger(Duration::from_millis(20));
        let (writer, task) = LogWriter::new(log, settings);
        (writer, task, spool)
    }

    fn dynamo(&self) -> EmbeddedDynamo {
        EmbeddedDynamo::open(self.directory.join("dynamodb")).unwrap()
    }
}
