//! [`Home`]: the files that outlive a service: a spool and a DynamoDB in one directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Config, Credentials, Region};
use verbale::clock::{Clock, IdSource, SystemClock, SystemIds};
use verbale::dynamodb::{DynamoLog, create_table, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{LogWriter, Spool, SpoolSettings, WriterSettings};

#[derive(Clone)]
pub struct Home {
    pub directory: PathBuf,
    pub fsync: bool,
}

impl Home {
    pub async fn make(&self) {
        create_table(&self.dynamo().client(), "verbale").await.unwrap();
    }

    /// The log, or a log without a table.
    pub fn log(&self, is_away: bool) -> Arc<DynamoLog> {
        let log = DynamoLog::new(self.dynamo().client());
        Arc::new(if is_away { log.with_table("away") } else { log })
    }

    /// Creates a writer as a service would, and its spool.
    pub fn writer(&self, log: Arc<DynamoLog>) -> (LogWriter, impl Future<Output = ()> + Send + use<>, Arc<Spool>) {
        let spool = self.spool();
        let (writer, task) = LogWriter::new(log, writer_settings().with_spool(spool.clone()));
        (writer, task, spool)
    }

    pub fn spool(&self) -> Arc<Spool> {
        let settings = SpoolSettings::default().with_fsync(self.fsync);
        Arc::new(Spool::open(self.directory.join("spool"), settings).unwrap())
    }

    fn dynamo(&self) -> EmbeddedDynamo {
        EmbeddedDynamo::open(self.directory.join("dynamodb")).unwrap()
    }
}

pub fn writer_settings() -> WriterSettings {
    WriterSettings::default().with_linger(Duration::from_millis(20))
}

/// Returns the configuration of a client for a server on the loopback interface.
pub fn config(url: &str) -> Builder {
    log_client(Config::builder())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(url)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
}

pub fn client(url: &str) -> Client {
    Client::from_conf(config(url).build())
}

/// The server that `.ci/run` starts, if it does.
pub fn moto() -> Option<String> {
    let url = std::env::var("VERBALE_MOTO_URL").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        println!("skipped: VERBALE_MOTO_URL is not set, which .ci/run does");
    }
    url
}

/// Makes a table at a server, and returns its name.
pub async fn make_table(url: &str, prefix: &str) -> String {
    let id = verbale::MessageId::from(SystemIds.next_id(SystemClock.now_ms()));
    let name = format!("{prefix}-{id}");
    create_table(&client(url), &name).await.unwrap();
    name
}
